"""From the elements of an HTML page to pieces and the tags that must come with them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from squeeze.segment.formats._html_tree import INLINE, Element, first_at_or_after, sentence_cuts
from squeeze.segment.framed import Builder
from squeeze.segment.graphemes import is_break
from squeeze.segment.layout import Layout, Node, Piece

_WHOLE = 320  # characters of an element that stays whole
_TEXT = 4  # a paragraph that is more than one part in so many of a small page is given by sentences
_SHARE = 8  # an element of several blocks that is more than one part in so many of its page is opened
_RECORD = 2  # the same for XML, whose records stay whole
_ROW = 2000  # characters of a table row, a heading or a term that stays whole
_SENTENCES = 160  # characters from which a stretch of sentences is full
_KEPT = frozenset(["tr", "dt", "caption", "summary", "h1", "h2", "h3", "h4", "h5", "h6", "title"])
_SPACE = re.compile(r"\s*+")
_TERMS = frozenset(["dt", "summary"])
_OPENED = frozenset(["html", "body", "table", "ul", "ol", "menu", "dl"])
_ROW_GROUPS = frozenset(["thead", "tbody", "tfoot"])
_HEADINGS = {f"h{level}": level for level in range(1, 7)}


@dataclass(slots=True)
class _Place:
    """A container whose children are being added.

    Attributes:
        element: the container.
        framed: whether its tags are pieces.
        at: the next child.
        outer: what the container needs.
        headings: level and piece of the headings above what comes next, the outermost first.
        above: the piece of the term or the table header that holds for what comes next.
    """

    element: Element
    framed: bool
    at: int = 0
    outer: tuple[int, ...] = ()
    headings: list[tuple[int, int]] = field(default_factory=list)
    above: tuple[int, ...] = ()

    @property
    def needs(self) -> tuple[int, ...]:
        """What the next child needs beside the tags around it."""
        nearest = self.headings[-1:]
        return (*(self.outer if not nearest else ()), *(index for _, index in nearest), *self.above)


def emit(text: str, root: Element, name: str, *, xml: bool = False) -> Layout:
    """The layout of the page."""
    builder = Builder(len(text))
    walker = _Walker(text, builder, xml)
    walker.walk(root)
    if not builder.pieces:
        document = Node(0, len(text), "document", -1, 0)
        return Layout(name, (document,), (Piece(0, len(text), "html", 0, prose=False),), "none")
    return builder.build(name, "none")


class _Walker:
    """Adds the children of containers with a stack of its own, so that no page is too deep."""

    def __init__(self, text: str, builder: Builder, xml: bool) -> None:
        self.text, self.builder = text, builder
        # characters of an element that stays whole, and of one of several blocks: a small page has small units too
        self.whole = _WHOLE if xml else min(_WHOLE, max(_SENTENCES, len(text) // _TEXT))
        self.several = len(text) // (_RECORD if xml else _SHARE)
        self.stack: list[_Place] = []

    def walk(self, root: Element) -> None:
        """Adds all pieces of the page."""
        self.stack.append(_Place(root, False))
        while self.stack:
            place = self.stack[-1]
            children = place.element.children
            if place.at >= len(children):
                self._leave(place)
                continue
            run = place.at
            while place.at < len(children) and _is_inline(children[place.at]):
                place.at += 1
            if place.at > run:
                self._run(children[run : place.at], place)
            else:
                place.at += 1
                self._block(children[run], place)

    def _leave(self, place: _Place) -> None:
        """Ends a container; white space before its end tag belongs to the tag."""
        self.stack.pop()
        if place.framed:
            self.builder.close(*self._bounds(place.element.end, 1))
        elif not self.stack:
            self._leaf(place.element.end, "html", ())

    def _block(self, child: Element, place: _Place) -> None:
        kept = child.tag in _KEPT and child.end - child.start <= _ROW
        small = self._is_small(child) and child.tag not in _ROW_GROUPS and not child.mixed
        if kept or small or child.hidden or not child.children:
            self._whole(child, place)
            return
        closed = child.end > child.closing
        if closed:
            self.builder.open(child.inside, child.tag, place.needs)
        self.stack.append(_Place(child, closed, 0, place.needs))

    def _is_small(self, child: Element) -> bool:
        """Whether an element is one unit: one block, or several that are little of the page and no list or table."""
        size = child.end - child.start
        if size > self.whole:
            return False
        return not _has_blocks(child) or (size <= self.several and child.tag not in _OPENED)

    def _whole(self, child: Element, place: _Place) -> None:
        """Adds an element as one piece and remembers a heading, a term or a table header for what follows it."""
        level = _HEADINGS.get(child.tag, 0)
        while level and place.headings and place.headings[-1][0] >= level:
            place.headings.pop()
        if child.tag in _TERMS:
            place.above = ()
        self._leaf(child.end, _kind(child), place.needs)
        index = len(self.builder.pieces) - 1
        if level:
            place.headings.append((level, index))
        elif child.tag in _TERMS:
            place.above = (index,)
        elif child.tag == "tr" and _is_header(child):
            self._announce(index)

    def _announce(self, header: int) -> None:
        """The header of a table holds for all later rows of the table."""
        for place in reversed(self.stack):
            place.above = (header,)
            if place.element.tag == "table":
                break

    def _run(self, run: list[Element], place: _Place) -> None:
        """Adds text and inline elements: sentences, where they are long."""
        start, end = run[0].start, run[-1].end
        if not self.text[start:end].strip():
            return  # white space goes to the piece behind it
        if end - start > self.whole:
            cuts = sentence_cuts(self.text, run)
            while end - start > _SENTENCES:
                cut = first_at_or_after(cuts, start + _SENTENCES // 2, end)
                if cut >= end or not self.text[cut:end].strip():
                    break
                if is_break(self.text, cut):
                    self._leaf(cut, "sentence", place.needs)
                start = cut
        self._leaf(end, "sentence", place.needs)

    def _leaf(self, end: int, kind: str, needs: tuple[int, ...]) -> None:
        start = self.builder.at
        if end > start:
            prose = kind == "sentence" and not any(mark in self.text[start:end] for mark in "<&")
            stop, end = self._bounds(end, 0)
            self.builder.leaf(stop, end, kind, needs, prose=prose)

    def _bounds(self, end: int, depth: int) -> tuple[int, int]:
        """Where what ends at `end` stops without its separator, and with it.

        Outside of every element the white space behind is the separator, so that what is left out in front leaves no
        blank line at the beginning of what is shown.
        """
        if self.builder.depth > depth:
            return end, end
        found = _SPACE.match(self.text, end)
        after = found.end() if found else end
        if after == len(self.text):
            return after, after
        stop = self.builder.at + len(self.text[self.builder.at : end].rstrip())
        return stop, after if is_break(self.text, after) else end


def _is_inline(element: Element) -> bool:
    return (not element.tag or element.tag in INLINE) and not element.hidden


def _kind(element: Element) -> str:
    if element.hidden:
        return "hidden"
    if element.tag in _HEADINGS or element.tag == "title":
        return "heading"
    if element.tag == "tr":
        return "header" if _is_header(element) else "row"
    return {"dt": "term", "li": "item"}.get(element.tag, "html")


def _has_blocks(element: Element) -> bool:
    """Whether several blocks stand in an element, or one that holds several."""
    while True:
        blocks = [child for child in element.children if not _is_inline(child)]
        if len(blocks) != 1 or (element.tag == "body" and len(element.children) > 1):
            return len(blocks) > 0
        element = blocks[0]


def _is_header(row: Element) -> bool:
    cells = [cell for cell in row.children if cell.tag in ("th", "td")]
    return bool(cells) and all(cell.tag == "th" for cell in cells)
