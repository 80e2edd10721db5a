"""The scorer `"bm25"`: the query's words in a unit, in its title and in its whole passage."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from rank_bm25 import BM25Okapi

from squeeze.errors import ConfigError
from squeeze.score.base import Corpus, Scores
from squeeze.score.salience import salience
from squeeze.score.words import Terms

Counts = tuple[dict[str, float], float]
"""How often each word of the query occurs in a text, and the number of all words of the text."""


class _Counted(BM25Okapi):  # type: ignore[misc]
    """BM25 over texts given as counts of the query's words.

    The package counts every word of every text; counting those of the query alone gives the same scores in a fraction
    of the time. Rarity is positive here, so that a word which most texts hold still beats no word.
    """

    def __init__(self, counts: Sequence[Counts], k1: float, b: float) -> None:
        super().__init__(counts, k1=k1, b=b)

    def _initialize(self, corpus: Sequence[Counts]) -> dict[str, int]:
        holders: dict[str, int] = {}
        for counts, length in corpus:
            self.doc_freqs.append(counts)
            self.doc_len.append(max(length, 1.0))  # an empty text must not divide by zero
            for word in counts:
                holders[word] = holders.get(word, 0) + 1
        self.corpus_size = len(corpus)
        self.avgdl = math.fsum(self.doc_len) / len(corpus)
        return holders

    def _calc_idf(self, nd: dict[str, int]) -> None:
        self.idf = {word: self._rarity(holders) for word, holders in nd.items()}

    def _rarity(self, holders: int) -> float:
        return math.log(1 + (self.corpus_size - holders + 0.5) / (holders + 0.5))

    def shares(self, query: Sequence[str]) -> Scores:
        """Scores as shares of what no text can exceed: every word of `query`, repeated without end."""
        bound = math.fsum(self.idf.get(word, self._rarity(0)) for word in query) * (self.k1 + 1)
        score: Scores = np.asarray(self.get_scores(query), dtype=np.float64) / bound
        return score


class Bm25:
    """Word matching in which a unit also answers for its title and its passage.

    With `share(text)` for the BM25 score of a text divided by the bound that the query sets, which is the sum over its
    distinct words of `rarity * (k1 + 1)`, a unit scores

        (share(unit with title, among units) + prior * share(passage with title, among passages)) / (1 + prior)

    so that scores lie in [0, 1), are 0 where neither the unit nor its passage shares a word with the query, and mean
    the same for every query: words that the text does not have at all lower them. A word's rarity is
    `log(1 + (n - m + 0.5) / (m + 0.5))` for m of n texts, never negative. Repeated words of the query count once.

    Args:
        k1: how slowly repeated words stop adding, above 0.
        b: how much long texts are held back, 0 to 1.
        title: how often each word of the title counts in a unit, 0 or more.
        prior: weight of the passage beside the unit, 0 or more.

    Raises:
        ConfigError: an option is outside of its range.
    """

    def __init__(self, *, k1: float = 1.2, b: float = 0.75, title: float = 1.0, prior: float = 0.5) -> None:
        self.k1 = _within("k1", k1, 0.01, 1000)
        self.b = _within("b", b, 0, 1)
        self.title = _within("title", title, 0, 1000)
        self.prior = _within("prior", prior, 0, 1000)

    def score(self, corpus: Corpus, query: str | None) -> Scores:
        """Scores of all units, (units,), each from 0 to 1; without a query their salience."""
        if query is None or not query.strip():
            return salience(corpus)
        table = Terms()
        words = list(dict.fromkeys(table.of(query)))
        if not words or not len(corpus):
            return np.zeros(len(corpus))
        vocabulary = frozenset(words)
        titles = [_count(table.of(passage.title), vocabulary) for passage in corpus.passages]
        units = [_count(table.of(text), vocabulary) for text in corpus.texts]
        owners: list[int] = corpus.passage.tolist()
        titled = [_add(unit, titles[owner], self.title) for unit, owner in zip(units, owners, strict=True)]
        score = _Counted(titled, self.k1, self.b).shares(words)
        if self.prior:
            whole = titles
            for unit, owner in zip(units, owners, strict=True):
                whole[owner] = _add(whole[owner], unit, 1.0)
            passages = _Counted(whole, self.k1, self.b).shares(words)
            score = (score + self.prior * passages[corpus.passage]) / (1 + self.prior)
        return _settle(score)


def scores(units: list[str], query: str) -> list[float]:
    """The `share` (see `Bm25`) of each of these texts, without titles or passages."""
    table = Terms()
    words = list(dict.fromkeys(table.of(query)))
    if not words or not units:
        return [0.0] * len(units)
    vocabulary = frozenset(words)
    counts = [_count(table.of(unit), vocabulary) for unit in units]
    result: list[float] = _settle(_Counted(counts, Bm25().k1, Bm25().b).shares(words)).tolist()
    return result


def _count(words: Sequence[str], vocabulary: frozenset[str]) -> Counts:
    counts: dict[str, float] = {}
    for word in words:
        if word in vocabulary:
            counts[word] = counts.get(word, 0.0) + 1.0
    return counts, float(len(words))


def _add(one: Counts, other: Counts, weight: float) -> Counts:
    """The counts of both, those of `other` times `weight`."""
    counts = dict(one[0])
    if weight:
        for word, count in other[0].items():
            counts[word] = counts.get(word, 0.0) + weight * count
    return counts, one[1] + weight * other[1]


def _settle(score: Scores) -> Scores:
    # rounded, so that the last bits of a machine's logarithm decide no tie
    settled: Scores = np.round(np.clip(score, 0.0, 1.0), 9).astype(np.float64)
    return settled


def _within(name: str, value: float, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise ConfigError(f"{name} is {value!r}; allowed: a number from {low} to {high}")
    return float(value)
