"""What segmentation hands to scoring and selection: the tree of a passage and the units that a selector picks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Gap = Literal["mark", "line", "none"]
"""What stands where something was left out: a mark or a line (by the place), always a line of its own, or nothing."""


class Node(NamedTuple):
    """A stretch of a passage above the units: the document, a section, or a block.

    Attributes:
        start: first character.
        end: character after the last.
        kind: `document`, `section`, or the kind of a block (`heading`, `paragraph`, `item`, `row`, `code`, ...).
        parent: index of the node above; -1 for the document.
        level: depth of the node, 0 for the document; a child is exactly one deeper than its parent.
    """

    start: int
    end: int
    kind: str
    parent: int
    level: int


class Piece(NamedTuple):
    """A unit of one passage: what a selector picks or leaves.

    Attributes:
        start: first character, white space before it included only where it belongs to the piece (indentation).
        end: character after the last, the white space that follows it included.
        kind: `sentence`, `edu`, `heading`, `header` (of a table), `row`, `item`, `code`, `html`, ...
        node: index of the block it lies in.
        needs: indices of the pieces of the same passage that must come with it (heading path, header row, lead-in,
            the clause that it hangs on). Direct needs; the selector follows them to the end.
        prose: whether it may be cut at a word when nothing fits. Never true for code, rows, records and tags.
    """

    start: int
    end: int
    kind: str
    node: int
    needs: tuple[int, ...] = ()
    prose: bool = True


@dataclass(frozen=True, slots=True)
class Layout:
    """A segmented passage.

    Attributes:
        format: name of the format it was read as.
        nodes: the tree above the pieces, parents before children, the document first.
        pieces: they tile the text: the first starts at 0, each starts where the one before ends, the last ends at the
            end. Empty for an empty text.
        gap: what stands between kept pieces where something was left out.
    """

    format: str
    nodes: tuple[Node, ...]
    pieces: tuple[Piece, ...]
    gap: Gap = "mark"

    def spans(self, kept: list[int]) -> list[tuple[int, int]]:
        """The spans of the text that show the pieces `kept` (ascending indices), before white space is trimmed.

        A format whose separators must match what is kept (JSON) overrides this with a layout class of its own.
        """
        return [(self.pieces[index].start, self.pieces[index].end) for index in kept]

    def notice(self, kept: list[int]) -> str | None:
        """A sentence for the caller when leaving out the other pieces is easily overlooked in the output, else None."""
        return None
