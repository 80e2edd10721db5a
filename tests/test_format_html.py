"""HTML: whatever is kept balances, rows come with their header, what no reader sees goes first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import squeeze
from format_tools import needed, shown, texts
from squeeze.bench.whole import _unbalanced
from squeeze.segment import detect, parse

LONG = "The pump is checked in spring, and its valve opens at 40 bar. " * 3
PAGE = f"""<!DOCTYPE html>
<html><head><title>Pumps</title><script>if (a < b) {{ start("</p>"); }}</script><style>p {{ color: red }}</style></head>
<body>
<!-- a comment -->
<h1>Pumps</h1>
<p>{LONG}<b>It is loud.</b> Nobody hears it.</p>
<div style="display: none"><p>{LONG}</p></div>
<h2>Limits</h2>
<table>
<thead><tr><th>Part</th><th>Torque</th></tr></thead>
<tbody>
<tr><td>bolt</td><td>17 Nm, which is measured with the blue wrench that hangs at the wall beside the big door</td></tr>
<tr><td>nut</td><td>12 Nm, which is measured with the red wrench that lies in the drawer under the long bench</td></tr>
</tbody>
</table>
<dl><dt>limit</dt><dd>{LONG}</dd><dt>speed</dt><dd>Turns in a minute, at most 300 in summer.<br>{LONG}</dd></dl>
<ul><li>first</li><li>second</li></ul>
</body></html>
"""
NAMES = st.sampled_from(
    ["div", "p", "b", "ul", "li", "table", "tr", "td", "th", "section", "h2", "dl", "dt", "dd", "span"]
)
WORDS = st.sampled_from(
    ["Some words here. ", "And more of them! " * 12, "&amp; ", "<br>", "\n", "<!-- c -->", "<img src=x>", "1 < 2 "]
)
TREES = st.recursive(
    WORDS,
    lambda inner: st.tuples(NAMES, st.lists(inner, max_size=5)).map(
        lambda pair: f"<{pair[0]}>{''.join(pair[1])}</{pair[0]}>"
    ),
    max_leaves=40,
)


@given(st.lists(TREES, max_size=6).map("".join), st.data())
def test_any_subset_balances(text: str, data: st.DataObject) -> None:
    layout = parse(text, format="html")
    assert "".join(text[piece.start : piece.end] for piece in layout.pieces) == text
    kept = sorted(data.draw(st.sets(st.integers(0, max(0, len(layout.pieces) - 1))))) if text else []
    assert _unbalanced(text) or not _unbalanced(shown(text, layout, kept))


def test_units_of_a_page() -> None:
    assert detect(PAGE) == "html"
    kinds = [piece.kind for piece in parse(PAGE).pieces]
    assert kinds.count("header") == 1 and kinds.count("row") == 2 and kinds.count("hidden") == 5
    assert kinds.count("heading") == 3 and kinds.count("open") == kinds.count("close")
    assert any(unit.startswith("<p>The pump is checked") for unit in texts(PAGE))


def test_a_row_comes_with_its_header_and_its_heading() -> None:
    found = needed(PAGE, "<tr><td>nut")
    assert "<h2>Limits</h2>" in found and "<tr><th>Part</th><th>Torque</th></tr>" in found
    assert not any("bolt" in unit for unit in found)


def test_a_definition_comes_with_its_term() -> None:
    found = needed(PAGE, "<dd>Turns in a minute")
    assert "<dt>speed</dt>" in found and "<dt>limit</dt>" not in found


@pytest.mark.parametrize("keep", [0.1, 0.25, 0.5, 0.75])
def test_output_balances_and_hidden_parts_go_first(keep: float) -> None:
    result = squeeze.compress([PAGE], query="with what is the torque of the nut measured?", keep=keep)
    assert not _unbalanced(result.text)
    if keep <= 0.5:
        assert "<script" not in result.text and "display: none" not in result.text
    if keep >= 0.25:
        assert "12 Nm" in result.text and "Torque" in result.text


SMALL = (
    "<html><head><title>Dam</title><script>var x=1;</script></head><body><h1>Dam</h1><p>The wall is 40 metres high.</p>"
    "<p>It was built in 1913 by the town.</p><table><tr><th>Year</th><th>Visitors</th></tr><tr><td>2020</td><td>1200"
    "</td></tr><tr><td>2021</td><td>3400</td></tr></table><ul><li>boats for hire</li><li>a cafe</li></ul></body></html>"
)


@pytest.mark.parametrize(
    ("query", "answer"),
    [("When was it built?", "1913"), ("How many visitors in 2021?", "3400"), ("Are boats for hire?", "boats for hire")],
)
@pytest.mark.parametrize("max_tokens", [60, 80, 100])
def test_a_small_page_has_small_units(query: str, answer: str, max_tokens: int) -> None:
    result = squeeze.compress([SMALL], query=query, max_tokens=max_tokens)
    assert answer in result.text and not _unbalanced(result.text)
    assert max_tokens > 60 or "<script" not in result.text


def test_paragraphs_items_and_rows_are_units_however_small_the_page() -> None:
    units = texts(SMALL)
    assert {"<p>It was built in 1913 by the town.</p>", "<li>a cafe</li>", "<script>var x=1;</script>"} <= set(units)
    assert "<tr><td>2021</td><td>3400</td></tr>" in units
    wrapped = "<html><body><div><main>" + "<p>The gate is shut at night.</p>" * 4 + "</main></div></body></html>"
    assert texts(wrapped).count("<p>The gate is shut at night.</p>") == 4
    only = "<html><body><p>" + "The gate of the dam is shut at night. It is opened at six. " * 4 + "</p></body></html>"
    assert [piece.kind for piece in parse(only).pieces].count("sentence") >= 2


def test_a_small_list_in_a_long_page_is_given_by_items() -> None:
    text = f"<html><body><p>{LONG * 12}</p><ul><li>first</li><li>second</li></ul></body></html>"
    assert "<li>second</li>" in texts(text)


def test_what_is_left_out_in_front_leaves_no_blank_line() -> None:
    text = "<!DOCTYPE html>\n\n" + SMALL + "\n"
    result = squeeze.compress([text], query="When was it built?", max_tokens=44)
    assert result.text.startswith("<html>") and result.text.endswith("</html>\n")
    layout = parse("<p>One.</p>\n\n<p>Two.</p>\n<p>Three.</p>\n", format="html")
    source = "<p>One.</p>\n\n<p>Two.</p>\n<p>Three.</p>\n"
    assert [shown(source, layout, kept) for kept in ([0, 1, 2], [1], [2])] == [source, "<p>Two.</p>", "<p>Three.</p>\n"]


def test_records_of_a_small_feed_stay_whole() -> None:
    text = (
        "<orders>" + "".join(f"<order><id>{i}</id><total>{i * 7} EUR</total></order>" for i in range(3)) + "</orders>"
    )
    assert "<order><id>2</id><total>14 EUR</total></order>" in texts(text)


def test_xml_has_no_elements_without_end_tags() -> None:
    items = "".join(f"<Item><link>address {i}</link><script>step {i}</script><empty/></Item>" for i in range(30))
    text = f"<?xml version='1.0'?>\n<Feed>{items}</Feed>"
    result = squeeze.compress([text], query="where is address 17?", keep=0.2)
    assert "address 17" in result.text
    assert result.text.count("<link>") == result.text.count("</link>") == result.text.count("<Item>")
    assert result.text.endswith("</Feed>") and {piece.kind for piece in parse(text).pieces} >= {"open", "close", "html"}


def test_end_tags_that_are_missing_are_no_harm() -> None:
    text = "<ul>" + "".join(f"<li>Item {i} says something. {LONG}" for i in range(4)) + "</ul><p>" + LONG + "<p>" + LONG
    layout = parse(text, format="html")
    assert "".join(text[piece.start : piece.end] for piece in layout.pieces) == text
    assert len(layout.pieces) >= 8


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("<div class=a><p>One.</p><p>Two.</p></div>", "html"),
        ("<html><body>x</body></html>", "html"),
        ("text</p>\n" + "<p>More <b>text</b> here.</p>\n" * 10, "html"),
        ("<?xml version='1.0'?>\n<feed><item><link>x</link></item><item><link>y</link></item></feed>\n", "html"),
        ("<orders><order id='1'><total>7</total></order><order/></orders>", "html"),
        ("<think>It is easy.</think>", "plain"),
        ("We know that a < b and b > c. So <a> is fine.", "plain"),
        ("# Title\n\n<details>\n\nSome *text* here.\n\n- item\n- item\n", "markdown"),
        ("<think> about it.", "plain"),
    ],
)
def test_detection(text: str, name: str) -> None:
    assert detect(text) == name
