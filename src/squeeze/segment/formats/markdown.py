"""Markdown (CommonMark with tables): headings, paragraphs, list items, table rows, code and HTML blocks."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from squeeze.segment.blocks import Block, Format
from squeeze.segment.formats._markdown_blocks import Collector, collect
from squeeze.segment.formats._markdown_open import code_chunks, is_open

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_ENOUGH = 0.9  # more signs need not be sought
_SAMPLE = 20_000  # characters that decide the format
_SIGNS = re.compile(
    r"^(?:"
    r"(?P<fence> {0,3}(?:```|~~~))"
    r"|(?P<title> {0,3}#[ \t]+[^\s#])"
    r"|(?P<heading> {0,3}#{2,6}[ \t]+[^\s#])"
    r"|(?P<list>[ \t>]{0,12}(?:[-*+]|\d{1,3}[.)])[ \t]+\S)"
    r"|(?P<table> {0,3}\|?[ \t]*:?-+:?[ \t]*\|[ \t|:-]*$)"
    r"|(?P<underline>={3,}[ \t]*$)"
    r")|(?P<link>\]\((?:https?://|[/#.\w])[^\s()]*\))|(?P<bold>\*\*\w(?:[^*\n]{0,80}\w)?\*\*)",
    re.MULTILINE,
)
_WEIGHTS = {  # what one sign counts, and the most that several of a kind do; other formats use some of them as well
    "fence": (0.9, 0.9),
    "table": (0.9, 0.9),
    "heading": (0.7, 0.8),
    "title": (0.5, 0.6),
    "link": (0.5, 0.7),
    "list": (0.3, 0.6),
    "bold": (0.3, 0.6),
    "underline": (0.3, 0.5),
}
_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(?:[^\n]*\n){0,200}?(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)\s*?(?=\S|\Z)")
_KEY = re.compile(r"[\w.-]+[ \t]*:")
_RESTARTS = 4  # times that reading starts anew behind a fence that nobody closed


class Markdown(Format):
    """Headings with sections, paragraphs and long list items cut into sentences, everything else whole."""

    def detect(self, text: str) -> float:
        """By signs at the starts of lines and by links; lists and bold words count when there are several."""
        seen: dict[str, float] = {}
        for match in _SIGNS.finditer(text, 0, _SAMPLE):
            sign = match.lastgroup or ""
            weight, most = _WEIGHTS[sign]
            seen[sign] = min(most, seen.get(sign, 0.0) + weight)
            if seen[sign] >= _ENOUGH:
                break
        return max(seen.values(), default=0.0)

    def blocks(self, text: str) -> list[Block]:
        """The leaves of the block structure.

        A list item needs the sentence that introduces its list and the item above it, what continues an item the item,
        a table row its header.
        """
        collector = Collector(text)
        front = _FRONT_MATTER.match(text)
        if front and _KEY.match(text, text.index("\n") + 1):
            collector.add(front.end(), Block(0, 0, "front_matter", prose=False))
        for _ in range(_RESTARTS):
            if collector.at >= len(text):
                break
            _read(text, collector)
        collector.fill(len(text))
        return collector.blocks


def _read(text: str, collector: Collector) -> None:
    """Adds the blocks from where the collector stands up to the end, or to what follows a fence that stays open."""
    source = text[collector.at :]
    try:
        tokens = _parser().parse(source)
    except Exception:  # a fault of the parser must not cost the caller the text: it is read as paragraphs
        return
    if tokens and is_open(tokens[-1], source):
        opened = tokens.pop()
        collect(tokens, collector, stop=_first_line(opened))
        code_chunks(collector, fenced=opened.type == "fence")
    else:
        collect(tokens, collector)


def _first_line(token: Token) -> int:
    return token.map[0] if token.map else 0


@cache
def _parser() -> MarkdownIt:
    """A parser for blocks alone; nesting is limited to 20 levels by its preset."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    parser.parse("")  # fills its caches before other threads see it
    return parser


FORMAT = Markdown()
