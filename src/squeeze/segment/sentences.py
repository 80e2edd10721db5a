"""Sentences of plain prose with exact offsets, in any script."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from squeeze.segment.brackets import quoted
from squeeze.segment.edu_rules import language_of
from squeeze.segment.graphemes import is_break
from squeeze.segment.lines import segments
from squeeze.segment.sentence_rules import Context, ends

_SAMPLE = 600  # characters that decide the language
LONGEST = 2000  # characters; what is longer is cut at the best place below

_CLOSE = "\"'”’»›)\\]}」』】〉》）］｝＂＇"
_WIDE = "。！？｡"  # need no white space behind them; neither does ．, but for decimals
_NARROW = ".!?…‼⁇⁈⁉։።፧፨၊။។៕᙮᠃᠉"
_JOINED = "।॥؟۔"  # usually with white space, sure without
_CASELESS = "\u0620-\u06d3\u0900-\u0dff\uac00-\ud7a3"  # letters of Arabic, the Indic scripts and Hangul
_CITATION = r"(?:\[(?:\d[\d,;–\- ]{0,20}|[a-z]|(?:[a-z]{1,12} ){1,3}(?:\d{1,3}|needed))\])"
_STOP = re.compile(
    rf"(?<![{_NARROW}])[{_NARROW}]++(?:\s?»(?=[\s,.;:]|\Z))?[{_CLOSE}“]*+{_CITATION}*+(?=\s)"
    rf"|(?:[{_WIDE}{_JOINED}]|．(?!\d))++[{_WIDE}{_JOINED}{_NARROW}]*+(?:[\"'](?!\w)|(?![\"'])[{_CLOSE}])*+{_CITATION}*+"
    rf"|(?<=[^\W\d_A-Z]{{2}})[.!?]{_CITATION}*+(?=[A-Z][a-z]*\s)"
    rf"|(?<=[{_CASELESS}]{{4}})[.!?]{_CITATION}*+(?=[{_CASELESS}]{{3}})"
    r"|(?<=\S)(?=\s[•‣▪◦●]\s)"
)
_SPACE = re.compile(r"\s*+")
_THAI = re.compile(r"(?<=[\u0e01-\u0e5b])\s(?=[\u0e01-\u0e5b])")
_THAI_SHORTEST = 60  # characters; Thai has no stop, only spaces between phrases
_CITED = re.compile(rf"(?:[^\S\n]?{_CITATION})++(?!\S)")


class _Cut(NamedTuple):
    offset: int  # where the next sentence begins
    stop: int  # first character of the stop


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """The sentences of the text as consecutive spans from 0 to its end; white space belongs to the one before it.

    A text of white space alone is one span, an empty one has none. Line breaks end a sentence unless the text is
    wrapped at a fixed width. No span cuts a grapheme cluster; none is much longer than `LONGEST`, if it has spaces.
    """
    return spans_within(text, 0, len(text), language_in(text))


def language_in(text: str) -> str:
    """The language that the rules go by, from the front of the text."""
    return language_of(text[:_SAMPLE])


def spans_within(text: str, begin: int, end: int, language: str) -> list[tuple[int, int]]:
    """The sentences of `text[begin:end]` as spans of the text; `begin` must not lie inside a grapheme cluster."""
    context = Context(text, language)
    spans: list[tuple[int, int]] = []
    start = begin
    for low, high in segments(text, begin, end):
        for cut in (*_cuts(context, low, high), high):
            if cut == end or is_break(text, cut):
                spans.extend(_bounded(text, start, cut))
                start = cut
    return spans


def _cuts(context: Context, begin: int, end: int) -> Iterator[int]:
    """Ascending offsets strictly inside a stretch where a sentence begins."""
    text = context.text
    inside = None
    start = begin
    for cut in _candidates(text, begin, end):
        if cut.offset >= end or cut.offset <= start:
            continue
        if not ends(context, start, cut.stop, cut.offset):
            continue
        if inside is None:
            inside = quoted(text, begin, end)
        if inside(cut.offset):
            continue
        yield cut.offset
        start = cut.offset


def _candidates(text: str, begin: int, end: int) -> Iterator[_Cut]:
    """Every place in a stretch that looks like the end of a sentence."""
    last = begin
    for match in _STOP.finditer(text, begin, end):
        yield from _thai(text, last, match.start())
        after = match.end()
        cited = _CITED.match(text, after, end)
        if cited:
            after = cited.end()
        space = _SPACE.match(text, after, end)
        last = space.end() if space else after
        yield _Cut(last, match.start())
    yield from _thai(text, last, end)


def _thai(text: str, begin: int, end: int) -> Iterator[_Cut]:
    """Spaces between long stretches of Thai."""
    if end - begin < 2 * _THAI_SHORTEST:
        return
    for match in _THAI.finditer(text, begin, end):
        if match.end() - begin >= _THAI_SHORTEST and end - match.end() >= _THAI_SHORTEST // 2:
            begin = match.end()
            yield _Cut(begin, match.start())


def _bounded(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The span, cut at the best place where it is too long: behind a semicolon, a comma, or white space."""
    while end - start > LONGEST:
        cut = _best_cut(text, start, end)
        if not cut or text[start:cut].isspace() or text[cut:end].isspace():
            break
        yield start, cut
        start = cut
    yield start, end


def _best_cut(text: str, start: int, end: int) -> int:
    """Where to cut a sentence that is too long; 0 where it has no white space."""
    low, high = start + LONGEST // 4, min(start + LONGEST, end - 1)
    for mark in ("; ", ": ", ", ", "；", "，", "、", " "):
        found = text.rfind(mark, low, high)
        if found >= 0 and is_break(text, found + len(mark)):
            return found + len(mark)
    match = _ANY_SPACE.search(text, high, end - 1)
    return match.end() if match and is_break(text, match.end()) else 0


_ANY_SPACE = re.compile(r"\s++")
