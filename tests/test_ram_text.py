"""Near segments word for word, far ones as a clause."""

from __future__ import annotations

import numpy as np
import pytest

import squeeze
from conftest import words
from squeeze import Passage
from squeeze.allocate import Dast, Expand, Uniform
from squeeze.errors import ConfigError
from squeeze.score.base import Corpus
from squeeze.segment import parse
from squeeze.skim import segments

NEAR = "The lamp of the lighthouse was changed to electricity in 1931. The keeper Annie Brown cheered."
FAR = [
    f"Station {name} has a lighthouse too, although nobody who wrote about that coast has ever told when its lamp, "
    f"that burned oil for {years} years, was taken down and sold."
    for name, years in (("Arden", 40), ("Bell", 51), ("Crail", 62), ("Dunbar", 73), ("Elie", 84), ("Fidra", 95))
]
QUERY = "When was the lamp of the lighthouse changed to electricity?"


def test_near_is_whole_and_far_is_skimmed() -> None:
    result = squeeze.compress(
        [*FAR[:3], NEAR, *FAR[3:]], QUERY, method="ram_text", max_tokens=62, tokenizer=words, skim=0.5
    )
    assert "The lamp of the lighthouse was changed to electricity in 1931." in result.text
    assert set(result.texts()) == set(range(7)), "each passage that scores says something"
    assert all(len(text.split()) < 15 for passage, text in result.texts().items() if passage != 3)
    plain = squeeze.compress([*FAR[:3], NEAR, *FAR[3:]], QUERY, method="edu", max_tokens=62, tokenizer=words)
    assert len(plain.texts()) < 7


def test_skims_keep_to_their_share() -> None:
    for share in (0.0, 0.1, 0.3, 0.5):
        compressor = squeeze.load(
            "ram_text", tokenizer=words, skim=share, show_from=1, scorer=lambda units, query: [0.5] * len(units)
        )
        texts = [
            f"Alpha {i} is here now, because the {i} beta was there before it all began to shift." for i in range(12)
        ]
        result = compressor.compress(texts, "alpha", budget=100)
        whole = [text for text in result.texts().values() if text in texts]
        skimmed = sum(len(text.split()) for text in result.texts().values() if text not in texts)
        assert whole and result.tokens_after <= 100
        assert skimmed <= 100 * share + 16  # what stays free at the end goes to further pieces by score
        if not share:
            assert skimmed == 0


def test_a_near_passage_is_read_as_one_unless_a_fact_is_asked_for() -> None:
    near = "Valve wear has many causes. Sand grinds the seat. Heat bends the stem. Oil turns to tar."
    far = [f"Station {i} has a valve. The wear was noted. The causes were not." for i in range(8)]

    def scores(units: list[str], query: str) -> list[float]:
        return [0.9 if unit.startswith("Valve") else 0.5 if unit in near else 0.3 for unit in units]

    call = {"scorer": scores, "tokenizer": words, "skim": 0, "max_tokens": 20}
    why = squeeze.compress([*far, near], "why do valves wear?", method="ram_text", **call)
    assert why.text == near
    assert squeeze.compress([*far, near], "why do valves wear?", method="ram_text", segment_tokens=1, **call).text


def test_passages_that_share_nothing_get_no_skim() -> None:
    texts = [NEAR, "Bread rises slowly, because yeast needs its time in the cold."]
    result = squeeze.compress(
        texts, "electricity", method="ram_text", scorer="bm25", max_tokens=11, tokenizer=words, skim=0.5
    )
    assert 1 not in result.texts()


def test_a_skim_may_be_a_clause_inside_a_sentence() -> None:
    text = "Although the weather on the coast was bad for weeks, the valve opened at noon, which nobody had expected."
    result = squeeze.compress([NEAR, text], "lamp valve", method="ram_text", max_tokens=22, skim=0.45, tokenizer=words)
    assert "valve" in result.texts()[1] and "weather" not in result.texts()[1]
    assert [(u.start, u.end) for u in result.units() if u.passage == 1][-1][1] == len(text)


def test_the_rest_of_a_sentence_never_comes_without_its_skim() -> None:
    for limit in range(10, 120, 3):
        result = squeeze.compress([*FAR, NEAR], QUERY, method="ram_text", max_tokens=limit, skim=0.3)
        for passage in range(6):
            own = [unit for unit in result.units() if unit.passage == passage]
            if len(own) > 1 and sum(unit.kept for unit in own) > 1:
                assert all(unit.kept for unit in own)


def test_structure_is_respected() -> None:
    rows = ['{"name": "lamp", "oil": 3}', '{"name": "bell", "oil": 4}', '{"name": "horn", "oil": 5}']
    data = '{"items": [' + ", ".join(rows) + '], "note": "the keeper wrote of lamp and oil"}'
    code = "```python\ndef lamp(oil):\n    return oil\n```\n"
    for limit in (5, 12, 20, 40):
        result = squeeze.compress([data, code, NEAR], "lamp oil", method="ram_text", max_tokens=limit, skim=0.5)
        assert result.tokens_after <= limit
        assert "def lamp" not in result.text or code.strip() in result.text


def test_segments_pack_neighbours_of_one_passage() -> None:
    passages = [Passage("One is red. Two is blue. Three is hot."), Passage("Four is cold.")]
    corpus = Corpus.of(passages, [parse(p.text) for p in passages])
    found = segments(corpus, [3, 3, 3, 3], np.array([0.1, 0.9, 0.2, 0.4]), 6)
    assert found.of.tolist() == [0, 0, 1, 2] and found.sizes.tolist() == [6, 3, 3]
    assert np.allclose(found.scores, [1 / 3, 0.2 / 3, 0.4 / 3]) and found.passage.tolist() == [0, 0, 1]
    one = segments(corpus, [3, 3, 3, 3], np.array([0.3, 0.9, 0.6, 0.4]), 1000)
    assert np.allclose(one.scores, [0.6, 0.4 / 3]) and one.sizes.tolist() == [9, 3]
    assert segments(corpus, [9, 9, 9, 9], np.zeros(4), 1).of.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("allocator", [None, Uniform(), Dast(), Expand(p=0.3)])
@pytest.mark.parametrize("limit", [0, 1, 3, 10, 40, 100])
def test_any_allocator_and_limit(allocator: object, limit: int) -> None:
    compressor = squeeze.load("ram_text", allocator=allocator, segment_tokens=40)
    result = compressor.compress([*FAR, "", NEAR, NEAR], QUERY, budget=limit)
    assert result.tokens_after <= limit


@pytest.mark.parametrize("scores", [0.0, 0.5, 1.0])
def test_equal_scores_and_one_segment_are_defined(scores: float) -> None:
    compressor = squeeze.load("ram_text", scorer=lambda units, query: [scores] * len(units))
    assert compressor.compress([*FAR], "lamp", budget=40).tokens_after <= 40
    assert compressor.compress("One is red.", "red", budget=2).tokens_after <= 2
    assert compressor.compress([], "red", budget=2).text == ""


def test_a_query_longer_than_the_limit() -> None:
    result = squeeze.compress([*FAR, NEAR], " ".join([QUERY] * 200), method="ram_text", max_tokens=30)
    assert 0 < result.tokens_after <= 30


@pytest.mark.parametrize(
    ("option", "value"),
    [("skim", -0.1), ("skim", 0.6), ("skim", float("nan")), ("skim", True), ("segment_tokens", 0), ("allocator", 3)],
)
def test_options_are_checked(option: str, value: object) -> None:
    with pytest.raises(ConfigError, match=option):
        squeeze.load("ram_text", **{option: value})
