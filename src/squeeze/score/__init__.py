"""Scorers: how well each unit answers the query. One file per scorer; `load_scorer` finds them by file name."""

from squeeze.score.base import Corpus, Scorer, load_scorer

__all__ = ["Corpus", "Scorer", "load_scorer"]
