"""A package to run in the tests of other packages, and rows to run it on."""

from __future__ import annotations

import json
import pathlib

import pytest

from squeeze.bench import runners

FAKE = '''
"""A package that does as the question says."""
import os
import sys
import time

DISTRIBUTIONS = ()


def runner(tokenizer, options):
    from squeeze.bench.peers._process import Peer, Setting

    return Peer(__file__, tokenizer, options, Setting(options.pop("environment", "none"), ("json",), loading=60.0))


def start(options):
    if options.get("absent"):
        import a_package_that_nobody_has
    print("loading ...", flush=True)

    def shorten(texts, question, limit, share):
        print("chatter", flush=True)
        if question == "crash?":
            sys.stderr.write("no memory\\n")
            sys.stderr.flush()
            os._exit(3)
        if question == "slow?":
            time.sleep(600)
        if question == "raise?":
            raise AssertionError("prefix")
        if question == "number?":
            return 7
        if question == "nothing?":
            return None
        return " ".join(texts)[: int(len(" ".join(texts)) * share)] + options.get("mark", "")

    return shorten
'''


def install(monkeypatch: pytest.MonkeyPatch, place: pathlib.Path, name: str, **files: str) -> None:
    """Makes a package of that name, with a module for each text, the one where peers are looked for."""
    folder = place / name
    folder.mkdir()
    for module, code in {"__init__": "", **files}.items():
        (folder / f"{module}.py").write_text(code)
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.setattr(runners, "PEERS", name)


def rows(file: pathlib.Path, questions: list[str]) -> str:
    documents = [
        {"id": "a", "title": "Lamp", "text": "The lamp was lit in 1907. It shone far over the sea.", "is_gold": True},
        {"id": "b", "title": "Sea", "text": "The sea is wide. Nobody knows how deep it is there.", "is_gold": False},
    ]
    lines = [{"question": question, "answers": ["1907"], "documents": documents} for question in questions]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(file)
