"""The registered method: the text form of meta-tokens."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import squeeze
from squeeze.coding.tagged import restore
from squeeze.errors import ConfigError, CorruptError

SENTENCE = "The relief valve of the north pump opens at forty bar. "
PASSAGES = [SENTENCE + f"Checked in week {week}." for week in range(4)]
pieces = st.sampled_from(
    [SENTENCE, "<M1>", "<Dict>", "</Dict>", "<M", ">", "<M1", "弁は閉じている。", "é ", "\n\n", "x ", "\x00", "<M7>"]
)


@given(st.lists(st.lists(pieces | st.text(max_size=8), max_size=20).map("".join), max_size=4))
def test_every_text_comes_back(texts: list[str]) -> None:
    result = squeeze.compress(texts, method="meta_tokens")
    assert result.restore() == tuple(texts)
    assert result.tokens_after <= result.tokens_before


def test_repeats_over_all_passages_are_said_once() -> None:
    result = squeeze.compress(PASSAGES, method="meta_tokens")
    assert result.text.startswith("<Dict><M") and result.text.count("relief valve") == 1
    assert result.tokens_after < 0.6 * result.tokens_before
    assert squeeze.Compressed.from_dict(result.to_dict()).restore() == tuple(PASSAGES)


def test_a_marker_is_one_token() -> None:
    result = squeeze.compress(["a b c d e f " * 9], method="meta_tokens", tokenizer=lambda text: len(text.split()))
    parts = re.split(r"(<M\d+>|</?Dict>)", result.text)
    assert result.tokens_after == sum(1 if part.startswith("<") else len(part.split()) for part in parts)
    assert result.tokens_after < result.tokens_before == 54


def test_markers_of_the_model_are_used_and_drawn_by_the_seed() -> None:
    markers = ["<|a|>", "<|b|>", *(f"<|r{at}|>" for at in range(90))]
    texts = {squeeze.compress(PASSAGES, method="meta_tokens", markers=markers, seed=seed).text for seed in range(5)}
    assert len(texts) > 1 and all(text.startswith("<|a|><|r") for text in texts)


def test_texts_with_a_delimiter_pass_through() -> None:
    texts = [*PASSAGES, "a literal </Dict> in the text"]
    result = squeeze.compress(texts, method="meta_tokens")
    assert result.text == "\n\n".join(texts) and [w.code for w in result.warnings] == ["not_shorter"]


def test_markers_in_the_text_are_not_used() -> None:
    taken = [f"<M{at}>" for at in range(999)]
    result = squeeze.compress([*PASSAGES, "".join(taken)], method="meta_tokens")
    assert result.text.startswith("<Dict><M999>")
    assert result.restore()[-1] == "".join(taken)


@pytest.mark.parametrize(
    "markers", [[], ["<a>"], ["<a>", "<a>"], ["<a>", "b"], ["<a>", "<<b>"], ["<a>", 3], ["<a>", "<>"]]
)
def test_markers_of_another_form_are_refused(markers: Any) -> None:
    with pytest.raises(ConfigError, match="allowed"):
        squeeze.load("meta_tokens", markers=markers)


@pytest.mark.parametrize(
    ("header", "bodies", "used"),
    [
        ("<D><1>ab</D>", ["<1> <1>"], []),
        ("<D><1>ab</D>", ["<1> <1>"], None),
        ("<D><1>ab</D>", ["<1> <1>"], ["<D>", "</D>"]),
        ("<D><1>ab", ["<1> <1>"], ["<D>", "</D>", "<1>"]),
        ("", ["<1> <1>"], ["<D>", "</D>", "<1>"]),
        ("<D>x<1>ab</D>", ["<1> <1>"], ["<D>", "</D>", "<1>"]),
        ("<D><1></D>", ["<1> <1>"], ["<D>", "</D>", "<1>"]),
        ("<D><2>ab</D>", ["<1> <1>"], ["<D>", "</D>", "<1>"]),
        ("<D><1>ab</D>", ["<1> "], ["<D>", "</D>", "<1>"]),
    ],
)
def test_edited_text_is_refused(header: str, bodies: list[str], used: Any) -> None:
    with pytest.raises(CorruptError):
        restore(header, bodies, used)


def test_what_was_coded_by_hand_restores() -> None:
    assert restore("<D><1>ab</D>", ["x<1><1>", "", "<1"], ["<D>", "</D>", "<1>"]) == ("xabab", "", "<1")
    assert restore("", ["<1>"], []) == ("<1>",)


def test_meta_tokens_in_an_answer_are_spelled_out() -> None:
    result = squeeze.compress(PASSAGES, method="meta_tokens")
    assert result.decode_markers("\n".join(part.text for part in result.parts)) == "\n".join(PASSAGES)
