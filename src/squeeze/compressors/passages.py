"""`passages`: whole passages by score, the last one cut at a unit."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from squeeze.base import ByScorer
from squeeze.registry import register
from squeeze.score.base import Corpus, Scores
from squeeze.segment.layout import Layout, Node, Piece


@register("passages")
class Passages(ByScorer):
    """Whole passages by score, the last one cut at a unit: what a reranker with a budget does."""

    family: ClassVar[str] = "baseline"
    strict: ClassVar[bool] = True

    def score(self, corpus: Corpus, query: str | None) -> Scores:
        """The score of its passage for each unit."""
        layouts = [_whole(len(passage.text)) for passage in corpus.passages]
        scores = np.asarray(self.scorer.score(Corpus.of(corpus.passages, layouts), query), dtype=np.float64)
        return scores[corpus.passage] if len(corpus) else np.zeros(0)


def _whole(length: int) -> Layout:
    """A passage as one unit."""
    return Layout("plain", (Node(0, length, "document", -1, 0),), (Piece(0, length, "passage", 0),))
