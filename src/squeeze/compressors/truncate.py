"""`truncate`: the beginning of the input."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from squeeze.base import Selector
from squeeze.registry import register
from squeeze.score.base import Corpus, Scores


@register("truncate")
class Truncate(Selector):
    """The beginning of the input, cut at a word: what happens when nobody compresses."""

    family: ClassVar[str] = "baseline"
    strict: ClassVar[bool] = True
    cuts_last: ClassVar[bool] = True

    @classmethod
    def example(cls) -> Self:
        """An instance with its defaults."""
        return cls()

    def score(self, corpus: Corpus, query: str | None) -> Scores:
        """The same score for all: the earlier unit goes first."""
        return np.ones(len(corpus))
