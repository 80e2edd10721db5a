"""How near an outline is to a gold one: tree edit distance (TED), and the share of documents without error (DLA)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from squeeze.errors import need
from squeeze.segment.outline import OutlineNode

_ROOT = -1


def ted(gold: Sequence[OutlineNode], predicted: Sequence[OutlineNode]) -> float:
    """The Zhang-Shasha distance of two outlines with a cost of 1 for adding, dropping or renaming a node.

    Nodes are labelled with the index of the unit that they start at. Levels with a single node are collapsed, and a
    single outermost node, the title of the document, does not count.

    Raises:
        MissingDependencyError: `zss` is not installed.
    """
    zss = need("zss", extra="bench")
    one, other = (_collapsed(_tree(nodes)) for nodes in (gold, predicted))
    distance = zss.distance(
        *(_to_zss(zss, tree) for tree in (one, other)),
        zss.Node.get_children,
        insert_cost=lambda node: 1,
        remove_cost=lambda node: 1,
        update_cost=lambda a, b: int(a.label != b.label),
    )
    return float(distance)


def dla(distances: Iterable[float]) -> float:
    """The percentage of documents whose distance is 0.

    Raises:
        ZeroDivisionError: there are no documents.
    """
    values = list(distances)
    return 100.0 * sum(value == 0 for value in values) / len(values)


_Tree = tuple[int, list[Any]]


def _tree(nodes: Sequence[OutlineNode]) -> _Tree:
    """The outline as nested pairs of a label and children."""
    root: _Tree = (_ROOT, [])
    path: list[tuple[int, _Tree]] = [(0, root)]
    for node in nodes:
        while path[-1][0] >= node.depth:
            path.pop()
        tree: _Tree = (node.start, [])
        path[-1][1][1].append(tree)
        path.append((node.depth, tree))
    return root


def _collapsed(tree: _Tree) -> _Tree:
    """The tree in which no node has a single child: the children of an only child go to its parent."""
    label, children = tree
    while len(children) == 1:
        children = children[0][1]
    return label, [_collapsed(child) for child in children]


def _to_zss(zss: Any, tree: _Tree) -> Any:
    return zss.Node(tree[0], [_to_zss(zss, child) for child in tree[1]])
