"""Plain text: paragraphs between blank lines, cut into sentences. What no other format claims."""

from __future__ import annotations

from squeeze.segment.blocks import Block, Format
from squeeze.segment.lines import breaks


class Plain(Format):
    """Paragraphs."""

    def detect(self, text: str) -> float:
        """Always 0: every other format goes first."""
        return 0.0

    def blocks(self, text: str) -> list[Block]:
        """One block for each paragraph; blank lines end one."""
        blocks = []
        start = 0
        for _, after, blank in breaks(text, 0, len(text)):
            if blank:
                blocks.append(Block(start, after, "paragraph", cut=True))
                start = after
        blocks.append(Block(start, len(text), "paragraph", cut=True))
        return blocks


FORMAT = Plain()
