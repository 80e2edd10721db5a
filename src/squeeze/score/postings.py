"""Every word of every unit as numbers, laid out so that a feature of all units is a few numpy calls."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from squeeze.score.base import Corpus, Scores
from squeeze.score.words import _ASCII_WORDS, _WORDS, FUNCTION_WORDS, terms_of

Ints = NDArray[np.int64]

CAPITAL, DIGIT, YEAR = 1, 2, 4
"""What a word looks like, as bits."""

FUNCTION_WEIGHT = 0.2
"""What a function word counts beside another word as rare."""


class _Table(dict[str, int]):
    """The number of each word as it is written; one per call, so that nothing grows without bound."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number

    def of(self, text: str) -> list[int]:
        found = (_ASCII_WORDS if text.isascii() else _WORDS).findall(text)
        return list(map(self.__getitem__, found))


def _looks(word: str) -> int:
    looks = 0
    if word[0].isupper():
        looks |= CAPITAL
    if any(map(str.isdigit, word)):
        looks |= DIGIT
        if len(word) >= 4 and word[:4].isdigit() and not word[4:5].isdigit():
            looks |= YEAR
    return looks


@dataclass(frozen=True, slots=True)
class Lists:
    """Lists of numbers of different lengths in one array: list i is `values[starts[i] : starts[i + 1]]`."""

    values: Ints
    starts: Ints

    def at(self, index: int) -> Ints:
        """The values of one list."""
        values: Ints = self.values[self.starts[index] : self.starts[index + 1]]
        return values

    @property
    def sizes(self) -> Ints:
        """The length of each list."""
        return np.diff(self.starts)

    @property
    def owners(self) -> Ints:
        """For each value, the index of the list that it stands in."""
        return np.repeat(np.arange(len(self.starts) - 1), self.sizes)

    def gather(self, lists: Ints) -> Ints:
        """The values of these lists, one list after the other."""
        sizes = self.sizes[lists]
        ends = np.cumsum(sizes)
        shift = np.repeat(self.starts[:-1][lists] - (ends - sizes), sizes)
        gathered: Ints = self.values[np.arange(int(ends[-1]) if len(ends) else 0) + shift]
        return gathered

    @classmethod
    def of(cls, lists: list[list[int]]) -> Lists:
        """These lists in one array."""
        sizes = np.fromiter(map(len, lists), np.int64, len(lists))
        total = int(sizes.sum())
        values = np.fromiter(chain.from_iterable(lists), np.int64, total)
        return cls(values, np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]))


@dataclass(frozen=True)
class Postings:
    """The words and terms of all units, titles and of the query.

    A *word* is a word as it is written, a *term* what scorers compare (see `squeeze.score.words`); a word has one or
    several terms, the last of which is its *key*: the form that its inflections share.

    Attributes:
        corpus: the units.
        words: the words of each unit.
        titles: the words of each passage's title.
        query: the words of the query.
        looks: what each word looks like, (words,).
        terms: the terms of each word.
        function: which terms are function words, (terms,).
        stems: which terms stand for the beginning of a word, (terms,).
    """

    corpus: Corpus
    words: Lists
    titles: Lists
    query: Ints
    looks: Ints
    terms: Lists
    function: NDArray[np.bool_]
    stems: NDArray[np.bool_]

    @property
    def size(self) -> int:
        """The number of distinct terms."""
        return len(self.function)

    @classmethod
    def of(cls, corpus: Corpus, query: str) -> Postings:
        """The postings of the corpus and the query."""
        table = _Table()
        words = Lists.of([table.of(text) for text in corpus.texts])
        titles = Lists.of([table.of(passage.title) for passage in corpus.passages])
        asked = np.array(table.of(query), dtype=np.int64)
        numbers: dict[str, int] = {}
        terms = Lists.of([[numbers.setdefault(t, len(numbers)) for t in terms_of(word) or (word,)] for word in table])
        looks = np.fromiter(map(_looks, table), np.int64, len(table))
        function = np.fromiter((term.rstrip("*") in FUNCTION_WORDS for term in numbers), np.bool_, len(numbers))
        stems = np.fromiter((term.endswith("*") for term in numbers), np.bool_, len(numbers))
        return cls(corpus, words, titles, asked, looks, terms, function, stems)

    @cached_property
    def lengths(self) -> Scores:
        """The number of words of each unit, (units,)."""
        return self.words.sizes.astype(np.float64)

    @cached_property
    def unit(self) -> Ints:
        """The unit of each occurrence of a term, (occurrences,)."""
        return np.repeat(self.words.owners, self.terms.sizes[self.words.values])

    @cached_property
    def term(self) -> Ints:
        """The term of each occurrence, in reading order, (occurrences,)."""
        return self.terms.gather(self.words.values)

    @cached_property
    def title(self) -> Lists:
        """The terms of each title."""
        owners = np.repeat(self.titles.owners, self.terms.sizes[self.titles.values])
        starts = np.searchsorted(owners, np.arange(len(self.corpus.passages) + 1))
        return Lists(self.terms.gather(self.titles.values), starts)

    @cached_property
    def keys(self) -> Ints:
        """The key of each word, (words,)."""
        keys: Ints = self.terms.values[self.terms.starts[1:] - 1]
        return keys

    @cached_property
    def asked(self) -> NDArray[np.bool_]:
        """Which terms the query has, (terms,)."""
        return self.mask(self.terms.gather(self.query))

    @cached_property
    def spread(self) -> Ints:
        """In how many passages each term stands, titles included, (terms,)."""
        owners = np.concatenate([self.corpus.passage[self.unit], self.title.owners])
        pairs = np.unique(owners * self.size + np.concatenate([self.term, self.title.values]))
        return np.bincount(pairs % max(self.size, 1), minlength=self.size)

    @cached_property
    def rarity(self) -> Scores:
        """How much each term tells passages apart, less for function words, (terms,)."""
        rarity: Scores = np.log(1 + (len(self.corpus.passages) - self.spread + 0.5) / (self.spread + 0.5))
        return rarity * np.where(self.function, FUNCTION_WEIGHT, 1.0)

    def mask(self, terms: Ints) -> NDArray[np.bool_]:
        """Which of all terms are these, (terms,)."""
        mask = np.zeros(self.size, np.bool_)
        mask[terms] = True
        return mask

    def holders(self, wanted: NDArray[np.bool_]) -> tuple[Ints, Ints]:
        """The pairs of a unit and a wanted term that stands in it, each once, ordered by unit."""
        hit = wanted[self.term]
        pairs = np.unique(self.unit[hit] * self.size + self.term[hit])
        return pairs // max(self.size, 1), pairs % max(self.size, 1)

    def number_of(self, look: int) -> Scores:
        """How many words of each unit look so, (units,)."""
        hit = (self.looks[self.words.values] & look) > 0
        return np.bincount(self.words.owners[hit], minlength=len(self.corpus)).astype(np.float64)
