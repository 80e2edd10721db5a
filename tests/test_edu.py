"""`edu`: what is kept, what comes with it, and what is said about it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import squeeze
from conftest import QUERY, words
from squeeze import Budget, Passage
from squeeze.segment import parse

SHEET = (
    "Torque list follows.\n\n| Part | Torque |\n|---|---:|\n"
    + "".join(f"| bolt {i} | {10 + i}.5 Nm |\n" for i in range(30))
    + "\nEnd of list.\n"
)
BOOK = (
    "# Harbour\n\nThe harbour has two piers. Ships of all sizes call here.\n\n"
    "## Lights\n\nThe pier lamp is red. It was lit in 1874 by the mayor.\n\n"
    "## Depth\n\nThe fairway is nine metres deep. It silts up in winter.\n\n"
    "Before you enter:\n\n- call the pilot on channel 12\n- lower your flags\n- keep to starboard\n"
)


def compress(passages: object, query: str | None = None, **options: object) -> squeeze.Compressed:
    return squeeze.compress(passages, query, tokenizer=words, **options)  # type: ignore[arg-type]


def codes(result: squeeze.Compressed) -> list[str]:
    return [warning.code for warning in result.warnings]


def test_the_answer_is_kept_and_traced() -> None:
    text = "Paint is blue. The lamp was changed in 1931. Lunch is at noon."
    result = compress(["Nothing here.", text], "When was the lamp changed?", max_tokens=6)
    assert result.text == "The lamp was changed in 1931."
    assert result.spans(1) == [(15, 44)] and text[15:44] == result.text and result.spans(0) == []
    assert result.texts() == {1: result.text} and not result.warnings


def test_short_inputs_meet_the_share() -> None:
    text = " ".join(f"Unit {c} of the plant was checked on day {i} and passed." for i, c in enumerate("ABCDEF"))
    result = compress(text, keep=0.5)
    assert 1 <= words(result.text) <= 36 and result.tokens_before == 72


def test_gap_marks_say_where_something_is_missing() -> None:
    text = "The lamp is red. Lunch is late. The lamp is old.\nThe sea is cold. The lamp is lit."
    assert compress(text, "lamp", max_tokens=14).text == "The lamp is red. … The lamp is old.\n…\nThe lamp is lit."
    assert compress(text, "lamp", max_tokens=14, gap="[cut]").text.count("[cut]") == 2
    assert "…" not in compress(text, "lamp", max_tokens=14, gap="").text
    assert words(compress(text, "lamp", max_tokens=12).text) <= 12


def test_kept_neighbours_keep_the_white_space_between() -> None:
    text = "The lamp is red.\n  The lamp is old. Lunch is late."
    result = compress(text, "lamp", max_tokens=9)
    assert result.text == "The lamp is red.\n  The lamp is old." and len(result.parts) == 1


def test_titles_are_scored_always_and_printed_on_request() -> None:
    passages = [
        Passage("It was built in 1874.", title="North lighthouse"),
        Passage("It was built in 1901.", title="Mill"),
    ]
    assert compress(passages, "When was the lighthouse built?", max_tokens=5).texts() == {0: "It was built in 1874."}
    printed = compress(passages, "When was the lighthouse built?", max_tokens=7, titles=True)
    assert printed.text == "North lighthouse\nIt was built in 1874." and printed.tokens_after == 7


def test_a_row_brings_its_header() -> None:
    result = compress(SHEET, "torque of bolt 17", keep=0.2)
    lines = [line for line in result.text.split("\n") if line.startswith("|")]
    assert lines[:2] == SHEET.split("\n")[2:4] and any("bolt 17 " in line for line in lines)
    assert {line + "\n" for line in lines[2:]} <= {f"| bolt {i} | {10 + i}.5 Nm |\n" for i in range(30)}


def test_a_sentence_brings_its_headings_and_an_item_its_lead_in() -> None:
    light = compress(BOOK, "Who lit it in 1874?", max_tokens=16)
    assert light.text.startswith("# Harbour") and "## Lights" in light.text and "1874" in light.text
    pilot = compress(BOOK, "pilot channel 12", max_tokens=26)
    assert "Before you enter:" in pilot.text and "- call the pilot on channel 12" in pilot.text


@given(
    st.integers(1, 60), st.sampled_from(["bolt 17", "pilot channel", "fairway depth", "lamp 1874", None]), st.booleans()
)
def test_a_kept_unit_never_stands_without_what_it_needs(limit: int, query: str | None, clauses: bool) -> None:
    for text in (SHEET, BOOK):
        layout = parse(text, unit="edu" if clauses else "sentence")
        result = compress(text, query, max_tokens=limit, unit="edu" if clauses else "sentence")
        kept = [unit.kept and unit.reason != "cut" for unit in result.units()]
        for piece, is_kept in zip(layout.pieces, kept, strict=True):
            assert not is_kept or all(kept[need] for need in piece.needs)


def test_code_is_kept_whole_or_not_at_all() -> None:
    code = "```python\ndef area(a, b):\n    return a * b\n```"
    text = f"# Area\n\nThe helper below is stable. It is tested.\n\n{code}\n\nCall it with floats.\n"
    for limit in range(30):
        result = compress(text, "area helper", max_tokens=limit)
        assert ("def area" in result.text) == (code in result.text)


def test_repeats_are_kept_once_and_only_where_something_must_go() -> None:
    copy = "The seal must be replaced every single year by the crew."
    passages = [Passage(copy, id=f"d{i}") for i in range(4)]
    result = compress(passages, "seal", max_tokens=11)
    assert result.texts() == {0: copy}
    assert [unit.reason for unit in result.units()] == ["score", "duplicate", "duplicate", "duplicate"]
    assert len(compress(passages, "seal", max_tokens=44).texts()) == 4


def test_overlapping_chunk_windows_are_kept_once() -> None:
    sentences = [f"Sentence number {i} tells of pump {i} in room {i}." for i in range(12)]
    windows = [" ".join(sentences[i : i + 6]) for i in (0, 3, 6)]
    result = compress(windows, "pump", keep=0.7)
    assert all(result.text.count(sentence) == 1 for sentence in sentences)


def test_min_score_leaves_out_what_does_not_match() -> None:
    passages = ["The lamp is red.", "Lunch is at noon."]
    strict = compress(passages, "quantum chromodynamics", min_score=0.99)
    assert strict.text == "" and "below_min_score" in codes(strict)
    assert {unit.reason for unit in strict.units()} == {"below_min_score"}
    forced = compress(passages, "quantum chromodynamics", min_score=0.99, min_keep=1)
    assert len(forced.texts()) == 1 and [u.reason for u in forced.units()].count("min_keep") == 1
    some = compress(passages, "Is the lamp red?", min_score=0.3)
    assert some.texts() == {0: "The lamp is red."} and not some.warnings


def test_the_budget_wins_over_min_keep() -> None:
    result = compress(["One two three four five. Six seven eight nine."], "one", max_tokens=4, min_keep=2)
    assert result.tokens_after <= 4


def test_a_sentence_longer_than_the_budget_is_cut_at_a_word() -> None:
    text = " ".join(f"part{i}" for i in range(200)) + "."
    result = compress(text, "part150", max_tokens=20)
    assert codes(result) == ["unit_cut"] and result.warnings[0].passage == 0
    assert words(result.text) == 20 and "part150" in result.text and result.text in text
    assert result.units()[0].reason == "cut" and result.units()[0].kept


@pytest.mark.parametrize("text", ["x" * 5000, "```\nsome code here\nand more\n```"])
def test_what_cannot_be_cut_gives_the_empty_text(text: str) -> None:
    result = squeeze.compress(text, "code", max_tokens=3)
    assert result.text == "" and codes(result)[-1] == "nothing_fits" and result.tokens_after == 0


def test_unspaced_scripts_are_cut_between_characters() -> None:
    text = "東京都の天気予報は晴れのち曇りで最高気温は二十度の見込みです"
    result = squeeze.compress(text, max_tokens=12, tokenizer=len)
    assert 1 <= len(result.text) <= 12 and result.text in text


def test_a_query_that_shares_nothing_is_said() -> None:
    result = compress("Paint is blue. Lunch is at noon.", "quantum", max_tokens=4)
    assert codes(result) == ["no_overlap"] and result.text


def test_per_passage_results_do_not_depend_on_the_batch() -> None:
    texts = [
        f"Unit {i} is red. Unit {i} is hot. " + "Long tail of words. " * (i % 4) + f"Unit {i} leaks." for i in range(12)
    ]
    alone = [compress(text, "leaks", keep=0.5, per_passage=True).text for text in texts]
    together = compress(texts, "leaks", keep=0.5, per_passage=True)
    turned = compress(texts[::-1], "leaks", keep=0.5, per_passage=True)
    assert [together.texts().get(i, "") for i in range(12)] == alone
    assert [turned.texts().get(11 - i, "") for i in range(12)] == alone
    assert together.tokens_after <= together.tokens_before // 2


def test_per_passage_total_stays_within_the_limit() -> None:
    texts = ["One is red. Two is hot. Three leaks now."] * 5
    for limit in range(0, 40, 3):
        assert compress(texts, "leaks", max_tokens=limit, per_passage=True).tokens_after <= limit


def test_a_scorer_may_be_any_callable() -> None:
    text = " ".join(f"Paragraph {i} tells of routine cleaning in room {i}." for i in range(400))
    text += " The spare key for pump 9 is kept in locker 31."

    def key_words(units: list[str], query: str) -> list[float]:
        wanted = set(query.lower().strip("?").split())
        return [len(wanted & set(unit.lower().split()[:64])) / len(wanted) for unit in units]

    result = compress(text, "Where is the spare key for pump 9?", max_tokens=40, scorer=key_words)
    assert "locker 31" in result.text and words(result.text) <= 40


def test_odd_characters_come_back_exactly() -> None:
    for text in (
        "Bad half \ud83d here. Last part is fine.",
        "\ufeffStart.\r\nNext\x00 line.",
        "e\u0301 and 👩‍👩‍👧. End.",
    ):
        assert compress(text, keep=1.0).text == text
        result = compress(text, "last part start end", keep=0.7)
        assert all(part.text in text for part in result.parts) and result.parts


def test_formats_may_be_given_per_call_and_per_passage() -> None:
    text = "# not a heading in plain text\nbut a line. And more."
    plain = squeeze.compress([Passage(text, metadata={"format": "plain"})], "line", max_tokens=8, tokenizer=words)
    assert all(unit.reason != "needed" for unit in plain.units())
    with pytest.raises(squeeze.SqueezeError, match="docx"):
        squeeze.compress([Passage(text, metadata={"format": "docx"})], "line", max_tokens=8)


def test_without_a_query_the_source_order_and_a_spread_are_kept() -> None:
    passages = [Passage(f"Fact {word} is noted here.", id=word) for word in ("one", "two", "three", "four")]
    results = [compress(passages, query, keep=0.5) for query in (None, "", "   ")]
    assert len({result.text for result in results}) == 1
    kept = list(results[0].texts())
    assert kept == sorted(kept) and len(kept) == 2


def test_progress_is_reported(passages: list[Passage]) -> None:
    seen: list[tuple[int, int]] = []
    squeeze.load("edu").compress(passages, QUERY, budget=20, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (len(passages), len(passages)) and [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_baselines_do_what_they_say() -> None:
    passages = ["Lunch is at noon. Paint is blue.", "The lamp is red. It was lit in 1874."]
    cut = compress(passages, "lamp", max_tokens=9, method="truncate")
    assert cut.text == "Lunch is at noon. Paint is blue.\n\nThe lamp" and not cut.warnings
    whole = compress(passages, "lamp", max_tokens=9, method="passages")
    assert whole.text == passages[1]
    tight = compress(passages, "lamp", max_tokens=6, method="passages")
    assert tight.text == "The lamp is red."


def test_both_limits_hold() -> None:
    text = "One two three. Four five six. Seven eight nine. Ten eleven twelve."
    for budget in (Budget(6, 0.9), Budget(100, 0.5)):
        assert squeeze.load("edu", tokenizer=words).compress(text, budget=budget).tokens_after <= 6
