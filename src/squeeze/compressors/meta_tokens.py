"""Repeated token sequences said once: ids to ids, for a model that was tuned to read the form.

The form is the paper's (lossless token sequence compression with meta-tokens, arXiv 2506.00307):

    <Dict> m1 s1 m2 s2 … </Dict> body

where every m is a meta-token, a reserved id drawn at random, and the ids s behind it are what it stands for in the
body. The choice of the phrases is not the paper's longest-first but `squeeze.coding.select`, which saves more.

Two forms that the paper does not have carry inputs that hold reserved ids themselves:

    <Dict> </Dict> ids                       the ids as they are, nothing coded
    <Dict> <Dict> m1 s1 … </Dict> body       coded; a reserved id that is no key of the dictionary stands for itself
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from squeeze.coding.repeats import Ints
from squeeze.coding.select import select
from squeeze.coding.swap import by_first_use, expand, swap
from squeeze.errors import ConfigError, CorruptError, InputError

Flags = npt.NDArray[np.bool_]

_TOP = 2**63 - 1
_ALLOWED = "allowed: whole numbers from 0 to 2**63 - 1"
_SHORTEST = 2  # ids of the shortest phrase
_FEWEST = 2  # uses of the rarest one


def encode(ids: Iterable[int], *, reserved: Sequence[int], seed: int = 0) -> list[int]:
    """The coded ids: shorter where repeats pay, else the ids themselves.

    An entry is made only where it saves tokens (with K uses of N ids: N·K > 1 + N + K), the dictionary only where its
    entries together save more than its two delimiters. An input that holds reserved ids and cannot be shortened comes
    back 2 tokens longer; nothing else ever gets longer.

    Args:
        ids: token ids from 0 to 2**63 - 1.
        reserved: ids that the model sees in coded text only: `reserved[0]` opens the dictionary, `reserved[1]` closes
            it, the rest are meta-tokens. The fewer there are, the fewer phrases are coded.
        seed: which meta-tokens are drawn; the same seed draws the same ones on every machine.

    Raises:
        InputError: an id is not a whole number in the allowed range.
        ConfigError: fewer than two reserved ids, or one of them twice.
    """
    tokens = _plain(ids, "id")
    values = np.array(tokens, dtype=np.int64)
    opening, closing, pool = _roles(reserved)
    foreign = _among(values, reserved)
    if foreign.any():
        taken = set(values[foreign].tolist())
        values[foreign] = -1 - np.arange(int(foreign.sum()))  # no id is negative: these never repeat
        head, frame = [opening, opening], 3
        plain = [opening, closing, *tokens]
    else:
        taken, head, frame, plain = set(), [opening], 2, tokens
    phrases = by_first_use(select(values, limit=len(pool) - len(taken - {opening, closing})))
    if len(tokens) - sum(phrase.saving for phrase in phrases) + frame >= len(plain):
        return plain
    markers = _draw(pool, len(phrases), taken, seed)
    for marker, phrase in zip(markers, phrases, strict=True):
        head.append(marker)
        head.extend(tokens[phrase.starts[0] : phrase.starts[0] + phrase.length])
    return [*head, closing, *swap(tokens, phrases, markers)]


def decode(ids: Iterable[int], *, reserved: Sequence[int]) -> list[int]:
    """The ids that `encode` was given.

    Args:
        ids: coded ids.
        reserved: the reserved ids that they were coded with.

    Raises:
        CorruptError: the ids are not the output of `encode`: a meta-token without an entry, a dictionary that does
            not end, an entry that is empty, doubled or not used.
        InputError: an id is not a whole number in the allowed range.
        ConfigError: fewer than two reserved ids, or one of them twice.
    """
    tokens = _plain(ids, "coded id")
    opening, closing, _ = _roles(reserved)
    if tokens[:1] != [opening]:
        _no_strangers(tokens, 0, reserved, ())
        return tokens
    if tokens[1:2] == [closing]:
        return tokens[2:]
    literal = tokens[1:2] == [opening]
    try:
        end = tokens.index(closing)
    except ValueError:
        raise CorruptError(f"the dictionary does not end: {closing} is missing after {opening}") from None
    entries = _entries(tokens[2 if literal else 1 : end], reserved)
    body = tokens[end + 1 :]
    uses = Counter(token for token in body if token in entries)
    for marker in entries:
        if uses[marker] < _FEWEST:
            raise CorruptError(f"meta-token {marker} is used {uses[marker]} times; coded text uses each at least twice")
    if not literal:
        _no_strangers(body, end + 1, reserved, entries)
    return expand(body, entries)


def _entries(dictionary: list[int], reserved: Sequence[int]) -> dict[int, list[int]]:
    """Meta-token -> ids, of what stands between the delimiters."""
    heads = np.flatnonzero(_among(np.array(dictionary, dtype=np.int64), reserved)).tolist()
    if heads[:1] != [0]:
        raise CorruptError("the dictionary does not begin with a meta-token")
    entries: dict[int, list[int]] = {}
    for start, stop in zip(heads, [*heads[1:], len(dictionary)], strict=True):
        marker, phrase = dictionary[start], dictionary[start + 1 : stop]
        if marker == reserved[0] or marker in entries:
            raise CorruptError(f"meta-token {marker} opens two entries or is a delimiter")
        if len(phrase) < _SHORTEST:
            raise CorruptError(f"the entry of meta-token {marker} has {len(phrase)} ids; a phrase has at least two")
        entries[marker] = phrase
    return entries


def _no_strangers(tokens: list[int], offset: int, reserved: Sequence[int], known: Collection[int]) -> None:
    """Nothing, if every reserved id among the tokens is known."""
    for at in np.flatnonzero(_among(np.array(tokens, dtype=np.int64), reserved)).tolist():
        if tokens[at] not in known:
            raise CorruptError(f"reserved id {tokens[at]} at position {offset + at} has no entry in the dictionary")


def _draw(pool: Sequence[int], count: int, taken: Collection[int], seed: int) -> list[int]:
    """Members of the pool that are not taken, each as likely as any other, none twice."""
    chance = random.Random(seed)  # `random()` draws the same on every version; `sample` does not promise to
    moved: dict[int, int] = {}  # a shuffle of which only the first places are made, so that the pool may be huge
    drawn: list[int] = []
    at = 0
    while len(drawn) < count:
        other = at + int(chance.random() * (len(pool) - at))
        member = int(pool[moved.get(other, other)])
        moved[other] = moved.get(at, at)
        at += 1
        if member not in taken:
            drawn.append(member)
    return drawn


def _roles(reserved: Sequence[int]) -> tuple[int, int, Sequence[int]]:
    """The opening delimiter, the closing one, the pool of meta-tokens."""
    if not isinstance(reserved, range):
        members = _plain(reserved, "reserved id")
        if len(set(members)) < len(members):
            double = next(member for member, count in Counter(members).items() if count > 1)
            raise ConfigError(f"reserved id {double} is given twice; allowed: different ids")
    elif reserved and not 0 <= _bounds(reserved)[0] <= _bounds(reserved)[1] <= _TOP:
        raise InputError(f"reserved is {reserved!r}; {_ALLOWED}")
    if len(reserved) < 2:
        raise ConfigError(f"reserved holds {len(reserved)} ids; allowed: two delimiters and any number of meta-tokens")
    return int(reserved[0]), int(reserved[1]), reserved[2:]


def _bounds(reserved: range) -> tuple[int, int]:
    """The smallest and the largest member, without walking through a range that may be huge."""
    return min(reserved[0], reserved[-1]), max(reserved[0], reserved[-1])


def _among(values: Ints, reserved: Sequence[int]) -> Flags:
    """Which values are reserved."""
    if isinstance(reserved, range):  # perhaps a huge one: by its bounds
        low, high = _bounds(reserved)
        inside: Flags = (values >= low) & (values <= high)
        inside &= (values - reserved.start) % reserved.step == 0
        return inside
    return np.isin(values, np.array(list(reserved), dtype=np.int64))


def _plain(ids: Iterable[int], what: str) -> list[int]:
    """The ids as plain ints (of a list, an array or a tensor).

    Raises:
        InputError: one of them is no whole number from 0 to 2**63 - 1; it is named with its position.
    """
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        raise InputError(f"{what}s are {type(ids).__name__}; allowed: a sequence of whole numbers")
    tokens: list[Any] = ids.tolist() if hasattr(ids, "tolist") else list(ids)
    if not isinstance(tokens, list):
        raise InputError(f"{what}s are a single {type(tokens).__name__}; allowed: a sequence of whole numbers")
    if set(map(type, tokens)) - {int}:
        for at, token in enumerate(tokens):
            if isinstance(token, bool) or not isinstance(token, Integral):
                raise InputError(f"{what} {token!r} at position {at} is {type(token).__name__}; {_ALLOWED}")
        tokens = [int(token) for token in tokens]
    if tokens and not 0 <= min(tokens) <= max(tokens) <= _TOP:
        at = next(at for at, token in enumerate(tokens) if not 0 <= token <= _TOP)
        raise InputError(f"{what} {tokens[at]} at position {at} is out of range; {_ALLOWED}")
    return tokens
