"""The scorer protocol, what a scorer sees, and how a scorer is named."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from squeeze.errors import ConfigError, UnknownMethodError, nearest
from squeeze.segment.layout import Layout
from squeeze.types import Passage

Scores = NDArray[np.float64]

_SCORERS = {
    "bm25": ("squeeze.score.lexical", "Bm25"),
    "cross_encoder": ("squeeze.score.cross_encoder", "CrossEncoder"),
    "embedding": ("squeeze.score.embedding", "Embedding"),
    "ranker": ("squeeze.score.ranker", "Ranker"),
}
"""Name of a scorer -> its module and class, imported on first use."""

_WITH_MODEL = ("cross_encoder", "embedding")
"""Scorers after whose name a colon and a model may stand."""

DEFAULT_SCORER = "ranker"
"""The scorer of methods that rank sentences."""


@dataclass(frozen=True)
class Corpus:
    """All units of all passages of one call, in source order.

    Attributes:
        passages: the input.
        layouts: the segmentation of each passage.
        passage: passage index of each unit, (units,).
        piece: index of each unit in the pieces of its passage, (units,).
    """

    passages: tuple[Passage, ...]
    layouts: tuple[Layout, ...]
    passage: NDArray[np.int64]
    piece: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.passage)

    @cached_property
    def texts(self) -> list[str]:
        """The text of each unit, without white space at its ends."""
        return [
            passage.text[piece.start : piece.end].strip()
            for passage, layout in zip(self.passages, self.layouts, strict=True)
            for piece in layout.pieces
        ]

    @cached_property
    def kinds(self) -> list[str]:
        """The kind of each unit (see `squeeze.segment.layout.Piece`)."""
        return [piece.kind for layout in self.layouts for piece in layout.pieces]

    @classmethod
    def of(cls, passages: Sequence[Passage], layouts: Sequence[Layout]) -> Corpus:
        """The corpus of these passages and their layouts."""
        sizes = [len(layout.pieces) for layout in layouts]
        passage = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
        piece = np.concatenate([np.arange(n, dtype=np.int64) for n in sizes]) if sizes else np.zeros(0, np.int64)
        return cls(tuple(passages), tuple(layouts), passage, piece)


@runtime_checkable
class Scorer(Protocol):
    """Gives every unit a score from 0 to 1. It must be deterministic, thread-safe and picklable."""

    def score(self, corpus: Corpus, query: str | None) -> Scores:
        """Scores of all units, (units,), each from 0 to 1, relative to the best that the query could reach.

        Args:
            corpus: all units of all passages.
            query: a question with at least one character that is not white space, or None.
        """
        ...


class _FromCallable:
    """A scorer made of a plain function `(unit texts, query) -> scores`."""

    def __init__(self, function: Callable[[list[str], str], Sequence[float]]) -> None:
        self._function = function

    def score(self, corpus: Corpus, query: str | None) -> Scores:
        if query is None:
            from squeeze.score.salience import salience

            return salience(corpus)
        return np.asarray(self._function(list(corpus.texts), query), dtype=np.float64)


def scorer_names() -> list[str]:
    """Names of the scorers that ship with squeeze."""
    return sorted(_SCORERS)


def load_scorer(spec: Any, **options: Any) -> Scorer:
    """The scorer of that name, or the given one.

    Args:
        spec: a name, one with a model (`"embedding:FOLDER or hub name"`), a `Scorer`, or a callable
            `(unit texts, query) -> scores`.
        options: passed to the scorer of that name.

    Raises:
        UnknownMethodError: no scorer has the name.
        ConfigError: it is neither a name, nor a scorer, nor a callable.
    """
    if isinstance(spec, str):
        name, _, model = spec.partition(":")
        if model and name in _WITH_MODEL:
            spec, options = name, {"model": model, **options}
        if spec not in _SCORERS:
            raise UnknownMethodError(f"no scorer is called {spec!r}; {nearest(spec, _SCORERS)}")
        module, kind = _SCORERS[spec]
        scorer: Scorer = getattr(importlib.import_module(module), kind)(**options)
        return scorer
    if isinstance(spec, type):
        raise ConfigError(f"scorer is the class {spec.__name__}; give an instance of it")
    if isinstance(spec, Scorer):
        return spec
    if callable(spec):
        return _FromCallable(spec)
    raise ConfigError(f"scorer is {spec!r}; allowed: a name, a Scorer, or a callable (unit texts, query) -> scores")
