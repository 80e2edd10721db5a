"""Token counters: `load_tokenizer` turns a name, an object of a tokenizer library or a function into a `Tokenizer`.

What all of them keep: text that looks like a special token is plain text, no begin or end marks are added, a lone
surrogate counts as U+FFFD instead of raising, one counter serves many threads, and a named one survives pickling by its
name alone (the vocabulary is read again when it is first used).
"""

from __future__ import annotations

import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from squeeze.counters import FunctionCounter, HuggingFaceCounter, SlowCounter, TiktokenCounter, quiet
from squeeze.errors import ConfigError, InputError, SqueezeError, nearest, need
from squeeze.estimate import Estimate

__all__ = ["Estimate", "Tokenizer", "count_many", "load_tokenizer"]

_T = TypeVar("_T")
_ENCODINGS = ("gpt2", "r50k_base", "p50k_base", "p50k_edit", "cl100k_base", "o200k_base", "o200k_harmony")
_ALLOWED = (
    'allowed: "estimate", a tiktoken encoding name such as "cl100k_base", "hf:" with a folder or hub name, a tiktoken, '
    "tokenizers or transformers tokenizer, an object with name, count, encode and decode, or a function str -> int"
)
_WAIT = 60.0  # seconds for a vocabulary to arrive: tiktoken itself sets no limit
_KEPT_OBJECTS = 8


@runtime_checkable
class Tokenizer(Protocol):
    """What counts tokens; `encode` and `decode` raise `ConfigError` where a counter has no ids."""

    @property
    def name(self) -> str:
        """What results and reports call it."""

    def count(self, text: str) -> int:
        """Tokens of the text, special-token text being plain text."""

    def encode(self, text: str) -> list[int]:
        """The ids of the text, without begin and end marks."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; bytes that are no UTF-8 become U+FFFD."""


def count_many(tokenizer: Tokenizer, texts: Sequence[str]) -> list[int]:
    """`tokenizer.count` of each text, side by side where the counter can do that (the estimate: many times faster)."""
    together = getattr(tokenizer, "count_many", None)
    return list(together(texts)) if callable(together) else [tokenizer.count(text) for text in texts]


def _in_time(what: str, load: Callable[[], _T]) -> _T:
    """What `load` returns, or a `ConfigError` when it takes longer than `_WAIT` (a network that swallows packets)."""
    box: list[_T] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            box.append(load())
        except BaseException as error:  # handed to the caller below
            failed.append(error)

    thread = threading.Thread(target=work, daemon=True, name=f"load {what}")
    thread.start()
    thread.join(_WAIT)
    if failed:
        raise failed[0]
    if not box:
        raise ConfigError(f"{what} did not load within {_WAIT:.0f} seconds; is the network reachable?")
    return box[0]


def _tiktoken_encoding(name: str) -> Any:
    """The named encoding, from tiktoken's cache or the network."""
    tiktoken = need("tiktoken", extra="tokens")
    try:
        return _in_time(name, partial(tiktoken.get_encoding, name))
    except Exception as error:  # tiktoken hands through what requests, the file system or its hash check raise
        raise ConfigError(
            f"the vocabulary of the tiktoken encoding {name!r} is neither cached nor reachable "
            f"({type(error).__name__}: {error}); load it once with network access, or set TIKTOKEN_CACHE_DIR to a "
            'folder that holds it, or use "estimate"'
        ) from error


def _hugging_face_file(place: str) -> Any:
    """The tokenizer of a folder, a tokenizer.json or a hub name."""
    library = need("tokenizers", extra="tokens").Tokenizer
    path = Path(place).expanduser()
    if path.is_dir():
        path = path / "tokenizer.json"
        if not path.is_file():
            raise ConfigError(
                f"the folder of 'hf:{place}' has no tokenizer.json; give one that was saved by a fast tokenizer"
            )
    if path.is_file():
        load, trouble = partial(library.from_file, str(path)), f"cannot read {path}"
    elif place.startswith((".", "~", os.sep)) or place.count("/") > 1:
        raise ConfigError(f"'hf:{place}': no such folder; allowed: a folder with tokenizer.json, or a hub name")
    else:
        load, trouble = (
            partial(library.from_pretrained, place),
            "it is no folder here, and not cached or reachable on the hub",
        )
    try:
        return quiet(_in_time(f"hf:{place}", load), f"hf:{place}")
    except SqueezeError:
        raise
    except Exception as error:  # the library raises bare Exception for bad files, the hub client many kinds
        raise ConfigError(
            f"the tokenizer 'hf:{place}' does not load: {trouble} ({type(error).__name__}: {error}); "
            "give a folder with tokenizer.json"
        ) from error


_NAMED: dict[str, Tokenizer] = {}
_LOCKS: dict[str, threading.Lock] = {}
_OBJECTS: OrderedDict[tuple[int, int], tuple[Any, Tokenizer]] = OrderedDict()
_GUARD = threading.Lock()


def _encoding_names() -> set[str]:
    module = sys.modules.get("tiktoken")
    return {*_ENCODINGS, *(module.list_encoding_names() if module is not None else ())}


def _named(name: str) -> Tokenizer:
    """A new counter for a name that is not cached yet."""
    if name == "estimate":
        return Estimate()
    if name.startswith("hf:") and len(name) > 3:
        source = partial(_hugging_face_file, name[3:])
        return HuggingFaceCounter(name, source, source())
    if name in _encoding_names():
        source = partial(_tiktoken_encoding, name)
        return TiktokenCounter(name, source, source())
    raise ConfigError(
        f"unknown tokenizer {name!r}; {nearest(name, ['estimate', 'hf:FOLDER', *_encoding_names()])} "
        "Also allowed: tokenizer objects and functions str -> int"
    )


def _of_library(spec: Any, module: str, *classes: str) -> bool:
    """Whether `spec` is an object of one of the classes; a library that nobody imported has no objects."""
    loaded = sys.modules.get(module)
    kinds = tuple(kind for kind in (getattr(loaded, name, None) for name in classes) if isinstance(kind, type))
    return isinstance(spec, kinds)


def _wrapped(spec: Any) -> Tokenizer:
    """A counter around an object of tokenizers or transformers; the last few are kept, as copying one takes a while."""
    inner = getattr(spec, "backend_tokenizer", None) or getattr(spec, "_tokenizer", None) or spec
    name = str(getattr(spec, "name_or_path", "") or f"{type(spec).__module__.split('.')[0]}.{type(spec).__name__}")
    if not hasattr(inner, "to_str"):
        return SlowCounter(name, None, spec)
    key = (id(inner), inner.get_vocab_size())
    with _GUARD:
        if key not in _OBJECTS:  # holding `inner` keeps its id from being used again
            _OBJECTS[key] = (inner, HuggingFaceCounter(name, None, quiet(inner, name)))
        _OBJECTS.move_to_end(key)
        while len(_OBJECTS) > _KEPT_OBJECTS:
            _OBJECTS.popitem(last=False)
        return _OBJECTS[key][1]


def load_tokenizer(spec: Any = "estimate") -> Tokenizer:
    """The counter that `spec` stands for; the same one for the same name.

    Args:
        spec: `"estimate"`, a tiktoken encoding name, `"hf:"` with a folder or hub name, an object of tiktoken,
            tokenizers or transformers, an object that is a `Tokenizer` already, or a function `str -> int`.

    Raises:
        ConfigError: a name that nothing carries, or a vocabulary that is neither cached nor reachable.
        InputError: an object that cannot count.
        MissingDependencyError: the library behind the name is not installed.
    """
    if isinstance(spec, str):
        with _GUARD:
            lock = _LOCKS.setdefault(spec, threading.Lock())
        with lock:  # one lock per name: a slow download holds up no other
            if spec not in _NAMED:
                _NAMED[spec] = _named(spec)
            return _NAMED[spec]
    if _of_library(spec, "tiktoken", "Encoding"):
        return TiktokenCounter(str(spec.name), None, spec)
    if _of_library(spec, "tokenizers", "Tokenizer") or _of_library(spec, "tokenizers.implementations", "BaseTokenizer"):
        return _wrapped(spec)
    if _of_library(spec, "transformers.tokenization_utils_base", "PreTrainedTokenizerBase"):
        return _wrapped(spec)
    if isinstance(spec, Tokenizer) and not isinstance(spec, type):
        return spec
    if callable(spec) and not isinstance(spec, type):
        return FunctionCounter(spec)
    raise InputError(f"a tokenizer cannot be {spec!r} ({type(spec).__name__}); {_ALLOWED}")
