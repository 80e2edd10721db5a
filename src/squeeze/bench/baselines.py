"""What people do without a compressor: plain rankings of sentences and lines, filled up to the budget."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

import numpy as np
from rank_bm25 import BM25Okapi

from squeeze.types import Passage, Span

_SENTENCE_END = re.compile(r"[.!?。！？][\"')\]]*(?:\s+|$)|(?<=[。！？])|\n+")
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|\w+")

Kept = list[tuple[int, Span]]
"""Passage and span of what is kept, in source order."""

Count = Callable[[str], int]


def words(text: str) -> list[str]:
    """Words in lower case; single characters of Han and Kana."""
    return _WORD.findall(text.lower())


def sentences(passages: Sequence[Passage]) -> Kept:
    """Sentences and lines by a plain rule."""
    out: Kept = []
    for index, passage in enumerate(passages):
        start = 0
        for match in _SENTENCE_END.finditer(passage.text):
            if passage.text[start : match.end()].strip():
                out.append((index, (start, match.end())))
                start = match.end()
        if passage.text[start:].strip():
            out.append((index, (start, len(passage.text))))
    return out


def bm25_title(passages: Sequence[Passage], query: str, limit: int, count: Count) -> Kept:
    """Sentences by BM25 with the title's words, and the BM25 of the whole passage added."""
    units = sentences(passages)
    if not units:
        return []
    own = _bm25([words(passages[i].title) + words(passages[i].text[s:e]) for i, (s, e) in units], query)
    whole = _bm25([words(passage.title + " " + passage.text) for passage in passages], query)
    return _fill(passages, units, _spread(own) + _spread(whole)[[index for index, _ in units]], limit, count)


def bm25(passages: Sequence[Passage], query: str, limit: int, count: Count) -> Kept:
    """Sentences by BM25 alone."""
    units = sentences(passages)
    texts = [words(passages[i].text[s:e]) for i, (s, e) in units]
    return _fill(passages, units, _bm25(texts, query) if units else [], limit, count)


def shuffled(passages: Sequence[Passage], query: str, limit: int, count: Count, *, seed: int = 0) -> Kept:
    """Sentences at random, the same ones for the same input and seed."""
    units = sentences(passages)
    draw = random.Random(len(units) + 1_000_003 * seed)
    return _fill(passages, units, [draw.random() for _ in units], limit, count)


BASELINES = {"bm25_title": bm25_title, "bm25": bm25, "random": shuffled}
"""Baselines by name. Whole passages and the cut beginning are methods of squeeze: `passages`, `truncate`."""


def truncation(passages: Sequence[Passage], query: str, limit: int, count: Count) -> Kept:
    """The beginning: whole passages while they fit, then as many characters of the next one as do."""
    kept: Kept = []
    for index, passage in enumerate(passages):
        cost = count(passage.text) + 1
        if cost > limit:
            end = int(len(passage.text) * max(0, limit - 1) / cost)
            while end and count(passage.text[:end]) + 1 > limit:
                end = end * 49 // 50
            return [*kept, (index, (0, end))] if end else kept
        if passage.text:
            kept.append((index, (0, len(passage.text))))
        limit -= cost
    return kept


def bm25_passages(passages: Sequence[Passage], query: str, limit: int, count: Count) -> Kept:
    """Whole passages by BM25 with their titles, the best that fit: what a reranker with a budget does."""
    units: Kept = [(index, (0, len(passage.text))) for index, passage in enumerate(passages) if passage.text.strip()]
    corpus = [words(passages[index].title + " " + passages[index].text) for index, _ in units]
    return _fill(passages, units, _bm25(corpus, query) if units else [], limit, count)


PLAIN = {"truncation": truncation, "bm25": bm25, "bm25_passages": bm25_passages, "bm25_title": bm25_title}
"""What `squeeze bench` compares with, besides the whole input and sentences at random."""


def bm25_order(passages: Sequence[Passage]) -> Callable[[str], list[int]]:
    """What gives the indices of the passages for a question, the best by BM25 first."""
    if not passages:
        return lambda question: []
    ranking = BM25Okapi([words(passage.title + " " + passage.text) or ["_"] for passage in passages])
    return lambda question: [int(i) for i in np.argsort(-ranking.get_scores(words(question)), kind="stable")]


def _bm25(corpus: list[list[str]], query: str) -> np.ndarray:
    scores: np.ndarray = BM25Okapi([text or ["_"] for text in corpus]).get_scores(words(query))
    return scores


def _spread(scores: np.ndarray) -> np.ndarray:
    """The scores from 0 to 1."""
    spread: np.ndarray = (scores - scores.min()) / (np.ptp(scores) + 1e-9)
    return spread


def _fill(
    passages: Sequence[Passage], units: Kept, scores: Sequence[float] | np.ndarray, limit: int, count: Count
) -> Kept:
    """The best units that fit, one token added to each for what joins it to the next."""
    kept: list[int] = []
    for index in np.argsort(-np.asarray(scores, dtype=np.float64), kind="stable"):
        passage, (start, end) = units[index]
        cost = count(passages[passage].text[start:end].rstrip()) + 1
        if cost <= limit:
            kept.append(int(index))
            limit -= cost
    return [units[index] for index in sorted(kept)]
