"""JSON Lines: records, one a line."""

from __future__ import annotations

import json
from dataclasses import dataclass

from squeeze.segment.blocks import Block, Format, UnitKind
from squeeze.segment.chunks import filled_lines
from squeeze.segment.layout import Layout

_SAMPLE = 20_000  # characters that decide the format
_LOOKED_AT = 5  # lines that are parsed


@dataclass(frozen=True, slots=True)
class _Records(Layout):
    """Lines of which each left out one is said."""

    def notice(self, kept: list[int]) -> str | None:
        """How many records are missing."""
        left = len(self.pieces) - len(kept)
        return f"{left} of {len(self.pieces)} JSON records were left out" if left else None


class JsonLines(Format):
    """Lines whole, so that every line of the output parses."""

    gap = "none"

    def detect(self, text: str) -> float:
        """By the first lines, which must parse as objects or arrays."""
        sample = [line.strip() for line in text[:_SAMPLE].splitlines() if line.strip()]
        if len(text) > _SAMPLE and len(sample) > 2:
            sample.pop()
        if len(sample) < 2 or not all(line[0] + line[-1] in ("{}", "[]") for line in sample):
            return 0.0
        return 0.97 if all(map(_parses, sample[:_LOOKED_AT])) else 0.0

    def blocks(self, text: str) -> list[Block]:
        """One block a line."""
        return [Block(start, end, "record", prose=False) for start, end in filled_lines(text)]

    def layout(self, text: str, name: str, unit: UnitKind) -> Layout:
        """The lines, with a word about those that are left out."""
        plain = super().layout(text, name, unit)
        return _Records(plain.format, plain.nodes, plain.pieces, plain.gap)


def _parses(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict | list)
    except (ValueError, RecursionError):
        return False


FORMAT = JsonLines()
