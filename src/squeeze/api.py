"""The one-call door: `squeeze.compress`."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

from squeeze.base import Compressor
from squeeze.errors import ConfigError
from squeeze.registry import load, method_class, option_names
from squeeze.types import Budget, Compressed, Passage

_MEANT = {
    "budget": "max_tokens= or keep=",
    "limit": "max_tokens=",
    "tokens": "max_tokens=",
    "ratio": "keep=",
    "rate": "keep=",
    "question": "query=",
    "documents": "passages",
}
"""Names that stand for an argument elsewhere, and the argument here."""

_KEPT = 32
"""How many compressors are kept; the one not used for the longest time goes first."""


class _Slot:
    """A place for a compressor, and the lock under which it is loaded."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.compressor: Compressor | None = None


_slots: OrderedDict[tuple[Any, ...], _Slot] = OrderedDict()
_lock = threading.Lock()


def compress(
    passages: str | Passage | Iterable[str | Passage],
    query: str | None = None,
    *,
    method: str = "edu",
    max_tokens: int | None = None,
    keep: float | None = None,
    tokenizer: Any = "estimate",
    **options: Any,
) -> Compressed:
    """The passages shortened to the budget.

    The compressor is kept for further calls with the same method and options, so a model loads once.

    Args:
        passages: what the retriever found, in the order in which it goes into the prompt; a bare str is one passage.
        query: the question; None, empty and blank mean "no question".
        method: name of the method, one of `squeeze.available()`.
        max_tokens: tokens that the result may have.
        keep: share of the tokens that the result may have, 0 to 1. With both limits the tighter one holds.
        tokenizer: what counts tokens: "estimate", a tiktoken encoding name, "hf:" plus a folder or hub name, a
            tokenizer object, or a callable `str -> int`.
        options: options of the method.

    Raises:
        SqueezeError: of the kind that `squeeze.errors` lists; the message names what was given and what is allowed.
    """
    budget = Budget(max_tokens, keep)  # before loading: a wrong limit must not cost a model's loading time
    for name in options:
        if name in _MEANT and name not in option_names(method_class(method)):
            raise ConfigError(f"compress has no argument {name!r}; give {_MEANT[name]}")
    return kept_compressor(method, tokenizer, options).compress(passages, query, budget=budget)


def kept_compressor(method: str, tokenizer: Any, options: Mapping[str, Any]) -> Compressor:
    """The compressor of that method and those options, the one of an earlier call where there is one.

    An option or a tokenizer that cannot be told from others by its value (unhashable, and no list, set or dict) gets a
    new compressor at each call.
    """
    # Types stand beside values because 1, 1.0 and True are equal as keys and not as options.
    key = (method, _hashable(tokenizer), _hashable(options))
    try:
        hash(key)
    except TypeError:
        return load(method, tokenizer=tokenizer, **options)
    with _lock:
        slot = _slots.setdefault(key, _Slot())
        _slots.move_to_end(key)
        if len(_slots) > _KEPT:
            _slots.popitem(last=False)
    with slot.lock:  # of this compressor alone: a model that loads slowly must not hold up calls of other methods
        if slot.compressor is None:
            slot.compressor = load(method, tokenizer=tokenizer, **options)
        return slot.compressor


def _hashable(value: Any) -> tuple[Any, ...]:
    """A value as part of a key, with its type; lists, sets and dicts by what is in them."""
    inner: Any = value
    if isinstance(value, Mapping):
        inner = frozenset((name, _hashable(item)) for name, item in value.items())
    elif isinstance(value, list | tuple):
        inner = tuple(_hashable(item) for item in value)
    elif isinstance(value, set | frozenset):
        inner = frozenset(_hashable(item) for item in value)
    return type(value).__name__, inner
