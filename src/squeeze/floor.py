"""What stands for passages of which nothing else is shown: a few words each, chosen together with the near text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from squeeze.allocate import apportion
from squeeze.cutting import cut
from squeeze.score.base import Scores
from squeeze.segment.layout import Layout, Piece
from squeeze.select import Choice, MeasureWith, Picks, within
from squeeze.skim import LEAST_SKIM, clause
from squeeze.types import Span

_TENTH = 0.1
"""Share of the budget within which passages are shown however little they score."""

_CHEAPEST = 8
"""How many of the shortest units that score, of a passage that cannot be cut, are looked at with what they need."""

_LONGEST = 4 * LEAST_SKIM
"""Tokens of a skim that cannot be cut: a longer one costs more near text than it says about a passage."""

Found = tuple[Picks, dict[int, Span]]
"""Units to keep, and spans of further units."""


@dataclass(frozen=True, slots=True)
class Skim:
    """What stands for a passage: the beginning of a clause, or units where nothing may be cut.

    Attributes:
        weight: the best score of the passage.
        unit: the unit of the clause; -1 for none.
        clause: span of the clause.
        units: the units, the last of them for its own sake.
    """

    weight: float
    unit: int = -1
    clause: Span = (0, 0)
    units: tuple[int, ...] = ()


@dataclass(frozen=True)
class Floor:
    """Chooses the best unit first, then a skim of each passage that would not be shown, then all other units.

    Skims take `room` tokens, longer ones where there are few. They take more, each at its shortest, for all passages
    that score `sure` or more, and for all that score at all where a tenth of the limit is enough for these. What the
    limit has no room for beside the best unit is left out, the passages of the lowest scores first.

    Attributes:
        choice: all units, in the order in which they are tried.
        scores: their scores.
        keys: what they are ordered by; above 1 for skims of segments.
        query: the question, or None.
        count: counts the tokens of a text.
        measure: counts the tokens of a result.
        limit: tokens that the result may have.
        room: tokens for skims.
        sure: score from which a passage is shown.
    """

    choice: Choice
    scores: Scores
    keys: Scores
    query: str | None
    count: Callable[[str], int]
    measure: MeasureWith
    limit: int
    room: int
    sure: float

    def chosen(self) -> Found:
        """Units to keep, and the spans that are skims."""
        picks = self._plain
        spans, best, known = dict[int, Span](), self._best(picks), 0
        far = self._unshown(picks, spans)
        while best and len(far) > known:  # what skims take may be the room of a passage that had a unit
            known = len(far)
            picks, spans = self._beside(best, far)
            far += [passage for passage in self._unshown(picks, spans) if passage not in far]
        return picks, spans

    @cached_property
    def _plain(self) -> Picks:
        """What is kept without skims."""
        return within(self.choice, self.limit, lambda units: self.measure(units, {}))

    def _best(self, picks: Picks) -> Picks:
        """The first unit that was chosen and is no skim, with what it needs."""
        have = np.zeros(len(self.choice.corpus), dtype=bool)
        for unit, wanted in picks.items():
            if wanted and self.keys[unit] <= 1:
                return {member: member == unit for member in self.choice.closure(unit, have)}
        return {}

    def _unshown(self, picks: Picks, spans: Mapping[int, Span]) -> list[int]:
        """Passages that score and of which nothing is kept."""
        shown = {self.choice.passages[unit] for unit in (*picks, *spans)}
        return [passage for passage in self._own if passage not in shown and self._weight(passage) > 0]

    @cached_property
    def _own(self) -> dict[int, list[int]]:
        """The units of each passage that may be chosen."""
        own: dict[int, list[int]] = {}
        for unit in self.choice.order:
            own.setdefault(self.choice.passages[unit], []).append(unit)
        return own

    def _weight(self, passage: int) -> float:
        return float(self.scores[self._own[passage]].max())

    def _beside(self, best: Picks, far: Sequence[int]) -> Found:
        """The best unit, skims of far passages, and the further units that fit beside both."""
        skims = [skim for skim in map(self._skim, far) if skim is not None]
        skims.sort(key=lambda skim: -skim.weight)
        base, spans = self._fitting(best, skims)
        if not spans and len(base) == len(best):
            return self._plain, {}
        size = self.measure(base, spans)
        skimmed = {self.choice.passages[unit] for unit in spans}
        order = [
            unit for unit in self.choice.order if unit not in base and self.choice.passages[unit] not in skimmed
        ]  # of a skimmed passage nothing else: its units would overlap the skim
        more = within(
            replace(self.choice, order=order),
            self.limit - size,
            lambda units: self.measure({*base, *units}, spans) - size,
        )
        return more | base, spans

    def _fitting(self, best: Picks, skims: Sequence[Skim]) -> Found:
        """The best unit and as many of the skims as may stand beside it."""
        alone, shortest = self.measure(best, {}), [LEAST_SKIM] * len(skims)

        def takes(number: int, lengths: Sequence[int]) -> int:
            return self.measure(*_joined(best, skims[:number], self._spans(skims[:number], lengths))) - alone

        sure = sum(skim.weight >= self.sure for skim in skims)
        tenth = max(self.room, int(_TENTH * self.limit))
        number = len(skims)
        if takes(number, shortest) > min(self.limit - alone, tenth):
            low, number = 0, number if sure == number else number - 1
            while low < number:
                middle = (low + number + 1) // 2
                allowed = self.limit if middle <= sure else self.room
                fits = takes(middle, shortest) <= min(self.limit - alone, allowed)
                low, number = (middle, number) if fits else (low, middle - 1)
        lengths = self._lengths(skims[:number])
        if takes(number, lengths) > min(self.limit - alone, max(self.room, takes(number, shortest))):
            lengths = shortest
        return _joined(best, skims[:number], self._spans(skims[:number], lengths))

    def _spans(self, skims: Sequence[Skim], lengths: Sequence[int]) -> dict[int, Span]:
        return {
            skim.unit: self._shortened(skim, length)
            for skim, length in zip(skims, lengths, strict=False)
            if skim.unit >= 0
        }

    def _lengths(self, skims: Sequence[Skim]) -> list[int]:
        """Tokens of each skim, so that all together take the room where the shortest take less."""
        least, wholes, extra = list[int](), list[int](), 0
        for skim in skims:
            cuts = skim.unit >= 0
            least.append(self._tokens(skim, self._shortened(skim, LEAST_SKIM)) if cuts else 0)
            wholes.append(self._tokens(skim, skim.clause) if cuts else 0)
            extra += self.choice.costs.passage[self.choice.passages[max(skim.unit, *skim.units, 0)]]
        caps = [max(0, whole - part) for whole, part in zip(wholes, least, strict=True)]
        shares = apportion([skim.weight for skim in skims], caps, max(0, self.room - sum(least) - extra))
        return [max(LEAST_SKIM, part + share) for part, share in zip(least, shares.tolist(), strict=True)]

    def _skim(self, passage: int) -> Skim | None:
        if passage not in self._skims:
            self._skims[passage] = self._made(passage)
        return self._skims[passage]

    @cached_property
    def _skims(self) -> dict[int, Skim | None]:
        return {}

    def _made(self, passage: int) -> Skim | None:
        """The skim of a passage; None where nothing may be cut and its units are long, or mostly tags."""
        if self.choice.corpus.layouts[passage].format == "html":
            return None
        own, weight = self._own[passage], self._weight(passage)
        prose = [unit for unit in own if self._piece(unit).prose]
        if prose and type(self.choice.corpus.layouts[passage]) is Layout:
            unit = max(prose, key=lambda unit: (self.scores[unit], -unit))
            piece = self._piece(unit)
            return Skim(weight, unit, clause(self._text(unit), (piece.start, piece.end), self.query))
        have, costs = np.zeros(len(self.choice.corpus), dtype=bool), self.choice.costs.unit
        groups = []
        for unit in sorted((unit for unit in own if self.scores[unit] > 0), key=lambda unit: costs[unit])[:_CHEAPEST]:
            needed = [member for member in self.choice.closure(unit, have) if member != unit]
            groups.append((*needed, unit))
        size, units = min((sum(costs[unit] for unit in group), group) for group in groups)
        return Skim(weight, units=units) if size <= _LONGEST else None

    def _shortened(self, skim: Skim, length: int) -> Span:
        """The longest beginning of a clause, in words, of so many tokens; one word at least."""
        tried: list[Span] = []

        def fits(span: Span) -> bool:
            tried.append(span)
            return self._tokens(skim, span) <= length

        return cut(self._text(skim.unit), skim.clause, fits) or tried[0]

    def _tokens(self, skim: Skim, span: Span) -> int:
        return self.count(self._text(skim.unit)[slice(*span)].strip())

    def _piece(self, unit: int) -> Piece:
        corpus = self.choice.corpus
        return corpus.layouts[int(corpus.passage[unit])].pieces[int(corpus.piece[unit])]

    def _text(self, unit: int) -> str:
        return self.choice.corpus.passages[self.choice.passages[unit]].text


def _joined(best: Picks, skims: Sequence[Skim], spans: dict[int, Span]) -> Found:
    """The best unit, the units of skims that are not cut, and the spans of those that are."""
    picks = dict(best)
    for skim in skims:
        picks |= {unit: unit == skim.units[-1] for unit in skim.units}
    return picks, spans
