"""The best part of a unit that is too long: cut at words, never inside one, never inside a character."""

from __future__ import annotations

from collections.abc import Callable

import regex

from squeeze.types import Span

_WORD = regex.compile(r"\S+")
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]")
_GRAPHEME = regex.compile(r"\X")
_FOLD = regex.compile(r"\w+")

_BEFORE = 3
"""Words kept in front of the first word that the query shares, so that it does not stand alone."""


def cut(text: str, span: Span, fits: Callable[[Span], bool], query: str | None = None) -> Span | None:
    """The longest run of words inside `span` that fits, or None when not one word does.

    It begins at the start of the span, unless the words of the query only come later: then shortly before them.

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
    focus = _focus(text, words, query)
    if focus is not None and focus >= first:
        start = max(0, focus - _BEFORE)
        count = _longest(words, start, fits)
        if count > focus - start:
            return words[start][0], words[start + count - 1][1]
        count = _longest(words, focus, fits)
        if count:
            return words[focus][0], words[focus + count - 1][1]
    return (words[0][0], words[first - 1][1]) if first else None


def _words(text: str, span: Span) -> list[Span]:
    """Places where the unit may be cut: words, and single characters in scripts without spaces."""
    out: list[Span] = []
    for word in _WORD.finditer(text, *span):
        if _UNSPACED.search(text, *word.span()):
            out += [character.span() for character in _GRAPHEME.finditer(text, *word.span())]
        else:
            out.append(word.span())
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


def _focus(text: str, words: list[Span], query: str | None) -> int | None:
    """Index of the first word that the query shares; longer words of the query are looked for first."""
    if query is None:
        return None
    wanted = sorted(set(_FOLD.findall(query.casefold())), key=lambda word: (-len(word), word))
    places: dict[str, int] = {}
    for index, (start, end) in enumerate(words):
        for word in _FOLD.findall(text[start:end].casefold()):
            places.setdefault(word, index)
    return next((places[word] for word in wanted if word in places), None)
