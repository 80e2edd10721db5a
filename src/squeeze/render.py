"""From kept spans to parts: white space trimmed, touching spans merged, gap marks and joiners set between."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from squeeze.errors import ConfigError
from squeeze.segment.graphemes import is_break
from squeeze.segment.layout import Layout
from squeeze.types import Passage, Span, TextPart

JOINER = "\n\n"
"""What stands between passages, in the input as it is counted and in the rendered result."""

GAP = "…"

_INDENT = re.compile(r"(?:[^\S\n]*\n)*(?=[^\S\n]*)")


@dataclass(frozen=True, slots=True)
class Style:
    """How a result is rendered.

    Attributes:
        gap: the mark that stands where something was left out; empty for none.
        titles: whether the title of a passage is printed above it.
    """

    gap: str = GAP
    titles: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.gap, str):
            raise ConfigError(f"gap is {self.gap!r}; allowed: a str, empty for no mark")
        if not isinstance(self.titles, bool):
            raise ConfigError(f"titles is {self.titles!r}; allowed: True or False")

    def between(self, dropped: str, layout: Layout) -> str:
        """What stands in place of a dropped stretch of a passage."""
        if layout.gap == "none":
            return ""
        if layout.gap == "line" or "\n" in dropped or "\r" in dropped:
            return f"\n{self.gap}\n" if self.gap else "\n"
        return f" {self.gap} " if self.gap else " "

    def above(self, passage: Passage, first: bool) -> str:
        """What stands before the first kept span of a passage."""
        title = f"{passage.title}\n" if self.titles and passage.title.strip() else ""
        return title if first else JOINER + title


def parts(
    passages: tuple[Passage, ...],
    layouts: tuple[Layout, ...],
    kept: Mapping[int, list[int]],
    style: Style,
    cuts: Mapping[int, Span],
) -> list[TextPart]:
    """The parts that show the kept pieces.

    Args:
        passages: the input.
        layouts: the segmentation of each passage.
        kept: ascending piece indices by passage index.
        style: gap mark and titles.
        cuts: by passage index, a span that is kept besides, a piece cut at a word.
    """
    out: list[TextPart] = []
    for index in sorted({*kept, *cuts}):
        passage, layout = passages[index], layouts[index]
        spans = merge(passage.text, layout, kept.get(index, []), cuts.get(index))
        out += _of_passage(index, passage, layout, spans, style, not out)
    return out


def _of_passage(
    index: int, passage: Passage, layout: Layout, spans: Iterable[Span], style: Style, first: bool
) -> list[TextPart]:
    """The parts of one passage; `first` says that nothing of the result stands before them."""
    out: list[TextPart] = []
    for start, end in spans:
        lead = style.between(passage.text[out[-1].end : start], layout) if out else style.above(passage, first)
        out.append(TextPart(index, start, end, passage.text[start:end], lead))
    return out


def merge(text: str, layout: Layout, kept: list[int], extra: Span | None = None) -> list[Span]:
    """The kept spans of one passage: trimmed, and one where only white space lies between two."""
    keep_indent = layout.gap == "line"
    found = layout.spans(kept)
    if extra is not None:
        found = sorted([*found, extra])
    if layout.gap != "none":
        indented = {piece.start for index in kept if not (piece := layout.pieces[index]).prose}
    spans: list[Span] = []
    for start, end in found:
        if layout.gap != "none":
            start, end = trim(text, start, end, keep_indent or start in indented)
        if start >= end:
            continue
        if spans and not text[spans[-1][1] : start].strip():
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return spans


def trim(text: str, start: int, end: int, keep_indent: bool) -> Span:
    """The span without white space at its ends; `keep_indent` leaves the indentation of its first line.

    White space that carries a combining mark is a character like others and stays.
    """
    stop = start + len(text[start:end].rstrip())
    while stop < end and not is_break(text, stop):
        stop += 1
    if keep_indent and (start == 0 or text[start - 1] in "\r\n" or text[start] in "\r\n"):
        found = _INDENT.match(text, start, stop)
        start = found.end() if found else start
        return (start, stop) if text[start:stop].strip() else (stop, stop)
    begin = start + len(text[start:stop]) - len(text[start:stop].lstrip())
    while begin > start and not is_break(text, begin):
        begin -= 1
    return begin, stop
