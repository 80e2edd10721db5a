"""The layout of formats whose containers must close: JSON documents and HTML pages."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from squeeze.segment.layout import Gap, Layout, Node, Piece


class Frame(NamedTuple):
    """Where a piece stands.

    Attributes:
        opener: index of the piece that opens the container around it; -1 at the outermost level.
        closer: index of the piece that closes that container; -1 at the outermost level.
        stop: where the piece ends when nothing follows it in its container: before its separator.
        partner: of what opens a container the index of what closes it, and the other way round; -1 for other pieces.
    """

    opener: int
    closer: int
    stop: int
    partner: int = -1


@dataclass(frozen=True, slots=True)
class Framed(Layout):
    """A layout in which whatever is kept stands in its containers, and in which separators match what is kept.

    Attributes:
        frames: where each piece stands, (pieces,).
        removal: what is said when pieces are left out, with `{left}` and `{all}` for their numbers; empty for nothing.
    """

    frames: tuple[Frame, ...] = ()
    removal: str = ""

    def spans(self, kept: list[int]) -> list[tuple[int, int]]:
        """The spans of these pieces and of the tags or brackets around them, without the separators they leave over."""
        shown = self._shown(kept)
        spans = [(self.pieces[one].start, self._end(one, after)) for one, after in pairwise([*shown, -1])]
        return [(start, end) for start, end in spans if end > start]

    def _end(self, index: int, after: int) -> int:
        frame = self.frames[index]
        return frame.stop if after == frame.closer else self.pieces[index].end

    def _shown(self, kept: list[int]) -> list[int]:
        """The pieces and all that open or close a container around them, ascending."""
        shown = set(kept)
        shown.update(self.frames[index].partner for index in kept if self.frames[index].partner >= 0)
        for index in kept:
            frame = self.frames[index]
            while frame.opener >= 0 and not (frame.opener in shown and frame.closer in shown):
                shown.update((frame.opener, frame.closer))
                frame = self.frames[frame.opener]
        return sorted(shown)

    def notice(self, kept: list[int]) -> str | None:
        """What to say when members were left out."""
        if not self.removal:
            return None
        total = sum(piece.kind not in ("open", "close") for piece in self.pieces)
        left = total - sum(self.pieces[index].kind not in ("open", "close") for index in kept)
        return self.removal.format(left=left, all=total) if left else None


@dataclass
class Builder:
    """Collects the pieces of a framed layout in the order of the text.

    Attributes:
        length: of the text.
        pieces: those collected.
        frames: where each stands.
        nodes: the tree so far.
        at: where the next piece begins.
    """

    length: int
    pieces: list[Piece] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    _open: list[tuple[int, int]] = field(default_factory=list)  # opener and node of the containers that are open
    at: int = 0

    def __post_init__(self) -> None:
        self.nodes.append(Node(0, self.length, "document", -1, 0))

    @property
    def depth(self) -> int:
        """How many containers are open."""
        return len(self._open)

    def open(self, end: int, kind: str, needs: tuple[int, ...] = ()) -> int:
        """Opens a container whose opening part ends at `end`; gives its index."""
        parent = self._open[-1][1] if self._open else 0
        self.nodes.append(Node(self.at, self.length, kind, parent, self.nodes[parent].level + 1))
        index = self._add(end, end, "open", needs, len(self.nodes) - 1)
        self._open.append((index, len(self.nodes) - 1))
        return index

    def close(self, stop: int, end: int) -> None:
        """Closes the innermost container; what closes it ends at `stop`, its separator at `end`."""
        opener, node = self._open.pop()
        outer = self._open[-1][0] if self._open else -1
        index = len(self.pieces)
        self.pieces.append(Piece(self.at, end, "close", node, (), prose=False))
        self.frames.append(Frame(outer, -1, stop, opener))
        self.at = end
        self.nodes[node] = self.nodes[node]._replace(end=end)
        self.frames[opener] = self.frames[opener]._replace(partner=index)

    def leaf(self, stop: int, end: int, kind: str, needs: tuple[int, ...] = (), *, prose: bool = False) -> int:
        """Adds a unit that ends at `stop`, its separator at `end`; gives its index."""
        node = self._open[-1][1] if self._open else 0
        return self._add(stop, end, kind, needs, node, prose)

    def _add(self, stop: int, end: int, kind: str, needs: tuple[int, ...], node: int, prose: bool = False) -> int:
        opener = self._open[-1][0] if self._open else -1
        self.pieces.append(Piece(self.at, end, kind, node, needs, prose))
        self.frames.append(Frame(opener, -1, stop))
        self.at = end
        return len(self.pieces) - 1

    def build(self, name: str, gap: Gap, removal: str = "") -> Framed:
        """The layout. Every piece needs the container around it, what opens one what closes it."""
        frames, pieces = [], []
        for piece, frame in zip(self.pieces, self.frames, strict=True):
            around = self.frames[frame.opener].partner if frame.opener >= 0 else -1
            frames.append(frame._replace(closer=around))
            wanted = {*piece.needs, frame.opener, around, frame.partner} - {-1}
            pieces.append(piece._replace(needs=tuple(sorted(wanted))))
        return Framed(name, tuple(self.nodes), tuple(pieces), gap, tuple(frames), removal)
