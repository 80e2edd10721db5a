"""Runs an adapter in the environment of its package: `python -I _worker.py ADAPTER.py`.

JSON lines come in and go out. First the options, answered by `{"ready": versions}`; then for each
`{"texts", "question", "limit", "share"}` one `{"text", "ms"}`, or `{"tokens", "ms"}` from a package that writes no
text, or `{"error", "message"}`; `ms` are those of the processor, which no other program lengthens. It ends when its
input does. Nothing but the standard library and the package is imported.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import platform
import sys
import time
import types
from typing import Any

_PACKAGE = "_peers"


def main(file: str) -> None:
    """Answers until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # what packages print must not stand between the answers

    def answer(said: dict[str, Any]) -> None:
        answers.write(json.dumps(said) + "\n")
        answers.flush()

    lines = iter(sys.stdin.buffer.readline, b"")
    try:
        adapter = _adapter(file)
        shorten = adapter.start(json.loads(next(lines)))
        versions = {name: importlib.metadata.version(name) for name in getattr(adapter, "DISTRIBUTIONS", ())}
    except Exception as error:
        answer(_failed(error))
        return
    answer({"ready": {"python": platform.python_version(), **versions}})
    for line in lines:
        try:
            asked, started = json.loads(line), time.process_time()
            made = shorten(asked["texts"], asked["question"], asked["limit"], asked["share"])
            said = {"tokens": made} if isinstance(made, int) else {"text": made}
            answer(said | {"ms": 1000 * (time.process_time() - started)})
        except Exception as error:  # a package may raise anything; the next question is a new one
            answer(_failed(error))


def _adapter(file: str) -> Any:
    """The adapter as part of a package of its neighbours, none of which is imported unless it asks for it."""
    folder, name = os.path.split(os.path.abspath(file))
    package = types.ModuleType(_PACKAGE)
    package.__path__ = [folder]
    sys.modules[_PACKAGE] = package
    return importlib.import_module(f"{_PACKAGE}.{os.path.splitext(name)[0]}")


def _failed(error: Exception) -> dict[str, Any]:
    kind, missing = type(error), getattr(error, "name", None) if isinstance(error, ImportError) else None
    said = " ".join(str(error).split())[:300]
    return {"error": kind.__qualname__, "message": said, **({"missing": missing} if missing else {})}


if __name__ == "__main__":
    main(sys.argv[1])
