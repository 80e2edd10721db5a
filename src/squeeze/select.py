"""The hard-budget choice: which units come into the result, counted on the rendered text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from squeeze.score.base import Corpus
from squeeze.types import Span

Measure = Callable[[Iterable[int]], int]
"""Tokens of the rendered result of some units."""

MeasureWith = Callable[[Iterable[int], Mapping[int, Span]], int]
"""Tokens of the rendered result of some units and of spans of others."""

_ROUNDS = 8
"""How often the estimate of the rendered length is corrected before the best choice so far is taken."""

_TOP_UPS = 16
"""How many further units are tried one by one for the room that is left."""


Picks = dict[int, bool]
"""Chosen units in order of choice; the value says whether the unit was wanted itself or is needed by another."""


@dataclass(frozen=True)
class Costs:
    """What units cost in tokens, each counted alone: exact enough to choose by, corrected by counting the whole.

    Attributes:
        unit: tokens of each unit, (units,).
        gap: tokens that a gap mark adds, (passages,).
        passage: tokens that the first kept unit of a passage adds (joiner, title, overhead), (passages,).
    """

    unit: list[int]
    gap: list[int]
    passage: list[int]


@dataclass(frozen=True)
class Choice:
    """A choice problem.

    Attributes:
        corpus: all units.
        order: unit indices, most wanted first.
        costs: their costs.
        strict: stop at the first unit that does not fit, and do not skip it.
    """

    corpus: Corpus
    order: Sequence[int]
    costs: Costs
    strict: bool = False

    @cached_property
    def passages(self) -> list[int]:
        """Passage index of each unit."""
        return [int(p) for p in self.corpus.passage]

    @cached_property
    def needs(self) -> list[tuple[int, ...]]:
        """What each unit needs directly, as unit indices."""
        out: list[tuple[int, ...]] = []
        for layout in self.corpus.layouts:
            base = len(out)
            out += [tuple(base + need for need in piece.needs) for piece in layout.pieces]
        return out

    def closure(self, unit: int, have: NDArray[np.bool_], room: int | None = None) -> list[int]:
        """The unit and everything it needs, directly or not, that is not in `have`.

        With `room` it is empty where the units cost more than that: long chains are not followed to their end again
        and again.
        """
        stack, found, cost = [unit], {unit}, self.costs.unit[unit]
        while stack and (room is None or cost <= room):
            for need in self.needs[stack.pop()]:
                if need not in found and not have[need]:
                    found.add(need)
                    stack.append(need)
                    cost += self.costs.unit[need]
        return [] if room is not None and cost > room else sorted(found)

    def greedy(self, target: int) -> Picks:
        """Units in order of choice, with what they need, while their estimated cost stays within `target`."""
        have = np.zeros(len(self.corpus), dtype=bool)
        used = [False] * len(self.costs.passage)
        spent, out = 0, Picks()
        for unit in self.order:
            if have[unit]:
                continue
            group = self.closure(unit, have, target - spent) if self.needs[unit] else [unit]
            cost = self._cost(group, have, used)
            if not group or spent + cost > target:
                if self.strict:
                    break
                continue
            spent += cost
            for member in group:
                have[member] = True
                used[self.passages[member]] = True
            out.update((member, member == unit) for member in group)
        return out

    def _cost(self, group: list[int], have: NDArray[np.bool_], used: list[bool]) -> int:
        total = 0
        for unit in group:
            total += self.costs.unit[unit]
            passage = self.passages[unit]
            if used[passage]:
                total += self.costs.gap[passage] * (1 - self._touches(unit, have))
        for passage in {self.passages[unit] for unit in group}:
            if not used[passage]:
                total += self.costs.passage[passage]
        return total

    def _touches(self, unit: int, have: NDArray[np.bool_]) -> int:
        """How many gap marks the neighbours save: kept neighbours on its two sides."""
        before = unit > 0 and have[unit - 1] and self.passages[unit - 1] == self.passages[unit]
        after = unit + 1 < len(have) and have[unit + 1] and self.passages[unit + 1] == self.passages[unit]
        return int(before) + int(after)


def within(choice: Choice, limit: int, measure: Measure) -> Picks:
    """The units to keep: as many of the most wanted as fit, with what they need.

    Args:
        choice: the units, their order and costs.
        limit: tokens that the rendered result may have.
        measure: tokens of the rendered result of these units.
    """
    target, best, best_size, seen = limit, Picks(), 0, set()
    for _ in range(_ROUNDS):
        if target <= 0 or target in seen:
            break
        seen.add(target)
        units = choice.greedy(target)
        size = measure(units)
        if size <= limit and size > best_size:
            best, best_size = units, size
        if size <= limit and limit - size <= max(2, limit // 100):
            break
        target += limit - size
    if not best:
        best = _shrink(choice, limit, measure)
    return best if choice.strict else _top_up(choice, best, limit, measure)


def _shrink(choice: Choice, limit: int, measure: Measure) -> Picks:
    """The choice of the highest target that fits: for counters that charge more for the whole than for its parts."""
    low, high, best = 0, limit, Picks()
    while low < high:
        middle = (low + high + 1) // 2
        units = choice.greedy(middle)
        if measure(units) <= limit:
            low, best = middle, units
        else:
            high = middle - 1
    return best


def _top_up(choice: Choice, units: Picks, limit: int, measure: Measure) -> Picks:
    """The units and those further ones that still fit when the whole is counted."""
    have = np.zeros(len(choice.corpus), dtype=bool)
    have[list(units)] = True
    room, tries = limit - measure(units), 0
    for unit in choice.order:
        if tries == _TOP_UPS or room <= 0:
            break
        if have[unit] or choice.costs.unit[unit] > room:
            continue
        group = choice.closure(unit, have, room + 1)
        if not group:
            continue
        tries += 1
        more = units | {member: member == unit for member in group}
        size = measure(more)
        if size <= limit:
            units, room = more, limit - size
            have[group] = True
    return units
