"""The best part of a unit that is too long: cut at words, never inside one, never inside a character."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import lru_cache

import regex

from squeeze.score.words import FUNCTION_WORDS, Terms
from squeeze.segment.graphemes import is_break
from squeeze.types import Span

_WORD = regex.compile(r"\S+")
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]")
_GRAPHEME = regex.compile(r"\X")

_BEFORE = 3
"""Most words kept in front of the first word that the query shares, so that it does not stand alone."""


def cut(text: str, span: Span, fits: Callable[[Span], bool], query: str | None = None) -> Span | None:
    """The longest run of words inside `span` that fits, or None when not one word does.

    It begins at the start of the span, unless the words of the query come later: then shortly before them.

    Args:
        text: the passage.
        span: the unit that is too long.
        fits: whether a span fits the budget.
        query: the question, or None.
    """
    words = _words(text, span)
    if not words:
        return None
    first = _longest(words, 0, fits)
    before = min(_BEFORE, first // 4)
    focus = _focus(text, words, query, max(1, first - before))
    if focus is not None and focus[1] >= first:
        for start in (max(0, focus[0] - before), focus[0]):
            count = _longest(words, start, fits)
            if count > focus[1] - start or (count and start == focus[0]):
                return words[start][0], words[start + count - 1][1]
    return (words[0][0], words[first - 1][1]) if first else None


def _words(text: str, span: Span) -> list[Span]:
    """Places where the unit may be cut: words, and single characters in scripts without spaces."""
    out: list[Span] = []
    for word in _WORD.finditer(text, *span):
        start, end = word.span()
        while start > span[0] and not is_break(text, start):
            start -= 1  # a combining mark on a space
        if _UNSPACED.search(text, start, end):
            out += _characters(text, start, end)
        else:
            out.append((start, end))
    return out


def _characters(text: str, start: int, end: int) -> list[Span]:
    """The characters of a stretch without spaces, where words of other scripts stay whole."""
    out: list[Span] = []
    within = False  # whether the last span is a word that may go on
    for found in _GRAPHEME.finditer(text, start, end):
        first = found.group()[0]
        letter = first.isalnum() and not _UNSPACED.match(first)
        if letter and within:
            out[-1] = (out[-1][0], found.end())
        else:
            out.append(found.span())
        within = letter
    return out


def _longest(words: list[Span], start: int, fits: Callable[[Span], bool]) -> int:
    """How many words from `start` on fit."""
    low, high = 0, 1
    while start + high <= len(words) and fits((words[start][0], words[start + high - 1][1])):
        low, high = high, high * 2
    high = min(high, len(words) - start + 1)
    while high - low > 1:
        middle = (low + high) // 2
        if fits((words[start][0], words[start + middle - 1][1])):
            low = middle
        else:
            high = middle
    return low


@lru_cache(maxsize=64)  # of one question many units may be cut
def _asked(query: str) -> frozenset[str]:
    """The terms of the query that say what it is about."""
    return frozenset(Terms().of(query)).difference(Terms().of(" ".join(FUNCTION_WORDS)))


def _focus(text: str, words: list[Span], query: str | None, size: int) -> Span | None:
    """Indices of the first and the last word of the best run of `size` words; None when the query shares no word.

    Best is what holds the most letters of distinct terms of the query, those that only ask ("when", "the") left out.
    """
    if query is None:
        return None
    table = Terms(_asked(query))
    hits: list[tuple[int, str]] = []
    for index, (start, end) in enumerate(words):
        joined = index + 1 < len(words) and words[index + 1][0] == end  # a script without spaces is matched by pairs
        hits += [(index, term) for term in table.of(text[start : words[index + 1][1] if joined else end])]
    best, found, low = 0, None, 0
    inside: Counter[str] = Counter()
    weight = 0
    for index, term in hits:
        weight += 0 if inside[term] else len(term)
        inside[term] += 1
        while hits[low][0] <= index - size:
            inside[hits[low][1]] -= 1
            weight -= 0 if inside[hits[low][1]] else len(hits[low][1])
            low += 1
        if weight > best:
            best, found = weight, (hits[low][0], index)
    return found
