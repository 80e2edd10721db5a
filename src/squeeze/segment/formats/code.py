"""Source code without a fence, in any language: definitions and groups of statements by indentation and blank lines."""

from __future__ import annotations

from squeeze.segment.blocks import Block, Format
from squeeze.segment.chunks import parts
from squeeze.segment.formats._code_lines import Line, code_lines
from squeeze.segment.formats._code_signs import DEFINITION, NEUTRAL, SENTENCE, STRONG

_WHOLE = 200  # characters (about 50 tokens) of a definition that stays whole
_GROUP = 100  # characters from which a group of neighbouring short statements is full
_LONGEST = 600  # characters of a line that stays whole (minified code has longer ones)
_DEEPEST = 16  # levels of nesting that are followed
_SIGNATURE = 30  # lines that a signature may have

_SAMPLE = 4000  # characters that decide the format
_SURE = 0.95
_LONG_LINE = 240  # characters; a longer one tells little


class Code(Format):
    """Short definitions whole; in longer ones groups of statements, each with the signatures around it."""

    gap = "line"

    def detect(self, text: str) -> float:
        """By the share of lines that only code has."""
        sample = text[:_SAMPLE]
        strong = prose = total = written = coded = 0
        for line in code_lines(sample):
            source = sample[line.start : line.end].rstrip().lstrip("\r\n")
            if line.indent < 0 or (NEUTRAL.match(source) and not DEFINITION.match(source)):
                continue
            if not total and DEFINITION.match(source) and "\n" in sample.strip():
                return _SURE
            total += 1
            written += len(source)
            found = len(source) < _LONG_LINE and STRONG.match(source) is not None
            strong += found
            coded += len(source) if found else 0
            prose += not found and SENTENCE.match(source) is not None
        if strong < 2 or strong < 0.55 * total or coded < 0.5 * written or prose > 0.2 * total:
            return 0.0
        return 0.9

    def blocks(self, text: str) -> list[Block]:
        """Statements and definitions; what is too long is opened, and its parts need its signature."""
        found = code_lines(text)
        if not found:
            return [Block(0, len(text), "code", prose=False)]
        reader = _Reader(text, found)
        reader.region(0, len(found), (), 0)
        return reader.blocks


class _Reader:
    """Walks regions of lines and adds their blocks."""

    def __init__(self, text: str, found: list[Line]) -> None:
        self.text, self.lines = text, found
        self.blocks: list[Block] = []

    def region(self, low: int, high: int, needs: tuple[int, ...], level: int) -> None:
        """Adds the statements of the lines `low` to `high`, which stand under the signatures `needs`."""
        if level > _DEEPEST:
            self._flat(low, high, needs)
            return
        waiting = low  # first line of the group of short statements that is not added yet
        for start, end in self._statements(low, high):
            if self._size(start, end) > _WHOLE and end - start > 1:
                self._group(waiting, start, needs)
                self._statement(start, end, needs, level)
                waiting = end
            elif self._breaks(waiting, start, end):
                self._group(waiting, start, needs)
                waiting = start
        self._group(waiting, high, needs)

    def _breaks(self, waiting: int, start: int, end: int) -> bool:
        """Whether the statement begins a new group."""
        if waiting == start:
            return False
        long = self._size(waiting, end) > _WHOLE
        return long or self.lines[start - 1].gap or end - start > 2 or self._size(waiting, start) > _GROUP

    def _statements(self, low: int, high: int) -> list[tuple[int, int]]:
        """The statements at the outermost level of the region, each with all that stands deeper below it."""
        base = min((line.indent for line in self.lines[low:high] if line.indent >= 0), default=0)
        starts = [low]
        depth, prefixed = 0, False
        for at in range(low, high):
            line = self.lines[at]
            here = 0 <= line.indent <= base and not line.closes and depth <= 0
            if here and at > low and not prefixed:
                starts.append(at)
            if line.indent >= 0:
                prefixed = (line.prefix and not line.gap) if here else prefixed and line.indent <= base and depth > 0
                depth = line.depth if here and not prefixed else max(0, depth + line.depth)
        return list(zip(starts, [*starts[1:], high], strict=True))

    def _statement(self, low: int, high: int, needs: tuple[int, ...], level: int) -> None:
        """Adds a statement that is too long to stay whole: its signature, and what stands in it."""
        if self._is_string(low, high):
            self._string(low, high, needs)
            return
        base = self.lines[low].indent
        at = low
        while at < high:
            body = self._signature_end(at, high)
            end = next((i for i in range(body, high) if 0 <= self.lines[i].indent <= base), high)
            index = self._add(at, body, needs, "signature")
            inner = (*needs, index)
            if end > body:
                self.region(body, end, inner, level + 1)
            if end < high and self._ends(end, high):
                self._extend(high)
                return
            at, needs = end, inner

    def _is_string(self, low: int, high: int) -> bool:
        """Whether the lines are one string or comment, such as a docstring."""
        return all(line.indent < 0 for line in self.lines[low + 1 : high])

    def _string(self, low: int, high: int, needs: tuple[int, ...]) -> None:
        """Adds the paragraphs of a long string or comment."""
        start = low
        for at in range(low + 1, high):
            if self.lines[at - 1].gap and self._size(start, at) > _GROUP // 2:
                self._group(start, at, needs)
                start = at
        self._group(start, high, needs)

    def _ends(self, at: int, high: int) -> bool:
        """Whether only brackets that close are left."""
        return self._size(at, high) < 12 and all(line.closes for line in self.lines[at:high])

    def _signature_end(self, low: int, high: int) -> int:
        """The line after the signature that begins at `low`: comments and decorators, and brackets until they close."""
        at = low
        while at < high - 1 and (self.lines[at].prefix or self.lines[at].indent < 0):
            at += 1
        depth = 0
        for end in range(at, min(high, at + _SIGNATURE)):
            depth += self.lines[end].depth
            if depth <= 0:
                return end + 2 if end + 1 < high and self._opens(end + 1) else end + 1
        return at + 1

    def _opens(self, at: int) -> bool:
        """Whether the line is nothing but the bracket that opens a body."""
        return self.text[self.lines[at].start : self.lines[at].end].strip() == "{"

    def _flat(self, low: int, high: int, needs: tuple[int, ...]) -> None:
        start = low
        for at in range(low, high):
            if self._size(start, at + 1) > _WHOLE:
                self._group(start, at, needs)
                start = at
        self._group(start, high, needs)

    def _group(self, low: int, high: int, needs: tuple[int, ...]) -> None:
        if high > low:
            self._add(low, high, needs, "code")

    def _add(self, low: int, high: int, needs: tuple[int, ...], kind: str) -> int:
        """Adds lines as one block, as several where a line is endless; gives the index of the first."""
        index = len(self.blocks)
        span = (self.lines[low].start, self.lines[high - 1].end)
        if span[1] - span[0] > 2 * _LONGEST and high - low < 3:
            self.blocks += [
                Block(a, b, kind, prose=False, needs=needs[-1:]) for a, b in parts(self.text, span, _LONGEST)
            ]
        else:
            self.blocks.append(Block(*span, kind, prose=False, needs=needs[-1:]))
        return index

    def _extend(self, high: int) -> None:
        self.blocks[-1] = self.blocks[-1]._replace(end=self.lines[high - 1].end)

    def _size(self, low: int, high: int) -> int:
        return self.lines[high - 1].end - self.lines[low].start if high > low else 0


FORMAT = Code()
