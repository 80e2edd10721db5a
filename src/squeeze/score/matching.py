"""How the words of a query stand in units, titles and passages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from squeeze.score.base import Scores
from squeeze.score.postings import FUNCTION_WEIGHT, Ints, Postings

_K1, _B = 1.2, 0.75

_MOST_TERMS = 128
"""Terms of a query that are looked at; of a longer one the rarest."""


@dataclass(frozen=True)
class Matches:
    """How often the query's terms stand in units, titles and passages.

    Attributes:
        postings: the words.
        terms: the query's distinct terms, in order, (asked,).
        weight: how much each says: its rarity among units, less for function words, (asked,).
        units: how often each stands in each unit, (units, asked).
        titles: how often each stands in each title, (passages, asked).
        slot: for every term its place in `terms`, or -1.
    """

    postings: Postings
    terms: Ints
    weight: Scores
    units: Scores
    titles: Scores
    slot: Ints

    @classmethod
    def of(cls, postings: Postings) -> Matches:
        """The matches of the query of these postings."""
        asked = postings.terms.gather(postings.query)
        terms = asked[np.sort(np.unique(asked, return_index=True)[1])]
        spread = np.bincount(postings.holders(postings.asked)[1], minlength=postings.size)[terms]
        rarity = np.log(1 + (len(postings.corpus) - spread + 0.5) / (spread + 0.5))
        weight = rarity * np.where(postings.function[terms], FUNCTION_WEIGHT, 1.0)
        if len(terms) > _MOST_TERMS:
            keep = np.sort(np.argsort(-weight, kind="stable")[:_MOST_TERMS])
            terms, weight = terms[keep], weight[keep]
        slot = np.full(postings.size, -1, np.int64)
        slot[terms] = np.arange(len(terms))
        units = _counts(slot[postings.term], postings.unit, (len(postings.corpus), len(terms)))
        title = postings.title
        titles = _counts(slot[title.values], title.owners, (len(postings.corpus.passages), len(terms)))
        return cls(postings, terms, weight, units, titles, slot)

    @property
    def own(self) -> Ints:
        """The passage of each unit, (units,)."""
        return self.postings.corpus.passage

    @cached_property
    def total(self) -> float:
        """The weight of the whole query, never 0."""
        return float(self.weight.sum()) or 1.0

    @cached_property
    def passages(self) -> Scores:
        """How often each term stands in each passage and its title, (passages, asked)."""
        starts = np.searchsorted(self.own, np.arange(len(self.titles) + 1))
        sums = np.concatenate([np.zeros((1, len(self.terms))), np.cumsum(self.units, axis=0)])
        passages: Scores = self.titles + sums[starts[1:]] - sums[starts[:-1]]
        return passages

    @cached_property
    def titled(self) -> Scores:
        """How often each term stands in each unit or its title, (units, asked)."""
        titled: Scores = self.units + self.titles[self.own]
        return titled

    @cached_property
    def lengths(self) -> Scores:
        """The number of words of each passage with its title, (passages,)."""
        lengths: Scores = self.by_passage(self.postings.lengths) + self.postings.titles.sizes
        return lengths

    @cached_property
    def unit_share(self) -> Scores:
        """`share` of each unit, (units,)."""
        return self.share(self.units, self.postings.lengths)

    @cached_property
    def titled_share(self) -> Scores:
        """`share` of each unit with its title, (units,)."""
        return self.share(self.titled, self.postings.lengths + self.postings.titles.sizes[self.own])

    @cached_property
    def passage_share(self) -> Scores:
        """`share` of each passage with its title, (passages,)."""
        return self.share(self.passages, self.lengths)

    def share(self, counts: Scores, lengths: Scores) -> Scores:
        """BM25 of texts as a share of what no text can exceed, (texts,)."""
        norm = _K1 * (1 - _B + _B * lengths / max(float(lengths.mean()) if len(lengths) else 0.0, 1.0))
        return _settled((counts / (counts + norm[:, None])) @ self.weight / self.total)

    def covered(self, counts: NDArray[Any]) -> Scores:
        """The share of the query's weight that stands in each text, (texts,)."""
        return _settled((counts > 0) @ self.weight / self.total)

    def by_passage(self, values: Scores) -> Scores:
        """Sums of the units' values, (passages,)."""
        return np.bincount(self.own, values, minlength=len(self.titles)).astype(np.float64)

    def best_by_passage(self, values: Scores) -> Scores:
        """The highest of the units' values, at least 0, (passages,)."""
        return best_of(self.own, values, len(self.titles))


def best_of(group: Ints, values: Scores, groups: int) -> Scores:
    """The highest value of each group, at least 0, (groups,)."""
    best = np.zeros(groups)
    np.maximum.at(best, group, values)
    return best


def _settled(share: NDArray[Any]) -> Scores:
    """The values without the bits that depend on where in a matrix product a row stood: equal texts are to tie."""
    settled: Scores = np.round(share, 12)
    return settled


def _counts(slots: Ints, owners: Ints, shape: tuple[int, int]) -> Scores:
    hit = slots >= 0
    flat = np.bincount(owners[hit] * shape[1] + slots[hit], minlength=shape[0] * shape[1])
    return flat.reshape(shape).astype(np.float64)
