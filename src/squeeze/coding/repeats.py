"""Which stretches of a sequence occur more than once, and where: a suffix array, read as the intervals of its tree."""

from __future__ import annotations

from array import array
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Order = npt.NDArray[np.int32] | npt.NDArray[np.int64]

_TABLE = 1 << 17
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


def dense(ids: npt.ArrayLike) -> Ints:
    """The ids renamed to 0, 1, 2, … in ascending order, so that large ids cost no more than small ones."""
    values = np.asarray(ids, dtype=np.int64)
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    if high - low <= _TABLE + 4 * len(values):  # a table of the ids is quicker than sorting them
        seen = np.zeros(high - low + 1, dtype=np.int64)
        seen[values - low] = 1
        table: Ints = np.cumsum(seen) - 1
        return table[values - low]
    inverse: Ints = np.unique(values, return_inverse=True)[1]
    return inverse.reshape(-1)


def suffix_order(symbols: Ints) -> tuple[Order, Order]:
    """The suffix array of dense symbols, and how many symbols each suffix shares with the next one in it."""
    if not len(symbols):
        return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32)
    from pydivsufsort import divsufsort, kasai  # loads two shared libraries: only where it is needed

    top = int(symbols.max())
    small = symbols.astype(np.uint8 if top < 1 << 8 else np.uint16 if top < 1 << 16 else np.uint32)
    order = divsufsort(small)
    return order, kasai(small, order)


def find_repeats(ids: npt.ArrayLike, *, min_length: int = 2) -> Repeats:
    """The repeats of at least `min_length` symbols, in time and memory that grow with the length of the sequence.

    A stretch that overlaps itself (a run, a period) has as many repeats as symbols, each with nearly all occurrences
    of the next; of such a chain about two per doubling of the length are kept, so that the occurrences of all
    repeats together stay within a small multiple of the sequence.
    """
    order, shared = suffix_order(dense(ids))
    left, right, length, floor, heir, heir_count = _intervals(shared, min_length)
    count = right - left + 1
    chained = (heir_count >= _NEARLY_ALL * count) & (_octave(heir) == _octave(length))
    keep = ~chained
    return Repeats(order, *(column[keep].astype(np.int64) for column in (left, right, length, floor)))


def _octave(length: Ints) -> Ints:
    octave: Ints = np.floor(2 * np.log2(np.maximum(length, 1))).astype(np.int64)
    return octave


def _intervals(shared: Order, min_length: int) -> tuple[Ints, ...]:
    """Left, right, length, parent's length, and the largest child's length and count of every inner tree node."""
    out = array("i" if len(shared) < 1 << 31 else "q")  # on a long run this is the largest thing in memory
    emit = out.extend
    starts, lengths, heirs, heir_counts = [0], [0], [0], [0]
    top = 0
    for index, height in enumerate(np.where(shared < min_length, 0, shared).data):
        if height == top:
            continue
        start, heir, heir_count = index, 0, 0
        while height < top:
            length, start = lengths.pop(), starts.pop()
            below = lengths[-1]
            emit((start, index, length, height if height > below else below, heirs.pop(), heir_counts.pop()))
            heir, heir_count, top = length, index - start + 1, below
            if height <= below and heir_count > heir_counts[-1]:
                heirs[-1], heir_counts[-1] = heir, heir_count
        if height > top:
            starts.append(start)
            lengths.append(height)
            heirs.append(heir)
            heir_counts.append(heir_count)
            top = height
    return tuple(np.array(out, dtype=out.typecode, copy=False).reshape(-1, 6).T)
