"""How much of the whole each unit carries, for when there is no query."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from squeeze.score.base import Corpus, Scores
from squeeze.score.words import FUNCTION_WORDS, Terms, terms_of

_HEADING, _POSITION = 0.1, 0.1
"""What a heading and the first unit of a passage gain; all else comes from the words."""
_FUNCTION_TERMS = frozenset(term for word in FUNCTION_WORDS for term in terms_of(word))

_Ints = NDArray[np.int64]


def salience(corpus: Corpus) -> Scores:
    """Scores of all units without a query, (units,), each from 0 to 1.

    A unit scores by the words that it shares with other units: each counts `rarity * (log units that hold it + log
    units of the passage that hold it)`, so that neither words of every unit nor words of one unit weigh much. The sum
    is divided by the root of the unit's number of terms, as a long unit says more but takes more room (a cosine would
    put "Okay." first), and by the highest. Headings and units early in a passage gain a little. Units without words
    score 0. The time grows with the number of words.
    """
    units = len(corpus)
    unit, term, terms = _incidence(corpus)
    if not len(unit):
        return np.zeros(units)
    holders = np.bincount(term, minlength=terms)
    rarity = np.log1p(units / holders)
    _, pair = np.unique(corpus.passage[unit] * terms + term, return_inverse=True)
    near = np.bincount(pair)
    weight = rarity[term] * (np.log(holders[term]) + np.log(near[pair]))
    length = np.bincount(unit, minlength=units)
    centrality = np.bincount(unit, weight, minlength=units) / np.sqrt(np.maximum(length, 1))
    top = float(centrality.max())
    heading = np.array([kind == "heading" for kind in corpus.kinds], dtype=np.float64)
    extra = _HEADING * heading + _POSITION / (1.0 + corpus.piece)
    score = (1 - _HEADING - _POSITION) * centrality / (top or 1.0) + np.where(length > 0, extra, 0.0)
    # rounded, so that the last bits of a machine's logarithm decide no tie
    settled: Scores = np.round(np.clip(score, 0.0, 1.0), 9).astype(np.float64)
    return settled


def _incidence(corpus: Corpus) -> tuple[_Ints, _Ints, int]:
    """Pairs of a unit and a distinct term of it, ordered by unit, and the number of distinct terms."""
    table, numbers = Terms(), dict[str, int]()
    unit: list[int] = []
    term: list[int] = []
    for index, text in enumerate(corpus.texts):
        found = dict.fromkeys(table.of(text))
        own = [numbers.setdefault(name, len(numbers)) for name in found if name not in _FUNCTION_TERMS]
        # a unit of function words alone still has words
        own = own or [numbers.setdefault(name, len(numbers)) for name in found]
        term += own
        unit += [index] * len(own)
    return np.array(unit, dtype=np.int64), np.array(term, dtype=np.int64), len(numbers)
