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


def shuffled(passages: Sequence[Passage], query: str, limit: int, count: Count) -> Kept:
    """Sentences at random, the same ones for the same input."""
    units = sentences(passages)
    draw = random.Random(len(units))
    return _fill(passages, units, [draw.random() for _ in units], limit, count)


BASELINES = {"bm25_title": bm25_title, "bm25": bm25, "random": shuffled}
"""Baselines by name. Whole passages and the cut beginning are methods of squeeze: `passages`, `truncate`."""


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
        cost = count(passages[passage].text[start:end].strip()) + 1
        if cost <= limit:
            kept.append(int(index))
            limit -= cost
    return [units[index] for index in sorted(kept)]
