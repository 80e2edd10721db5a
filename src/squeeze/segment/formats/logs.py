"""Logs: entries, each a line with the lines that continue it."""

from __future__ import annotations

import re

from squeeze.segment.blocks import Block, Format
from squeeze.segment.chunks import filled_lines, lines

_SAMPLE = 6000  # characters that decide the format
_SURE = 0.9
_TIME = (
    r"(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d{1,2}/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d|\d{2,4}[/.]\d\d[/.]\d\d[ T]\d\d:\d\d:\d\d"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{2}:\d{2}:\d{2}[.,]\d{3}|\d{6} \d{6}|\[ *\d+\.\d{6}\]|\d{10}\.\d{3})"
)
_LEVEL = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|ERR|CRIT(?:ICAL)?|FATAL|SEVERE|EMERG|ALERT)"
_STAMP = re.compile(_TIME)
_STAMP_WITHIN = 110  # characters from the start of a line in which its time stands
_LABEL = re.compile(rf"[\[(<]?{_LEVEL}[\])>]?[:\s|]|[IWEF]\d{{4}} \d\d:\d\d")
_SINGLE = re.compile(rf"[\[(]?{_TIME}[^\n]{{0,30}}?\b{_LEVEL}\b")  # one entry is a log only when it shows its level
_GOES_ON = re.compile(r"[ \t]+\S|Caused by:|\.{3} \d+ more|Traceback |[\w.]+(?:Error|Exception)\b|[}\])]")
_MOST_LINES = 12  # of an entry that stays whole; a longer stack trace is given out in parts


class Logs(Format):
    """Lines whole. An indented line or a stack trace belongs to the entry above it."""

    gap = "line"

    def detect(self, text: str) -> float:
        """By the share of lines that begin with a time or a level."""
        sample = [line for line in text[:_SAMPLE].splitlines() if line.strip()]
        if len(text) > _SAMPLE and len(sample) > 1:
            sample.pop()
        entries = others = 0
        for line in sample:
            if _begins(line, 0, len(line)):
                entries += 1
            elif not _GOES_ON.match(line):
                others += 1
                if others > 0.2 * len(sample):
                    return 0.0
        alone = entries == 1 and not others and _SINGLE.match(text) is not None
        return _SURE if alone or (entries >= 2 and others <= 0.2 * entries) else 0.0

    def blocks(self, text: str) -> list[Block]:
        """One block for each entry; the parts of a very long one need its first line."""
        blocks: list[Block] = []
        size = head = 0
        for start, end in filled_lines(text):
            if blocks and _GOES_ON.match(text, start) and not _begins(text, start, end):
                if size < _MOST_LINES:
                    size += 1
                    blocks[-1] = blocks[-1]._replace(end=end)
                    continue
                blocks.append(Block(start, end, "line", prose=False, needs=(head,)))
            else:
                head = len(blocks)
                blocks.append(Block(start, end, "line", prose=False))
            size = len(lines(text, start, end))
        return blocks


def _begins(text: str, start: int, end: int) -> bool:
    """Whether a line begins an entry: a time stands near its front, or a level at it."""
    stop = min(end, start + _STAMP_WITHIN)
    return _STAMP.search(text, start, stop) is not None or _LABEL.match(text, start, end) is not None


FORMAT = Logs()
