"""From the tokens of a Markdown parser to blocks that tile the text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from squeeze.segment.blocks import Block
from squeeze.segment.lines import breaks

if TYPE_CHECKING:
    from markdown_it.token import Token

_NEWLINE = re.compile(r"\r\n|\n|\r")
_BLANK_LINES = re.compile(r"(?:[^\S\n\r]*+(?:\r\n|\n|\r))*+")
_PARAGRAPH = Block(0, 0, "paragraph", cut=True)
_DEFINED = Block(0, 0, "definition", prose=False)
_DEFINITION = re.compile(r"[ \t>]*\[[^\]\n]{1,999}\]:")
_LONG_ITEM = 320  # characters (about 80 tokens) from which a list item is cut into sentences
_CLOSING = ("bullet_list_close", "ordered_list_close", "list_item_close", "blockquote_close", "table_close")
_KINDS = {
    "heading_open": Block(0, 0, "heading"),
    "paragraph_open": _PARAGRAPH,
    "fence": Block(0, 0, "code", prose=False),
    "code_block": Block(0, 0, "code", prose=False),
    "html_block": Block(0, 0, "html", prose=False),
    "hr": Block(0, 0, "rule", prose=False),
}
_HEADER = Block(0, 0, "header", prose=False)
_ROW = Block(0, 0, "row", prose=False)


@dataclass
class _Frame:
    """An open list, list item, quote or table."""

    kind: str
    first: int = -1  # of an item or a table: its first block
    lead: int = -1  # of a list: the paragraph that introduces it
    last: int = -1  # the block before, in the same container


class Collector:
    """Takes blocks in the order of the text, so that they tile it.

    Attributes:
        blocks: those taken.
        at: where the next one begins.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.blocks: list[Block] = []
        self.at = 0

    def add(self, end: int, block: Block) -> int:
        """Takes the text up to `end` as a block like the given one and gives its index; -1 where nothing is left."""
        if end <= self.at:
            return -1
        self.blocks.append(block._replace(start=self.at, end=end))
        self.at = end
        return len(self.blocks) - 1

    def fill(self, end: int) -> None:
        """Takes the text up to `end`, in which the parser saw no block.

        Blank lines go to the block before, link definitions become atoms, the rest (text nested deeper than the parser
        follows, list items without text) paragraphs.
        """
        if self.at >= end:
            return
        if not self.blocks and not self.text[self.at : end].strip() and end < len(self.text):
            return  # the first block takes them
        if self.blocks:
            self._extend(end)
        starts = [after for _, after, blank in breaks(self.text, self.at, end) if blank]
        for stop in [*starts, end]:
            known = _DEFINITION.match(self.text, self.at, stop)
            self.add(stop, _DEFINED if known else _PARAGRAPH)

    def _extend(self, end: int) -> None:
        """Gives the blank lines that stand here to the block before."""
        blank = _BLANK_LINES.match(self.text, self.at, end)
        stop = end if blank and not self.text[blank.end() : end].strip() else blank.end() if blank else self.at
        self.blocks[-1] = self.blocks[-1]._replace(end=stop)
        self.at = stop


def collect(tokens: Sequence[Token], collector: Collector, stop: int | None = None) -> None:
    """Adds the blocks of the tokens, whose lines count from where the collector stands, up to the line `stop`."""
    text, begin = collector.text, collector.at
    starts = [begin, *(match.end() for match in _NEWLINE.finditer(text, begin)), len(text)]
    walker = _Walker(collector, starts)
    for token in tokens:
        walker.take(token)
    end = len(text) if stop is None else starts[stop]
    collector.fill(end)


class _Walker:
    """Follows the nesting of the tokens and adds their leaves."""

    def __init__(self, collector: Collector, starts: list[int]) -> None:
        self.collector = collector
        self.starts = starts
        self.frames = [_Frame("document")]

    def take(self, token: Token) -> None:
        """Reads one token."""
        name = token.type
        if name in ("bullet_list_open", "ordered_list_open"):
            self.frames.append(_Frame("list", lead=self._lead()))
        elif name in ("list_item_open", "blockquote_open", "table_open"):
            self.frames.append(_Frame(name.removesuffix("_open").removeprefix("list_")))
        elif name in _CLOSING:
            self.frames.pop()
            self.frames[-1].last = -1
        elif name == "tr_open":
            self._row(token)
        elif name in _KINDS:
            self._leaf(token)

    def _lines(self, token: Token) -> int:
        """Fills up to the first line of the token and gives the end of its last."""
        first, last = token.map or (0, 0)
        self.collector.fill(self.starts[min(first, len(self.starts) - 1)])
        return self.starts[min(last, len(self.starts) - 1)]

    def _lead(self) -> int:
        """The block right before, if it is a paragraph that ends with a colon."""
        last = self.frames[-1].last
        if last < 0 or self.collector.blocks[last].kind not in ("paragraph", "item"):
            return -1
        block = self.collector.blocks[last]
        return last if self.collector.text[block.start : block.end].rstrip()[-1:] in (":", "：") else -1

    def _leaf(self, token: Token) -> None:
        end = self._lines(token)
        block = _KINDS[token.type]
        needs, leads = self._needs()
        frame = self._item()
        if frame and frame.first < 0 and block.cut:
            block = block._replace(kind="item", cut=end - self.collector.at > _LONG_ITEM)
        if block.kind == "heading" and len(self.frames) == 1:
            block = block._replace(level=int(token.tag[1]))
        index = self.collector.add(end, block._replace(needs=needs, leads=leads))
        if index >= 0:
            self.frames[-1].last = index
            if frame and frame.first < 0:
                frame.first = index

    def _row(self, token: Token) -> None:
        end = self._lines(token)
        table = self.frames[-1]
        if table.first >= 0:
            self.collector.add(end, _ROW._replace(needs=(table.first,)))
        else:
            needs, leads = self._needs()
            dashes = self.starts[min((token.map or (0, 0))[1] + 1, len(self.starts) - 1)]
            table.first = self.collector.add(dashes, _HEADER._replace(needs=needs, leads=leads))

    def _item(self) -> _Frame | None:
        """The innermost open list item."""
        return next((frame for frame in reversed(self.frames) if frame.kind == "item"), None)

    def _needs(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """What a block at this place needs: the item that it continues, or the one above and the lead-in."""
        items = [frame for frame in self.frames if frame.kind == "item"]
        if not items:
            return (), ()
        if items[-1].first >= 0:
            return (items[-1].first,), ()
        above = (items[-2].first,) if len(items) > 1 and items[-2].first >= 0 else ()
        lead = next((frame.lead for frame in reversed(self.frames) if frame.kind == "list"), -1)
        return above, (lead,) if lead >= 0 and lead not in above else ()
