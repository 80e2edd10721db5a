"""Whether what is kept of a passage is still whole: it parses, balances, and shows the headers of its rows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser

from squeeze.segment.layout import Layout
from squeeze.types import Span

_VOID = re.compile(r"area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr")
_EDGE = re.compile(r"\\(begin|end)\{([\w*]+)\}")


def broken(text: str, layout: Layout, spans: list[Span], kept: str) -> str:
    """What is wrong with the kept text of a passage; empty for nothing, or when the input has the fault already.

    Args:
        text: the passage.
        layout: its segmentation.
        spans: what was kept of it.
        kept: the rendered text of it.
    """
    for fault in (CHECKS[layout.format](kept, text), _headers(text, layout, spans), _lines(text, layout, spans)):
        if fault:
            return fault
    return ""


def _parses(kept: str, text: str) -> str:
    return "" if not _is_json(text) or _is_json(kept) else "does not parse"


def _parses_by_line(kept: str, text: str) -> str:
    if not all(_is_json(line) for line in text.splitlines() if line.strip()):
        return ""
    return "" if all(_is_json(line) for line in kept.splitlines() if line.strip()) else "a line does not parse"


def _balances(kept: str, text: str) -> str:
    return "tags do not balance" if _unbalanced(kept) and not _unbalanced(text) else ""


def _fences(kept: str, text: str) -> str:
    return "a fence is open" if kept.count("```") % 2 and not text.count("```") % 2 else ""


def _environments(kept: str, text: str) -> str:
    return "an environment is open" if _open_environment(kept) and not _open_environment(text) else ""


def _nothing(kept: str, text: str) -> str:
    return ""


CHECKS: dict[str, Callable[[str, str], str]] = {
    "json": _parses,
    "jsonl": _parses_by_line,
    "html": _balances,
    "markdown": _fences,
    "latex": _environments,
    "logs": _nothing,
    "csv": _nothing,
    "tsv": _nothing,
    "code": _nothing,
    "rst": _nothing,
}
"""The check of each format; that lines are whole and rows have their header is checked for all of them."""


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


class _Balance(HTMLParser):
    """Follows tags."""

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.fault = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if not _VOID.fullmatch(tag):
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.stack or self.stack.pop() != tag:
            self.fault = True


def _unbalanced(text: str) -> bool:
    parser = _Balance()
    parser.feed(text)
    parser.close()
    return parser.fault or bool(parser.stack)


def _open_environment(text: str) -> bool:
    stack: list[str] = []
    for match in _EDGE.finditer(text):
        if match.group(1) == "begin":
            stack.append(match.group(2))
        elif not stack or stack.pop() != match.group(2):
            return True
    return bool(stack)


def _shows(spans: list[Span], start: int, end: int) -> bool:
    return any(low < end and start < high for low, high in spans)


def _headers(text: str, layout: Layout, spans: list[Span]) -> str:
    """Rows without the header that they need."""
    for piece in layout.pieces:
        if piece.kind == "row" and _shows(spans, piece.start, piece.end):
            for need in piece.needs:
                other = layout.pieces[need]
                if other.kind == "header" and not _shows(spans, other.start, other.end):
                    return f"the row at {piece.start} has lost its header"
    return ""


def _lines(text: str, layout: Layout, spans: list[Span]) -> str:
    """Lines of units that must stay whole, shown in part."""
    if layout.format not in ("logs", "csv", "tsv", "jsonl", "code"):
        return ""
    for start, end in spans:
        before = text[text.rfind("\n", 0, start) + 1 : start]
        after = "" if text[end - 1] == "\n" else text[end : (text + "\n").index("\n", end)]
        if before.strip() or after.strip():
            return f"the line at {start} or {end} is cut"
    return ""
