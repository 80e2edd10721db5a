"""What sentence embeddings say of each unit: how near the query it is, in its passage and by a second hop.

All but the order of cosines depends on the model: those of one lie between 0 and 0.7, of another between 0.7 and 0.9.
So every feature is relative to the other units of the call, and weights fitted with one model hold for others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from squeeze.score.base import Corpus, Scores
from squeeze.score.encoder import Encoder
from squeeze.score.postings import Ints
from squeeze.score.scaling import nearness, standard

_NAMES = """
sim sim_nearness sim_gap sim_of_best sim_titled sim_titled_nearness sim_near sim_before sim_after sim_passage
sim_passage_nearness sim_passage_best sim_title sim_hop sim_link sim_title_hop
"""
SIMILARITIES = tuple(_NAMES.split())
"""The features of embeddings, in the order of the network's inputs."""

_SOURCES, _PER_PASSAGE = 5, 2
"""How many units a second hop may start from, and how many of one passage."""

_FARTHEST = 4.0
"""Gaps to the best are cut there, in spreads."""


@dataclass(frozen=True)
class Embedded:
    """A call's vectors, each of length 1, or all 0 where there is no text.

    Attributes:
        own: the passage of each unit, (units,).
        query: (width,).
        units: (units, width).
        titles: (passages, width).
    """

    own: Ints
    query: Scores
    units: Scores
    titles: Scores

    @classmethod
    def of(cls, corpus: Corpus, query: str, encoder: Encoder) -> Embedded:
        """The vectors of the query, the units and the titles."""
        titles = [passage.title.strip() for passage in corpus.passages]
        texts = [*corpus.texts, *titles]
        filled = np.flatnonzero([bool(text) for text in texts])
        vectors = np.zeros((len(texts), encoder.width))
        vectors[filled] = encoder.texts([texts[index] for index in filled.tolist()])
        asked = encoder.queries([query])[0].astype(np.float64)
        return cls(corpus.passage, asked, vectors[: len(corpus)], vectors[len(corpus) :])

    @cached_property
    def filled(self) -> NDArray[np.bool_]:
        """Which units have text, (units,)."""
        filled: NDArray[np.bool_] = np.asarray(self.units.any(axis=1))
        return filled

    @cached_property
    def passages(self) -> Scores:
        """The middle of each passage's units and its title, (passages, width)."""
        starts = np.searchsorted(self.own, np.arange(len(self.titles) + 1))
        sums = np.concatenate([np.zeros((1, self.units.shape[1])), np.cumsum(self.units, axis=0)])
        return unit_length(sums[starts[1:]] - sums[starts[:-1]] + self.titles)

    def lowest(self, cosines: Scores) -> Scores:
        """The cosines, where units without text have the lowest of all."""
        if not self.filled.any():
            return np.zeros(len(cosines))
        lowest: Scores = np.where(self.filled, cosines, cosines[self.filled].min())
        return lowest


def similarities(e: Embedded) -> dict[str, Scores]:
    """All features of all units by name, each (units,) and finite."""
    cosine = e.lowest(e.units @ e.query)
    spread = max(float(cosine.std()) if len(cosine) else 0.0, 1e-6)
    titled = e.lowest(unit_length(e.units + e.titles[e.own]) @ e.query)
    before, after = _shifted(e, 1), _shifted(e, -1)
    passage, title = e.passages @ e.query, _titles(e)
    best = np.full(len(e.titles), cosine.min(initial=0))
    np.maximum.at(best, e.own, cosine)
    top = float(cosine.max()) if len(cosine) else 0.0
    return {
        "sim": standard(cosine),
        "sim_nearness": nearness(_above(cosine)),
        "sim_gap": np.maximum((cosine - top) / spread, -_FARTHEST),
        "sim_of_best": np.maximum((cosine - best[e.own]) / spread, -_FARTHEST),
        "sim_titled": standard(titled),
        "sim_titled_nearness": nearness(_above(titled)),
        "sim_near": standard(e.lowest(unit_length(e.units + 0.5 * (before + after)) @ e.query)),
        "sim_before": standard(before @ e.query),
        "sim_after": standard(after @ e.query),
        "sim_passage": standard(passage)[e.own],
        "sim_passage_nearness": nearness(_above(passage))[e.own],
        "sim_passage_best": standard(best)[e.own],
        "sim_title": standard(title)[e.own],
        **_hops(e, titled),
    }


def unit_length(vectors: Scores) -> Scores:
    """The vectors at length 1; those of length 0 stay."""
    lengths = np.sqrt((vectors**2).sum(axis=-1, keepdims=True))
    scaled: Scores = vectors / np.where(lengths > 1e-9, lengths, 1)
    return scaled


def _titles(e: Embedded) -> Scores:
    """Cosines of the titles, of passages without one the mean of the others, (passages,)."""
    cosine: Scores = e.titles @ e.query
    has = e.titles.any(axis=1)
    filled: Scores = np.where(has, cosine, cosine[has].mean() if has.any() else 0.0)
    return filled


def _above(values: Scores) -> Scores:
    """The values moved to start at 1, in steps that arithmetic reproduces."""
    moved: Scores = np.round(values - values.min(initial=0), 6) + 1
    return moved


def _shifted(e: Embedded, distance: int) -> Scores:
    """For each unit the vector of its neighbour in the passage, 0 where there is none, (units, width)."""
    shifted = np.zeros_like(e.units)
    into, source = (slice(1, None), slice(None, -1)) if distance > 0 else (slice(None, -1), slice(1, None))
    same = e.own[into] == e.own[source]
    shifted[into][same] = e.units[source][same]
    return shifted


def _hops(e: Embedded, base: Scores) -> dict[str, Scores]:
    """How near a unit is to the best units of other passages, and to the query with them."""
    units, passages = len(e.own), len(e.titles)
    hop, link, title = np.full(units, -1.0), np.full(units, -1.0), np.full(passages, -1.0)
    for source in _sources(e, base):
        vector, own = e.units[source], e.own[source]
        strength = max(float(base[source]), 0.0)
        _raise(hop, e.units @ unit_length(e.query + vector) * strength, e.own != own)
        _raise(link, e.units @ vector * strength, e.own != own)
        _raise(title, e.titles @ vector * strength, np.arange(passages) != own)
    return {"sim_hop": _reached(hop), "sim_link": _reached(link), "sim_title_hop": _reached(title)[e.own]}


def _raise(best: Scores, values: Scores, where: NDArray[np.bool_]) -> None:
    """Raises the best to the values that are higher, where that is allowed, in place."""
    np.maximum(best, values, out=best, where=where)


def _reached(values: Scores) -> Scores:
    """The values standardised among those that were reached; 0 for others."""
    hit = values > -1
    out = np.zeros(len(values))
    out[hit] = standard(values[hit])
    return out


def _sources(e: Embedded, base: Scores) -> list[int]:
    """The units that a second hop starts from, best first."""
    taken = np.zeros(len(e.titles), np.int64)
    sources: list[int] = []
    for unit in np.argsort(-np.round(base, 6), kind="stable").tolist():
        if len(sources) == _SOURCES:
            break
        if e.filled[unit] and taken[e.own[unit]] < _PER_PASSAGE:
            taken[e.own[unit]] += 1
            sources.append(unit)
    return sources
