"""Stretches in quotes and brackets that stay whole because the sentence around them goes on."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable

_PAIRS = dict(zip("([（【「『“„«‹»", ")]）】」』”“»›«", strict=True))
_MARKS = re.compile(r"[()\[\]（）【】「」『』“”„«»‹›\"]")
_BRACKETS = "([（【"
_LONGEST = 200  # characters between the marks; a longer quotation is cut like other text
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
    opened: list[tuple[int, str]] = []
    for match in _MARKS.finditer(text, begin, end):
        mark, at = match.group(), match.start()
        while opened and at - opened[0][0] > _LONGEST:
            opened.clear()
        closer = next((depth for depth in range(len(opened) - 1, -1, -1) if opened[depth][1] == mark), -1)
        if closer >= 0:
            start = opened[closer][0]
            del opened[closer:]
            if _stays(text, start, at):
                while pairs and pairs[-1][0] > start:
                    pairs.pop()
                pairs.append((start, at))
        elif len(opened) < 8 and (mark == '"' or mark in _PAIRS):
            opened.append((at, _PAIRS.get(mark, mark)))
    return pairs


def _stays(text: str, start: int, closing: int) -> bool:
    """Whether a pair of marks belongs to a sentence that goes on around it."""
    if text[start] in _BRACKETS and not _opens_sentence(text, start):
        return True
    return _GOES_ON.match(text, closing + 1) is not None


def _opens_sentence(text: str, start: int) -> bool:
    """Whether an opening mark stands where a sentence begins."""
    before = start - 1
    while before >= 0 and text[before].isspace() and start - before < 8:
        before -= 1
    return before < 0 or text[before] in _STOPS
