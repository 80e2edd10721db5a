"""A package in an environment of its own as a runner: a process that is asked over its input and output."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import queue
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Sequence
from typing import IO, Any, NamedTuple

from squeeze.bench.runners import Output, Runner
from squeeze.errors import MissingDependencyError, SqueezeError
from squeeze.render import JOINER
from squeeze.tokens import load_tokenizer
from squeeze.types import Passage

PLACE = "SQUEEZE_PEERS"
"""The environment variable with the folder of the environments; `.venv-peers` without it."""

FAULTS = 3
"""After so many deaths of the process in a row it is not started again."""

_WORKER = pathlib.Path(__file__).with_name("_worker.py")


class PeerError(SqueezeError):
    """Another package gave no result."""


class PeerTimeout(PeerError):
    """It did not answer in time, and its process was ended."""


class PeerCrashed(PeerError):
    """Its process ended without an answer."""


class PeerGarbled(PeerError):
    """Its answer is none."""


class PeerGaveUp(PeerError):
    """Its process died too often to be started again."""


class Setting(NamedTuple):
    """How a package is run.

    Attributes:
        environment: name of the environment that `make peers` builds.
        needs: modules that must be there, where the package is installed beside squeeze instead.
        most: the most rows of a set; None for all.
        limited: whether it keeps to a limit.
        seconds: the longest wait for one row.
        loading: the longest wait until it can be asked.
    """

    environment: str
    needs: tuple[str, ...]
    most: int | None = None
    limited: bool = True
    seconds: float = 60.0
    loading: float = 300.0


class Peer(Runner):
    """A package that runs in another environment, started at once. Every row is one question to it.

    Options: `rows` is the most rows of a set, `seconds` the longest wait for one, `titles` puts the title of a
    document in front of its text (packages take no titles of their own), `clock="processor"` counts the time of its
    processor alone, for a machine that others use; all others go to the adapter.

    Raises:
        MissingDependencyError: the environment is not built, or the package does not start in it.
    """

    def __init__(self, file: str, tokenizer: str, options: dict[str, Any], setting: Setting) -> None:
        self.name = pathlib.Path(file).stem
        self.most = options.pop("rows", setting.most)
        self.seconds = float(options.pop("seconds", setting.seconds))
        self.titles = bool(options.pop("titles", False))
        self.alone = options.pop("clock", "wall") == "processor"
        self.limited = setting.limited
        self.count = load_tokenizer(tokenizer).count
        self.versions: dict[str, str] = {}
        self._file, self._options, self._setting = file, options, setting
        self._python = interpreter(setting)
        self._process: _Process | None = None
        self._faults = 0
        self._lock = threading.Lock()
        self._start()

    def run(self, documents: Sequence[Passage], question: str, limit: int) -> Output:
        """The text that the package makes of the documents, or only its length where it is no text.

        Raises:
            PeerError: it gave none; an error of its own is raised under the name that it has there.
        """
        texts = [document.text for document in documents]
        if self.titles:
            texts = [f"{document.title}\n{document.text}".lstrip("\n") for document in documents]
        share = min(1.0, limit / max(1, self.count(JOINER.join(texts))))
        with self._lock:
            if self._process is None:
                self._start()
            said = self._ask({"texts": texts, "question": question, "limit": limit, "share": share}, self.seconds)
            self._faults = 0
        ms = said.get("ms") if self.alone else None
        if isinstance(said.get("text"), str):
            return Output(said["text"], ms=ms)
        if isinstance(said.get("tokens"), int):
            return Output(None, tokens=said["tokens"], ms=ms)
        if isinstance(said.get("error"), str):
            raise type(said["error"], (PeerError,), {})(f"{self.name}: {said.get('message', '')}")  # counted by name
        raise PeerGarbled(f"{self.name} answered neither a text nor an error")

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.end()
            self._process = None

    def _start(self) -> None:
        if self._faults >= FAULTS:
            raise PeerGaveUp(f"{self.name}: its process died {FAULTS} times in a row")
        self._process = _Process(self._python, self._file)
        try:
            said = self._ask(self._options, self._setting.loading)
        except PeerError as error:
            raise MissingDependencyError(f"{self.name} does not start: {error}") from None
        if not isinstance(said.get("ready"), dict):
            self.close()
            why = f"{said.get('error', 'no answer')}: {said.get('message', '')}"
            raise MissingDependencyError(f"{self.name} does not start: {why}; run: make peers")
        self.versions = said["ready"]

    def _ask(self, what: dict[str, Any], seconds: float) -> dict[str, Any]:
        """The answer; without one the process is ended, and the next question starts another."""
        assert self._process is not None
        try:
            return self._process.ask(what, seconds)
        except PeerError as error:
            self._faults += 1
            self.close()
            raise type(error)(f"{self.name}: {error}") from None


class _Process:
    """A worker and what it says."""

    def __init__(self, python: str, file: str) -> None:
        self.errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self.popen = subprocess.Popen(
            [python, "-I", str(_WORKER), file],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env=_environment(),
        )
        self.answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self.end = weakref.finalize(self, _end, self.popen, self.errors)
        threading.Thread(target=_listen, args=(self.popen.stdout, self.answers), daemon=True).start()

    def ask(self, what: dict[str, Any], seconds: float) -> dict[str, Any]:
        """The answer, waited for so long."""
        line = json.dumps(what).encode("ascii") + b"\n"
        threading.Thread(target=_say, args=(self.popen.stdin, line), daemon=True).start()  # a full pipe may block
        try:
            answer = self.answers.get(timeout=seconds)
        except queue.Empty:
            raise PeerTimeout(f"no answer within {seconds:g} s") from None
        if not answer:
            raise PeerCrashed(f"the process ended; it said last: {self._last()}")
        try:
            said = json.loads(answer)
        except ValueError:
            said = None
        if not isinstance(said, dict):
            raise PeerGarbled(f"no JSON object: {answer[:80]!r}")
        return said

    def _last(self) -> str:
        """The last line that it wrote to its error output."""
        size = self.errors.seek(0, os.SEEK_END)
        self.errors.seek(max(0, size - 2000))
        lines = self.errors.read().decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "nothing")


def interpreter(setting: Setting) -> str:
    """The Python that a package runs in: that of its environment, or this one where the package is installed here.

    Raises:
        MissingDependencyError: it is in neither.
    """
    found = pathlib.Path(os.environ.get(PLACE) or ".venv-peers") / setting.environment / "bin" / "python"
    if found.is_file():
        return str(found.absolute())
    missing = [name for name in setting.needs if not _has(name)]
    if missing:
        raise MissingDependencyError(
            f"{missing[0]} is not installed, nor is there an environment {found}; run: make peers"
        )
    return sys.executable


def _has(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def vocabulary() -> dict[str, str]:
    """The variable that leads tiktoken to the vocabulary which llama-index ships; empty where it is not needed."""
    if "TIKTOKEN_CACHE_DIR" in os.environ or not _has("llama_index.core"):
        return {}
    spec = importlib.util.find_spec("llama_index.core")
    place = pathlib.Path(str(spec.origin)).parent if spec is not None else pathlib.Path()
    return {"TIKTOKEN_CACHE_DIR": str(place / "_static" / "tiktoken_cache")}


def _environment() -> dict[str, str]:
    """The variables of the process, which stays off the network."""
    quiet = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    return {**os.environ, **vocabulary(), **quiet}


def _listen(stream: IO[bytes], into: queue.SimpleQueue[bytes]) -> None:
    for line in iter(stream.readline, b""):
        into.put(line)
    into.put(b"")


def _say(stream: IO[bytes], line: bytes) -> None:
    try:
        stream.write(line)
        stream.flush()
    except (OSError, ValueError):  # it is gone; whoever waits for the answer is told
        return


def _end(popen: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
    popen.kill()
    popen.wait()
    errors.close()
