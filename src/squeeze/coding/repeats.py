"""Which stretches of a sequence occur more than once, and where: a suffix array, read as the intervals of its tree."""

from __future__ import annotations

from array import array
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from squeeze.coding.suffixes import Ints, Order, dense, suffix_order

_NEARLY_ALL = 0.9  # a longer repeat with this share of the occurrences stands in for a shorter one of about its length


@dataclass(frozen=True, slots=True)
class Repeats:
    """Every repeat that cannot be made longer without losing an occurrence, as intervals of a suffix array.

    Attributes:
        order: the suffix array: starts of the suffixes in sorted order.
        left: first index into `order` of each repeat.
        right: last index into `order` of each repeat, itself included.
        length: symbols of each repeat.
        floor: the longest shorter prefix that has more occurrences (a repeat of its own); 0 if there is none.
    """

    order: Order
    left: Ints
    right: Ints
    length: Ints
    floor: Ints

    def __len__(self) -> int:
        return len(self.length)

    @property
    def counts(self) -> Ints:
        """Occurrences of each repeat, those that overlap themselves included."""
        return self.right - self.left + 1


def find_repeats(ids: npt.ArrayLike, *, min_length: int = 2) -> Repeats:
    """The repeats of at least `min_length` symbols, in time and memory that grow with the length of the sequence.

    A stretch that overlaps itself (a run, a period) has as many repeats as symbols, each with nearly all occurrences
    of the next; of such a chain about two per doubling of the length are kept, so that the occurrences of all
    repeats together stay within a small multiple of the sequence.
    """
    order, shared = suffix_order(dense(ids))
    return Repeats(order, *_intervals(shared, min_length).reshape(-1, 4).T.astype(np.int64, order="C"))


def _intervals(shared: Order, min_length: int) -> Order:
    """Left, right, length, and parent's length of every inner tree node that is no mere link of a chain."""
    code = "i" if shared.itemsize == 4 else "q"
    out = array(code)
    emit = out.extend
    # The path from the root: of each node the start, the length, and the length and count of its largest child. Starts
    # and lengths as the objects of a list would be the largest thing in memory on a long run.
    starts, lengths, heirs, heir_counts = array(code, [0]), array(code, [0]), [0], [0]
    top = 0
    for index, height in enumerate(np.where(shared < min_length, 0, shared).data):
        if height == top:
            continue
        start, heir, heir_count = index, 0, 0
        while height < top:
            length, start = lengths.pop(), starts.pop()
            heir, heir_count = heirs.pop(), heir_counts.pop()
            below, count = lengths[-1], index - start + 1
            if heir_count < _NEARLY_ALL * count or _octave(heir) != _octave(length):
                emit((start, index, length, height if height > below else below))
            heir, heir_count, top = length, count, below
            if height <= below and heir_count > heir_counts[-1]:
                heirs[-1], heir_counts[-1] = heir, heir_count
        if height > top:
            starts.append(start)
            lengths.append(height)
            heirs.append(heir)
            heir_counts.append(heir_count)
            top = height
    return np.frombuffer(out, dtype=shared.dtype) if out else shared[:0]


def _octave(length: int) -> int:
    """The whole part of twice the binary logarithm."""
    return (length * length).bit_length()
