"""Word matching: what counts as a term, and how units score by the terms of a query."""

from __future__ import annotations

import math
import pickle
import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from squeeze import Passage
from squeeze.errors import ConfigError
from squeeze.score.base import Corpus, Scorer, load_scorer
from squeeze.score.lexical import Bm25, scores
from squeeze.score.salience import salience
from squeeze.score.words import FUNCTION_WORDS, Terms, fold, terms_of
from squeeze.segment.layout import Layout, Node, Piece


def corpus(*passages: tuple[str, list[str]]) -> Corpus:
    """A corpus of passages given as a title and the texts of their units."""
    layouts, values = [], []
    for title, units in passages:
        ends = np.cumsum([0, *(len(unit) for unit in units)]).tolist()
        pieces = tuple(Piece(a, b, "sentence", 0) for a, b in pairwise(ends))
        layouts.append(Layout("text", (Node(0, ends[-1], "document", -1, 0),), pieces))
        values.append(Passage("".join(units), title=title))
    return Corpus.of(values, layouts)


# --- terms ---


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Café", "CAFE"),
        ("Straße", "STRASSE"),
        ("Ёлка", "елка"),
        ("İstanbul", "istanbul"),
        ("Ａ１", "a1"),
        ("١٩٩٩", "1999"),
        ("مُدَرِّس", "مدرس"),
        ("cafe\u0301", "café"),
    ],
)
def test_case_accents_and_compatibility_forms_fold(one: str, other: str) -> None:
    assert Terms().of(one) == Terms().of(other)


def test_marks_that_are_letters_stay() -> None:
    assert fold("が") != fold("か")
    assert Terms().of("हिन्दी भाषा")[0] == "हिन्दी"
    assert fold("한국") == "한국"


def test_inflected_forms_share_a_term_and_exact_forms_share_more() -> None:
    one, other = set(terms_of("inspection")), set(terms_of("inspected"))
    assert len(one & other) == 1 < len(one & set(terms_of("Inspection")))


@pytest.mark.parametrize("number", ["1874", "3.14", "40"])
def test_numbers_count_as_they_stand(number: str) -> None:
    assert terms_of(number) == (number,)


def test_grouped_digits_are_one_number() -> None:
    assert Terms().of("12,500 of 12500") == ["12500", "of", "12500"]


@pytest.mark.parametrize(
    ("name", "pieces"),
    [
        ("src/app/main.py", {"src/app/main.py", "src", "app", "main", "py"}),
        ("max_tokens", {"max_tokens", "max", "tokens"}),
        ("maxTokens", {"maxtokens", "max", "tokens"}),
        ("HTTPServer", {"httpserver"}),
        ("10.0.0.12", {"10.0.0.12", "10", "0", "12"}),
        ("v2.13.0", {"v2.13.0", "13"}),
        ("W4817325", {"w4817325", "4817325"}),
        ("f81d4fae-7dec-11d0-a765-00a0c91e6bf6", {"f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "f81d4fae", "a765"}),
        ("__init__", {"__init__", "init"}),
    ],
)
def test_names_count_as_they_stand_and_by_their_pieces(name: str, pieces: set[str]) -> None:
    assert pieces <= set(Terms().of(name))


def test_scripts_without_spaces_count_by_pairs() -> None:
    assert Terms().of("停止した") == ["停止", "止し", "した"]
    assert Terms().of("弁") == ["弁"]
    assert {"ภา", "าษ"} <= set(Terms().of("ภาษาไทย"))
    assert {"2008", "年の"} <= set(Terms().of("2008年の夏"))


def test_korean_particles_do_not_hide_a_word() -> None:
    assert "등대" in set(Terms().of("등대는")) & set(Terms().of("등대의"))


def test_wanted_terms_alone_are_returned() -> None:
    assert Terms(frozenset({"pump"})).of("The pump and the valve; pump!") == ["pump", "pump"]


@given(st.text())
def test_any_text_has_terms_without_white_space(text: str) -> None:
    for term in Terms().of(text):
        assert term and not any(map(str.isspace, term))


# --- scores of plain units ---


@pytest.mark.parametrize(
    "units",
    [
        ["red pump hums"],
        ["red pump hums", "blue gate shuts"],
        ["pump hums", "pump leaks", "gate shuts"],
        ["pump a", "pump b", "pump c"],
        ["", "pump", ""],
        ["", ""],
        [],
    ],
)
def test_a_match_beats_every_miss_however_few_the_units(units: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = scores(units, "pump")
    assert len(result) == len(units)
    for unit, score in zip(units, result, strict=True):
        assert (0 < score < 1) if "pump" in unit else score == 0


@pytest.mark.parametrize("query", ["", "?!", "   "])
def test_a_query_without_words_scores_nothing(query: str) -> None:
    assert scores(["pump", "gate"], query) == [0.0, 0.0]


def test_repeating_a_query_word_changes_nothing() -> None:
    units = ["the pump hums", "a gate shuts", "gate and pump"]
    assert scores(units, "pump pump gate pump") == scores(units, "pump gate")


def test_query_words_that_no_unit_has_lower_the_score() -> None:
    units = ["the pump hums", "a gate shuts"]
    assert scores(units, "pump chromodynamics")[0] < scores(units, "pump")[0]


def test_function_words_weigh_less_but_answer_alone() -> None:
    assert "which" in FUNCTION_WORDS
    content, function = scores(["the pump hums", "which of them"], "which pump")
    assert content > 3 * function > 0
    assert scores(["to be or not to be", "a red pump"], "to be or not to be?")[0] > 0


def test_scores_are_those_of_rank_bm25_with_positive_rarity() -> None:
    units = ["red pump hums", "pumps pump water to a pump", "blue gate", "", "red gate hums by the pump"]
    words = [Terms().of(unit) for unit in units]
    library = BM25Okapi(words, k1=1.5, b=0.75)
    library.doc_len = [max(len(unit), 1) for unit in units]
    library.avgdl = sum(library.doc_len) / len(units)
    query = ["pump", "pump*", "red"]
    for term in query:
        holders = sum(term in found for found in words)
        library.idf[term] = math.log(1 + (len(units) - holders + 0.5) / (holders + 0.5))
    bound = 2.5 * sum(library.idf.get(term, math.log(1 + 5.5 / 0.5)) for term in query)
    assert terms_of("pump") == ("pump", "pump*")
    np.testing.assert_allclose(scores(units, "pump red"), library.get_scores(query) / bound, atol=1e-9)


def test_equal_units_tie() -> None:
    result = scores(["pump hums", "gate", "pump hums"], "pump")
    assert result[0] == result[2]


@given(st.lists(st.text(max_size=40), max_size=8), st.text(max_size=40))
def test_scores_are_finite_and_within_bounds(units: list[str], query: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = scores(units, query)
    assert len(result) == len(units)
    assert all(0 <= score <= 1 for score in result)


# --- the scorer ---

HARBOUR = ("North pier lighthouse", ["It was built in 1874. ", "The lamp burned oil. ", "Storms are rare."])
PUMPS = ("Pump manual", ["Check each pump in spring. ", "The lamp shows pressure."])


def test_it_is_the_scorer_of_that_name() -> None:
    scorer = load_scorer("bm25", k1=1.2)
    assert isinstance(scorer, Bm25) and isinstance(scorer, Scorer)


def test_a_title_counts_for_the_units_of_its_passage() -> None:
    texts = corpus(HARBOUR, PUMPS)
    both = Bm25().score(texts, "When was the lighthouse built?")
    assert both.argmax() == 0
    lamps = Bm25(neighbour=0).score(texts, "lighthouse lamp")
    assert lamps[1] > lamps[4]
    plain = Bm25(title=0, prior=0, neighbour=0).score(texts, "lighthouse")
    assert not plain.any()


def test_the_passage_and_the_neighbours_lift_a_unit() -> None:
    texts = corpus(HARBOUR, PUMPS)
    lifted = Bm25(title=0, neighbour=0).score(texts, "lamp oil")
    assert lifted[2] > Bm25(title=0, neighbour=0, prior=0).score(texts, "lamp oil")[2] == 0
    near = Bm25(title=0, prior=0).score(texts, "oil")
    assert near[1] > near[0] == near[2] > 0 == near[3] == near[4]


def test_neighbours_end_with_the_passage() -> None:
    texts = corpus(("", ["Nothing here. ", "Oil burns."]), ("", ["Other things."]))
    assert Bm25(prior=0).score(texts, "oil")[2] == 0


def test_nothing_shared_scores_zero() -> None:
    assert not Bm25().score(corpus(HARBOUR, PUMPS), "quantum chromodynamics").any()


@pytest.mark.parametrize("query", ["lamp", None])
@pytest.mark.parametrize("passages", [[], [("", [])], [("Title", [])], [("", ["   "])]])
def test_empty_corpora(passages: list[tuple[str, list[str]]], query: str | None) -> None:
    texts = corpus(*passages)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Bm25().score(texts, query).tolist() == [0.0] * len(texts)


def test_without_a_query_it_is_salience() -> None:
    texts = corpus(HARBOUR, PUMPS)
    assert Bm25().score(texts, None).tolist() == salience(texts).tolist() == Bm25().score(texts, " ").tolist()


@pytest.mark.parametrize(
    "options",
    [{"k1": 0}, {"b": 1.5}, {"b": float("nan")}, {"title": -1}, {"prior": "1"}, {"neighbour": 2}, {"k1": True}],
)
def test_options_out_of_range_are_named(options: dict[str, object]) -> None:
    name = next(iter(options))
    with pytest.raises(ConfigError, match=f"{name} is .*allowed"):
        Bm25(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{"k1": 0.01, "b": 1}, {"b": 0}, {"k1": 100, "title": 100, "prior": 100}, {"b": 1}])
def test_options_at_their_limits_stay_within_bounds(options: dict[str, float]) -> None:
    texts = corpus(HARBOUR, PUMPS, ("", ["lamp lamp lamp lamp lamp"]), ("", [" "]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = Bm25(**options).score(texts, "lamp lighthouse pump")
    assert result.max() <= 1 and result.min() >= 0 and result.any()


def test_it_is_the_same_after_pickling_and_for_shuffled_units() -> None:
    texts = corpus(HARBOUR, PUMPS)
    scorer = Bm25(prior=1.0)
    first = scorer.score(texts, "lamp pressure spring")
    assert pickle.loads(pickle.dumps(scorer)).score(texts, "lamp pressure spring").tolist() == first.tolist()
    turned = scorer.score(corpus(PUMPS, HARBOUR), "spring lamp pressure")
    assert turned[:2].tolist() == first[3:].tolist() and turned[2:].tolist() == first[:3].tolist()


def test_a_rare_line_among_alike_lines_is_found_by_its_identifier() -> None:
    lines = [f"GET /item/{n} 10.0.0.{n} 200\n" for n in range(60)]
    result = Bm25().score(corpus(("", lines)), "What was asked by 10.0.0.37?")
    assert result.argmax() == 37
