"""Broken, mixed, binary and endless input: a defined result, nothing lost, no stack overflow."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import squeeze
from squeeze import Passage
from squeeze.errors import UnknownMethodError
from squeeze.segment import detect, formats, parse
from test_segment import assert_sound

PARTS = [
    *(
        "{",
        "}",
        "[",
        "]",
        '"a": ',
        '"b"',
        ",",
        ":",
        "1",
        "null",
        "<div>",
        "</div>",
        "<p>",
        "</p>",
        "<b>",
        "<br>",
        "<table>",
    ),
    *("<tr><th>h</th></tr>", "<tr><td>1</td></tr>", "</table>", "<script>", "<!--c-->", "&amp;", "<li>", "::"),
    *("def f(x):\n", "    return x\n", "x = [\n", "@dec\n", "# c\n", '"""doc\n', '"""\n', "\n", "\n\n", "  ", "\t"),
    *(".. note::\n", "   body\n", "Title\n=====\n", "* item\n", "+---+---+\n", "| a | b |\n", "=== ===\n"),
    *("\\section{A}\n", "$x = 1. Y$ ", "\\begin{itemize}\n", "\\item x\n", "\\end{itemize}\n", "\\[ a \\] "),
    *("2024-01-01 10:00:00 INFO x\n", "  at y\n", "a,b,c\n", "1,2,3\n", "a\tb\n", '"q\n', "\u0301", "\r\n", "\r"),
    *("👩\u200d👩\u200d👧", "\x00", "\ud83d", "x" * 120, "弁は閉じている。", "word " * 30, "Some words. And more! "),
]
BITS = st.lists(st.sampled_from(PARTS), max_size=40).map("".join)


@given(
    st.one_of(BITS, st.text(max_size=200)), st.sampled_from(["auto", *formats()]), st.sampled_from(["sentence", "edu"])
)
def test_any_text_is_sound_in_any_format(text: str, format: str, unit: str) -> None:
    layout = parse(text, format=format, unit=unit)  # type: ignore[arg-type]
    assert_sound(text, layout)
    assert parse(text, format=format, unit=unit) == layout  # type: ignore[arg-type]
    spans = layout.spans(list(range(0, len(layout.pieces), 2)))
    assert spans == sorted(spans) and all(one[1] <= two[0] for one, two in pairwise(spans))


@given(st.lists(BITS, max_size=3), st.integers(0, 40))
def test_any_texts_are_compressed_within_the_budget(texts: list[str], limit: int) -> None:
    result = squeeze.compress(texts, query="body 1 word", max_tokens=limit)
    assert result.tokens_after <= limit


LARGE = {
    "json in one line": json.dumps([{"id": i, "name": "x" * 20, "tags": ["a", "b"]} for i in range(4000)]),
    "json that is torn": json.dumps([{"id": i, "name": "x" * 20} for i in range(4000)])[:-9],
    "json of brackets": "[" * 50_000 + "]" * 50_000,
    "json of quotes": '{"' * 50_000,
    "csv": "id,name\n" + "".join(f"{i},name {i}\n" for i in range(10_000)),
    "csv with an open quotation": "id,name\n" + '1,"a\n' * 10_000,
    "log of one entry": "2024-01-01 10:00:00 ERROR x\n" * 2 + "   at foo.bar(Baz.java:12)\n" * 10_000,
    "code that goes deep": "def f():\n" + "".join(" " * min(i, 300) + f"if x{i}:\n" for i in range(2000)),
    "code of brackets": "x = [\n" + "(\n" * 20_000,
    "directives that go deep": ".. note::\n"
    + "".join(" " * min(3 * i, 300) + "   .. note::\n\n" for i in range(1, 600)),
    "elements that go deep": "<div>" * 30_000 + "</div>" * 30_000,
    "elements that stay open": "<p>a</p><div>" + "<b>" * 30_000,
    "end tags": "<p>a</p><p>b</p>" + "</b>" * 30_000,
    "comments that stay open": "<p>a</p><p>b</p>" + "<!--" * 30_000,
    "attributes that stay open": "<p>a</p><p>b</p><a " + 'x="' * 30_000,
    "angles": "<p>a</p><p>b</p>" + "<" * 100_000,
    "maths that stays open": "\\section{A}\\cite{b}\\cite{c}\n" + "\\[" * 50_000,
    "environments that stay open": "\\section{A}\\cite{b}\\cite{c}\n" + "\\begin{itemize}\n" * 6000,
    "binary": "".join(chr(i * 7919 % 256) for i in range(100_000)),
}


@pytest.mark.parametrize("name", LARGE)
def test_endless_input(name: str) -> None:
    text = LARGE[name]
    layout = parse(text)
    assert sum(piece.end - piece.start for piece in layout.pieces) == len(text)
    result = squeeze.compress([text], query="name 77", max_tokens=50)
    assert result.tokens_after <= 50


def test_mixed_formats_in_one_passage_lose_nothing() -> None:
    parts = [
        "The order was read from the log:",
        "2024-01-01 10:00:00 INFO order 7 read",
        json.dumps({"order": 7, "items": [1, 2, 3]}, indent=1),
        "<p>It was shown here.</p>",
        "def total(order):\n    return sum(order.items)",
        "It was paid in May.",
    ]
    text = "\n\n".join(parts)
    assert detect(text) == "plain"
    result = squeeze.compress([text], query="when was it paid?", keep=0.3)
    assert "It was paid in May." in result.text
    assert "".join(text[unit.start : unit.end] for unit in result.units()) == text


def test_the_format_can_be_given() -> None:
    text = "a;b\nc;d\ne;f\n"
    assert {unit.end for unit in squeeze.compress([text], keep=0.5, format="csv").units()} == {4, 8, 12}
    passage = Passage("one\ntwo\nthree\n", metadata={"format": "logs"})
    assert len(squeeze.compress([passage], keep=0.5).units()) == 3
    with pytest.raises(UnknownMethodError, match="docx"):
        squeeze.compress([Passage("x", metadata={"format": "docx"})])


def test_formats_are_found_by_listing() -> None:
    wanted = {"code", "csv", "html", "json", "jsonl", "latex", "logs", "markdown", "plain", "rst", "tsv"}
    assert wanted <= set(formats())
