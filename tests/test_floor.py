"""Each passage that scores is shown by a few words where these fit."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import squeeze
from conftest import overhead_words, words
from squeeze import Compressed, Passage
from squeeze.errors import ConfigError

LONG = "was built of grey stone by men whose names are lost and it burned for many years in the fog"


def passage(index: int, sentences: int = 2) -> str:
    return " ".join(f"Tower {index}{'abcdef'[at]} {LONG}." for at in range(sentences))


def scored(values: dict[str, float]) -> object:
    """A scorer that gives a unit the value of the first name in it, 0 without one."""

    def score(units: list[str], query: str) -> list[float]:
        return [next((value for name, value in values.items() if name in unit), 0.0) for unit in units]

    return score


def run(passages: list[str] | list[Passage], limit: int, values: dict[str, float], **options: object) -> Compressed:
    call = {"tokenizer": words, "scorer": scored(values), "skim": 0.02, **options}
    return squeeze.load("ram_text", **call).compress(passages, "tower", budget=limit)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.integers(1, 4)), min_size=1, max_size=9),
    st.integers(0, 200),
    st.sampled_from([words, "estimate", overhead_words]),
    st.booleans(),
)
def test_every_passage_with_a_score_is_shown_where_it_fits(
    given_passages: list[tuple[float, int]], limit: int, counter: object, titles: bool
) -> None:
    passages = [Passage(passage(i, size), title=f"Sheet {i}") for i, (_, size) in enumerate(given_passages)]
    values = {f"Tower {i}{letter}": score for i, (score, _) in enumerate(given_passages) for letter in "abcdef"}
    compressor = squeeze.load("ram_text", tokenizer=counter, scorer=scored(values), titles=titles)
    result = compressor.compress(passages, "tower", budget=limit)
    assert result.tokens_after == compressor.count(result.text) <= limit
    due = {index for index, (score, _) in enumerate(given_passages) if score >= 0.05}
    most = max((compressor.count(text) for text in passage(88, 1).split("\n")), default=0)
    each = 8 + (4 if titles else 0)  # four tokens and what stands between and above, or one long word and that
    if limit >= most + (4 if titles else 0) + each * max(0, len(due) - 1) and due:
        assert due <= set(result.texts())
        assert not result.warnings
    for index in result.texts():
        own = [unit for unit in result.units() if unit.passage == index and unit.kept]
        assert own and {unit.reason for unit in own} <= {"score", "cut", "all"}


def test_where_they_do_not_fit_the_best_come_first() -> None:
    passages = [passage(i, 1) for i in range(7)]
    values = {f"Tower {i}a": score for i, score in enumerate((0.3, 0.9, 0.5, 0.4, 0.6, 0.2, 0.1))}
    shown = {limit: set(run(passages, limit, values).texts()) for limit in range(20, 60)}
    whole = words(passages[1])
    assert shown[whole] == {1} and shown[whole + 4] == {1, 4} and shown[whole + 8] == {1, 2, 4}
    assert shown[whole + 6 * 4] == set(range(7))
    assert all(words(text) <= 4 for index, text in run(passages, whole + 24, values).texts().items() if index != 1)


def test_a_score_of_nothing_gets_nothing_and_a_small_one_a_tenth() -> None:
    passages = [passage(i, 3) for i in range(5)]
    values = {"Tower 0": 0.9, "Tower 1": 0.8, "Tower 2": 0.03, "Tower 3": 0.0, "Tower 4": 0.02}
    near = words(passages[0]) + words(passages[1]) - 20
    assert set(run(passages, near, values).texts()) == {0, 1, 2, 4}, "two skims of 4 words are less than a tenth"
    assert set(run(passages, 60, values).texts()) == {0, 1}, "they are more than a tenth of 60"
    assert set(run(passages, 60, values, show_from=0.0).texts()) == {0, 1, 2, 4}
    assert set(run(passages, 60, values, skim=0).texts()) == {0}


def test_what_is_shown_anyway_pays_nothing() -> None:
    passages = [passage(0, 3), passage(1, 1)]
    values = {"Tower 0a": 0.9, "Tower 1a": 0.7, "Tower 0": 0.5}
    plain = squeeze.load("edu", tokenizer=words, scorer=scored(values)).compress(passages, "tower", budget=45)
    assert run(passages, 45, values, segment_tokens=1).text == plain.text


def test_min_score_and_copies_are_left_out() -> None:
    values = {f"Tower {i}": score for i, score in enumerate((0.9, 0.4, 0.2))}
    passages = [passage(0), passage(1), passage(2), passage(1)]
    result = run(passages, 50, values, min_score=0.3)
    assert set(result.texts()) == {0, 1}
    assert {unit.reason for unit in result.units() if unit.passage == 3} == {"duplicate"}


def test_text_that_is_not_cut_is_shown_by_its_shortest_unit() -> None:
    data = json.dumps(
        [{"name": "Tower 1", "use": "light"}, {"name": "Tower 1 of the long pier", "use": "light and fog"}]
    )
    log = "2024-01-01 10:00:00 INFO Tower 2 lamp on\n2024-01-01 10:05:00 WARN Tower 2 lamp low on oil again\n"
    table = "| place | oil |\n|---|---|\n| Tower 3 | 4 |\n| Tower 3 annex | 17 or more |\n"
    code = "```python\ndef lamp():\n    return 'Tower 4'\n```\n"
    page = "<html><body><p>Tower 5 is far.</p><p>Tower 5 is old and far from here.</p></body></html>"
    values = {"Tower 0a": 0.9, "Tower": 0.5}
    result = run([passage(0), data, log, table, code, page], 95, values)
    texts = result.texts()
    assert {0, 1, 2, 3, 4} <= set(texts) and result.tokens_after <= 95
    assert "Tower 1" in json.dumps(json.loads(texts[1]))
    assert texts[2].strip() in log and texts[4].strip() == code.strip()
    assert "| place | oil |" in texts[3] and "Tower 3" in texts[3]
    for limit in range(0, 95, 4):
        assert run([passage(0), data, log, table, code, page], limit, values).tokens_after <= limit


def test_long_text_that_is_not_cut_is_no_skim() -> None:
    code = "```python\ndef lamp():\n" + "".join(f"    print('Tower 1', {i}, 'is lit')\n" for i in range(9)) + "```\n"
    near = passage(0, 6)
    shown = run([near, code], 70, {"Tower 0": 0.9, "Tower 1": 0.5}).texts()
    assert "Tower 1" not in shown.get(1, "")


def test_overheads_count() -> None:
    passages = [Passage(passage(i), overhead=9) for i in range(4)]
    values = {f"Tower {i}": score for i, score in enumerate((0.9, 0.8, 0.7, 0.6))}
    first = words(passage(0, 1)) + 9
    assert set(run(passages, first + 12, values).texts()) == {0}
    assert set(run(passages, first + 13, values).texts()) == {0, 1}
    assert set(run(passages, first + 39, values).texts()) == {0, 1, 2, 3}


def test_a_word_longer_than_a_skim_is_shown_whole() -> None:
    passages = [passage(0), "Donaudampfschifffahrtsgesellschaftskapitänspatent Tower 1 is what he had."]
    result = squeeze.load("ram_text", scorer=scored({"Tower 0a": 0.9, "Tower": 0.5})).compress(
        passages, "tower", budget=50
    )
    assert "Donaudampfschifffahrtsgesellschaftskapitänspatent" in result.texts()[1]
    dense = squeeze.load("ram_text", scorer=scored({"Tower 0a": 0.9, "塔": 0.5})).compress(
        [passage(0), "塔は灰色の石で造られ、長い年月の間、霧の中で光っていた。"], "tower", budget=40
    )
    assert len(dense.texts()[1]) <= 6


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), True, "0.1"])
def test_show_from_is_checked(value: object) -> None:
    with pytest.raises(ConfigError, match="show_from"):
        squeeze.load("ram_text", show_from=value)
