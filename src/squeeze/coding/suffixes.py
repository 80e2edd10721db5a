"""The suffix array of a sequence of ids, and what its neighbours share, in numpy alone.

Sorting by prefixes of doubled length as Larsson and Sadakane do it (only what is still tied is sorted again); shared
lengths by way of the irreducible ones (Kärkkäinen, Manzini, Puglisi, "Permuted longest-common-prefix array", 2009),
whose sum is small, so that comparing symbol by symbol costs no more than the sort. Packages that do this in C weigh
more than the rest of squeeze's core together or ship no wheels.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Order = npt.NDArray[np.int32 | np.int64]

_TABLE = 1 << 17
_KEY = 1 << 63
_FEW = 4  # symbols compared at first; each time all of them are equal, twice as many follow
_PAIRS = 1 << 16  # pairs compared at once
_CELLS = 1 << 18  # symbols compared at once, for all pairs together; small enough to stay in the cache


def dense(ids: npt.ArrayLike) -> Order:
    """The ids renamed to 0, 1, 2, … in ascending order, so that large ids cost no more than small ones."""
    values = np.asarray(ids, dtype=np.int64)
    kind = _kind(len(values))
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    if high - low <= _TABLE + 4 * len(values):  # a table of the ids is quicker than sorting them
        table = np.zeros(high - low + 1, dtype=kind)
        table[values - low] = 1
        np.cumsum(table, out=table)
        table -= 1
        return table[values - low]
    return np.unique(values, return_inverse=True)[1].reshape(-1).astype(kind)


def suffix_order(symbols: Order) -> tuple[Order, Order]:
    """The suffix array of dense symbols, and how many symbols each suffix shares with the next one in it."""
    if not len(symbols):
        return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32)
    order = _sort(symbols)
    return order, _shared(symbols, order)


def _kind(size: int) -> np.dtype[np.int32 | np.int64]:
    return np.dtype(np.int32 if size < 1 << 31 else np.int64)


def _sort(symbols: Order) -> Order:
    """The suffix array: a first sort by as many symbols as an integer holds, then the tied by twice as many, ..."""
    size = len(symbols)
    key, length = _packed(symbols)
    # the sort must be stable: it keeps the order of positions, which makes the next sort of a run or a period quick
    order = np.argsort(key, kind="stable").astype(_kind(size))
    key = key[order]
    rank = np.zeros(size + 1, dtype=order.dtype)  # 1 + where the group of a suffix begins; 0 for the empty suffix
    where, at = order, np.arange(size, dtype=order.dtype)
    while True:
        first = np.ones(len(at) + 1, dtype=np.bool_)  # where a group begins, the end included
        np.not_equal(key[1:], key[:-1], out=first[1:-1])
        del key
        rank[where] = np.maximum.accumulate(np.where(first[:-1], at, 0)) + 1
        at = at[~(first[:-1] & first[1:])]
        if not len(at):
            return order
        where = order[at]
        key = rank[where].astype(np.int64)
        key *= size + 1
        key += rank[np.minimum(where, size - length) + length]
        again = np.argsort(key, kind="stable")
        key, where = key[again], where[again]
        del again
        order[at] = where
        length = min(2 * length, size)


def _packed(symbols: Order) -> tuple[Ints, int]:
    """The first symbols of every suffix as one integer, and how many there are in it."""
    key = symbols.astype(np.int64) + 1  # 0 is what follows the end
    length, base = 1, int(symbols.max()) + 2
    while base * base < _KEY and length < len(symbols):
        behind = key[length:].copy()
        key *= base
        key[:-length] += behind
        length, base = 2 * length, base * base
    return key, length


def _shared(symbols: Order, order: Order) -> Order:
    """How many symbols neighbours in the suffix array share.

    Where a suffix and its neighbour follow the same symbol, they share one symbol less than the suffix before and its
    neighbour do; only the others, the irreducible ones, are compared.
    """
    size = len(symbols)
    ended = np.append(symbols, symbols.dtype.type(-1))
    following = np.empty(size, dtype=order.dtype)
    following[order[:-1]] = order[1:]
    following[order[-1]] = size
    irreducible = np.ones(size, dtype=np.bool_)
    irreducible[1:] = (symbols[:-1] != ended[following[1:] - 1]) | (following[1:] == 0)
    irreducible[order[-1]] = True
    first = np.flatnonzero(irreducible).astype(order.dtype)
    level = np.zeros(len(first), dtype=order.dtype)  # where the shared stretch ends
    for start in range(0, len(first), _PAIRS):
        part = first[start : start + _PAIRS]
        level[start : start + _PAIRS] = part + _common(ended, part, following[part])
    del following
    shared = level[np.cumsum(irreducible, dtype=order.dtype) - 1]
    shared -= np.arange(size, dtype=order.dtype)
    return shared[order]


def _common(ended: Order, one: Order, other: Order) -> Ints:
    """How many symbols pairs of suffixes share; the last symbol is like no other."""
    common = np.zeros(len(one), dtype=np.int64)
    one, other, pair = one.astype(np.int64), other.astype(np.int64), np.arange(len(one))
    width = _FEW
    while len(pair):
        width = min(width, _CELLS // len(pair))
        steps = np.arange(width)
        differ = ended.take(one[:, None] + steps, mode="clip") != ended.take(other[:, None] + steps, mode="clip")
        at = differ.argmax(axis=1)
        equal = ~differ[np.arange(len(pair)), at]
        common[pair] += np.where(equal, width, at)
        pair, one, other = pair[equal], one[equal] + width, other[equal] + width
        width *= 2
    return common
