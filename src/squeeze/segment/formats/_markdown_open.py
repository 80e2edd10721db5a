"""Fences, comments and tags that nobody closed: a cut-off text must not lose what stands behind them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from squeeze.segment.blocks import Block
from squeeze.segment.lines import breaks

if TYPE_CHECKING:
    from markdown_it.token import Token

    from squeeze.segment.formats._markdown_blocks import Collector

_HEADING = re.compile(r"#{2,6}[ \t]+\S|#[ \t]+[^\n\r]+(?:\r\n|\n|\r)+[A-Z][^\n\r;{}=]+[.!?:](?:\s|\Z)")
_PROSE = re.compile(r"[A-Z\"“'(*][^\n\r;{}=<>]{15,}[.!?:,](?:\s|\Z)")
_CLOSERS = {
    "<!--": "-->", "<?": "?>", "<![CDATA[": "]]>", "<script": "</script", "<pre": "</pre", "<style": "</style",
    "<textarea": "</textarea",
}  # fmt: skip


def is_open(token: Token, source: str) -> bool:
    """Whether the last token of a text is a block that runs to its end because nothing closes it."""
    if token.level or not token.map:
        return False
    if token.type == "fence":
        last = source.rstrip().rpartition("\n")[2].rpartition("\r")[2].strip()
        closed = len(last) >= len(token.markup) and not last.strip(token.markup[0])
        return not (closed and token.map[1] - token.map[0] > 1)
    if token.type == "html_block":
        start = token.content.lstrip().lower()
        return any(start.startswith(mark.lower()) and end.lower() not in start for mark, end in _CLOSERS.items())
    return False


def code_chunks(collector: Collector, *, fenced: bool) -> None:
    """Takes what an open block holds up to the first chunk between blank lines that reads like Markdown again."""
    text = collector.text
    block = Block(0, 0, "code" if fenced else "html", prose=False)
    chunks = [after for _, after, blank in breaks(text, collector.at, len(text)) if blank]
    for end in [*chunks, len(text)]:
        if block.needs and (_HEADING.match(text, collector.at) or _PROSE.match(text, collector.at)):
            return
        index = collector.add(end, block)
        block = block if block.needs else block._replace(needs=(index,))
