"""From the lines of a reStructuredText document to blocks that tile it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from squeeze.segment.blocks import Block
from squeeze.segment.chunks import is_blank, lines
from squeeze.segment.formats._rst_tables import is_table, rows

_WHOLE = 320  # characters (about 80 tokens) of a block with a body that stays whole
_CODE = 600  # characters of a literal block that stays whole
_DEEPEST = 12  # levels of nesting that are followed
_TAB = 8

_DIRECTIVE = re.compile(r"\.\. (?P<name>[\w.+-]+(?::[\w-]+)?)::(?:\s|$)")
_EXPLICIT = re.compile(r"\.\.(?:\s|$)")
_ITEM = re.compile(r"(?:[-*+•]|(?:\d{1,3}|[a-zA-Z#])[.)]|\((?:\d{1,3}|[a-zA-Z])\))\s+(?=\S)|:[^:\s][^:\n]*:(?:\s|$)")
_RULER = re.compile(r"([!-/:-@\[-`{-~])\1{2,}\s*$")
_VERBATIM = re.compile(
    r"\.\. (?:code|code-block|sourcecode|literalinclude|doctest|testcode|testoutput|math|productionlist"
    r"|parsed-literal|raw|highlight|csv-table|list-table|toctree|graphviz|image)::"
)


@dataclass
class Reader:
    """Reads regions of lines by their indentation.

    Attributes:
        text: the document.
        spans: its lines.
        indents: columns in front of each line, -1 for blank ones.
        blocks: those found.
    """

    text: str
    spans: list[tuple[int, int]] = field(default_factory=list)
    indents: list[int] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    _levels: list[str] = field(default_factory=list)
    _at: int = 0  # where the next block begins

    def read(self) -> list[Block]:
        """All blocks."""
        self.spans = lines(self.text)
        for span in self.spans:
            source = self.text[slice(*span)].expandtabs(_TAB)
            self.indents.append(-1 if is_blank(self.text, span) else len(source) - len(source.lstrip()))
        self._region(0, len(self.spans), (), 0)
        if self._at < len(self.text):
            self._add(len(self.spans), "paragraph", ())
        return self.blocks

    def _region(self, low: int, high: int, needs: tuple[int, ...], level: int) -> None:
        """Adds the blocks of the lines `low` to `high`."""
        at = low
        while at < high:
            if self.indents[at] < 0:
                at += 1
                continue
            at = self._block(at, high, needs, level)

    def _block(self, at: int, high: int, needs: tuple[int, ...], level: int) -> int:
        """Adds the block that begins at the line and gives the line after it."""
        source, base = self._line(at), self.indents[at]
        if level == 0 and base == 0 and (end := self._title(at, high)):
            return end
        if is_table(source):
            return self._table(at, high, needs)
        if _EXPLICIT.match(source):
            return self._directive(at, self._body_end(at + 1, high, base), needs, level)
        if _ITEM.match(source):
            return self._holder(at, self._body_end(at + 1, high, base), needs, level, "item")
        if source.startswith(">>>"):
            return self._verbatim(at, self._filled_end(at, high), needs)
        if at + 1 < high and self.indents[at + 1] > base:
            return self._holder(at, self._body_end(at + 1, high, base), needs, level, "term")
        return self._paragraph(at, high, needs)

    def _paragraph(self, at: int, high: int, needs: tuple[int, ...]) -> int:
        """Adds a paragraph, and the literal block that it announces."""
        base, end = self.indents[at], at
        while end < high and self.indents[end] == base and (end == at or not self._begins(end)):
            end += 1
        announces = self._line(end - 1).endswith("::")
        index = self._add(end, "paragraph", needs, cut=True)
        body = self._skip_blank(end, high)
        if announces and body < high and self.indents[body] > base:
            stop = self._body_end(body, high, base)
            self._chunks(body, stop, needs, (index,))
            return stop
        return end

    def _directive(self, at: int, end: int, needs: tuple[int, ...], level: int) -> int:
        if _VERBATIM.match(self._line(at)):
            return self._verbatim(at, end, needs)
        return self._holder(at, end, needs, level, "directive" if _DIRECTIVE.match(self._line(at)) else "comment")

    def _holder(self, at: int, end: int, needs: tuple[int, ...], level: int, kind: str) -> int:
        """Adds a block with a body: whole, or its first lines and then the body, which needs them."""
        if level >= _DEEPEST or self._size(at, end) <= _WHOLE:
            self._add(end, kind, needs)
            return end
        head = at + 1 if kind == "term" else self._filled_end(at, end)
        while head < end and self._line(head - 1).endswith("\\") and self.indents[head] >= 0:
            head += 1
        long = self._size(at, head) > 2 * _WHOLE
        index = self._add(head, "signature" if kind == "directive" and not long else kind, needs, cut=long)
        self._region(head, end, (*needs[-1:], index), level + 1)
        return end

    def _verbatim(self, at: int, end: int, needs: tuple[int, ...]) -> int:
        """Adds lines that must stay as they are; in a very long block each chunk needs the first."""
        first = self._skip_blank(self._filled_end(at, end), end)
        if self._size(at, end) <= _CODE or first >= end:
            self._add(end, "code", needs)
            return end
        index = self._add(first, "code", needs)
        self._chunks(first, end, (*needs, index))
        return end

    def _chunks(self, low: int, high: int, needs: tuple[int, ...], leads: tuple[int, ...] = ()) -> None:
        """Adds literal lines in one block, or in one for each run between blank lines."""
        at = low
        while at < high:
            end = high if self._size(at, high) <= _CODE else self._skip_blank(self._filled_end(at, high), high)
            while end < high and self._size(at, end) < _CODE // 4:
                end = self._skip_blank(self._filled_end(end, high), high)
            index = self._add(end, "code", needs)
            self.blocks[index] = self.blocks[index]._replace(leads=leads)
            at = end

    def _table(self, at: int, high: int, needs: tuple[int, ...]) -> int:
        """Adds a table by rows, each with the header."""
        base = self.indents[at]
        end = at
        while end < high and self.indents[end] >= base:
            end += 1
        header = -1
        sources = [self._line(line) for line in range(at, end)]
        for stop, is_header in rows(sources):
            own = (*needs, header) if header >= 0 else needs
            index = self._add(at + stop, "header" if is_header else "row", own)
            header = index if is_header else header
        return end

    def _title(self, at: int, high: int) -> int:
        """Adds a section title with its rulers and gives the line after it; 0 where there is none."""
        over = at + 2 < high and _RULER.match(self._line(at)) is not None
        title = at + 1 if over else at
        under = title + 1
        if under >= high or self.indents[title] < 0 or not _RULER.match(self._line(under)):
            return 0
        text = self._line(title)
        if _RULER.match(text) or len(self._line(under)) < min(len(text), 3) or (not over and self.indents[title]):
            return 0
        if over and self._line(at) != self._line(under):
            return 0
        style = self._line(under)[0] + ("^" if over else "")
        if style not in self._levels:
            self._levels.append(style)
        self._add(under + 1, "heading", (), level=self._levels.index(style) + 1)
        return under + 1

    def _begins(self, at: int) -> bool:
        """Whether a line begins a block that may stand right below a paragraph."""
        source = self._line(at)
        return _EXPLICIT.match(source) is not None or (at > 0 and is_table(source))

    def _add(self, end: int, kind: str, needs: tuple[int, ...], *, cut: bool = False, level: int = 0) -> int:
        """Adds what stands before the line `end`, with the blank lines behind it; gives its index."""
        end = self._skip_blank(end, len(self.spans))
        stop = self.spans[end - 1][1]
        if stop > self._at:
            prose = cut or kind in ("heading", "term", "item")
            self.blocks.append(Block(self._at, stop, kind, cut, prose, level, needs))
            self._at = stop
        return len(self.blocks) - 1

    def _line(self, at: int) -> str:
        return self.text[slice(*self.spans[at])].strip()

    def _size(self, low: int, high: int) -> int:
        return self.spans[high - 1][1] - self.spans[low][0] if high > low else 0

    def _skip_blank(self, at: int, high: int) -> int:
        while at < high and self.indents[at] < 0:
            at += 1
        return at

    def _filled_end(self, at: int, high: int) -> int:
        """The first blank line from `at` on."""
        while at < high and self.indents[at] >= 0:
            at += 1
        return at

    def _body_end(self, at: int, high: int, base: int) -> int:
        """The line after those that stand deeper than `base`, blank lines behind them left out."""
        end = at
        while at < high and (self.indents[at] < 0 or self.indents[at] > base):
            at += 1
            end = at if self.indents[at - 1] >= 0 else end
        return end
