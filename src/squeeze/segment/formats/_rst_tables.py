"""Grid tables and simple tables of reStructuredText, row by row."""

from __future__ import annotations

import re

_GRID = re.compile(r"\+(?:[-=]{2,}\+)+$")
_SIMPLE = re.compile(r"={2,}(?: +={2,})+$")


def is_table(line: str) -> bool:
    """Whether the line is the border that opens a table."""
    return _GRID.match(line) is not None or _SIMPLE.match(line) is not None


def rows(lines: list[str]) -> list[tuple[int, bool]]:
    """For each row of the table the line after it and whether it is the header; borders go with rows."""
    ends = _grid(lines) if lines and lines[0].startswith("+") else _simple(lines)
    if ends and ends[-1][0] < len(lines):
        ends[-1] = (len(lines), ends[-1][1])
    return ends or [(len(lines), False)]


def _grid(lines: list[str]) -> list[tuple[int, bool]]:
    found: list[tuple[int, bool]] = []
    for at, line in enumerate(lines):
        if at and _GRID.match(line):
            found.append((at + 1, "=" in line or not found))
    return (
        found
        if sum(header for _, header in found) < 2
        else [(end, number == 0) for number, (end, _) in enumerate(found)]
    )


def _simple(lines: list[str]) -> list[tuple[int, bool]]:
    borders = [at for at, line in enumerate(lines) if _SIMPLE.match(line)]
    found = []
    first = 1
    if len(borders) > 2:
        first = borders[1] + 1
        found.append((first, True))
    last = borders[-1] if len(borders) > 1 else len(lines)
    return found + [(at + 1, False) for at in range(first, last)]
