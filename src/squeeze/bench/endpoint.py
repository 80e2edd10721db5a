"""A reader behind an OpenAI-compatible endpoint that the user names. Nothing is sent anywhere else."""

from __future__ import annotations

import http.client
import json
import os
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from squeeze.bench.asking import TASK, Reads, Said
from squeeze.errors import ConfigError, SqueezeError
from squeeze.types import Compressed

PATH = "/chat/completions"
PATIENCE = 5
"""Failures in a row after which an endpoint is not asked any more."""

_MOST_BYTES = 4_000_000
_BUSY = (429, 503)
_TRIES = 3
_LONGEST_WAIT = 30.0
_ABOUT_THE_QUESTION = ("http_400", "http_413", "http_422")
"""Refusals of one question, a text that is too long most often; they say nothing about the next one."""


class EndpointError(SqueezeError):
    """An endpoint that gave no answer.

    Attributes:
        kind: `timeout`, `connection`, `http_500` (with the code), `bad_reply`, `too_long` or `given_up`.
    """

    def __init__(self, message: str, *, kind: str) -> None:
        super().__init__(message)
        self.kind = kind

    def __reduce__(self) -> tuple[Any, ...]:
        return _error, (self.args[0], self.kind)


def _error(message: str, kind: str) -> EndpointError:
    return EndpointError(message, kind=kind)


class _Busy(EndpointError):
    """A server that wants to be asked later."""

    def __init__(self, message: str, *, kind: str, wait: float) -> None:
        super().__init__(message, kind=kind)
        self.wait = wait


def _seconds(given: str | None) -> float:
    """The seconds that a server wants to be left alone; two where it does not say, or names a date."""
    wait = float(given) if given and given.strip().isdecimal() else 2.0
    return min(wait, _LONGEST_WAIT)


class Endpoint(Reads):
    """An OpenAI-compatible server, asked with temperature 0 and streaming.

    Args:
        url: the base, such as `http://localhost:8000/v1`, or the whole address of its chat completions.
        model: the model's name there.
        key_env: the environment variable with the key; empty for none.
        timeout: seconds for a whole answer.
        parallel: how many questions are asked at a time.
        new_tokens: the most tokens of an answer.
        seed: is sent along.

    Raises:
        ConfigError: an address that is not http or https or holds a password, or no such environment variable.
    """

    def __init__(  # noqa: PLR0913 - one setting each
        self,
        url: str,
        model: str,
        *,
        key_env: str = "",
        timeout: float = 60.0,
        parallel: int = 1,
        new_tokens: int = 32,
        seed: int = 0,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
            raise ConfigError(f"--reader-url {url!r}; allowed: http:// or https://, a host, and a path such as /v1")
        if not model:
            raise ConfigError("--reader-url needs --reader-model NAME, the model's name there")
        if not timeout > 0:
            raise ConfigError(f"--reader-timeout is {timeout}; allowed: seconds above 0")
        if key_env and not os.environ.get(key_env):
            raise ConfigError(f"--reader-key-env {key_env}: the environment has no such variable, or it is empty")
        self.url = url.rstrip("/") if url.rstrip("/").endswith(PATH) else url.rstrip("/") + PATH
        self.name, self.model, self.timeout = model, model, timeout
        self.parallel, self.new_tokens, self.seed = parallel, new_tokens, seed
        self._key = os.environ.get(key_env, "").strip() if key_env else ""
        self.causes: dict[str, str] = {}  # by kind of failure, what the first of that kind said
        self._failures, self._lock = 0, threading.Lock()
        self._open = urllib.request.build_opener(_NoRedirect).open

    def answer(self, context: str | Compressed, question: str, gold: str) -> Said:
        """The answer and the time to its first piece.

        A busy server is asked again after the time it names; after `PATIENCE` failures in a row nothing is asked.
        """
        if self._failures >= PATIENCE:
            with self._lock:
                self.causes.setdefault("given_up", f"{PATIENCE} answers in a row failed, so no more were asked for")
            raise EndpointError(f"{PATIENCE} answers in a row failed", kind="given_up")
        text = context if isinstance(context, str) else context.text
        try:
            said = self._ask(f"{TASK}{text}\n\nQuestion: {question}")
        except EndpointError as error:
            with self._lock:
                self._failures += error.kind not in _ABOUT_THE_QUESTION
                self.causes.setdefault(error.kind, f"{self.url}: {error}")
            raise
        self._failures = 0
        return said

    def _ask(self, content: str) -> Said:
        body = {"model": self.model, "messages": [{"role": "user", "content": content}], "temperature": 0}
        body |= {"max_tokens": self.new_tokens, "seed": self.seed, "stream": True}
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = urllib.request.Request(self.url, json.dumps(body).encode(), headers, method="POST")
        for _ in range(_TRIES - 1):
            try:
                return self._tried(request)
            except _Busy as error:
                time.sleep(error.wait)
        return self._tried(request)

    def _tried(self, request: urllib.request.Request) -> Said:
        started = time.monotonic()
        text, first = "", 0.0
        try:
            with self._open(request, timeout=self.timeout) as reply:
                for piece in _pieces(reply, started + self.timeout):
                    first = first or time.monotonic()
                    text += piece
        except urllib.error.HTTPError as error:
            error.close()
            kind, message = f"http_{error.code}", f"the endpoint said {error.code}"
            if error.code in _BUSY:
                raise _Busy(message, kind=kind, wait=_seconds(error.headers.get("Retry-After"))) from None
            raise EndpointError(message, kind=kind) from None
        except TimeoutError:
            raise EndpointError(f"no whole answer within {self.timeout:g} s", kind="timeout") from None
        except (OSError, http.client.HTTPException) as error:
            slow = isinstance(getattr(error, "reason", None), TimeoutError)
            cause = getattr(error, "reason", None) or error
            raise EndpointError(f"no connection: {cause}", kind="timeout" if slow else "connection") from None
        if not first:
            raise EndpointError("the reply holds no answer", kind="bad_reply")
        return Said(text.strip(), (first - started) * 1000)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Goes nowhere that the user did not name: a redirect is an error, and the key stays here."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _pieces(reply: Any, deadline: float) -> Iterator[str]:
    """The pieces of an answer as they come; the whole of it where the server does not stream."""
    streamed, whole = False, b""
    for line in _lines(reply, deadline):
        if line.startswith(b"data:"):
            streamed = True
            data = line[5:].strip()
            if data == b"[DONE]":
                return
            yield from _texts(data, "delta")
        elif not streamed:
            whole += line
    if not streamed:
        yield from _texts(whole, "message")


def _texts(data: bytes, key: str) -> Iterator[str]:
    """The text of a message or of a piece of one, if it has any."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise EndpointError("the reply is not JSON", kind="bad_reply") from None
    choices = value.get("choices") if isinstance(value, dict) else None
    if not isinstance(choices, list):
        raise EndpointError("the reply has no choices", kind="bad_reply")
    for choice in choices[:1]:  # servers send a last piece without any, with the usage
        said = choice.get(key) if isinstance(choice, dict) else None
        text = said.get("content") if isinstance(said, dict) else None
        if isinstance(text, str) and (text or key == "message"):
            yield text


def _lines(reply: Any, deadline: float) -> Iterator[bytes]:
    """The lines of a reply; a server that drips does not get more time than one that is silent."""
    rest, size = b"", 0
    while chunk := reply.read1(65536):
        if time.monotonic() > deadline:
            raise TimeoutError
        size += len(chunk)
        if size > _MOST_BYTES:
            raise EndpointError(f"the reply is over {_MOST_BYTES:,} bytes", kind="too_long")
        *full, rest = (rest + chunk).split(b"\n")
        yield from full
    yield rest
