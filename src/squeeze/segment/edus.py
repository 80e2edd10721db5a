"""Elementary discourse units: the clause-like pieces of a sentence that can be kept or dropped by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol

from squeeze.segment.edu_model import LearnedCutter
from squeeze.segment.edu_rules import RuleCutter, language_of
from squeeze.segment.sentences import sentence_spans


class Cutter(Protocol):
    """Finds where clauses begin inside sentences; the seam for a stronger model."""

    def cuts(self, text: str, spans: Sequence[tuple[int, int]]) -> list[list[int]]:
        """Ascending offsets strictly inside each span, none of which cuts a grapheme cluster."""
        ...


def edu_spans(text: str, *, cutter: Cutter | None = None) -> list[tuple[int, int]]:
    """The EDUs of the text as consecutive spans from 0 to its end; white space belongs to the EDU before it.

    An empty text has none.
    """
    sentences = sentence_spans(text)
    return [edu for edus in cut_sentences(text, sentences, cutter=cutter) for edu in edus]


def cut_sentences(
    text: str, spans: Sequence[tuple[int, int]], *, cutter: Cutter | None = None
) -> list[list[tuple[int, int]]]:
    """For each sentence span the consecutive spans of its EDUs, which together cover it.

    Args:
        text: the whole text; it also decides the language.
        spans: ascending sentences of it, not overlapping.
        cutter: what finds the cuts; by default the one for the text's language.
    """
    if not spans:
        return []
    chosen = cutter if cutter is not None else cutter_for(text)
    pieces = []
    for (start, end), cuts in zip(spans, chosen.cuts(text, spans), strict=True):
        edges = [start, *cuts, end]
        pieces.append(list(pairwise(edges)))
    return pieces


def cutter_for(text: str) -> Cutter:
    """The cutter for the language of the text: learned for English, rules for every other."""
    language = language_of(text)
    return LearnedCutter() if language == "en" else RuleCutter(language)
