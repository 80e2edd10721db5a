"""Markers in place of chosen phrases, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, repeat
from typing import TypeVar

import numpy as np

from squeeze.coding.select import Phrase

T = TypeVar("T")


def by_first_use(phrases: Sequence[Phrase]) -> list[Phrase]:
    """The phrases in the order in which a reader of the text meets them."""
    return sorted(phrases, key=lambda phrase: phrase.starts[0])


def swap(symbols: Sequence[T], phrases: Sequence[Phrase], markers: Sequence[T]) -> list[T]:
    """The symbols with `markers[i]` in place of every occurrence of `phrases[i]`.

    Args:
        symbols: the sequence that the phrases were chosen from; a list, so that slices of it are lists.
        phrases: phrases whose occurrences do not overlap, neither within a phrase nor between two.
        markers: one for each phrase, in the same order.
    """
    total = sum(len(phrase.starts) for phrase in phrases)
    starts = np.fromiter(chain.from_iterable(phrase.starts for phrase in phrases), dtype=np.int64, count=total)
    owner = np.fromiter(
        chain.from_iterable(repeat(at, len(phrase.starts)) for at, phrase in enumerate(phrases)), np.int64, count=total
    )
    order = np.argsort(starts)
    out: list[T] = []
    done = 0
    for start, at in zip(starts[order].data, owner[order].data, strict=True):
        out.extend(symbols[done:start])
        out.append(markers[at])
        done = start + phrases[at].length
    out.extend(symbols[done:])
    return out


def expand(body: Sequence[T], entries: Mapping[T, Sequence[T]]) -> list[T]:
    """The body with every marker replaced by its phrase; what is no marker stays."""
    out: list[T] = []
    for symbol in body:
        phrase = entries.get(symbol)
        if phrase is None:
            out.append(symbol)
        else:
            out.extend(phrase)
    return out
