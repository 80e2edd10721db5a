"""From the source of a LaTeX document to blocks that tile it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from squeeze.segment.blocks import Block
from squeeze.segment.sentences import spans_within

Span = tuple[int, int]

_BEGIN = re.compile(r"[ \t]*\\begin\{([\w*]+)\}")
_EDGE = re.compile(r"\\(begin|end)\{([\w*]+)\}")
_END = re.compile(r"[ \t]*\\end\{([\w*]+)\}")
_HEADING = re.compile(
    r"[ \t]*\\(part|chapter|section|subsection|subsubsection|paragraph|subparagraph)\*?(?:\[[^\]]*\])?\{"
)
_LEVELS = {
    "part": 1,
    "chapter": 2,
    "section": 3,
    "subsection": 4,
    "subsubsection": 5,
    "paragraph": 6,
    "subparagraph": 7,
}
_OPENED = frozenset(
    ["document", "itemize", "enumerate", "description", "abstract", "quote", "quotation", "center", "thebibliography"]
)
_WHOLE = 320  # characters of a list that stays whole
_LINE = re.compile(r"[^\n]*+(?:\n|\Z)")
_ITEM = re.compile(r"[ \t]*\\(?:item|bibitem)\b")
_ALONE = re.compile(
    r"[ \t]*(?:%|\\(?:documentclass|usepackage|title|author|date|maketitle|newcommand|renewcommand|def|label"
    r"|bibliography\w*|input|include|tableofcontents|newtheorem|setlength|pagestyle|thispagestyle|appendix|clearpage|newpage|noindent\s*$)\b)"
)
_MATHS = re.compile(
    r"(?<!\\)\$\$[^$]*+\$\$|(?<!\\)\$(?:[^$\\\n]|\\.|\n(?!\s*\n))*+\$"
    r"|\\\((?:[^\\]|\\[^()])*+\\\)|\\\[(?:[^\\]|\\[^\[\]])*+\\\]",
    re.DOTALL,
)


def read(text: str, language: str) -> tuple[list[Block], list[tuple[int, int]]]:
    """The blocks of a text that is not empty, and the pairs of them that open and close an environment."""
    reader = _Reader(text, language)
    for start, end in reader.chunks():
        reader.take(start, end)
    return reader.blocks, reader.pairs


class _Reader:
    """Takes stretches in the order of the text."""

    def __init__(self, text: str, language: str) -> None:
        self.text, self.language = text, language
        self.blocks: list[Block] = []
        self.ends = _environments(text)
        self.open: list[tuple[str, int]] = []  # environments whose content is read: name and block
        self.pairs: list[tuple[int, int]] = []

    def chunks(self) -> Iterator[Span]:
        """Stretches of lines: a heading, an environment, commands, a paragraph; blank lines go to the one before."""
        at, length = 0, len(self.text)
        while at < length:
            end = self._stretch(at)
            while (
                end < length and (line := _LINE.match(self.text, end)) and not line.group().strip() and line.end() > end
            ):
                end = line.end()
            yield at, end
            at = end

    def _stretch(self, at: int) -> int:
        """Where the stretch that begins here ends."""
        begin = _BEGIN.match(self.text, at)
        if begin and begin.end() in self.ends:
            end = self._line_end(self.ends[begin.end()] - 1)
            if begin.group(1).rstrip("*") not in _OPENED or end - at <= _WHOLE:
                return end
        if any(pattern.match(self.text, at) for pattern in (_BEGIN, _END, _HEADING, _ALONE)):
            return self._line_end(at)
        end = self._line_end(at)
        while end < len(self.text) and not self._starts(end):
            end = self._line_end(end)
        return end

    def _starts(self, at: int) -> bool:
        """Whether a line ends the paragraph above it."""
        if not self.text[at : self._line_end(at)].strip():
            return True
        return any(pattern.match(self.text, at) for pattern in (_BEGIN, _END, _HEADING, _ALONE, _ITEM))

    def _line_end(self, at: int) -> int:
        found = _LINE.match(self.text, at)
        return found.end() if found and found.end() > at else len(self.text)

    def take(self, start: int, end: int) -> None:
        """Adds one stretch."""
        source = self.text[start:end]
        heading = _HEADING.match(source)
        if heading:
            self._add(end, "heading", level=_LEVELS[heading.group(1)])
        elif begin := _BEGIN.match(source):
            self._begin(begin.group(1), end, whole=f"\\end{{{begin.group(1)}}}" in source)
        elif closing := _END.match(source):
            self._end(closing.group(1), end)
        elif _ALONE.match(source):
            self._add(end, "command", prose=False)
        else:
            self._prose(start, end, "item" if _ITEM.match(source) else "paragraph")

    def _begin(self, name: str, end: int, *, whole: bool) -> None:
        """Adds an environment, or the first line of one whose content is read like other text."""
        before = self.text[self.blocks[-1].start : self.blocks[-1].end].rstrip()[-1:] if self.blocks else ""
        leads = (len(self.blocks) - 1,) if before == ":" else ()
        self._add(end, "environment" if whole else "command", prose=False, leads=leads)
        if not whole:
            self.open.append((name, len(self.blocks) - 1))

    def _end(self, name: str, end: int) -> None:
        """Adds the last line of an environment."""
        self._add(end, "command", prose=False)
        if self.open and self.open[-1][0] == name:
            self.pairs.append((self.open.pop()[1], len(self.blocks) - 1))

    def _prose(self, start: int, end: int, kind: str) -> None:
        """Adds a paragraph: cut later where it holds no maths, else sentence by sentence here."""
        maths = [match.span() for match in _MATHS.finditer(self.text, start, end)]
        if not maths:
            self._add(end, kind, cut=kind == "paragraph")
            return
        for stop in _stops(spans_within(self.text, start, end, self.language), maths):
            self._add(stop, "sentence" if kind == "paragraph" else kind, prose=False)

    def _add(
        self, end: int, kind: str, *, cut: bool = False, prose: bool = True, level: int = 0, leads: tuple[int, ...] = ()
    ) -> None:
        start = self.blocks[-1].end if self.blocks else 0
        if end > start:
            needs = (self.open[-1][1],) if self.open and self.open[-1][0] != "document" else ()
            self.blocks.append(Block(start, end, kind, cut, prose, level, needs, leads))


def _stops(sentences: list[Span], maths: list[Span]) -> Iterator[int]:
    """The ends of the sentences that do not lie inside maths."""
    at = 0
    for _, end in sentences:
        while at < len(maths) and maths[at][1] <= end:
            at += 1
        if at >= len(maths) or not maths[at][0] < end < maths[at][1]:
            yield end


def _environments(text: str) -> dict[int, int]:
    """For each place behind the start of an environment, the place behind its end; none for one that stays open."""
    ends: dict[int, int] = {}
    open_at: dict[str, list[int]] = {}
    for match in _EDGE.finditer(text):
        places = open_at.setdefault(match.group(2), [])
        if match.group(1) == "begin":
            places.append(match.end())
        elif places:
            ends[places.pop()] = match.end()
    return ends
