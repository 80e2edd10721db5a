"""The choice of repeats that save most when each is said once and a short marker stands for every occurrence."""

from __future__ import annotations

import heapq
from bisect import bisect_left
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from squeeze.coding.repeats import Repeats, find_repeats
from squeeze.coding.suffixes import Ints

Order = Literal["best", "share", "saving"]

_SHORT = 20_000  # symbols up to which a second choice costs little
_MANY = 64  # occurrences from which numpy is quicker than a loop
_SHARE_BITS = 30  # shares are compared as integers of this many bits, so that no machine rounds another way


@dataclass(frozen=True, slots=True)
class Costs:
    """What a coded sequence costs, in tokens.

    Attributes:
        marker: one marker in the body.
        entry: what a dictionary entry costs beside its phrase.
        weights: tokens of each symbol of the sequence (whole numbers, the same for equal symbols); None: 1 each.
        least: the smallest saving for which an entry is made, 1 or more.
    """

    marker: int = 1
    entry: int = 1
    weights: npt.ArrayLike | None = None
    least: int = 1


class Phrase(NamedTuple):
    """A stretch that is said once: its symbols, where it stands (ascending, without overlap), the tokens it saves."""

    length: int
    starts: tuple[int, ...]
    saving: int


def select(
    ids: npt.ArrayLike,
    costs: Costs | None = None,
    *,
    limit: int | None = None,
    min_length: int = 2,
    order: Order = "best",
) -> list[Phrase]:
    """The phrases worth saying once, in the order in which they were taken; no two occurrences overlap.

    Greedy with lazy re-evaluation: the best repeat is taken, its symbols are used up, and what that costs the others
    is found out when their turn comes (a value can only fall, so a stale one is an upper bound). Occurrences are
    counted without overlap from left to right. A repeat that lost occurrences in part goes on as its best prefix.

    Args:
        ids: the sequence, any integers.
        costs: what markers, entries and symbols cost.
        limit: the most phrases; None: as many as pay.
        min_length: the shortest phrase, in symbols.
        order: which repeat is the best one. "saving": that which saves most tokens. "share": that which saves most
            for each token it covers; this leaves the rest to phrases that do better there, and saves more in the end
            (up to a fifth more on code and JSON). "best": by share, and where the sequence is short or `limit` binds
            also by saving; what saves more is returned.
    """
    costs = costs or Costs()
    values = np.asarray(ids, dtype=np.int64)
    if len(values) < 2 * min_length or (limit is not None and limit < 1):
        return []
    repeats = find_repeats(values, min_length=min_length)
    if order == "saving":
        return _Selection(repeats, len(values), costs, "saving").run(min_length, limit)
    chosen = _Selection(repeats, len(values), costs, "share").run(min_length, None)
    bound = limit is not None and len(chosen) > limit
    if bound:
        largest = sorted(range(len(chosen)), key=lambda at: (-chosen[at].saving, at))[:limit]
        chosen = [chosen[at] for at in sorted(largest)]
    if order == "share" or not (bound or len(values) <= _SHORT):
        return chosen
    other = _Selection(repeats, len(values), costs, "saving").run(min_length, limit)
    return max(chosen, other, key=lambda phrases: sum(phrase.saving for phrase in phrases))


class _Selection:
    """One run of the greedy choice: candidates in a heap, symbols used up so far."""

    def __init__(self, repeats: Repeats, size: int, costs: Costs, order: Order) -> None:
        self.order, self.costs, self.by_share = repeats.order, costs, order == "share"
        self.used = bytearray(size)
        self.free = np.frombuffer(self.used, dtype=np.uint8)
        self.sums: Ints | None = None
        first = repeats.order[repeats.left].astype(np.int64)
        weight = repeats.length
        if costs.weights is not None:
            self.sums = np.concatenate(([0], np.cumsum(np.asarray(costs.weights, dtype=np.int64))))
            weight = self.sums[first + repeats.length] - self.sums[first]
        count = np.minimum(repeats.counts, size // repeats.length)
        saving = count * (weight - costs.marker) - costs.entry - weight
        worth = (saving << _SHARE_BITS) // np.maximum(count * weight, 1) if self.by_share else saving
        # best first; among equals the larger saving, the longer, the earlier in sorted order
        rank = np.lexsort((repeats.left, -repeats.length, -saving, -worth))
        rank = rank[saving[rank] >= costs.least]
        self.left, self.right = repeats.left[rank], repeats.right[rank] + 1
        self.length, self.floor = repeats.length[rank], repeats.floor[rank]
        self.scale = max(len(rank), 1)
        # one integer a candidate: worth first, then its place in `rank`; ascending, so it is a heap already
        self.heap: list[int] = [at - value * self.scale for at, value in enumerate(worth[rank].tolist())]

    def run(self, min_length: int, limit: int | None) -> list[Phrase]:
        """The phrases, in the order in which they were taken."""
        heap, scale, least = self.heap, self.scale, self.costs.least
        chosen: list[Phrase] = []
        while heap and (limit is None or len(chosen) < limit):
            index = heap[0] % scale
            length = int(self.length[index])
            starts, cut_short = self.occurrences(index, length, min_length)
            worth, saving = self.value(starts[0], length, len(starts)) if starts else (0, 0)
            whole = (worth, length) if saving >= least else (-1, 0)
            worth, best = self.shorten(index, len(starts), cut_short, whole) if cut_short else whole
            key = index - worth * scale
            if not best:
                heapq.heappop(heap)
            elif best == length and key <= min(heap[1:3], default=key):
                heapq.heappop(heap)
                chosen.append(self.take(starts, length, saving))
            else:
                self.length[index] = best
                heapq.heapreplace(heap, key)
        return chosen

    def take(self, starts: list[int], length: int, saving: int) -> Phrase:
        """The phrase, its symbols used up."""
        mark = b"\x01" * length
        for start in starts:
            self.used[start : start + length] = mark
        return Phrase(length, tuple(starts), saving)

    def value(self, start: int, length: int, count: int) -> tuple[int, int]:
        """What the choice goes by, and the tokens saved, for `count` occurrences of the phrase at `start`."""
        weight = length if self.sums is None else int(self.sums[start + length] - self.sums[start])
        saving = count * (weight - self.costs.marker) - self.costs.entry - weight
        return ((saving << _SHARE_BITS) // max(count * weight, 1) if self.by_share else saving), saving

    def occurrences(self, index: int, length: int, min_length: int) -> tuple[list[int], list[tuple[int, int]]]:
        """The free occurrences, left to right without overlap; and those cut short: (free symbols, start)."""
        where = self.order[self.left[index] : self.right[index]]
        if len(where) > _MANY:
            where = where[self.free[where] == 0]
        places: list[int] = where.tolist()
        places.sort()
        starts: list[int] = []
        cut_short: list[tuple[int, int]] = []
        find, end, at, total = self.used.find, 0, 0, len(places)
        while at < total:
            start = places[at]
            if start < end:
                at = bisect_left(places, end, at)
                continue
            at += 1
            stop = find(1, start, start + length)
            if stop < 0:
                starts.append(start)
                end = start + length
            elif stop - start >= min_length:
                cut_short.append((stop - start, start))
        return starts, cut_short

    def shorten(
        self, index: int, count: int, cut_short: list[tuple[int, int]], best: tuple[int, int]
    ) -> tuple[int, int]:
        """Worth and length of the best prefix of a repeat; `best` is what the whole repeat offers, (-1, 0) nothing."""
        floor = int(self.floor[index])
        cut_short.sort(reverse=True)
        for more, (length, start) in enumerate(cut_short, count + 1):
            if length <= floor:
                break
            worth, saving = self.value(start, length, more)
            if saving >= self.costs.least and worth > best[0]:
                best = (worth, length)
        return best
