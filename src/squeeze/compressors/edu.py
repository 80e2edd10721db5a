"""`edu`: units of the passages picked by score, with what they need, under a hard budget."""

from __future__ import annotations

from typing import Any, Self

from squeeze.base import Selector
from squeeze.registry import register
from squeeze.score.base import DEFAULT_SCORER, Corpus, Scores, load_scorer


@register("edu")
class Edu(Selector):
    """Sentences or clauses by score, each with what it needs (heading, table header, lead-in), in source order.

    After the EDU-based compressor LingoEDU (arXiv 2512.14244): a tree of discourse units with exact anchors, units
    ranked against the query over all passages together, a hard token budget, headings kept, output in source order.
    The tree comes from rules here and not from a language model.
    """

    def __init__(self, *, scorer: Any = DEFAULT_SCORER, **options: Any) -> None:
        """Takes the options of every selector and a scorer.

        Args:
            scorer: a scorer's name, a `Scorer`, or a callable `(unit texts, query) -> scores`.
            options: the options of `Selector`.
        """
        super().__init__(**options)
        self.scorer = load_scorer(scorer)

    @classmethod
    def example(cls) -> Self:
        """An instance with its defaults."""
        return cls()

    def score(self, corpus: Corpus, query: str | None) -> Scores:
        """The scorer's scores."""
        return self.scorer.score(corpus, query)
