"""Outlines of a document, read from the lines that a language model writes, and checked against the units they name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from squeeze.errors import CorruptError
from squeeze.segment.layout import Layout, Node

_LINE = re.compile(
    r"(?P<marks>#*)\s*"
    r"(?:\[(?P<a>\d+)(?:\s*[-–:]\s*(?P<b>\d+))?\]|<sep_l>\D{0,4}(?P<c>\d+)<sep_r>(?:\s*[-–~]?\s*<sep_l>\D{0,4}(?P<d>\d+)<sep_r>)?)"
    r"\s*(?P<title>.*)"
)


class OutlineNode(NamedTuple):
    """A node of an outline.

    Attributes:
        title: the text of the unit that it is anchored at, white space folded.
        depth: 1 for the outermost.
        start: index of that unit.
        end: index after the last unit under it.
    """

    title: str
    depth: int
    start: int
    end: int


class _Line(NamedTuple):
    number: int
    depth: int
    start: int
    end: int | None
    title: str


def read_outline(
    output: str, units: Sequence[str], *, window: tuple[int, int] | None = None, depth: int = 0, strict: bool = False
) -> list[OutlineNode]:
    """The nodes that the lines of a model's output name, in order.

    A line has heading marks for its depth, the index of a unit in brackets (`[7]`, `[7-12]`, or between `<sep_l>` and
    `<sep_r>`), and the unit word for word (or nothing). Lines that are refused are left out: without an index, with an
    index outside of the window, with other words than the unit has, not behind the line before, or more than one level
    below it. An end that is refused is replaced by the one that follows from the nodes behind it.

    Args:
        output: what the model wrote.
        units: the units of the whole document.
        window: first unit and the one after the last that the model saw; all when None.
        depth: depth of the node before the window, 0 at the beginning.
        strict: refuse the whole output instead of a line.

    Raises:
        CorruptError: a line is refused and `strict` is set; the message names the line.
    """
    low, high = window or (0, len(units))
    kept: list[_Line] = []
    last, above = low - 1, depth
    for number, source in enumerate(output.splitlines(), 1):
        if not source.strip():
            continue
        line = _parse(number, source.strip())
        fault = _fault(line, units, (last + 1, high), above)
        if fault and strict:
            raise CorruptError(f"line {number} of the outline, {source.strip()[:80]!r}: {fault}")
        if line and not fault:
            kept.append(line)
            last, above = line.start, line.depth
    return _closed(kept, units, high, strict)


def _parse(number: int, source: str) -> _Line | None:
    found = _LINE.match(source)
    if not found:
        return None
    start = int(found["a"] or found["c"])
    end = found["b"] or found["d"]
    return _Line(number, len(found["marks"]), start, int(end) if end else None, _folded(found["title"]))


def _fault(line: _Line | None, units: Sequence[str], allowed: tuple[int, int], above: int) -> str:
    """What is wrong with a line; empty for nothing."""
    if line is None:
        return "no index of a unit"
    if not allowed[0] <= line.start < allowed[1]:
        return f"unit {line.start} does not exist here; allowed: {allowed[0]} to {allowed[1] - 1}, each once, in order"
    if line.title and line.title != _folded(units[line.start]):
        return f"unit {line.start} has other words"
    if not 1 <= line.depth <= above + 1:
        return f"depth {line.depth}; allowed: 1 to {above + 1}"
    return ""


def _closed(lines: list[_Line], units: Sequence[str], high: int, strict: bool) -> list[OutlineNode]:
    """The nodes with their ends: where the next node begins that is not deeper."""
    nodes: list[OutlineNode] = []
    following: list[tuple[int, int]] = []  # depth and start of the nodes behind, each less deep than those above it
    for line in reversed(lines):
        while following and following[-1][0] > line.depth:
            following.pop()
        end = following[-1][1] if following else high
        if line.end is not None and not line.start <= line.end < end and strict:
            raise CorruptError(
                f"line {line.number} of the outline ends at {line.end}; allowed: {line.start} to {end - 1}"
            )
        nodes.append(OutlineNode(_folded(units[line.start]), line.depth, line.start, end))
        following.append((line.depth, line.start))
    return nodes[::-1]


def with_outline(layout: Layout, nodes: Sequence[OutlineNode]) -> Layout:
    """The layout with the sections of an outline as its tree, in which every unit needs the heading above it.

    Args:
        layout: of the passage.
        nodes: an outline of its pieces, as `read_outline` gives it.
    """
    if not layout.pieces or not nodes:
        return layout
    tree = [layout.nodes[0]]
    pieces = list(layout.pieces)
    open_: list[tuple[OutlineNode, int]] = []  # sections around the current piece and their places in the tree
    following = iter([*nodes, OutlineNode("", 1, len(pieces), len(pieces))])
    upcoming = next(following)
    for index, piece in enumerate(layout.pieces):
        while open_ and open_[-1][0].end <= index:
            open_.pop()
        heading = open_[-1][0].start if open_ else -1
        if upcoming.start == index:
            parent = open_[-1][1] if open_ else 0
            end = pieces[upcoming.end - 1].end
            open_.append((upcoming, len(tree)))
            tree.append(Node(piece.start, end, "section", parent, tree[parent].level + 1))
            upcoming = next(following)
        needs = piece.needs if heading < 0 else tuple(sorted({*piece.needs, heading}))
        pieces[index] = piece._replace(node=open_[-1][1] if open_ else 0, needs=needs)
    return replace(layout, nodes=tuple(tree), pieces=tuple(pieces))


def _folded(text: str) -> str:
    return " ".join(text.split())
