from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import squeeze
from by_hand import result_of, sentences
from squeeze.account import BLOCK, blocks, rows_of
from squeeze.report import FRAGMENT_CHARS, FRAGMENT_PASSAGES, fragment, page
from squeeze.types import Compressed, Notice, Passage, SoftPart, TextPart

VOID = {"meta", "input", "br", "link"}


class Reader(HTMLParser):
    """Collects what a reader sees; fails on tags that do not match."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[tuple[str, str]] = []
        self.seen: list[tuple[str, str, str]] = []  # tag, class, text
        self.titles: list[str] = []
        self.tags: list[tuple[str, dict[str, Any]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.tags.append((tag, values))
        if tag in ("mark", "del") and "title" in values:
            self.titles.append(values["title"] or "")
        if tag not in VOID:
            self.open.append((tag, values.get("class") or ""))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        tag, name = self.open[-1] if self.open else ("", "")
        self.seen.append((tag, name, data))

    def text(self, *tags: str) -> list[str]:
        return [data for tag, _, data in self.seen if tag in tags]

    def visible(self) -> str:
        return "".join(data for tag, _, data in self.seen if tag not in ("style", "title"))


def read(html: str) -> Reader:
    html.encode("utf-8")
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert not reader.open
    return reader


def shown_passages(html: str) -> list[str]:
    """Text of each passage as the report shows it, blocks joined by line breaks."""
    out = []
    for body in html.split('<details class="sq-passage"')[1:]:
        texts = re.findall(r'<div dir="auto" lang="">(.*?)</div>', body.split("</details>")[0], re.S)
        out.append("\n".join("".join(read(f"<p>{text}</p>").text("p", "mark", "del", "b")) for text in texts))
    return out


def small(**changes: Any) -> Compressed:
    return result_of(
        [Passage("The lamp burned oil. It was cleaned daily. ", "Lamps", "a/1"), "Fog hid it."],
        [(0, 0, 21, 0.75, True), (0, 21, 43, 0.1, False), (1, 0, 11, 0.5, False)],
        query="what burned?",
        **changes,
    )


@pytest.mark.parametrize("render", [page, fragment])
def test_kept_and_dropped_text_are_marked_with_score_and_reason(render: Any) -> None:
    reader = read(render(small()))
    assert "The lamp burned oil. " in reader.text("mark")
    assert "It was cleaned daily. " in reader.text("del")
    assert "score 0.75 · kept: by its score · 4 tokens" in reader.titles
    assert "score 0.1 · left out: the budget was spent · 4 tokens" in reader.titles
    gaps = [values for tag, values in reader.tags if tag == "i" and "title" in values]
    assert [gap["title"] for gap in gaps] == ["4 tokens left out", "3 tokens left out"]


@pytest.mark.parametrize("render", [page, fragment])
def test_the_numbers_are_there(render: Any) -> None:
    notice = Notice("unit_cut", "cut at a <word>", 1)
    text = read(render(small(warnings=(notice,), tokens_before=12_345, tokens_after=1_234, seconds=0.0123))).visible()
    for expected in (
        "12,345",
        "1,234",
        "10.0%",
        "12.3 ms",
        "edu",
        "estimate",
        "what burned?",
        "Lamps",
        "a/1",
        "Passage 1",
    ):
        assert expected in text
    assert "unit_cut" in text
    assert "cut at a <word> (passage 1)" in text
    assert "4 of 8 tokens" in text
    assert "0 of 3" in text


def test_bars_show_before_and_after() -> None:
    widths = [v["style"] for tag, v in read(page(small())).tags if tag == "span" and "style" in v]
    assert widths == ["width:100.0%", "width:50.0%", "width:37.5%", "width:0.0%"]


def test_nothing_is_loaded_and_nothing_runs() -> None:
    html = page(small())
    tags = read(html).tags
    assert not {tag for tag, _ in tags} & {"script", "link", "img", "iframe", "object", "base"}
    assert not [name for _, values in tags for name in values if name in ("src", "onclick", "onload", "srcset")]
    assert all(values["href"].startswith("#") for _, values in tags if "href" in values)
    assert "url(" not in html and "@import" not in html
    assert "default-src 'none'" in html


def test_a_fragment_has_no_ids_and_only_scoped_styles() -> None:
    html = fragment(small())
    assert not [values for _, values in read(html).tags if "id" in values or "href" in values]
    style = re.sub(r"/\*.*?\*/", "", html.split("<style>")[1].split("</style>")[0], flags=re.S)
    for selector in re.findall(r"(?:^|[{}])\s*([^{}@]+?)\s*\{", style):
        assert all(part.strip().startswith(".squeeze-") for part in selector.split(",")), selector


MARKUP = "</div><script>alert(1)</script> & \"x\" 'y' <b onmouseover=z> </style> &amp; "
HOSTILE = MARKUP + "\x00\x07\x85\ud800\u202e\r\nnext\rlast"


@pytest.mark.parametrize("render", [page, fragment])
def test_hostile_text_is_only_text(render: Any) -> None:
    passage = Passage(HOSTILE, HOSTILE, HOSTILE)
    result = result_of([passage], [(0, 0, len(HOSTILE), 0.5, True)], query=HOSTILE, method=HOSTILE, tokenizer=HOSTILE)
    reader = read(render(result))
    assert not [tag for tag, values in reader.tags if tag == "script" or "onmouseover" in values]
    shown = MARKUP + "U+0000U+0007U+0085U+D800U+202E\nnextU+000D\nlast"
    assert shown_passages(render(result)) == [shown]
    assert shown in reader.visible().split("tokens before")[0]


@given(st.lists(st.text(st.characters(codec="utf-8", categories=["L", "P", "S", "Z", "Mn"]), max_size=60), max_size=4))
def test_every_character_is_shown_once(texts: list[str]) -> None:
    units = [(i, a, b, 0.5, k % 2 == 0) for i, t in enumerate(texts) for k, (a, b) in enumerate(sentences(t, 7))]
    result = result_of(texts, units)
    unseen = dict.fromkeys("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
    shown = shown_passages(page(result))
    assert shown == ["".join(f"U+{ord(c):04X}" if c in unseen else c for c in text) for text in texts]


@given(st.integers(0, 6 * BLOCK), st.sampled_from(["\n", "\r\n", " ", "", "\n\n"]), st.integers(1, 2 * BLOCK))
def test_blocks_leave_out_line_breaks_only(size: int, between: str, step: int) -> None:
    text = between.join("x" * min(step, size - start) for start in range(0, size, step))
    spans = list(blocks(text))
    assert spans[0][0] == 0 and spans[-1][1] == len(text)
    assert all(text[end:start] in ("", "\n", "\r\n") for (_, end), (start, _) in pairwise(spans))
    assert all(end - start <= 4 * BLOCK for start, end in spans)


def test_long_passages_keep_their_lines() -> None:
    text = "".join(f"line {n}\r\n\r\n" if n % 3 else f"line {n} " for n in range(4_000))
    units = [(0, *m.span(), 0.5, m.start() % 3 == 0) for m in re.finditer(r"line \d+\s*", text)]
    assert shown_passages(page(result_of([text], units))) == [text.replace("\r\n", "\n")]


def test_size_grows_with_the_input() -> None:
    sizes = []
    for n in (20_000, 80_000):
        text = "a word & more. " * (n // 15)
        sizes.append(len(page(result_of([text], [(0, a, b, 0.5, True) for a, b in sentences(text)]))))
    assert sizes[1] < 4.1 * sizes[0]


def test_a_fragment_of_a_long_input_says_what_it_leaves_out() -> None:
    long = result_of(["x" * (FRAGMENT_CHARS + 5), "never shown"], [])
    text = read(fragment(long)).visible()
    assert "5 more characters" in text and "1 more passage" in text and "never shown" not in text
    many = result_of(["p"] * (FRAGMENT_PASSAGES + 3), [])
    assert "3 more passages" in read(fragment(many)).visible()
    assert len(shown_passages(page(many))) == FRAGMENT_PASSAGES + 3


def test_a_unit_that_was_cut_counts_in_part() -> None:
    result = result_of(["one two three four"], [(0, 0, 18, 0.9, True)])
    cut = result_of(["one two three four"], [(0, 0, 18, 0.9, True)], parts=(TextPart(0, 0, 7, "one two"),))
    assert rows_of(result)[0].after == 4
    assert 1 < rows_of(cut)[0].after < 2
    assert [(s.start, s.end, s.state) for s in rows_of(cut)[0].stretches] == [(0, 7, "kept"), (7, 18, "out")]


def test_vectors_are_badges() -> None:
    parts = (SoftPart(0, 0, 21, np.zeros((7, 4)), "model<1>"), TextPart(1, 0, 11, "Fog hid it.", "\n\n"))
    html = page(small(parts=parts))
    badges = [values["title"] for tag, values in read(html).tags if values.get("class") == "sq-badge"]
    assert badges == ["model<1>", "model<1>"]  # in the passage, and in the prompt
    assert html.count("7 vectors") == 2
    assert "score 0.75 · kept as vectors: by its score · 4 tokens" in read(html).titles


def test_coded_parts_show_the_source_and_the_prompt() -> None:
    coded = TextPart(0, 0, 43, "@1 oil. @1 daily. ", "@1=burned\n", ((0, 43),))
    result = result_of(["The lamp burned oil. It was cleaned daily. "], [], parts=(coded,), tokens_after=5)
    html = page(result)
    assert "kept in coded form" in read(html).titles
    assert "@1=burned\n@1 oil. @1 daily. " in read(html).visible()
    assert rows_of(result)[0].after == pytest.approx(5 * 18 / 28)


def test_units_that_overlap_or_miss_text_are_shown_once() -> None:
    result = result_of(["abcdef ghi"], [(0, 1, 5, 0.5, False), (0, 3, 7, 0.5, False)])
    assert shown_passages(page(result)) == ["abcdef ghi"]


@pytest.mark.parametrize("passages", [[], [""], ["", " \n "]])
def test_empty_inputs_have_a_page(passages: list[str]) -> None:
    for html in (page(result_of(passages, [])), fragment(result_of(passages, []))):
        assert "no query" in read(html).visible()


def browser() -> str | None:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    return None


@pytest.mark.skipif(browser() is None, reason="Chromium is not installed")
def test_a_browser_shows_the_page(tmp_path: Path) -> None:
    text = "The <lamp> burned oil.\n\tIt was   cleaned\ud800 daily. " * 200
    units = [(0, a, b, 0.5, (a // 40) % 3 == 0) for a, b in sentences(text)]
    result = result_of([Passage(text, "<i>Lamps</i>"), "fin"], units, query="<script>document.title='run'</script>")
    file = tmp_path / "page.html"
    file.write_text(page(result), encoding="utf-8")
    run = subprocess.run(
        [
            str(browser()), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync", "--dump-dom",
            f"--user-data-dir={tmp_path / 'profile'}", file.as_uri(),
        ],
        capture_output=True, timeout=120, check=True,
    )  # fmt: skip
    dom = run.stdout.decode("utf-8")
    reader = read(dom)
    assert "".join(reader.text("title")) == "squeeze: <script>document.title='run'</script>"
    assert shown_passages(dom) == [text.replace("\ud800", "U+D800"), "fin"]
    assert len(reader.text("mark")) > 100
    assert not [tag for tag, _ in reader.tags if tag == "script"]


@pytest.mark.parametrize(
    ("ids", "shown"),
    [
        (("docs/a/one.md", "docs/a/two.md"), ["one.md", "two.md"]),
        (("docs\\one.md", "docs\\two.md"), ["one.md", "two.md"]),
        (("docs/one.md", "notes/two.md"), ["docs/one.md", "notes/two.md"]),
        (("one.md", "one.md"), ["one.md", "one.md"]),
        (("docs/one.md",), ["docs/one.md"]),
    ],
)
def test_bars_leave_out_the_folder_that_all_names_share(ids: tuple[str, ...], shown: list[str]) -> None:
    passages = [Passage("The lamp was changed in 1931.", id=name) for name in ids]
    html = page(squeeze.compress(passages, "lamp", max_tokens=99))
    assert re.findall(r'<bdi class="sq-name">(.*?)</bdi>', html) == shown
    assert re.findall(r'<bdi class="sq-title">(.*?)</bdi>', html) == list(ids)
