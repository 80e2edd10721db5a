"""TED and DLA: gold against itself is 0 and 100 %, and every change counts."""

from __future__ import annotations

import pytest

from squeeze.segment.outline import OutlineNode, read_outline

pytest.importorskip("zss")

from squeeze.bench.metrics import dla, ted

UNITS = [f"u{i}" for i in range(12)]


def outline(*lines: str) -> list[OutlineNode]:
    return read_outline("\n".join(lines), UNITS, strict=True)


GOLD = outline("# [0]", "## [1]", "### [2]", "### [4]", "## [6]", "## [8]", "### [9]", "### [10]")


def test_gold_against_itself() -> None:
    assert ted(GOLD, GOLD) == 0
    assert dla([ted(GOLD, GOLD), ted([], [])]) == 100


@pytest.mark.parametrize(
    ("lines", "distance"),
    [
        (("# [0]", "## [1]", "### [2]", "### [4]", "## [6]", "## [8]", "### [9]", "### [11]"), 1),
        (("# [0]", "## [1]", "### [2]", "### [4]", "## [6]", "## [8]"), 2),
        (("# [1]", "## [2]", "## [4]", "# [6]", "# [8]", "## [9]", "## [10]"), 0),
        (("# [0]", "## [1]", "### [2]", "#### [3]", "### [4]", "## [6]", "## [8]", "### [9]", "### [10]"), 0),
    ],
)
def test_distances(lines: tuple[str, ...], distance: int) -> None:
    assert ted(GOLD, outline(*lines)) == ted(outline(*lines), GOLD) == distance


def test_an_empty_prediction_costs_all_nodes_but_the_title() -> None:
    assert ted(GOLD, []) == len(GOLD) - 1


def test_share_of_documents() -> None:
    assert dla([0, 1, 0.0, 3]) == 50
