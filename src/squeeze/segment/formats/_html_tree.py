"""The elements of an HTML page with the offsets of their tags, in one pass of the parser of the standard library."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any, NamedTuple

VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"]
)
INLINE = frozenset(
    [
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "br",
        "button",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "img",
        "input",
        "ins",
        "kbd",
        "label",
        "mark",
        "math",
        "q",
        "rp",
        "rt",
        "ruby",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "svg",
        "time",
        "tt",
        "u",
        "var",
        "wbr",
    ]
)
HIDDEN = frozenset(["script", "style", "template", "noscript", "meta", "link", "base"])
_ENDS_ITSELF = {  # an element whose end tag may be missing -> the start tags that end it
    "p": frozenset(
        [
            "address",
            "article",
            "aside",
            "blockquote",
            "details",
            "div",
            "dl",
            "fieldset",
            "figcaption",
            "figure",
            "footer",
            "form",
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "header",
            "hr",
            "main",
            "menu",
            "nav",
            "ol",
            "p",
            "pre",
            "section",
            "table",
            "ul",
        ]
    ),
    "li": frozenset({"li"}),
    "dt": frozenset({"dt", "dd"}),
    "dd": frozenset({"dt", "dd"}),
    "tr": frozenset({"tr", "tbody", "tfoot"}),
    "td": frozenset({"td", "th", "tr"}),
    "th": frozenset({"td", "th", "tr"}),
    "thead": frozenset({"tbody", "tfoot"}),
    "tbody": frozenset({"tbody", "tfoot"}),
    "option": frozenset({"option", "optgroup"}),
}
_INVISIBLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
DEEPEST = 200  # elements inside one another; deeper ones are read as text of the one that deep


@dataclass(slots=True)
class Element:
    """An element, or a run of text (whose tag is empty).

    Attributes:
        tag: its name in lower case.
        start: where its start tag begins.
        inside: where its content begins.
        closing: where its end tag begins; equal to `end` when it has none.
        end: character after it.
        hidden: whether no reader sees it.
        mixed: whether something inside is hidden.
        children: elements and runs of text inside.
    """

    tag: str
    start: int
    inside: int = 0
    closing: int = 0
    end: int = 0
    hidden: bool = False
    mixed: bool = False
    children: list[Element] = field(default_factory=list)


class _Event(NamedTuple):
    offset: int
    kind: str  # "start", "void", "end", "text" or "hidden"
    tag: str = ""
    hidden: bool = False


class _Events(HTMLParser):
    """Notes where each tag and each text begins."""

    def __init__(self, text: str, *, xml: bool) -> None:
        super().__init__(convert_charrefs=False)
        self.xml = xml  # every element has an end tag, and none is hidden
        self.events: list[_Event] = []
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self.feed(text)
        self.close()

    def _note(self, kind: str, tag: str = "", hidden: bool = False) -> None:
        line, column = self.getpos()
        self.events.append(_Event(self._starts[line - 1] + column, kind, tag, hidden))

    def set_cdata_mode(self, elem: str, **options: Any) -> None:
        if not self.xml:
            super().set_cdata_mode(elem, **options)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.xml:
            self._note("start", tag)
            return
        hidden = tag in HIDDEN or any(_hides(name, value or "") for name, value in attrs)
        self._note("void" if tag in VOID else "start", tag, hidden)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note("void", tag, tag in HIDDEN and not self.xml)

    def handle_endtag(self, tag: str) -> None:
        self._note("end", tag)

    def handle_data(self, data: str) -> None:
        self._note("text")

    def handle_entityref(self, name: str) -> None:
        self._note("text")

    def handle_charref(self, name: str) -> None:
        self._note("text")

    def handle_comment(self, data: str) -> None:
        self._note("hidden")

    def handle_decl(self, decl: str) -> None:
        self._note("hidden")

    def handle_pi(self, data: str) -> None:
        self._note("hidden")

    def unknown_decl(self, data: str) -> None:
        self._note("text")


def _hides(name: str, value: str) -> bool:
    if name == "hidden" or (name == "aria-hidden" and value == "true"):
        return True
    return name == "style" and _INVISIBLE.search(value) is not None


def read(text: str, *, xml: bool = False) -> Element:
    """The page as an element without tags of its own. Any text is legal; `xml` knows no elements without end tags."""
    try:
        events = _Events(text, xml=xml).events
    except Exception:  # a fault of the parser must not cost the caller the text: it is read as one run
        events = [_Event(0, "text")]
    if not events or events[0].offset:
        events.insert(0, _Event(0, "text"))
    builder = _Tree(len(text), well_formed=_well_formed(events))
    for event, after in zip(events, [*events[1:], _Event(len(text), "text")], strict=True):
        if after.offset > event.offset:
            builder.take(event, after.offset)
    return builder.finish()


def _well_formed(events: list[_Event]) -> bool:
    """Whether every start tag has its end tag, so that no rule is needed for those that are missing."""
    stack: list[str] = []
    for event in events:
        if event.kind == "start":
            stack.append(event.tag)
        elif event.kind == "end" and (not stack or stack.pop() != event.tag):
            return False
    return not stack


class _Tree:
    """Elements from events."""

    def __init__(self, length: int, *, well_formed: bool) -> None:
        self.length, self.well_formed = length, well_formed
        self.stack = [Element("", 0, 0, length, length)]
        self.counts: dict[str, int] = {}

    def take(self, event: _Event, end: int) -> None:
        """Reads one event, whose source ends at `end`."""
        if event.kind == "start":
            while not self.well_formed and event.tag in _ENDS_ITSELF.get(self.stack[-1].tag, ()):
                self._close(event.offset, event.offset)
            if len(self.stack) < DEEPEST:
                self._open(Element(event.tag, event.offset, end, hidden=event.hidden))
                return
        elif event.kind == "end" and self.counts.get(event.tag):
            while self.stack[-1].tag != event.tag:
                self._close(event.offset, event.offset)
            self._close(event.offset, end)
            return
        tag = event.tag if event.kind == "void" else ""
        hidden = event.hidden or event.kind == "hidden"
        siblings = self.stack[-1].children
        if not tag and not hidden and siblings and not siblings[-1].tag and not siblings[-1].hidden:
            siblings[-1].inside = siblings[-1].closing = siblings[-1].end = end
        else:
            siblings.append(Element(tag, event.offset, end, end, end, hidden))
            self.stack[-1].mixed |= hidden

    def finish(self) -> Element:
        """The root; what is still open ends with the text."""
        while len(self.stack) > 1:
            self._close(self.length, self.length)
        return self.stack[0]

    def _open(self, element: Element) -> None:
        self.stack[-1].children.append(element)
        self.stack.append(element)
        self.counts[element.tag] = self.counts.get(element.tag, 0) + 1

    def _close(self, closing: int, end: int) -> None:
        element = self.stack.pop()
        element.closing, element.end = closing, end
        self.stack[-1].mixed |= element.hidden or element.mixed
        self.counts[element.tag] -= 1


def sentence_cuts(text: str, runs: list[Element]) -> list[int]:
    """Where sentences begin in the texts of a run, outside of every element."""
    cuts = []
    for run in runs:
        if not run.tag:
            cuts += [match.end() for match in _SENTENCE.finditer(text, run.start, run.end)]
    return cuts


_SENTENCE = re.compile(r"(?<=[^\W_A-Z)][\w)\]\"'”])[.!?…]+[\"'”’)\]]*\s+(?=[^\sa-z])|[。！？]+[」』）”]*")


def first_at_or_after(cuts: list[int], offset: int, end: int) -> int:
    """The first cut from `offset` on, `end` without one."""
    found = bisect_left(cuts, offset)
    return cuts[found] if found < len(cuts) else end
