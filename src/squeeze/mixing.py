"""Text and vectors in one result: which segments stay text within a budget, and the parts that show them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from squeeze.allocate import Allocator
from squeeze.render import JOINER, Style, trim
from squeeze.score.base import Corpus, Scores
from squeeze.segment.chunks import parts as chunks
from squeeze.segment.layout import Layout
from squeeze.tokens import Tokenizer
from squeeze.types import Passage, SoftPart, Span, TextPart

LEFT, VECTOR, TEXT = 0, 1, 2
"""What becomes of a segment: nothing, one vector, or its text."""

States = NDArray[np.int8]
"""What becomes of each segment, (segments,)."""

_OVERLONG = 4  # times the width of a segment from which on a unit is cut
_TITLE = 32  # most tokens of a title
_TRIES = 8  # further segments that are tried where there is room left


class Segment(NamedTuple):
    """Neighbouring units of a passage; the segments of a passage tile it, those of a blank one are none."""

    passage: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Stretched:
    """The segments of all passages, in source order.

    Attributes:
        segments: where they lie.
        sizes: tokens of each, counted alone, at least 1.
    """

    segments: list[Segment]
    sizes: list[int]


def stretched(
    passages: Sequence[Passage], layouts: Sequence[Layout], count: Callable[[Sequence[str]], list[int]], width: int
) -> Stretched:
    """Passages as segments of about `width` tokens.

    Units are packed while they fit; a longer one is a segment by itself, and cut where it is several times as long.
    """
    segments = [
        Segment(index, *span)
        for index, (passage, layout) in enumerate(zip(passages, layouts, strict=True))
        for span in _packed(passage.text, layout, count, width)
    ]
    sizes = count([passages[index].text[start:end] for index, start, end in segments])
    return Stretched(segments, [max(1, size) for size in sizes])


def _packed(text: str, layout: Layout, count: Callable[[Sequence[str]], list[int]], width: int) -> list[Span]:
    spans: list[Span] = []
    filled = 0
    for (start, end), size in _cut(text, layout, count, width):
        if spans and (filled + size <= width or not text[start:end].strip() or not text[slice(*spans[-1])].strip()):
            spans[-1] = (spans[-1][0], end)
            filled += size
        else:
            spans.append((start, end))
            filled = size
    return spans if text.strip() else []


def _cut(
    text: str, layout: Layout, count: Callable[[Sequence[str]], list[int]], width: int
) -> Iterator[tuple[Span, int]]:
    """The units of a passage with their tokens, overlong ones in parts."""
    sizes = count([text[piece.start : piece.end] for piece in layout.pieces])
    for piece, size in zip(layout.pieces, sizes, strict=True):
        length = piece.end - piece.start
        if size <= _OVERLONG * width:
            yield (piece.start, piece.end), size
            continue
        spans = list(chunks(text, (piece.start, piece.end), max(1, length * width // size)))
        yield from zip(spans, count([text[start:end] for start, end in spans]), strict=True)


def titled_ids(
    spells: Tokenizer, passages: Sequence[Passage], segments: Sequence[Segment]
) -> list[tuple[list[int], int]]:
    """The ids of each segment behind the beginning of its passage's title, and how many of them are the title's."""
    titles = [spells.encode(f"{own.title.strip()}\n")[:_TITLE] if own.title.strip() else [] for own in passages]
    out = []
    for index, start, end in segments:
        own = spells.encode(passages[index].text[start:end]) or [0]  # a tokenizer may leave all of a text out
        out.append(([*titles[index], *own], len(titles[index])))
    return out


def best_units(found: Stretched, corpus: Corpus, scores: Scores) -> Scores:
    """For each segment the best score of the units that it has something of, (segments,)."""
    pieces = [piece for layout in corpus.layouts for piece in layout.pieces]
    best, at = np.zeros(len(found.segments)), 0
    for index, (passage, start, end) in enumerate(found.segments):
        while at < len(pieces) and (corpus.passage[at] < passage or pieces[at].end <= start):
            at += 1
        own = at
        while own < len(pieces) and corpus.passage[own] == passage and pieces[own].start < end:
            best[index] = max(best[index], scores[own])
            own += 1
    return best


@dataclass(frozen=True)
class Mix:
    """One choice between text and vectors.

    Attributes:
        passages: the input.
        layouts: the segmentation of each passage.
        found: the segments.
        scores: of each segment; higher is better.
        style: gap mark and titles.
        measure: tokens of some parts as a reader reads them, overheads included.
    """

    passages: tuple[Passage, ...]
    layouts: tuple[Layout, ...]
    found: Stretched
    scores: Scores
    style: Style
    measure: Callable[[Sequence[TextPart | SoftPart]], int]

    def states(self, allocator: Allocator, limit: int, most: int) -> States:
        """What becomes of each segment within `limit` tokens.

        The best segments, `most` at first, get a vector; the allocator shares what is left over them, and those whose
        share covers most of them become text, the fullest share first. Vectors of the rest follow while there is room.

        Args:
            allocator: shares the budget.
            limit: most tokens and vectors together, overheads of shown passages included.
            most: vectors that come before any text; 0 for no vectors at all, so that what is not text is left out.
        """
        best = np.argsort(-self.scores, kind="stable").tolist()
        states = np.zeros(len(best), dtype=np.int8)
        self._show(states, best, most, limit)
        shown = [index for index in range(len(best)) if states[index] or not most]
        sizes = [self.found.sizes[index] for index in shown]
        room = max(0, limit - self._measured(states)) + int((states == VECTOR).sum())
        shares = allocator.share(sizes, self.scores[shown].tolist(), room)
        order = sorted(range(len(shown)), key=lambda at: (-shares[at] / sizes[at], -self.scores[shown[at]], at))
        self._open(states, [shown[at] for at in order], limit)
        if most:
            self._show(states, best, len(best), limit)
        return states

    def _show(self, states: States, best: Sequence[int], most: int, limit: int) -> None:
        """Gives vectors to the best segments that have nothing, up to `most`, while the limit holds."""
        spent, made = self._measured(states), list[int]()
        seen = self._seen(states)
        for index in best:
            passage = self.found.segments[index].passage
            cost = 1 + (0 if passage in seen else self.passages[passage].overhead)
            if states[index] or len(made) >= most or spent + cost > limit:
                continue
            states[index] = VECTOR
            seen.add(passage)
            made.append(index)
            spent += cost
        while made and self._measured(states) > limit:  # a joiner may have come in, where a passage stands next to text
            states[made.pop()] = LEFT

    def _open(self, states: States, order: Sequence[int], limit: int) -> None:
        """Turns what is shown otherwise, or not, into text, in this order, while the limit holds."""
        before, seen = states.copy(), self._seen(states)
        opened: list[int] = []
        spent, tried = self._measured(states), 0
        for index in order:
            passage = self.found.segments[index].passage
            cost = self.found.sizes[index] - int(states[index] == VECTOR)
            cost += 0 if passage in seen else self.passages[passage].overhead
            if spent + cost <= limit:
                opened.append(index)
                states[index] = TEXT
                seen.add(passage)
                spent += cost
        while opened and self._measured(states) > limit:  # joiners, titles and gaps come on top of sizes
            at = opened.pop()
            states[at] = before[at]
        for index in order:
            if states[index] != TEXT and tried < _TRIES:
                tried += 1
                states[index] = TEXT
                if self._measured(states) > limit:
                    states[index] = before[index]

    def _seen(self, states: States) -> set[int]:
        """Passages of which something is shown."""
        return {self.found.segments[index].passage for index in np.flatnonzero(states).tolist()}

    def _measured(self, states: States) -> int:
        return self.measure(self.parts(states))

    def parts(self, states: States, vectors: Any = None, fingerprint: str = "") -> list[TextPart | SoftPart]:
        """The parts that show segments as their states say.

        Args:
            states: what becomes of each.
            vectors: one for each segment, (segments, width); None where parts are only to be measured.
            fingerprint: of the vectors.
        """
        rows = np.empty((len(states), 0), dtype=np.float32) if vectors is None else vectors
        titled = {self.found.segments[index].passage for index in np.flatnonzero(states == TEXT).tolist()}
        out: list[TextPart | SoftPart] = []
        for first, last in self._runs(states):
            passage, start, end = self.found.segments[first]
            if states[first] == TEXT:
                span = (start, self.found.segments[last - 1].end)
                out.append(self._text(passage, span, out))
            else:
                lead = self._lead(passage, out, passage in titled, text=False)
                out.append(SoftPart(passage, start, end, rows[first:last], fingerprint, lead))
        return out

    def _runs(self, states: States) -> Iterator[tuple[int, int]]:
        """Ranges of segments that make one part: touching ones kept as text, each vector by itself."""
        shown = np.flatnonzero(states).tolist()
        edges = [0] * bool(shown)
        for at, (left, right) in enumerate(pairwise(shown), 1):
            touching = right == left + 1 and self.found.segments[left].passage == self.found.segments[right].passage
            if not (touching and states[left] == states[right] == TEXT):
                edges.append(at)
        for begin, stop in pairwise([*edges, len(shown)]):
            yield shown[begin], shown[stop - 1] + 1

    def _text(self, passage: int, span: Span, before: Sequence[TextPart | SoftPart]) -> TextPart:
        """The part of a run of text, without white space at its ends."""
        text, layout = self.passages[passage].text, self.layouts[passage]
        start, end = trim(text, *span, layout.gap == "line")
        if not before or before[-1].passage != passage:
            lead = self._lead(passage, before, titled=True, text=True)
        elif isinstance(before[-1], TextPart):
            lead = self.style.between(text[before[-1].end : start], layout)
        else:
            stretch = text[before[-1].start : start]
            space = stretch[len(stretch.rstrip()) :]
            lead = "\n" if "\n" in space else " " if space else ""
        return TextPart(passage, start, end, text[start:end], lead)

    def _lead(self, passage: int, before: Sequence[TextPart | SoftPart], titled: bool, *, text: bool) -> str:
        """What stands before the first part of a passage: a joiner where text touches it, a title where text follows.

        Nothing stands between passages of which both sides are vectors, so that skimming costs vectors alone.
        """
        if before and before[-1].passage == passage:
            return ""
        title = self.style.above(self.passages[passage], first=True) if titled else ""
        apart = bool(before) and (text or bool(title) or isinstance(before[-1], TextPart))
        return JOINER + title if apart else title
