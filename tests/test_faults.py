"""Inputs that once broke a promise, or easily could: one property each."""

from __future__ import annotations

import pytest
import regex

import squeeze
from conftest import overhead_words, words
from squeeze import Passage

LAMP = "The lamp of the harbour was changed to electricity in 1931 by the town."
LUNCH = "Lunch is at noon in the large hall beside the old crane."


def compress(passages: object, query: str | None = None, **options: object) -> squeeze.Compressed:
    return squeeze.compress(passages, query, **({"tokenizer": words} | options))  # type: ignore[arg-type]


def codes(result: squeeze.Compressed) -> list[str]:
    return [warning.code for warning in result.warnings]


def test_a_blank_passage_makes_nothing_a_duplicate() -> None:
    result = compress(["   ", f"{LAMP} {LUNCH}"], "lamp", max_tokens=14)
    assert result.text == LAMP
    assert "duplicate" not in {unit.reason for unit in result.units()}


def test_a_number_that_goes_on_is_another_number() -> None:
    pair = [
        "The maximum pressure of the north pump is 40",
        "The maximum pressure of the north pump is 400 bar. " + LUNCH,
    ]
    result = compress(pair, "maximum pressure", max_tokens=20)
    assert result.texts() == {0: pair[0], 1: "The maximum pressure of the north pump is 400 bar."}


def test_a_sentence_cut_by_a_window_is_kept_once() -> None:
    windows = [f"{LUNCH} The lamp of the harbour was changed to elec", f"{LAMP} {LUNCH}"]
    result = compress(windows, "lamp", max_tokens=27)
    assert result.text.count("The lamp of the harbour") == 1 and "1931" in result.text


def test_copies_take_the_best_score_of_all() -> None:
    text = "It was built by the town council in 1874."
    passages = [Passage(text, title="Mill"), Passage(LUNCH, title="Hall"), Passage(text, title="Lighthouse")]
    result = compress(passages, "when was the lighthouse built", max_tokens=9)
    assert result.text == text


def test_printed_titles_tell_equal_texts_apart() -> None:
    text = "It is closed on Mondays and on Tuesdays."
    passages = [Passage(text, title="Mill"), Passage(LUNCH, title="Hall"), Passage(text, title="Lighthouse")]
    result = compress(passages, "closed", max_tokens=20, titles=True)
    assert sorted(result.texts()) == [0, 2]
    assert sorted(compress(passages, "closed", max_tokens=20).texts()) == [0, 1]


@pytest.mark.parametrize("gap", ["…", ""])
def test_white_space_with_a_mark_is_a_character(gap: str) -> None:
    text = "Lunch is late.\r\n \u0301The lamp is red.\u00a0\u0301 The sea is cold. The lamp is lit \u0301"
    for limit in range(1, 12):
        result = compress(text, "lamp", max_tokens=limit, gap=gap)
        edges = {match.start() for match in regex.finditer(r"\X", text)} | {len(text)}
        assert {edge for span in result.spans(0) for edge in span} <= edges


def test_a_word_in_a_text_without_spaces_is_cut_nowhere() -> None:
    text = "装置のPumpModelは停止した"
    for limit in range(1, len(text)):
        kept = compress(text, max_tokens=limit, tokenizer=len).text
        assert kept and ("Pump" in kept) == ("PumpModel" in kept) and not kept.endswith("P")


def test_a_cut_shows_the_words_that_were_asked_for() -> None:
    filler = "filler words run on and on here " * 40
    text = f"{filler}while the maximum pressure of pump nine is forty bar and {filler}"
    result = compress(text, "What is the maximum pressure of pump nine?", max_tokens=12)
    assert "maximum pressure of pump nine is forty" in result.text and codes(result) == ["unit_cut"]
    bare = "装置" * 40 + "弁の圧力は四十です" + "停止" * 40
    assert "弁の圧力は四十" in compress(bare, "弁の圧力は？", max_tokens=14, tokenizer=len).text


def test_min_keep_keeps_a_unit_where_a_heading_scores_best() -> None:
    result = compress("# Lamp\n\nThe sea is cold. It is wet.\n", "lamp", min_score=0.99, min_keep=1)
    assert "# Lamp" in result.text and "The sea is cold." in result.text and not codes(result)


def test_a_generous_limit_does_not_switch_off_min_score() -> None:
    title = "A very long title that takes many many many tokens"
    passage = Passage("The lamp is red. Lunch is late. Paint is dry. The lamp is lit.", title=title)
    for limit in (None, 14, 1000):
        result = compress([passage], "lamp", min_score=0.3, titles=True, max_tokens=limit)
        assert "Lunch" not in result.text and "lamp" in result.text and "not_shorter" not in codes(result)


TAILS = ["", "Long tail of words here. ", "One sentence only that goes on and on "]
SHEETS = [f"{TAILS[i % 3]}Unit {i} is red. Unit {i} is hot and it leaks." for i in range(9)] + [LAMP, LUNCH, ""]


@pytest.mark.parametrize("tokenizer", [words, len, "estimate"])
@pytest.mark.parametrize("options", [{}, {"min_score": 0.4, "min_keep": 1}, {"unit": "edu"}, {"gap": ""}])
def test_a_passage_alone_is_the_same_in_every_company(tokenizer: object, options: dict[str, object]) -> None:
    options |= {"per_passage": True, "keep": 0.5, "tokenizer": tokenizer}
    alone = {i: text for i, sheet in enumerate(SHEETS) if (text := compress(sheet, "leaks", **options).text)}
    last = len(SHEETS) - 1
    assert compress(SHEETS, "leaks", **options).texts() == alone
    assert compress(SHEETS[::-1], "leaks", **options).texts() == {last - i: text for i, text in alone.items()}


def test_shares_too_small_for_anything_are_put_together() -> None:
    passages = [f"Sheet {i} says nothing that anyone would want to read on such a day." for i in range(9)] + [LAMP]
    assert compress(passages, "lamp", max_tokens=14, per_passage=True).text == LAMP
    short = [f"The lamp number {i} is red." for i in range(60)]
    result = compress(short, "lamp", keep=0.25, per_passage=True, tokenizer="estimate")
    assert result.text and result.tokens_after <= 0.25 * result.tokens_before


@pytest.mark.parametrize("query", [None, "", "  ", "\n\t", "\u3000"])
def test_every_blank_query_is_no_query(query: str | None) -> None:
    result = compress(SHEETS, query, keep=0.3)
    assert result.query is None and result.text == compress(SHEETS, keep=0.3).text and "no_overlap" not in codes(result)


def test_an_overhead_counts_once_for_the_whole() -> None:
    text = f"{LAMP} {LUNCH}"
    size = overhead_words(text)
    whole = compress(text, tokenizer=overhead_words, max_tokens=size)
    assert whole.text == text and whole.tokens_after == size
    for limit in range(size):
        result = compress([text, LUNCH], "lamp", tokenizer=overhead_words, max_tokens=limit)
        assert result.tokens_after == overhead_words(result.text) <= limit


def test_a_counter_that_charges_more_for_the_whole_is_obeyed() -> None:
    def dear(text: str) -> int:
        return len(text.split()) ** 2 // 4 + 1 if text else 0

    for limit in (0, 1, 5, 30, 60, 200):
        result = compress(SHEETS, "leaks", tokenizer=dear, max_tokens=limit)
        assert result.tokens_after == dear(result.text) <= limit
        assert bool(result.text) == (limit > 0)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.1, 1.5, True, "0.5", [0.5]])
def test_a_share_that_is_none_is_named(value: object) -> None:
    with pytest.raises(squeeze.SqueezeError, match="keep"):
        compress("Some text.", keep=value)


@pytest.mark.parametrize("value", [-1, 1.5, float("nan"), True, "9"])
def test_a_limit_that_is_none_is_named(value: object) -> None:
    with pytest.raises(squeeze.SqueezeError, match="max_tokens"):
        compress("Some text.", max_tokens=value)
