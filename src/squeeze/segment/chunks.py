"""Lines, and parts of lines that are too long, as spans that tile a text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from squeeze.segment.graphemes import is_break

Span = tuple[int, int]

_LINE = re.compile(r"[^\n\r]*+(?:\r\n|\n|\r)?+")
_BLANK = re.compile(r"[^\S\n\r]*+(?:\r\n|\n|\r)?+")
_PLACES = re.compile(r"[,;}\])>][^\S\n\r]*+|\s++")


def lines(text: str, begin: int = 0, end: int | None = None) -> list[Span]:
    """The lines of the stretch with their breaks."""
    stop = len(text) if end is None else end
    return [match.span() for match in _LINE.finditer(text, begin, stop) if match.end() > match.start()]


def filled_lines(text: str) -> list[Span]:
    """The lines of the text, blank ones joined to the line before (at the front, to the line behind)."""
    out: list[Span] = []
    start = -1
    for begin, end in lines(text):
        if _is_blank(text, begin, end):
            if out:
                out[-1] = (out[-1][0], end)
            elif start < 0:
                start = begin
        else:
            out.append((begin if out or start < 0 else start, end))
    return out or ([(0, len(text))] if text else [])


def is_blank(text: str, span: Span) -> bool:
    """Whether the line holds nothing but white space."""
    return _is_blank(text, *span)


def _is_blank(text: str, begin: int, end: int) -> bool:
    found = _BLANK.match(text, begin, end)
    return found is not None and found.end() == end


def parts(text: str, span: Span, size: int) -> Iterator[Span]:
    """The span in parts of about `size` characters, cut behind commas and brackets or at white space."""
    begin, end = span
    while end - begin > 2 * size:
        cut = _place(text, begin + size, min(begin + 2 * size, end))
        if cut >= end:
            break
        yield begin, cut
        begin = cut
    if end > begin:
        yield begin, end


def _place(text: str, low: int, high: int) -> int:
    """The first good place for a cut from `low` on, at most a little behind `high`."""
    found = _PLACES.search(text, low, high)
    cut = found.end() if found else high
    while cut < len(text) and not is_break(text, cut):
        cut += 1
    return cut
