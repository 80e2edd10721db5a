"""The seam for formats: what a format says about a text, from which the tree and the units are built."""

from __future__ import annotations

from typing import Literal, NamedTuple

from squeeze.segment.layout import Gap, Layout

UnitKind = Literal["sentence", "edu"]


class Block(NamedTuple):
    """A stretch of a text that a format recognised. The blocks of a text tile it.

    Attributes:
        start: first character, the indentation and markers before its text included.
        end: character after the last, the blank lines that follow included.
        kind: `heading`, `paragraph`, `item`, `header`, `row`, `code`, `html`, ...
        cut: whether it is prose to be cut into sentences (or EDUs); otherwise it is one unit.
        prose: whether its units may be cut at a word when nothing fits. Never for code, rows, records and tags.
        level: of a heading that opens a section, 1 for the outermost; 0 for all other blocks.
        needs: indices of earlier blocks whose first unit must come with every unit of this one.
        leads: indices of earlier blocks whose last unit must come with it (the sentence that introduces a list).
    """

    start: int
    end: int
    kind: str
    cut: bool = False
    prose: bool = True
    level: int = 0
    needs: tuple[int, ...] = ()
    leads: tuple[int, ...] = ()


class Format:
    """A format of text. A module of `squeeze.segment.formats` has one instance of a subclass as `FORMAT`.

    The name of the module is the name of the format. Heavy parsers are imported where they are used, not with the
    module.

    Attributes:
        gap: what stands between kept units where something was left out.
    """

    gap: Gap = "mark"

    def detect(self, text: str) -> float:
        """How sure it is that the text has this format, 0 to 1, at a cost that does not grow beyond a sample."""
        raise NotImplementedError

    def blocks(self, text: str) -> list[Block]:
        """The blocks of a text that is not empty; they tile it. Any text is legal."""
        raise NotImplementedError

    def layout(self, text: str, name: str, unit: UnitKind) -> Layout:
        """The layout of a text that is not empty.

        A format whose units are no blocks, or whose separators depend on what is kept, overrides this.
        """
        from squeeze.segment.tree import build

        return build(text, self.blocks(text), name=name, unit=unit, gap=self.gap)
