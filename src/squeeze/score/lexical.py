"""The scorer `"bm25"`: the query's words in a unit, in its title and in its whole passage."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from rank_bm25 import BM25Okapi

from squeeze.errors import ConfigError
from squeeze.score.base import Corpus, Scores
from squeeze.score.salience import salience
from squeeze.score.words import FUNCTION_WORDS, Terms, terms_of

_FUNCTION_TERMS = frozenset(term for word in FUNCTION_WORDS for term in terms_of(word))
_FUNCTION_WEIGHT = 0.1
"""What a function word counts for beside another word of the same rarity: enough to break ties and to answer a query
that has no other words."""

Counts = tuple[dict[str, float], float]
"""How often each term of the query occurs in a text, and the length of the text in characters."""


class _Counted(BM25Okapi):  # type: ignore[misc]
    """BM25 over texts given as counts of the query's terms.

    The package counts every word of every text and looks each query word up in all of them. Counting the query's terms
    alone, and scoring each only where it occurs, gives the same scores in a fraction of the time. Rarity is positive
    here, so that a word which most texts hold still beats no word.
    """

    def __init__(self, counts: Sequence[Counts], k1: float, b: float) -> None:
        super().__init__(counts, k1=k1, b=b)

    def _initialize(self, corpus: Sequence[Counts]) -> dict[str, int]:
        self.holders: dict[str, list[int]] = {}
        for index, (counts, _) in enumerate(corpus):
            for term in counts:
                self.holders.setdefault(term, []).append(index)
        self.doc_freqs = [counts for counts, _ in corpus]
        self.doc_len = np.maximum([length for _, length in corpus], 1.0)  # an empty text must not divide by zero
        self.corpus_size = len(corpus)
        self.avgdl = math.fsum(self.doc_len) / len(corpus)
        return {term: len(holders) for term, holders in self.holders.items()}

    def get_scores(self, query: Sequence[str]) -> Scores:
        """Scores of all texts, (texts,)."""
        score = np.zeros(self.corpus_size)
        for term in query:
            if term in self.holders:
                score[self.holders[term]] += self.get_batch_scores([term], self.holders[term])
        return score

    def _calc_idf(self, nd: dict[str, int]) -> None:
        self.idf = {term: self._rarity(term, holders) for term, holders in nd.items()}

    def _rarity(self, term: str, holders: int) -> float:
        rarity = math.log(1 + (self.corpus_size - holders + 0.5) / (holders + 0.5))
        return rarity * _FUNCTION_WEIGHT if term in _FUNCTION_TERMS else rarity

    def shares(self, query: Sequence[str]) -> Scores:
        """Scores as shares of what no text can exceed: every term of `query`, repeated without end."""
        rarities = (self.idf.get(term) or self._rarity(term, 0) for term in query)
        score: Scores = self.get_scores(query) / (math.fsum(rarities) * (self.k1 + 1))
        return score


class Bm25:
    """Word matching in which a unit also answers for its title, its passage and its neighbours.

    With `share(text)` for the BM25 score of a text divided by the bound that the query sets, which is the sum over its
    distinct terms of `rarity * (k1 + 1)`, a unit has the own score

        (share(unit with title, among units) + prior * share(passage with title, among passages)) / (1 + prior)

    and then goes `neighbour` of the way up to the better of the units before and after it in its passage, if that is
    higher: answers often stand beside the words of the question. Scores lie in [0, 1), are 0 where the passage and its
    title share nothing with the query, and mean the same for every query: words that the text does not have lower
    them. The rarity of a term that m of n texts have is `log(1 + (n - m + 0.5) / (m + 0.5))`, a tenth of it for
    function words. Repeated words of the query count once. See `squeeze.score.words` for what a term is.

    Args:
        k1: how slowly repeated words stop adding, 0.01 to 100.
        b: how much long texts are held back, 0 to 1.
        title: how often each word of the title counts in a unit, 0 to 100.
        prior: weight of the passage beside the unit, 0 to 100.
        neighbour: share of the way up to the better neighbour, 0 to 1.

    Raises:
        ConfigError: an option is outside of its range.
    """

    def __init__(
        self, *, k1: float = 1.5, b: float = 0.75, title: float = 1.0, prior: float = 0.5, neighbour: float = 0.3
    ) -> None:
        self.k1 = _within("k1", k1, 0.01, 100)
        self.b = _within("b", b, 0, 1)
        self.title = _within("title", title, 0, 100)
        self.prior = _within("prior", prior, 0, 100)
        self.neighbour = _within("neighbour", neighbour, 0, 1)

    def score(self, corpus: Corpus, query: str | None) -> Scores:
        """Scores of all units, (units,), each from 0 to 1; without a query their salience."""
        if query is None or not query.strip():
            return salience(corpus)
        terms = list(dict.fromkeys(Terms().of(query)))
        if not terms or not len(corpus):
            return np.zeros(len(corpus))
        table = Terms(frozenset(terms))
        titles = [_count(passage.title, table) for passage in corpus.passages]
        units = [_count(text, table) for text in corpus.texts]
        owners: list[int] = corpus.passage.tolist()
        titled = [_add(unit, titles[owner], self.title) for unit, owner in zip(units, owners, strict=True)]
        score = _Counted(titled, self.k1, self.b).shares(terms)
        if self.prior:
            whole = _Counted(_wholes(titles, units, owners), self.k1, self.b).shares(terms)
            score = (score + self.prior * whole[corpus.passage]) / (1 + self.prior)
        return _settle(_raised(score, corpus, self.neighbour))


def scores(units: list[str], query: str) -> list[float]:
    """The `share` (see `Bm25`) of each of these texts, without titles, passages and neighbours."""
    terms = list(dict.fromkeys(Terms().of(query)))
    if not terms or not units:
        return [0.0] * len(units)
    plain, table = Bm25(), Terms(frozenset(terms))
    counts = [_count(unit, table) for unit in units]
    result: list[float] = _settle(_Counted(counts, plain.k1, plain.b).shares(terms)).tolist()
    return result


def _count(text: str, table: Terms) -> Counts:
    counts: dict[str, float] = {}
    for term in table.of(text):
        counts[term] = counts.get(term, 0.0) + 1.0
    return counts, float(len(text))


def _add(one: Counts, other: Counts, weight: float) -> Counts:
    """The counts of both, those of `other` times `weight`."""
    if not weight or not other[1]:
        return one
    counts = dict(one[0])
    for term, count in other[0].items():
        counts[term] = counts.get(term, 0.0) + weight * count
    return counts, one[1] + weight * other[1]


def _wholes(titles: Sequence[Counts], units: Sequence[Counts], owners: Sequence[int]) -> list[Counts]:
    """Counts of each passage: its title once, and all of its units."""
    counts = [dict(title) for title, _ in titles]
    lengths = [length for _, length in titles]
    for (unit, length), owner in zip(units, owners, strict=True):
        lengths[owner] += length
        for term, count in unit.items():
            counts[owner][term] = counts[owner].get(term, 0.0) + count
    return list(zip(counts, lengths, strict=True))


def _raised(score: Scores, corpus: Corpus, share: float) -> Scores:
    """Scores of which each is `share` of the way up to the better of its neighbours in the passage."""
    best = score.copy()
    together = corpus.passage[1:] == corpus.passage[:-1]
    best[1:] = np.maximum(best[1:], np.where(together, score[:-1], 0.0))
    best[:-1] = np.maximum(best[:-1], np.where(together, score[1:], 0.0))
    return score + share * (best - score)


def _settle(score: Scores) -> Scores:
    # rounded, so that the last bits of a machine's logarithm decide no tie
    settled: Scores = np.round(np.clip(score, 0.0, 1.0), 9).astype(np.float64)
    return settled


def _within(name: str, value: float, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise ConfigError(f"{name} is {value!r}; allowed: a number from {low} to {high}")
    return float(value)
