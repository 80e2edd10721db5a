"""`passages`: whole passages by score, the last one cut at a unit."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from squeeze.base import Selector
from squeeze.registry import register
from squeeze.score.base import Corpus, Scores, load_scorer
from squeeze.segment.layout import Layout, Node, Piece


@register("passages")
class Passages(Selector):
    """Whole passages by score, the last one cut at a unit: what a reranker with a budget does."""

    family: ClassVar[str] = "baseline"
    strict: ClassVar[bool] = True

    def __init__(self, *, scorer: Any = "bm25", **options: Any) -> None:
        """Takes the options of every selector and a scorer.

        Args:
            scorer: a scorer's name, a `Scorer`, or a callable `(passage texts, query) -> scores`.
            options: the options of `Selector`.
        """
        super().__init__(**options)
        self.scorer = load_scorer(scorer)

    @classmethod
    def example(cls) -> Self:
        """An instance with its defaults."""
        return cls()

    def score(self, corpus: Corpus, query: str | None) -> Scores:
        """The score of its passage for each unit."""
        layouts = [_whole(len(passage.text)) for passage in corpus.passages]
        scores = np.asarray(self.scorer.score(Corpus.of(corpus.passages, layouts), query), dtype=np.float64)
        return scores[corpus.passage] if len(corpus) else np.zeros(0)


def _whole(length: int) -> Layout:
    """A passage as one unit."""
    return Layout("plain", (Node(0, length, "document", -1, 0),), (Piece(0, length, "passage", 0),))
