"""The scorer `"ranker"`: a small fitted network over lexical features, numpy alone."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from squeeze.score.base import Corpus, Scores
from squeeze.score.features import FEATURES, features, matches_of
from squeeze.score.matching import Matches
from squeeze.score.network import Network
from squeeze.score.salience import salience

WEIGHTS = Path(__file__).resolve().parent.parent / "data" / "ranker.npz"

_LEADS = ("bridge_any", "title_hop", "title_hop_passage", "title_second_hop")
"""Features above 0 where a unit is reached through another passage."""


class Ranker:
    """Scores by a network fitted to tell units that hold answers from those that do not.

    It sees how the words of the query stand in the unit, in its title, its neighbours and its passage, what the best
    units lead to in other passages, and what kind of answer is asked for (see `squeeze.score.features`). A unit scores

        sigmoid(network) * reach

    with `reach` the share of the query's words, by rarity, that the one passage which has the most of them has. So
    scores lie in [0, 1), fall for every unit alike when the passages lack words of the query, and are 0 where a unit
    and its passage share no word with the query and no unit that does leads to them.

    The weights are read on first use.
    """

    def score(self, corpus: Corpus, query: str | None) -> Scores:
        """Scores of all units, (units,), each from 0 to 1; without a query their salience.

        Raises:
            CorruptError: the weights are missing or damaged.
        """
        if query is None or not query.strip():
            return salience(corpus)
        matches = matches_of(corpus, query)
        if not len(corpus) or not (matches.units.any() or matches.titles.any()):
            return np.zeros(len(corpus))
        columns = features(matches, query)
        raw = network()(matrix(columns))
        score: Scores = reach(matches) / (1 + np.exp(-np.clip(raw, -30, 30)))
        reached = (columns["covered_passage"] > 0) | np.any([columns[name] > 0 for name in _LEADS], axis=0)
        settled: Scores = np.round(score * reached, 9)  # the last bits of a machine's arithmetic decide no tie
        return settled


def matrix(columns: dict[str, Scores]) -> NDArray[np.float64]:
    """The features as rows, (units, features)."""
    return np.stack([columns[name] for name in FEATURES], axis=1)


def reach(matches: Matches) -> float:
    """The share of the query's words, by rarity, in the passage that has the most of them."""
    return float(matches.covered(matches.passages).max(initial=0.0))


@cache
def network() -> Network:
    """The fitted network, read once.

    Raises:
        CorruptError: the file is missing or damaged.
    """
    return Network.load(WEIGHTS, FEATURES)
