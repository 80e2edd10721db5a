"""The wrappers that `tokens.load_tokenizer` puts around vocabularies and functions."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from squeeze.errors import ConfigError, SqueezeError, need, whole

_SURROGATE = re.compile("[\ud800-\udfff]")


def plain(text: str) -> str:
    """The text with each lone surrogate replaced one for one, since no vocabulary can spell them."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def quiet(tokenizer: Any, name: str) -> Any:
    """A copy without truncation and padding, to which special-token text is plain text."""
    try:
        copy = need("tokenizers", extra="tokens").Tokenizer.from_str(tokenizer.to_str())
    except SqueezeError:
        raise
    except Exception as error:  # the library raises bare Exception for parts written in Python
        raise ConfigError(
            f"the tokenizer {name} cannot be copied ({error}); pass a function that counts with it: "
            "lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)"
        ) from error
    copy.no_truncation()
    copy.no_padding()
    copy.encode_special_tokens = True
    return copy


def from_json(name: str, text: str) -> Any:
    """The quiet tokenizer of its JSON text."""
    return quiet(need("tokenizers", extra="tokens").Tokenizer.from_str(text), name)


class Lazy:
    """A counter around a vocabulary that is read on first use after unpickling.

    Args:
        name: what it is called, and from which `source` can be read again.
        source: reads the vocabulary; None where only the value itself can be pickled.
        value: the vocabulary, if it is there already.
    """

    def __init__(self, name: str, source: Callable[[], Any] | None, value: Any = None) -> None:
        self.name = name
        self._source = source
        self._value = value
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<tokenizer {self.name}>"

    def __getstate__(self) -> dict[str, Any]:
        return {"name": self.name, "source": self._source, "value": None if self._source else self._value}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Lazy.__init__(self, state["name"], state["source"], state["value"])

    @property
    def vocabulary(self) -> Any:
        """The wrapped object."""
        if self._value is None and self._source is not None:
            with self._lock:
                if self._value is None:
                    self._value = self._source()
        return self._value

    def count(self, text: str) -> int:
        """Tokens of the text."""
        return len(self.encode(text))

    def encode(self, text: str) -> list[int]:
        """The ids of the text."""
        raise NotImplementedError


class TiktokenCounter(Lazy):
    """A tiktoken encoding."""

    def encode(self, text: str) -> list[int]:
        """The ids of the text, special-token text taken as text."""
        return list(self.vocabulary.encode_ordinary(plain(text)))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the ids."""
        return str(self.vocabulary.decode(list(ids), errors="replace"))


class HuggingFaceCounter(Lazy):
    """A private copy of a `tokenizers.Tokenizer` that neither truncates, pads nor matches special tokens."""

    def __getstate__(self) -> dict[str, Any]:
        source = self._source or partial(from_json, self.name, self._value.to_str())
        return {"name": self.name, "source": source, "value": None}

    def encode(self, text: str) -> list[int]:
        """The ids of the text, without what the post-processor would add."""
        return list(self.vocabulary.encode(plain(text), add_special_tokens=False).ids)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the ids."""
        return str(self.vocabulary.decode(list(ids), skip_special_tokens=False))


class SlowCounter(Lazy):
    """A transformers tokenizer that has no fast counterpart."""

    def encode(self, text: str) -> list[int]:
        """The ids of the text, special-token text split like any other."""
        return list(self.vocabulary.encode(plain(text), add_special_tokens=False, split_special_tokens=True))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the ids."""
        return str(self.vocabulary.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False))


class FunctionCounter:
    """A counter around a function."""

    def __init__(self, function: Callable[[str], Any]) -> None:
        self.function = function
        self.name = str(getattr(function, "__qualname__", "") or type(function).__name__)

    def count(self, text: str) -> int:
        """What the function says.

        Raises:
            ConfigError: it returned something else than an integer from 0 on.
        """
        found = self.function(plain(text))
        number = whole(found)
        if number is None:
            raise ConfigError(f"the token counter {self.name} returned {found!r}; allowed: an integer from 0 on")
        return number

    def encode(self, text: str) -> list[int]:
        """Raises `ConfigError`: a function has no ids."""
        raise ConfigError(f"the token counter {self.name} has no token ids; use a tokenizer with encode and decode")

    def decode(self, ids: Sequence[int]) -> str:
        """Raises `ConfigError`: a function has no ids."""
        raise ConfigError(f"the token counter {self.name} has no token ids; use a tokenizer with encode and decode")
