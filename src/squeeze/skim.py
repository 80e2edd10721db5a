"""What is read closely and what is skimmed: segments of passages, and for far ones a clause that stands for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from squeeze.allocate import Allocator, apportion
from squeeze.cutting import cut
from squeeze.score.asking import asks_for
from squeeze.score.base import Corpus, Scores
from squeeze.score.lexical import scores as word_shares
from squeeze.segment.edus import cut_sentences
from squeeze.segment.graphemes import is_break
from squeeze.segment.layout import Layout, Piece
from squeeze.types import Span

_BEST = 3
"""How many units speak for a segment: one may match by chance."""

_LIFT, _LIFT_FACT = 0.8, 0.4
"""What a unit of a near segment counts at least, as a share of the segment's score. The second is for a question that
asks for a time, a number or a name: one sentence answers it, and what leads there may stand in another passage."""

LEAST_SKIM = 4
"""Tokens below which a skim says nothing."""

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Segments:
    """Neighbouring units of a passage, taken together.

    Attributes:
        of: segment of each unit, ascending, (units,).
        passage: passage of each segment, (segments,).
        sizes: tokens of each segment, (segments,).
        scores: the mean of the best three scores of its units, (segments,).
    """

    of: Ints
    passage: Ints
    sizes: Ints
    scores: Scores


def segments(corpus: Corpus, tokens: Sequence[int], scores: Scores, width: int) -> Segments:
    """The units of each passage packed into segments of at most `width` tokens; a longer unit is one by itself."""
    of, filled = np.zeros(len(corpus), dtype=np.int64), 0
    for unit, size in enumerate(tokens):
        if unit:
            fresh = corpus.passage[unit] != corpus.passage[unit - 1] or filled + size > width
            of[unit] = of[unit - 1] + fresh
            filled = size if fresh else filled + size
        else:
            filled = size
    count = int(of[-1]) + 1 if len(of) else 0
    passage = np.zeros(count, dtype=np.int64)
    passage[of] = corpus.passage
    order = np.lexsort((-scores, of))
    place = np.arange(len(of)) - np.searchsorted(of, of)  # among the units of its segment, the best first
    best = np.bincount(of, np.where(place < _BEST, scores[order], 0.0) / _BEST, minlength=count).astype(np.float64)
    sizes = np.bincount(of, np.asarray(tokens, dtype=np.float64), minlength=count).astype(np.int64)
    return Segments(of, passage, sizes, best)


@dataclass(frozen=True, slots=True)
class Reading:
    """How much is read how closely.

    Attributes:
        width: tokens of a segment.
        share: share of the budget that skims may take, 0 to 1.
        allocator: shares the rest over the segments; one that gets its whole size is near.
    """

    width: int
    share: float
    allocator: Allocator


@dataclass(frozen=True, slots=True)
class Plan:
    """The decision for one call, before units are chosen.

    Attributes:
        layouts: the segmentation, skims being pieces of their own.
        scores: of the pieces of each layout.
        keys: what the pieces of each layout are tried by, the highest first: above 1 for skims.
        query: the question, or None.
        room: tokens that skims may take.
    """

    layouts: tuple[Layout, ...]
    scores: tuple[Scores, ...]
    keys: tuple[Scores, ...]
    query: str | None
    room: int


@dataclass(frozen=True)
class Planner:
    """Makes the plan of one call.

    Attributes:
        corpus: all units.
        scores: their scores.
        tokens: their sizes.
        query: the question, or None.
        count: counts the tokens of a text.
        extra: tokens that a further passage adds beside its text (joiner, gap mark).
    """

    corpus: Corpus
    scores: Scores
    tokens: Sequence[int]
    query: str | None
    count: Callable[[str], int]
    extra: int

    def plan(self, reading: Reading, limit: int) -> Plan:
        """What is near within `limit` tokens, and skims of far segments of passages that will be shown."""
        seg = segments(self.corpus, self.tokens, self.scores, reading.width)
        room = int(reading.share * limit)
        shares = reading.allocator.share(seg.sizes.tolist(), seg.scores.tolist(), limit - room)
        near = (shares >= seg.sizes) & (seg.sizes > 0) & (seg.scores > 0)
        keys = np.where(near[seg.of], np.maximum(self.scores, self._lift * seg.scores[seg.of]), self.scores)
        skims = self._skims(seg, keys, limit - room, room)
        layouts, scores, tries, base = [], [], [], 0
        for passage, layout in enumerate(self.corpus.layouts):
            own = np.arange(base, base + len(layout.pieces))
            base += len(own)
            found = {unit - own[0]: skims[unit] for unit in own.tolist() if unit in skims}
            split, origin, skimmed = _split(self.corpus.passages[passage].text, layout, found)
            units = own[origin]
            layouts.append(split)
            scores.append(self.scores[units])
            tries.append(keys[units] + 2.0 * skimmed)
        return Plan(tuple(layouts), tuple(scores), tuple(tries), self.query, room)

    @property
    def _lift(self) -> float:
        return _LIFT_FACT if self.query is not None and any(asks_for(self.query)) else _LIFT

    def _skims(self, seg: Segments, keys: Scores, rest: int, room: int) -> dict[int, Span]:
        """Units of which a span stands for a far segment, within `room` tokens: what `rest` tokens will not reach.

        Passages that will not be reached at all have skims of their own (see `squeeze.floor`).
        """
        passage = self.corpus.passage
        order = np.argsort(-keys, kind="stable")
        reached = order[np.cumsum(np.asarray(self.tokens, dtype=np.int64)[order]) <= rest]
        best, shown = np.zeros(len(self.corpus.passages)), np.zeros(len(self.corpus.passages), dtype=bool)
        np.maximum.at(best, passage, self.scores)
        shown[passage[reached]] = True
        room -= (LEAST_SKIM + self.extra) * int((~shown & (best > 0)).sum())  # that much those passages take
        seen = ~shown[seg.passage]
        seen[seg.of[reached]] = True
        ends = np.searchsorted(seg.of, np.arange(len(seen) + 1))
        parts = [np.arange(*ends[at : at + 2]) for at in np.flatnonzero(~seen & (seg.scores > 0))]
        return self._within(parts, room)

    def _within(self, groups: Sequence[Ints], room: int) -> dict[int, Span]:
        """For each group of units that gets a share, one of them with the span that is its skim."""
        least = LEAST_SKIM + self.extra
        best = sorted(groups, key=lambda group: -self.scores[group].max())[: max(0, room) // least]  # no room for more
        found = [(self._clause(group), float(self.scores[group].max())) for group in best]
        clauses = [(clause, weight) for clause, weight in found if clause is not None]
        caps = [self._cost(unit, span) for (unit, span), _ in clauses]
        shares = apportion([weight for _, weight in clauses], caps, max(0, room), minimum=least)
        skims = dict[int, Span]()
        for ((unit, span), _), cap, share in zip(clauses, caps, shares.tolist(), strict=True):
            if share < min(least, cap):
                continue
            shown = span if share >= cap else self._shortened(unit, span, share)
            if shown is not None:
                skims[unit] = shown
        return skims

    def _clause(self, group: Ints) -> tuple[int, Span] | None:
        """The unit of a group and the clause of it that say most about the query."""
        prose = [unit for unit in group.tolist() if self._piece(unit).prose and self.corpus.texts[unit]]
        if not prose:
            return None
        unit = max(prose, key=lambda index: (self.scores[index], -index))
        piece, text = self._piece(unit), self._text(unit)
        if self._plain(unit):
            return unit, clause(text, (piece.start, piece.end), self.query)
        return unit, (piece.start, piece.end)

    def _shortened(self, unit: int, span: Span, share: int) -> Span | None:
        """The longest beginning of a span, in words, that fits a share."""
        if not self._plain(unit):
            return None
        return cut(self._text(unit), span, lambda part: self._cost(unit, part) <= share)

    def _cost(self, unit: int, span: Span) -> int:
        base, seen, stack = unit - int(self.corpus.piece[unit]), set[int](), [*self._piece(unit).needs]
        while stack:
            need = stack.pop()
            if need not in seen:
                seen.add(need)
                stack += self._piece(base + need).needs
        return (
            self.count(self._text(unit)[slice(*span)].strip()) + self.extra + sum(self.tokens[base + n] for n in seen)
        )

    def _piece(self, unit: int) -> Piece:
        return self.corpus.layouts[int(self.corpus.passage[unit])].pieces[int(self.corpus.piece[unit])]

    def _text(self, unit: int) -> str:
        return self.corpus.passages[int(self.corpus.passage[unit])].text

    def _plain(self, unit: int) -> bool:
        """Whether the unit may be split: a layout that computes its own spans cannot have pieces of pieces."""
        return type(self.corpus.layouts[int(self.corpus.passage[unit])]) is Layout


def clause(text: str, span: Span, query: str | None) -> Span:
    """The clause of a sentence that shares most with the query; the first where several do."""
    spans = [clause for clause in cut_sentences(text, [span])[0] if text[slice(*clause)].strip()]
    shares = word_shares([text[slice(*clause)] for clause in spans], query or "")
    return spans[int(np.argmax(shares))]


def _split(text: str, layout: Layout, skims: dict[int, Span]) -> tuple[Layout, Ints, NDArray[np.bool_]]:
    """A copy of the layout in which each skim is a piece; for each piece its origin and whether it is a skim.

    What is left of a sentence before and behind its skim comes together or not at all, and never without the skim.
    """
    made: list[tuple[int, Span, bool]] = []
    for index, piece in enumerate(layout.pieces):
        if index not in skims:
            made.append((index, (piece.start, piece.end), False))
            continue
        start, end = _with_space(text, skims[index], piece)
        spans = [((piece.start, start), False), ((start, end), True), ((end, piece.end), False)]
        made += [(index, span, skim) for span, skim in spans if span[0] < span[1]]
    parts: dict[int, list[int]] = {}
    for place, (index, _, _) in enumerate(made):
        parts.setdefault(index, []).append(place)
    pieces = []
    for place, (index, (start, end), skim) in enumerate(made):
        piece = layout.pieces[index]
        needs = {part for need in piece.needs for part in parts[need]}
        if not skim:
            needs.update(part for part in parts[index] if part != place)
        pieces.append(piece._replace(start=start, end=end, needs=tuple(sorted(needs))))
    origin = np.array([index for index, _, _ in made], dtype=np.int64)
    return replace(layout, pieces=tuple(pieces)), origin, np.array([skim for _, _, skim in made], dtype=bool)


def _with_space(text: str, span: Span, piece: Piece) -> Span:
    """The span with the white space behind it, and with that before it where it opens the piece."""
    start, end = span
    while end < piece.end and text[end].isspace() and is_break(text, end + 1):
        end += 1
    if not text[piece.start : start].strip():
        start = piece.start
    if not text[end : piece.end].strip():
        end = piece.end
    return start, end
