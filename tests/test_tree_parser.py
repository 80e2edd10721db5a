"""Outlines from a (scripted) model: strict reading, repair, windows, and the tree that they make of a layout."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from format_tools import with_needs
from squeeze.errors import ConfigError, CorruptError
from squeeze.segment import parse
from squeeze.segment.outline import OutlineNode, read_outline, with_outline
from squeeze.segment.tree_parser import ModelTreeParser, TreeParser
from test_segment import assert_sound

UNITS = ["Pumps", "They move water.", "Limits", "At most 40 bar.", "At  most 300 turns.", "Care", "Oil in spring."]
GOOD = "# [0] Pumps\n## [2] Limits\n### [4] At most 300 turns.\n## [5] Care\n"


def spans(nodes: list[OutlineNode]) -> list[tuple[int, int, int]]:
    return [(node.depth, node.start, node.end) for node in nodes]


def test_a_good_outline() -> None:
    nodes = read_outline(GOOD, UNITS, strict=True)
    assert spans(nodes) == [(1, 0, 7), (2, 2, 5), (3, 4, 5), (2, 5, 7)]
    assert nodes[2].title == "At most 300 turns."


@pytest.mark.parametrize(
    "line",
    [
        "# <sep_l>u0<sep_r> Pumps",
        "# <sep_l>u0<sep_r>-<sep_l>u6<sep_r> Pumps",
        "#[0-6]Pumps",
        "# [0]",
        "  #   [0]   Pumps  ",
    ],
)
def test_ways_to_write_a_line(line: str) -> None:
    assert spans(read_outline(line, UNITS, strict=True)) == [(1, 0, 7)]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("## [9] Care", "unit 9 does not exist"),
        ("## [2] Limits", "unit 2 does not exist here; allowed: 3 to 6"),
        ("## [0] Pumps", "unit 0"),
        ("## [5] Oil", "other words"),
        ("#### [5] Care", "depth 4; allowed: 1 to 3"),
        ("[5] Care", "depth 0"),
        ("## Care", "no index"),
        ("Here is the outline:", "no index"),
    ],
)
def test_wrong_lines_are_left_out_or_refused(line: str, fault: str) -> None:
    text = f"# [0] Pumps\n## [2] Limits\n{line}\n## [6] Oil in spring."
    assert spans(read_outline(text, UNITS)) == [(1, 0, 7), (2, 2, 6), (2, 6, 7)]
    with pytest.raises(CorruptError, match=re.escape(fault)) as error:
        read_outline(text, UNITS, strict=True)
    assert "line 3" in str(error.value)


@pytest.mark.parametrize("end", ["1", "6", "99"])
def test_a_wrong_end_is_replaced_or_refused(end: str) -> None:
    text = f"# [0] Pumps\n## [2-{end}] Limits\n## [5] Care"
    assert spans(read_outline(text, UNITS))[1] == (2, 2, 5)
    with pytest.raises(CorruptError, match="ends at"):
        read_outline(text, UNITS, strict=True)


@given(
    st.text(max_size=300)
    | st.lists(st.sampled_from([*GOOD.splitlines(), "", "# [1]", "### [3]", "# [6-2]"]), max_size=9).map("\n".join)
)
def test_any_output_gives_a_sound_outline(output: str) -> None:
    nodes = read_outline(output, UNITS)
    starts = [node.start for node in nodes]
    assert starts == sorted(set(starts)) and all(0 <= node.start < node.end <= len(UNITS) for node in nodes)
    depth = 0
    for node in nodes:
        assert 1 <= node.depth <= depth + 1
        depth = node.depth
    for one in nodes:
        for other in nodes:
            assert other.start >= one.end or other.end <= one.end or other.start <= one.start


class Scripted:
    """A model that opens a section of depth 1 at every unit that begins with H, of depth 2 at every one with h."""

    def __init__(self, faults: int = 0) -> None:
        self.prompts: list[str] = []
        self.faults = faults

    def __call__(self, prompt: str) -> str:
        self.prompts.append(prompt)
        if self.faults:
            self.faults -= 1
            return "I cannot do that."
        lines = re.findall(r"^\[(\d+)\] (.*)$", prompt, re.MULTILINE)
        return "\n".join(
            f"{'#' if text[0] == 'H' else '##'} [{index}] {text}" for index, text in lines if text[0] in "Hh"
        )


DOCUMENT = [text for part in range(6) for text in (f"H{part}", "text a", f"h{part}", "text b", "text c")]


def test_a_document_longer_than_a_window_is_read_from_its_last_heading_on() -> None:
    model = Scripted()
    parser = ModelTreeParser(model, window=120)
    assert isinstance(parser, TreeParser)
    nodes = parser.parse(DOCUMENT)
    assert spans(nodes) == [
        found for part in range(6) for found in ((1, 5 * part, 5 * part + 5), (2, 5 * part + 2, 5 * part + 5))
    ]
    starts = [int(re.search(r"^\[(\d+)\]", prompt, re.MULTILINE)[1]) for prompt in model.prompts]  # type: ignore[index]
    assert starts == sorted(set(starts)) and len(starts) > 2
    assert all(start % 5 == 0 for start in starts), "a window begins at a heading of depth 1"
    assert nodes == ModelTreeParser(Scripted(), window=10_000).parse(DOCUMENT)


def test_a_window_without_a_further_heading_goes_on_behind_it() -> None:
    units = ["H0", *["text"] * 30, "h1", *["text"] * 30, "H2", "text"]
    nodes = ModelTreeParser(Scripted(), window=80).parse(units)
    assert spans(nodes) == [(1, 0, 62), (2, 31, 62), (1, 62, 64)]


def test_a_window_that_fails_is_tried_again_smaller() -> None:
    model = Scripted(faults=2)
    nodes = ModelTreeParser(model, window=160).parse(DOCUMENT)
    assert len(nodes) == 12
    assert len(model.prompts[0]) > len(model.prompts[1]) > len(model.prompts[2])


def test_a_model_that_never_answers_well_is_named() -> None:
    model = Scripted(faults=99)
    with pytest.raises(CorruptError, match="no usable outline of the units from 0 on"):
        ModelTreeParser(model, window=160, strict=True).parse(DOCUMENT)
    assert len(model.prompts) == 10
    assert ModelTreeParser(lambda prompt: "").parse(DOCUMENT) == []
    assert ModelTreeParser(model).parse([]) == []


def test_options_are_checked() -> None:
    for window in (0, 1.5, True):
        with pytest.raises(ConfigError, match="window"):
            ModelTreeParser(Scripted(), window=window)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="text"):
        ModelTreeParser(Scripted(), prompt="Write an outline.")


def test_an_outline_becomes_the_tree_of_a_layout() -> None:
    text = "Pumps are old. They move water. Limits exist. At most 40 bar. Care is needed. Oil in spring."
    layout = parse(text)
    assert len(layout.pieces) == 6
    units = [text[piece.start : piece.end] for piece in layout.pieces]
    nodes = read_outline("# [0]\n## [2]\n## [4]", units, strict=True)
    tree = with_outline(layout, nodes)
    assert_sound(text, tree)
    assert [node.level for node in tree.nodes] == [0, 1, 2, 2]
    assert with_needs(tree, {3}) == [0, 2, 3] and with_needs(tree, {5}) == [0, 4, 5] and with_needs(tree, {1}) == [0, 1]
    assert with_outline(layout, []) == layout
