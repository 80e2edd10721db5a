"""Pages of a few dozen tokens, and how well each fits a query (BEAVER, arXiv 2603.19635)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import regex
from numpy.typing import NDArray

from squeeze.score.base import Corpus, Scores
from squeeze.score.words import FUNCTION_WORDS, Terms, terms_of
from squeeze.static_table import StaticTable, token_starts
from squeeze.tokens import Tokenizer
from squeeze.types import Passage

Ints = NDArray[np.int64]
Rows = NDArray[np.float32]
Counts = NDArray[np.int64] | NDArray[np.float64]

_DENSE = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_TOKEN = regex.compile(rf"[{_DENSE}]|[\w\p{{M}}--[{_DENSE}]]+|[^\w\s]", flags=regex.VERSION1)
"""What stands for tokens where a tokenizer has no ids: words, punctuation, characters of scripts without spaces."""

_FUNCTION_TERMS = frozenset(term for word in FUNCTION_WORDS for term in terms_of(word))
_FUNCTION_WEIGHT = 0.1

_POOLED_BELOW = 4
"""Tokens below which a query is one vector."""

_QUERY_VECTORS = 32
"""Most tokens of a query that count, those of the highest weight."""

_CHUNK = 128
"""Pages pooled at a time, so that memory does not grow with the text."""


@dataclass(frozen=True, slots=True)
class Pages:
    """Consecutive stretches of passages.

    Attributes:
        passage: passage of each page, ascending, (pages,).
        start: first character in its passage, (pages,).
        end: character after the last; a page ends where the next of its passage begins, (pages,).
        first: index of its first token in `ids`; the next page's is the end, (pages + 1,).
        ids: tokens of all pages, numbered as the table or the tokenizer does, -1 where neither has ids, (tokens,).
    """

    passage: Ints
    start: Ints
    end: Ints
    first: Ints
    ids: Ints

    def __len__(self) -> int:
        return len(self.passage)

    @property
    def sizes(self) -> Ints:
        """Tokens of each page, (pages,)."""
        return np.diff(self.first)


def paginate(passages: tuple[Passage, ...], size: int, tokenizer: Tokenizer, table: StaticTable | None) -> Pages:
    """The pages of all passages, at most `size` tokens each. No page spans two passages.

    Lines are packed into a page while they fit; a longer line is cut into full pages.
    """
    passage, start, end, first, ids = [], [], [], [0], [np.zeros(0, dtype=np.int64)]
    for index, item in enumerate(passages):
        numbers, starts = tokens_of(item.text, tokenizer, table)
        ids.append(numbers)
        ends = page_ends(item.text, starts, size)
        edges = [0, *starts[ends[:-1]].tolist(), len(item.text)] if ends else []
        passage += [index] * len(ends)
        start += edges[:-1]
        end += edges[1:]
        base = first[-1]
        first += [base + stop for stop in ends]
    whole = [np.array(column, dtype=np.int64) for column in (passage, start, end, first)]
    return Pages(whole[0], whole[1], whole[2], whole[3], np.concatenate(ids))


def tokens_of(text: str, tokenizer: Tokenizer, table: StaticTable | None) -> tuple[Ints, Ints]:
    """The ids of a text and the character that each begins at; word-like tokens of id -1 where there are no ids."""
    found = table.encode(text) if table is not None else token_starts(tokenizer, text)
    if found is None:
        starts = np.array([match.start() for match in _TOKEN.finditer(text)], dtype=np.int64)
        found = np.full(len(starts), -1, dtype=np.int64), starts
    return found


def page_ends(text: str, starts: Ints, size: int) -> list[int]:
    """The token after each page's last, given where each token begins."""
    lines = np.array([place + 1 for place, char in enumerate(text) if char == "\n"], dtype=np.int64)
    edges = np.unique(np.append(np.searchsorted(starts, lines), len(starts)))
    ends: list[int] = []
    begin = last = 0  # of the page that is being filled
    for edge in edges.tolist():
        if edge - begin > size and last > begin:
            ends.append(last)
            begin = last
        while edge - begin > size:
            begin += size
            ends.append(begin)
        last = edge
    if last > begin:
        ends.append(last)
    return ends


@dataclass(frozen=True, slots=True)
class Blend:
    """How the parts of a page's score are weighed.

    Attributes:
        gamma: share of the weighted mean in a page's vector; the rest is the maximum, 0 to 1.
        semantic: share of the semantic score where there is a table, 0 to 1; the rest is the lexical one.
    """

    gamma: float
    semantic: float


def page_scores(
    pages: Pages, passages: tuple[Passage, ...], query: str, blend: Blend, table: StaticTable | None
) -> Scores:
    """How well each page fits the query, (pages,), each from 0 to 1.

    The two scores are scaled to 0 .. 1 over the pages (a score that is the same for all says nothing: 0), mixed, and
    multiplied with the best share of the query that any page reaches.
    """
    lexical, reach = lexical_scores(pages, passages, query)
    if table is None:
        return spread(lexical) * reach
    semantic, near = semantic_scores(pages, query, blend.gamma, table)
    mixed = blend.semantic * spread(semantic) + (1 - blend.semantic) * spread(lexical)
    scores: Scores = mixed * max(reach, min(1.0, near))
    return scores


def spread(values: Scores) -> Scores:
    """The values from 0 for the lowest to 1 for the highest; all equal and above 0 are 1, else 0."""
    if not len(values):
        return values
    low, high = float(values.min()), float(values.max())
    if high - low < 1e-12:
        return np.full(len(values), 1.0 if high > 0 else 0.0)
    scaled: Scores = (values - low) / (high - low)
    return scaled


def inverse_frequency(counts: Counts, total: int) -> Scores:
    """The weight of tokens that occur so often among `total`: the rarer, the higher; above 0, at most 1."""
    weights = np.log1p(total / (1.0 + np.asarray(counts, dtype=np.float64)))
    top = float(np.log1p(total)) or 1.0
    scaled: Scores = weights / top + 1e-6
    return scaled


def lexical_scores(pages: Pages, passages: tuple[Passage, ...], query: str) -> tuple[Scores, float]:
    """For each page the weight of the query's words in it, and the best share of all their weight that a page has.

    Words of a passage's title count as words of each of its pages. A word counts once, however often it stands there:
    counting each occurrence puts pages full of "the" first.
    """
    wanted = list(dict.fromkeys(Terms().of(query)))
    if not wanted or not len(pages):
        return np.zeros(len(pages)), 0.0
    table, place = Terms(frozenset(wanted)), {term: at for at, term in enumerate(wanted)}
    held = np.zeros((len(pages), len(wanted)))
    for index, (passage, start, end) in enumerate(zip(*_columns(pages), strict=True)):
        for term in [*table.of(passages[passage].text[start:end]), *table.of(passages[passage].title)]:
            held[index, place[term]] += 1
    weight = inverse_frequency(held.sum(axis=0), len(pages.ids) + len(wanted))
    weight = weight * np.array([_FUNCTION_WEIGHT if term in _FUNCTION_TERMS else 1.0 for term in wanted])
    found: Scores = (held > 0) @ weight
    return found, float(found.max() / weight.sum())


def semantic_scores(pages: Pages, query: str, gamma: float, table: StaticTable) -> tuple[Scores, float]:
    """For each page its likeness to the query's tokens, and the best likeness, -1 to 1."""
    asked = table.encode(query)[0]
    if not len(asked) or not len(pages):
        return np.zeros(len(pages)), 0.0
    kinds, number, counts = np.unique(np.concatenate([pages.ids, asked]), return_inverse=True, return_counts=True)
    weights = inverse_frequency(counts, len(number))
    matrix = table.rows(kinds)
    matrix = _unit(matrix - matrix.mean(axis=0))  # what all embeddings share would make all pages alike
    number, asked = number[: len(pages.ids)], number[len(pages.ids) :]
    vectors = _pooled(matrix, weights, number, pages.first, gamma)
    if len(asked) < _POOLED_BELOW:
        targets, share = _pooled(matrix, weights, asked, np.array([0, len(asked)]), gamma), np.ones(1)
    else:
        best = np.unique(asked)
        best = best[np.argsort(-weights[best], kind="stable")[:_QUERY_VECTORS]]
        targets, share = matrix[best], weights[best] / weights[best].sum()
    likeness: Scores = (_unit(vectors) @ _unit(targets).T).astype(np.float64) @ share
    return likeness, float(likeness.max())


def _pooled(matrix: Rows, weights: Scores, number: Ints, first: Ints, gamma: float) -> Rows:
    """`gamma` times the weighted mean plus the rest times the maximum of each page's token vectors, (pages, width)."""
    sizes = np.diff(first)
    out = np.zeros((len(sizes), matrix.shape[1]), dtype=np.float32)
    for begin in range(0, len(sizes), _CHUNK):
        own = sizes[begin : begin + _CHUNK]
        at = np.arange(int(own.max(initial=1)))
        inside = at < own[:, None]
        tokens = number[first[begin : begin + len(own), None] + np.where(inside, at, 0)]  # padded with the first token
        weight = np.where(inside, weights[tokens], 0.0).astype(np.float32)
        weight /= weight.sum(axis=1, keepdims=True)
        vectors = matrix[tokens]  # (pages, tokens, width)
        mean = np.matmul(weight[:, None, :], vectors)[:, 0]
        out[begin : begin + len(own)] = gamma * mean + (1 - gamma) * vectors.max(axis=1)
    return out


def _unit(vectors: Rows) -> Rows:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Rows = vectors / np.maximum(lengths, 1e-12)
    return scaled


def _columns(pages: Pages) -> tuple[list[int], list[int], list[int]]:
    return pages.passage.tolist(), pages.start.tolist(), pages.end.tolist()


def unit_scores(corpus: Corpus, pages: Pages, scores: Scores) -> Scores:
    """For each unit the best score of the pages that it lies in, (units,): pages grow to whole sentences."""
    if not len(pages):
        return np.zeros(len(corpus))
    spans = [(piece.start, piece.end) for layout in corpus.layouts for piece in layout.pieces]
    lengths = np.cumsum([0, *(len(passage.text) for passage in corpus.passages)])
    shift = lengths[corpus.passage]
    ends = lengths[pages.passage] + pages.end
    starts = lengths[pages.passage] + pages.start
    edges = np.array(spans, dtype=np.int64).reshape(-1, 2) + shift[:, None]
    texts = np.array([len(text) for text in corpus.texts], dtype=np.int64)
    low = np.searchsorted(ends, edges[:, 0], side="right")
    high = np.searchsorted(starts, np.maximum(edges[:, 0] + np.maximum(texts, 1), edges[:, 0] + 1), side="left")
    low = np.minimum(low, len(pages) - 1)
    best = scores[low]
    for step in range(1, int((high - low).max(initial=1))):
        further = np.minimum(low + step, len(pages) - 1)
        best = np.where(low + step < high, np.maximum(best, scores[further]), best)
    result: Scores = best
    return result


def own_scores(corpus: Corpus, query: str) -> Scores:
    """The lexical score of each unit by itself, scaled to 0 .. 1, (units,)."""
    spans = [(piece.start, piece.end) for layout in corpus.layouts for piece in layout.pieces]
    edges = np.array(spans, dtype=np.int64).reshape(-1, 2)
    words = sum(text.count(" ") + 1 for text in corpus.texts)
    places = np.arange(len(corpus) + 1)
    units = Pages(corpus.passage, edges[:, 0], edges[:, 1], places, np.zeros(words, dtype=np.int64))
    return spread(lexical_scores(units, corpus.passages, query)[0])
