"""Stretches in quotes and brackets that stay whole because the sentence around them goes on."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable

_PAIRS = dict(zip("([（【「『“„«‹»", ")]）】」』”“»›«", strict=True))
_MARKS = re.compile(r"[()\[\]（）【】「」『』“”„«»‹›\"]")
_BRACKETS = "([（【"
_LONGEST = 200  # characters between the marks; a longer quotation is cut like other text
_FIRST_WIDE = "\u3040"  # Kana, Han and Hangul begin here
_SHORT = 60  # characters of a quotation in these scripts that stays whole whatever follows
_DEEPEST = 8  # marks open at the same time; a text with more is no prose
_GOES_ON = re.compile(r"\s*+(?:[a-zß-öø-ÿа-яё,;:、，；：\u3041-\u309f]|[-–—] )")
_STOPS = ".!?。！？…｡"


def quoted(text: str, begin: int, end: int) -> Callable[[int], bool]:
    """A test whether an offset of the stretch lies inside a short quotation or bracket that must stay whole."""
    pairs = _whole(text, begin, end)
    starts = [start for start, _ in pairs]

    def inside(offset: int) -> bool:
        index = bisect_right(starts, offset - 1) - 1
        return index >= 0 and offset <= pairs[index][1]

    return inside


def _whole(text: str, begin: int, end: int) -> list[tuple[int, int]]:
    """Outermost pairs (opening mark, closing mark), ascending, that are short and part of a sentence that goes on."""
    pairs: list[tuple[int, int]] = []
    opened: list[tuple[int, str]] = []  # place, and the mark that closes it
    for match in _MARKS.finditer(text, begin, end):
        mark, at = match.group(), match.start()
        while opened and at - opened[0][0] > _LONGEST:
            del opened[0]
        depth = _depth(opened, mark)
        if depth >= 0 and (mark != '"' or _closes(text, at, end)):
            start = opened[depth][0]
            del opened[depth:]
            if _stays(text, start, at, begin):
                _add(pairs, start, at)
        elif mark == '"' or mark in _PAIRS:
            _open(opened, depth, at, mark)
    return pairs


def _add(pairs: list[tuple[int, int]], start: int, closing: int) -> None:
    """Adds a pair; those inside it go."""
    while pairs and pairs[-1][0] > start:
        pairs.pop()
    pairs.append((start, closing))


def _open(opened: list[tuple[int, str]], depth: int, at: int, mark: str) -> None:
    """Notes an opening mark; what was open since `depth`, the same mark, nobody closed."""
    if depth >= 0:
        del opened[depth:]
    if len(opened) < _DEEPEST:
        opened.append((at, _PAIRS.get(mark, mark)))


def _depth(opened: list[tuple[int, str]], mark: str) -> int:
    """The place of the innermost opening mark that this one closes; -1 without one."""
    return next((depth for depth in range(len(opened) - 1, -1, -1) if opened[depth][1] == mark), -1)


def _closes(text: str, at: int, end: int) -> bool:
    """Whether a straight quotation mark does not look like an opening one: it stands behind something."""
    if at == 0 or at + 1 >= end:
        return at > 0
    return text[at + 1].isspace() or not (text[at - 1].isspace() or text[at - 1] in "([{—–")


def _stays(text: str, start: int, closing: int, begin: int) -> bool:
    """Whether a pair of marks belongs to a sentence that goes on around it."""
    if text[start] in _BRACKETS and not _opens_sentence(text, start, begin):
        return True
    if text[start + 1] >= _FIRST_WIDE and closing - start <= _SHORT:
        return True
    goes_on = _GOES_ON.match(text, closing + 1) is not None
    return goes_on or (text[closing - 1] not in _STOPS and text[closing + 1 : closing + 2].isalnum())


def _opens_sentence(text: str, start: int, begin: int) -> bool:
    """Whether an opening mark stands where a sentence begins."""
    before = start - 1
    while before >= begin and text[before].isspace() and start - before < 8:
        before -= 1
    return before < begin or text[before] in _STOPS
