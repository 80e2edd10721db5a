"""From the blocks of a text to its tree and its units, with what each unit needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from squeeze.segment.blocks import Block, UnitKind
from squeeze.segment.graphemes import is_break
from squeeze.segment.layout import Gap, Layout, Node, Piece
from squeeze.segment.sentences import language_in, spans_within

Span = tuple[int, int]


def build(text: str, blocks: Sequence[Block], *, name: str, unit: UnitKind, gap: Gap) -> Layout:
    """The layout of a text from blocks that tile it.

    Raises:
        ValueError: the blocks do not tile the text, or one needs a block that does not come before it.
    """
    blocks = _whole_clusters(text, blocks)
    check(text, blocks)
    nodes, node_of, heading_of = _nodes(len(text), blocks)
    cuts = _cuts(text, blocks, unit)
    edges: list[tuple[int, int]] = []  # of each block the index of its first and last piece
    pieces: list[Piece] = []
    cut_pieces: list[int] = []  # those that are prose, in the order in which they were cut
    for block, spans, node, heading in zip(blocks, cuts, node_of, heading_of, strict=True):
        needed = {edges[other][0] for other in block.needs} | {edges[other][1] for other in block.leads}
        if heading >= 0:
            needed.add(edges[heading][0])
        needs = tuple(sorted(needed))
        kind = unit if block.kind == "paragraph" else block.kind
        edges.append((min(len(pieces), len(pieces) + len(spans) - 1), len(pieces) + len(spans) - 1))
        if block.cut:
            cut_pieces.extend(range(len(pieces), len(pieces) + len(spans)))
        pieces.extend([Piece(start, end, kind, node, needs, block.prose) for start, end in spans])
    if unit == "edu":
        _hang(text, pieces, cut_pieces)
    return Layout(name, tuple(nodes), tuple(pieces), gap)


def check(text: str, blocks: Iterable[Block]) -> None:
    """Nothing, if the blocks tile the text and need only earlier ones.

    Raises:
        ValueError: they do not.
    """
    at = 0
    for index, block in enumerate(blocks):
        if block.start != at or block.end < max(at, 1):
            raise ValueError(f"block {index} ({block.kind}) has the span {block[:2]}, but must begin at {at}")
        if any(not 0 <= other < index for other in (*block.needs, *block.leads)):
            raise ValueError(f"block {index} ({block.kind}) needs {block.needs + block.leads}; allowed: earlier blocks")
        at = block.end
    if at != len(text):
        raise ValueError(f"the blocks end at {at}, the text at {len(text)}")


def _whole_clusters(text: str, blocks: Sequence[Block]) -> Sequence[Block]:
    """The blocks, each edge inside a grapheme cluster moved behind it."""
    if all(is_break(text, block.start) for block in blocks):
        return blocks
    moved: list[Block] = []
    for block in blocks:
        start = max(block.start, moved[-1].end if moved else 0)
        while start < len(text) and not is_break(text, start):
            start += 1
        if moved:
            moved[-1] = moved[-1]._replace(end=start)
        moved.append(block._replace(start=start, end=max(start, block.end)))
    return moved


def _nodes(length: int, blocks: Sequence[Block]) -> tuple[list[Node], list[int], list[int]]:
    """The tree, for each block its node, and for each block the block of the heading above it (-1 without one)."""
    nodes = [Node(0, length, "document", -1, 0)]
    sections: list[tuple[int, int, int]] = []  # those open: level of the heading, node, block of the heading
    node_of, heading_of = [], []
    for index, block in enumerate(blocks):
        if block.level:
            while sections and sections[-1][0] >= block.level:
                _close(nodes, sections.pop()[1], block.start)
        heading_of.append(sections[-1][2] if sections else -1)
        if block.level:
            parent = sections[-1][1] if sections else 0
            sections.append((block.level, len(nodes), index))
            nodes.append(Node(block.start, length, "section", parent, nodes[parent].level + 1))
        parent = sections[-1][1] if sections else 0
        node_of.append(len(nodes))
        nodes.append(Node(block.start, block.end, block.kind, parent, nodes[parent].level + 1))
    return nodes, node_of, heading_of


def _close(nodes: list[Node], section: int, end: int) -> None:
    nodes[section] = nodes[section]._replace(end=end)


def _cuts(text: str, blocks: Sequence[Block], unit: UnitKind) -> list[list[Span]]:
    """For each block the spans of its units."""
    language = language_in(text)
    cuts = []
    for block in blocks:
        if block.cut:
            cuts.append(spans_within(text, block.start, block.end, language))
        else:
            cuts.append([(block.start, block.end)] if block.end > block.start else [])
    if unit == "sentence":
        return cuts
    from squeeze.segment.edus import cut_sentences

    prose = [spans for block, spans in zip(blocks, cuts, strict=True) if block.cut]
    of_sentence = iter(cut_sentences(text, [span for spans in prose for span in spans]))
    return [
        [edu for _ in spans for edu in next(of_sentence)] if block.cut else spans
        for block, spans in zip(blocks, cuts, strict=True)
    ]


def _hang(text: str, pieces: list[Piece], edus: list[int]) -> None:
    """Adds to the pieces `edus` the neighbours that each hangs on."""
    from squeeze.segment.dependence import needs

    for index, others in zip(edus, needs(text, [pieces[i][:2] for i in edus]), strict=True):
        if others:
            piece = pieces[index]
            wanted = {edus[other] for other in others if edus[other] != index}
            pieces[index] = piece._replace(needs=tuple(sorted(wanted.union(piece.needs))))
