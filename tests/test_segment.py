"""The layout of a passage: pieces that tile it, a tree that holds together, and the seam for formats."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from squeeze.errors import SqueezeError
from squeeze.segment import Block, Format, Layout, detect, formats, parse, split
from squeeze.segment.lines import segments
from squeeze.segment.tree import build

SIZE = 200_000
PROSE = "Berlin is a city. It lies on the Spree, which is a river.\n\nIt has a zoo."
MARKED = st.lists(
    st.sampled_from(
        [
            "# A\n",
            "## B\n",
            "### C\n",
            "Set\n===\n",
            "text. More",
            ":\n\n",
            "\n",
            "\n\n",
            "- item\n",
            "  - sub\n",
            "1. one\n",
            "| a | b |\n",
            "|---|---|\n",
            "| 1 | 2 |\n",
            "```\n",
            "~~~py\n",
            "> quote\n",
            "    code\n",
            "<div>\n",
            "<!--\n",
            "</div>\n",
            "-->\n",
            "---\n",
            "***\n",
            "[a]: http://b\n",
            "a: b\n",
            "\t",
            " ",
            "\r\n",
            "́",
            "�",
            "\x00",
        ]
    ),
    max_size=30,
).map("".join)


def assert_sound(text: str, layout: Layout) -> None:
    """The pieces tile the text and cut no grapheme cluster, needs are valid, and the tree holds together."""
    assert "".join(text[piece.start : piece.end] for piece in layout.pieces) == text
    at = 0
    edges = {match.start() for match in regex.finditer(r"\X", text)}
    for index, piece in enumerate(layout.pieces):
        node = layout.nodes[piece.node]
        assert piece.start == at < piece.end
        assert piece.start in edges
        assert node.start <= piece.start and piece.end <= node.end
        assert list(piece.needs) == sorted(set(piece.needs))
        assert all(0 <= other < len(layout.pieces) and other != index for other in piece.needs)
        at = piece.end
    root, *others = layout.nodes
    assert root[:] == (0, len(text), "document", -1, 0)
    for index, node in enumerate(others, 1):
        parent = layout.nodes[node.parent]
        assert 0 <= node.parent < index
        assert node.level == parent.level + 1
        assert parent.start <= node.start <= node.end <= parent.end
    starts = [node.start for node in layout.nodes]
    assert starts == sorted(starts)


@given(st.one_of(st.text(), MARKED), st.sampled_from(["auto", "plain", "markdown"]))
def test_any_text_is_sound(text: str, format: str) -> None:
    layout = parse(text, format=format)
    assert_sound(text, layout)
    assert all(other < index for index, piece in enumerate(layout.pieces) for other in piece.needs)
    assert split(text) == [(piece.start, piece.end) for piece in parse(text).pieces]


@given(st.one_of(st.text(), MARKED))
def test_any_text_is_sound_in_clauses(text: str) -> None:
    assert_sound(text, parse(text, unit="edu"))


@given(MARKED)
def test_same_text_same_layout(text: str) -> None:
    assert parse(text) == parse(text)


def test_plain_paragraphs_are_nodes_and_sentences_pieces() -> None:
    layout = parse(PROSE)
    assert layout.format == "plain"
    assert [node.kind for node in layout.nodes] == ["document", "paragraph", "paragraph"]
    assert [piece.kind for piece in layout.pieces] == ["sentence"] * 3
    assert [piece.node for piece in layout.pieces] == [1, 1, 2]
    assert all(piece.prose and not piece.needs for piece in layout.pieces)


def test_clauses_are_nested_in_sentences() -> None:
    sentences = {piece.start for piece in parse(PROSE).pieces}
    clauses = parse(PROSE, unit="edu")
    assert sentences < {piece.start for piece in clauses.pieces}
    assert {piece.kind for piece in clauses.pieces} == {"edu"}


def test_empty_and_blank() -> None:
    assert parse("").pieces == ()
    assert len(parse("").nodes) == 1
    assert split("") == []
    assert split(" \n\n\t") == [(0, 4)]


@pytest.mark.parametrize(
    "text", [PROSE, "It is 4 - 2. Is it? - Yes.", "a | b", "#5 is alive. #6 is not.", "**kw, **args", ""]
)
def test_plain_when_in_doubt(text: str) -> None:
    assert detect(text) == "plain"


def test_formats_are_listed() -> None:
    assert {"plain", "markdown"} <= set(formats())
    assert formats() == sorted(formats())
    assert not any(name.startswith("_") for name in formats())


def test_unknown_format_and_unit_are_named() -> None:
    with pytest.raises(SqueezeError, match=r"markdwn.*markdown"):
        parse("a", format="markdwn")
    with pytest.raises(SqueezeError, match="unit is 'word'"):
        parse("a", unit="word")  # type: ignore[arg-type]


class Lines(Format):
    """A format of the tests: a heading line starts with =, every line is a block."""

    gap = "line"

    def detect(self, text: str) -> float:
        return 0.0

    def blocks(self, text: str) -> list[Block]:
        blocks: list[Block] = []
        at = 0
        for line in text.splitlines(keepends=True):
            level = len(line) - len(line.lstrip("="))
            blocks.append(Block(at, at + len(line), "heading" if level else "row", prose=False, level=level))
            at += len(line)
        return blocks


def test_a_format_of_its_own_gets_tree_and_needs() -> None:
    layout = Lines().layout("a\n=b\nc\n===d\ne\n=f\ng\n", "lines", "sentence")
    assert layout.gap == "line"
    assert [piece.needs for piece in layout.pieces] == [(), (), (1,), (1,), (3,), (), (5,)]
    assert [(node.kind, node.level) for node in layout.nodes if node.kind == "section"] == [
        ("section", 1),
        ("section", 2),
        ("section", 1),
    ]
    assert_sound("a\n=b\nc\n===d\ne\n=f\ng\n", layout)


def test_a_format_whose_blocks_do_not_tile_is_refused() -> None:
    for blocks in ([Block(0, 2, "row")], [Block(1, 4, "row")], [Block(0, 4, "row", needs=(0,))]):
        with pytest.raises(ValueError, match="block"):
            build("abcd", blocks, name="x", unit="sentence", gap="mark")


def test_block_edges_inside_clusters_move() -> None:
    text = "a\u0301\u0301bc"
    layout = build(
        text, [Block(0, 1, "row"), Block(1, 2, "row"), Block(2, 5, "row")], name="x", unit="sentence", gap="mark"
    )
    assert [(piece.start, piece.end) for piece in layout.pieces] == [(0, 3), (3, 5)]


def test_segments_end_at_line_breaks() -> None:
    assert segments("a\nb", 0, 3) == [(0, 2), (2, 3)]
    assert segments("a\nb\nc", 2, 5) == [(2, 4), (4, 5)]


HARD = {
    "one line": "word " * (SIZE // 5),
    "one word": "a" * SIZE,
    "stops": "." * SIZE,
    "stops and spaces": ". " * (SIZE // 2),
    "line breaks": "\n" * SIZE,
    "CR LF": "\r\n" * (SIZE // 2),
    "spaces between": "a.\n" + " " * SIZE + "\nB",
    "open fences": "```a\n" * (SIZE // 5),
    "open fence, prose": "```\nThis is a sentence of prose here.\n\n" * (SIZE // 40),
    "open comments": "<!--\n\nThis is a sentence of prose here.\n\n" * (SIZE // 40),
    "nested quotes": ">" * 5000 + " a",
    "spaced quotes": "> " * 5000 + " a",
    "items": "- item\n" * (SIZE // 7),
    "nested lists": "".join("  " * depth + "- a\n" for depth in range(400)),
    "nested markers": "- " * (SIZE // 2),
    "rows": "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 10_000,
    "brackets": "[" * SIZE,
    "open quotes": "“a. B " * (SIZE // 6),
    "open corner quotes": "「あ。" * (SIZE // 3),
    "surrogates": "a\ud800. B" * (SIZE // 6),
    "NUL": "\x00. A" * (SIZE // 4),
    "byte order marks": "\ufeff" * SIZE,
    "line separators": "A.\u2028" * (SIZE // 3),
    "joiners": "\u200d" * SIZE,
    "accents": "a. \u0301" * (SIZE // 4),
    "flags": "🇩🇪" * (SIZE // 2),
    "abbreviations": "Dr. " * (SIZE // 4),
    "headings": "# a\n" * (SIZE // 8),
    "citations": "a.[1][2] " * (SIZE // 9),
    "thai": "วันนี้ฝนตก " * (SIZE // 11),
}


@pytest.mark.parametrize("name", HARD)
def test_hard_texts_end(name: str) -> None:
    layout = parse(HARD[name])
    assert sum(piece.end - piece.start for piece in layout.pieces) == len(HARD[name])
    assert layout.pieces[0].start == 0
    assert all(one.end == two.start for one, two in zip(layout.pieces, layout.pieces[1:], strict=False))
