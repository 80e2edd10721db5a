"""reStructuredText: sections, directives with their bodies, signatures, lists, tables, literal blocks."""

from __future__ import annotations

import re

from squeeze.segment.blocks import Block, Format
from squeeze.segment.formats._rst_lines import Reader

_SAMPLE = 8000  # characters that decide the format
_ENOUGH = 0.95
_SIGNS = re.compile(
    r"^[ \t]*(?:(?P<directive>\.\. [\w.+-]+(?::[\w-]+)?::(?:\s|$))"
    r"|(?P<target>\.\. (?:_[^:\n]+:|\[#?\w+\] |\|[^|\n]+\| )))"
    r"|(?P<role>(?<![\w:]):[a-z][\w.+-]*(?::[a-z][\w-]*)?:`[^`\n]{1,200})|(?P<literal>``[^`\s](?:[^`\n]{0,98}[^`\s])?``)"
    r"|(?P<link>`[^`\n]{1,100} ?<[^>\n]{1,300}>`__?)|(?P<lead>\w::$)",
    re.MULTILINE,
)
_WEIGHTS = {"directive": 0.92, "target": 0.55, "role": 0.3, "literal": 0.08, "link": 0.5, "lead": 0.2}


class Rst(Format):
    """Blocks by indentation; what stands in a long directive needs its first lines."""

    gap = "line"

    def detect(self, text: str) -> float:
        """By directives, roles and targets, which no other format writes so."""
        sure = 0.0
        for match in _SIGNS.finditer(text, 0, _SAMPLE):
            sure += _WEIGHTS[match.lastgroup or "lead"]
            if sure >= _ENOUGH:
                return _ENOUGH
        return sure

    def blocks(self, text: str) -> list[Block]:
        """The leaves of the block structure."""
        return Reader(text).read()


FORMAT = Rst()
