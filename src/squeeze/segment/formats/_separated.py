"""Rows of tables with a separator between the fields: CSV and TSV."""

from __future__ import annotations

import csv
import re
from collections import Counter

from squeeze.segment.blocks import Block, Format
from squeeze.segment.chunks import filled_lines

_SAMPLE = 6000  # characters that decide the format
_LEAST_ROWS = 3
_LONGEST_QUOTED = 200  # lines that one quoted field may have; a quotation mark that nobody closes opens nothing
_NUMBER = re.compile(r"[-+]?[\d.,:/%$€£ -]*\d[\d.,:/%$€£ -]*")


class Separated(Format):
    """Rows whole, each with the header.

    Args:
        marks: the separators that are looked for, the likeliest first.
    """

    gap = "none"

    def __init__(self, marks: str) -> None:
        self._marks = marks

    def detect(self, text: str) -> float:
        """By rows that all have the same number of fields."""
        return max(_sure(text, mark) for mark in self._marks)

    def blocks(self, text: str) -> list[Block]:
        """One block a row; quoted fields may hold line breaks. The first is the header unless it holds numbers."""
        mark = max(self._marks, key=lambda mark: _sure(text, mark))
        rows = _rows(text, quoted=mark != "\t")
        if len(rows) > 1 and _is_header(text[slice(*rows[0])], mark):
            first = [Block(*rows[0], "header", prose=False)]
            return first + [Block(start, end, "row", prose=False, needs=(0,)) for start, end in rows[1:]]
        return [Block(start, end, "row", prose=False) for start, end in rows]


def _fields(row: str, mark: str) -> list[str]:
    try:
        return next(csv.reader([row], delimiter=mark), [])
    except csv.Error:
        return row.split(mark)


def _sure(text: str, mark: str) -> float:
    """How sure it is that this mark separates the fields of the text."""
    sample = text[:_SAMPLE]
    rows = [sample[start:end].strip("\r\n") for start, end in _rows(sample, quoted=mark != "\t")]
    rows = [row for row in rows if row.strip()]
    if len(text) > _SAMPLE and len(rows) > _LEAST_ROWS:
        rows.pop()
    if len(rows) < _LEAST_ROWS:
        return 0.0
    counts = Counter(len(_fields(row, mark)) for row in rows)
    width, same = counts.most_common(1)[0]
    if width < 2 or same < 0.95 * len(rows):
        return 0.0
    if mark != "\t" and _looks_written(rows, mark, width):
        return 0.0
    return 0.8


def _looks_written(rows: list[str], mark: str, width: int) -> bool:
    """Whether the rows read like sentences or code rather than records."""
    spaced = sum(len(re.findall(rf"{re.escape(mark)}[ ]\S", row)) for row in rows)
    closed = sum(row.rstrip().endswith((".", "!", "?", ";", "{", "}", "|", ":")) for row in rows)
    if spaced > 0.5 * (width - 1) * len(rows) or closed > 0.3 * len(rows):
        return True
    return width == 2 and len(rows) < 2 * _LEAST_ROWS and not any(map(str.isdigit, "".join(rows)))


def _rows(text: str, *, quoted: bool) -> list[tuple[int, int]]:
    """The lines of the text, those joined that lie in one quoted field."""
    found = filled_lines(text)
    if not quoted or '"' not in text:
        return found
    odd = [text.count('"', start, end) % 2 for start, end in found]
    out, at = [], 0
    while at < len(found):
        end = at + 1
        if odd[at]:
            stop = min(len(found), at + _LONGEST_QUOTED)
            end = next((other + 1 for other in range(at + 1, stop) if odd[other]), at + 1)
        out.append((found[at][0], found[end - 1][1]))
        at = end
    return out


def _is_header(row: str, mark: str) -> bool:
    """Whether the row names columns: no field is a number, none is missing twice."""
    fields = [field.strip() for field in _fields(row.strip("\r\n"), mark)]
    filled = [field for field in fields if field]
    return len(set(filled)) == len(filled) > 0 and not any(_NUMBER.fullmatch(field) for field in filled)
