"""Markdown: which blocks are seen, and what each brings with it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squeeze.segment import Layout, Piece, detect, parse


def read(text: str) -> tuple[Layout, list[str]]:
    layout = parse(text, format="markdown")
    return layout, [text[piece.start : piece.end] for piece in layout.pieces]


def closure(layout: Layout, index: int) -> set[int]:
    """The piece and all that it needs, directly or through others."""
    seen: set[int] = set()
    queue = [index]
    while queue:
        at = queue.pop()
        if at not in seen:
            seen.add(at)
            queue.extend(layout.pieces[at].needs)
    return seen


def find(layout: Layout, text: str, needle: str) -> int:
    return next(i for i, piece in enumerate(layout.pieces) if needle in text[piece.start : piece.end])


def test_headings_open_sections_and_are_needed() -> None:
    text = "Preface.\n\n# A\n\nOne. Two.\n\n### B\n\nThree.\n\n## C\nFour.\n\n# D\nFive.\n"
    layout, pieces = read(text)
    assert pieces[1] == "# A\n\n"
    by_text = {piece.strip(): closure(layout, index) for index, piece in enumerate(pieces)}
    paths = {key: [pieces[i].strip() for i in sorted(value)] for key, value in by_text.items()}
    assert paths["Preface."] == ["Preface."]
    assert paths["Two."] == ["# A", "Two."]
    assert paths["Three."] == ["# A", "### B", "Three."]
    assert paths["Four."] == ["# A", "## C", "Four."]
    assert paths["Five."] == ["# D", "Five."]
    sections = [
        (text[node.start : node.end].split("\n")[0], node.level) for node in layout.nodes if node.kind == "section"
    ]
    assert sections == [("# A", 1), ("### B", 2), ("## C", 2), ("# D", 1)]


def test_underlined_headings() -> None:
    layout, pieces = read("Title\n=====\n\nPart\n----\n\nText here.\n")
    assert pieces == ["Title\n=====\n\n", "Part\n----\n\n", "Text here.\n"]
    assert closure(layout, 2) == {0, 1, 2}


def test_table_rows_bring_their_header() -> None:
    text = "# T\n\nIntro. Here it is.\n\n| a | b |\n|:--|--:|\n| 1. x | 2 |\n| 3 | 4 |\n\nAfter.\n"
    layout, pieces = read(text)
    kinds = [piece.kind for piece in layout.pieces]
    assert kinds == ["heading", "sentence", "sentence", "header", "row", "row", "sentence"]
    assert pieces[3] == "| a | b |\n|:--|--:|\n"
    assert pieces[4] == "| 1. x | 2 |\n"
    assert closure(layout, 5) == {0, 3, 5}
    assert not any(piece.prose for piece in layout.pieces if piece.kind in ("header", "row"))


def test_items_bring_lead_in_and_parent() -> None:
    text = "First sentence. You need:\n\n- milk\n  - fresh\n    - cold\n- eggs\n\n  big ones\n\nAfter.\n\n- loose\n"
    layout, pieces = read(text)
    lead = pieces.index("You need:\n\n")
    milk, cold, eggs = (find(layout, text, word) for word in ("milk", "cold", "eggs"))
    assert pieces[milk] == "- milk\n"
    assert closure(layout, milk) == {lead, milk}
    assert closure(layout, cold) == {lead, milk, cold - 1, cold}
    assert closure(layout, find(layout, text, "big ones")) == {lead, eggs, eggs + 1}
    assert closure(layout, find(layout, text, "loose")) == {find(layout, text, "loose")}


def test_numbered_items_are_whole() -> None:
    _, pieces = read("1. Do this. Then that.\n2. Rest.\n")
    assert pieces == ["1. Do this. Then that.\n", "2. Rest.\n"]


def test_long_items_are_cut_and_all_bring_the_lead_in() -> None:
    text = "You need:\n\n- " + "This is one sentence of a long item. " * 12 + "\n- short\n"
    layout, _ = read(text)
    items = [index for index, piece in enumerate(layout.pieces) if piece.kind == "item"]
    assert len(items) == 13
    assert all(0 in layout.pieces[index].needs for index in items)


@pytest.mark.parametrize(
    "block",
    ["```py\nx = 1. # a\n\ny = 2.\n```", "~~~\n```\n# no\n~~~", "    x = 1.\n\n    y = 2.", "<div>\nA. B.\n</div>"],
)
def test_code_and_html_are_whole(block: str) -> None:
    text = f"Before. Here:\n\n{block}\n\nAfter. End.\n"
    layout, pieces = read(text)
    assert block + "\n\n" in pieces
    assert not layout.pieces[pieces.index(block + "\n\n")].prose


def test_code_in_an_item_brings_the_item() -> None:
    text = "- run\n\n  ```\n  make\n  ```\n"
    layout, _ = read(text)
    assert [piece.kind for piece in layout.pieces] == ["item", "code"]
    assert layout.pieces[1].needs == (0,)


def test_front_matter_quotes_rules_and_definitions() -> None:
    text = "---\ntitle: A. B\ndate: 2001\n---\n\n# H\n\n> One. Two.\n\n***\n\n[a]: http://b.c\n\nThree [a].\n"
    layout, pieces = read(text)
    assert [piece.kind for piece in layout.pieces] == [
        *("front_matter", "heading", "sentence", "sentence", "rule", "definition", "sentence")
    ]
    assert pieces[0] == "---\ntitle: A. B\ndate: 2001\n---\n\n"
    assert pieces[2] == "> One. "


def test_open_fence_loses_nothing() -> None:
    text = "# Oven\nRead on.\n\n```python\nheat = 180\n\nprint(heat)\n\n## Bounds\nThe most is 250 degrees.\n"
    layout, pieces = read(text)
    assert pieces[2:4] == ["```python\nheat = 180\n\n", "print(heat)\n\n"]
    assert [piece.kind for piece in layout.pieces[2:]] == ["code", "code", "heading", "sentence"]
    limit = find(layout, text, "250")
    assert closure(layout, limit) == {0, limit - 1, limit}
    assert layout.pieces[3].needs == (0, 2)


def test_open_comment_loses_nothing() -> None:
    text = "Start here.\n\n<!-- a note\n\nThe text goes on behind it.\n"
    layout, pieces = read(text)
    assert pieces == ["Start here.\n\n", "<!-- a note\n\n", "The text goes on behind it.\n"]
    assert layout.pieces[2].prose


def test_deep_nesting_keeps_its_text() -> None:
    text = "".join("  " * depth + f"- level {depth}\n" for depth in range(60)) + "\nEnd.\n"
    _, pieces = read(text)
    assert "".join(pieces) == text
    assert len(pieces) > 15


@pytest.mark.parametrize(
    "text",
    [
        "# Title\n\n## Part\n\nText.\n",
        "| a | b |\n| --- | --- |\n| 1 | 2 |\n",
        "Text:\n\n```\ncode\n```\n",
        "- one\n- two\n",
        "1. one\n2. two\n",
        "See [this](https://a.b) and [that](https://a.c).\n",
    ],
)
def test_markdown_is_seen(text: str) -> None:
    assert detect(text) == "markdown"


WORDS = st.text(alphabet="abc xyz", min_size=1, max_size=12).map(lambda words: "w" + words.strip())


@given(st.lists(WORDS, min_size=1, max_size=6), st.lists(st.lists(WORDS, min_size=2, max_size=2), max_size=6), WORDS)
def test_rows_items_and_sentences_bring_what_they_need(items: list[str], rows: list[list[str]], title: str) -> None:
    text = f"# {title}\n\nThe list:\n\n" + "".join(f"- {item}\n" for item in items)
    text += "\nThe end.\n\n| h | i |\n| --- | --- |\n" + "".join(f"| {one} | {two} |\n" for one, two in rows)
    layout, _ = read(text)

    def brings(piece: Piece, kind: str) -> bool:
        needed = closure(layout, layout.pieces.index(piece)) - {layout.pieces.index(piece)}
        return any(layout.pieces[index].kind == kind for index in needed)

    for piece in layout.pieces[1:]:
        assert brings(piece, "heading")
        assert piece.kind != "row" or brings(piece, "header")
        assert piece.kind != "item" or brings(piece, "sentence")
    assert sum(piece.kind == "row" for piece in layout.pieces) == len(rows)
    assert sum(piece.kind == "item" for piece in layout.pieces) == len(items)


@given(st.lists(st.sampled_from(["# a\n\n", "## b\n\n", "#### c\n\n", "Text one. Text two.\n\n"]), max_size=12))
def test_heading_paths(parts: list[str]) -> None:
    text = "".join(parts)
    layout, pieces = read(text)
    open_levels: list[tuple[int, int]] = []
    for index, piece in enumerate(pieces):
        level = len(piece) - len(piece.lstrip("#"))
        while level and open_levels and open_levels[-1][0] >= level:
            open_levels.pop()
        assert closure(layout, index) == {index, *(at for _, at in open_levels)}
        if level:
            open_levels.append((level, index))
