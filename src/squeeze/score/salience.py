"""How much of the whole each unit carries, for when there is no query."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from squeeze.score.base import Corpus, Scores
from squeeze.score.words import Terms

_WHOLE, _PASSAGE, _HEADING, _POSITION = 0.5, 0.3, 0.1, 0.1
"""Shares of the score: likeness to everything, likeness to the passage, being a heading, standing early."""


def salience(corpus: Corpus) -> Scores:
    """Scores of all units without a query, (units,), each from 0 to 1.

    A unit scores by its likeness (cosine of rarity-weighted words) to the middle of all units and to the middle of its
    passage, each relative to the likest unit, and gains a little as a heading and by standing early in its passage.
    Units without words score 0. The time grows with the number of words.
    """
    units = len(corpus)
    unit, word, words = _incidence(corpus)
    if not len(unit):
        return np.zeros(units)
    weight = _weights(unit, word, units, words)
    whole = _likeness(unit, word, weight, np.zeros(len(unit), np.int64), units)
    own = _likeness(unit, word, weight, corpus.passage[unit], units)
    heading = np.array([kind == "heading" for kind in corpus.kinds], dtype=np.float64)
    score = _WHOLE * whole + _PASSAGE * own + _HEADING * heading + _POSITION / (1.0 + corpus.piece)
    score[np.bincount(unit, minlength=units) == 0] = 0.0
    # rounded, so that the last bits of a machine's logarithm decide no tie
    return np.round(np.clip(score, 0.0, 1.0), 9)


def _incidence(corpus: Corpus) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Pairs of unit and distinct word of it, ordered by unit, and the number of distinct words."""
    table, numbers = Terms(), dict[str, int]()
    unit: list[int] = []
    word: list[int] = []
    for index, text in enumerate(corpus.texts):
        own = [numbers.setdefault(term, len(numbers)) for term in dict.fromkeys(table.of(text))]
        word += own
        unit += [index] * len(own)
    return np.array(unit, dtype=np.int64), np.array(word, dtype=np.int64), len(numbers)


def _weights(unit: NDArray[np.int64], word: NDArray[np.int64], units: int, words: int) -> Scores:
    """Rarity of each pair's word, scaled so that every unit has length 1."""
    rarity = np.log1p(units / np.bincount(word, minlength=words))
    weight: Scores = rarity[word]
    length = np.sqrt(np.bincount(unit, weight * weight, minlength=units))
    return weight / length[unit]


def _likeness(
    unit: NDArray[np.int64], word: NDArray[np.int64], weight: Scores, group: NDArray[np.int64], units: int
) -> Scores:
    """Cosine of each unit to the sum of the other units of its group, divided by the highest; (units,)."""
    _, pair = np.unique(group * (int(word.max()) + 1) + word, return_inverse=True)
    middle = np.bincount(pair, weight)
    others = middle[pair] - weight  # a unit is not central for being like itself
    groups = int(group.max()) + 1
    norm = np.sqrt(np.bincount(group, weight * middle[pair], minlength=groups))  # |middle|, pair by pair
    dot: Scores = np.bincount(unit, weight * others / norm[group], minlength=units).astype(np.float64)
    top = float(dot.max())
    return dot / top if top > 0 else dot
