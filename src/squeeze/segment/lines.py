"""Which line breaks end a sentence: all but those of text that was wrapped at a fixed width."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

_BREAK = re.compile(r"(?:\r\n|[\n\r\x0b\x0c\x85\u2028\u2029])\s*+")
_SPACE = re.compile(r"\s*+")
_BLANKS = "".join(filter(str.isspace, map(chr, range(0x3001)))).translate(
    dict.fromkeys(map(ord, "\n\r\x0b\x0c\x85\u2028\u2029"))
)
_LIST_START = re.compile(r"(?:[-*+•‣▪◦●–—|#·]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s")
_TURN = re.compile(r"[^\W\d_][\w.'’-]{0,20}(?: [^\W\d_][\w.'’-]{0,20}){0,3}:\s")  # somebody speaks
_CJK = re.compile(r"[\u3041-\u30ff\u3400-\u9fff\uff01-\uff60]")
_WIDTHS = range(40, 131)  # columns that texts are wrapped at
_CJK_WIDTHS = range(15, 81)
_PAIR_WIDTH = 50  # columns of the first line from which two lines alone count as wrapped
_SLACK = 3  # columns that a wrapped line may fall short
_JOINABLE = 24  # a shorter line before a lower-case one is rather a label than a torn sentence


class _Line(NamedTuple):
    start: int
    end: int  # without the break
    next: int  # where the next line begins


def segments(text: str, begin: int, end: int) -> list[tuple[int, int]]:
    """The stretches of `text[begin:end]` between line breaks that end a sentence; white space ends a stretch.

    A blank line always ends one. A single break does, unless the paragraph is wrapped at a fixed width or the next line
    goes on in lower case.
    """
    cuts: list[int] = []
    paragraph: list[_Line] = []
    for line, blank in _lines(text, begin, end):
        paragraph.append(line)
        if blank:
            cuts.extend(_inner_cuts(text, paragraph))
            cuts.append(line.next)
            paragraph = []
    cuts.extend(_inner_cuts(text, paragraph))
    spans = []
    start = begin
    for cut in [*cuts, end]:
        if cut > start:
            spans.append((start, cut))
            start = cut
    return spans


def breaks(text: str, begin: int, end: int) -> Iterator[tuple[int, int, bool]]:
    """The line breaks inside `text[begin:end]`: where each line ends, where the next that holds something begins.

    The third value tells whether a blank line lies between them. Indentation belongs to the line that it indents, blank
    lines at the front to the first line, white space at the end to the last.
    """
    space = _SPACE.match(text, begin, end)
    for match in _BREAK.finditer(text, space.end() if space else begin, end):
        if match.end() == end:
            return
        gap = match.group()
        lines = gap.rstrip(_BLANKS) if len(gap) > 1 else gap
        yield match.start(), match.start() + len(lines), len(lines) > 1 and lines != "\r\n"


def _lines(text: str, begin: int, end: int) -> Iterator[tuple[_Line, bool]]:
    """The lines that hold something, each with whether a blank line or the end follows."""
    for stop, after, blank in breaks(text, begin, end):
        yield _Line(begin, stop, after), blank
        begin = after
    yield _Line(begin, end, end), True


def _inner_cuts(text: str, lines: list[_Line]) -> list[int]:
    """Starts of the lines of one paragraph that begin a stretch of their own."""
    if len(lines) < 2:
        return []
    wrapped = _is_wrapped(text, lines)
    return [line.next for line, after in pairwise(lines) if not _goes_on(text, line, after, wrapped)]


def _goes_on(text: str, line: _Line, after: _Line, wrapped: bool) -> bool:
    """Whether a sentence may run over the break between two lines."""
    begin = after.start
    while text[begin].isspace():  # a line holds something
        begin += 1
    if _LIST_START.match(text, begin) or (not wrapped and _TURN.match(text, begin)):
        return False
    unfinished = text[begin].islower() or text[line.end - 1] in ",、，"
    return wrapped or (line.end - line.start >= _JOINABLE and unfinished)


def _is_wrapped(text: str, lines: list[_Line]) -> bool:
    """Whether nearly every line ends because the next word did not fit."""
    lengths = [line.end - line.start for line in lines]
    width = max(lengths)
    if _CJK.match(text, (lines[0].start + lines[0].end) // 2):
        return width in _CJK_WIDTHS and min(lengths[:-1]) >= width - _SLACK
    if width not in _WIDTHS:
        return False
    full = 0
    for line, after in pairwise(lines):
        words = text[after.start : after.end].lstrip("> \t").split(maxsplit=1)
        full += line.end - line.start + 1 + len(words[0] if words else "") > width - _SLACK
    return full >= 0.85 * (len(lines) - 1) and (len(lines) > 2 or lengths[0] >= _PAIR_WIDTH)
