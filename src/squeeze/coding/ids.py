"""Token ids and reserved pools: checked, found, drawn."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Sequence
from numbers import Integral
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from squeeze.coding.suffixes import Ints
from squeeze.errors import InputError

T = TypeVar("T")
Flags = npt.NDArray[np.bool_]

TOP = 2**63 - 1
ALLOWED = "allowed: whole numbers from 0 to 2**63 - 1"


def plain_ids(ids: Iterable[int], what: str) -> list[int]:
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
                raise InputError(f"{what} {token!r} at position {at} is {type(token).__name__}; {ALLOWED}")
        tokens = [int(token) for token in tokens]
    if tokens and not 0 <= min(tokens) <= max(tokens) <= TOP:
        at = next(at for at, token in enumerate(tokens) if not 0 <= token <= TOP)
        raise InputError(f"{what} {tokens[at]} at position {at} is out of range; {ALLOWED}")
    return tokens


def bounds(reserved: range) -> tuple[int, int]:
    """The smallest and the largest member, without walking through a range that may be huge."""
    return min(reserved[0], reserved[-1]), max(reserved[0], reserved[-1])


def among(values: Ints, reserved: Sequence[int]) -> Flags:
    """Which values are reserved."""
    if isinstance(reserved, range):  # perhaps a huge one: by its bounds
        low, high = bounds(reserved)
        inside: Flags = (values >= low) & (values <= high)
        inside &= (values - reserved.start) % reserved.step == 0
        return inside
    return np.isin(values, np.array(list(reserved), dtype=np.int64))


def draw(pool: Sequence[T], count: int, taken: Collection[T], seed: int) -> list[T]:
    """Members of the pool that are not taken, each as likely as any other, none twice."""
    chance = random.Random(seed)  # `random()` draws the same on every version; `sample` does not promise to
    moved: dict[int, int] = {}  # a shuffle of which only the first places are made, so that the pool may be huge
    drawn: list[T] = []
    at = 0
    while len(drawn) < count:
        other = at + int(chance.random() * (len(pool) - at))
        member = pool[moved.get(other, other)]
        moved[other] = moved.get(at, at)
        at += 1
        if member not in taken:
            drawn.append(member)
    return drawn
