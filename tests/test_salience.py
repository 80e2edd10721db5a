"""Scores without a query."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from squeeze import Passage
from squeeze.score.base import Corpus
from squeeze.score.salience import salience
from squeeze.segment.layout import Layout, Node, Piece

Units = list[tuple[str, str]]


def corpus(*passages: Units) -> Corpus:
    """A corpus of passages given as kinds and texts of their units."""
    layouts, values = [], []
    for units in passages:
        ends = np.cumsum([0, *(len(text) for _, text in units)]).tolist()
        pieces = tuple(Piece(ends[i], ends[i + 1], kind, 0) for i, (kind, _) in enumerate(units))
        layouts.append(Layout("text", (Node(0, ends[-1], "document", -1, 0),), pieces))
        values.append(Passage("".join(text for _, text in units)))
    return Corpus.of(values, layouts)


def sentences(*texts: str) -> Units:
    return [("sentence", text) for text in texts]


def test_what_the_text_is_about_comes_before_asides() -> None:
    result = salience(
        corpus(
            sentences(
                "Okay. ",
                "The committee discussed the harbour budget and the new crane. ",
                "The harbour budget pays for the crane. ",
                "Somebody opened a window. ",
                "The crane needs a larger budget than the harbour has. ",
            )
        )
    )
    assert min(result[[1, 2, 4]]) > max(result[[0, 3]])


def test_headings_and_first_units_gain() -> None:
    same = "Valve pressure limits. "
    result = salience(corpus([("sentence", same), ("sentence", same), ("heading", same), ("sentence", same)]))
    assert result[2] > result[1] > result[3]
    assert result[0] > result[1]


def test_a_word_of_the_whole_weighs_more_than_one_of_a_single_passage() -> None:
    result = salience(
        corpus(
            sentences("The crane stopped. ", "Painting took days. "),
            sentences("A crane moved. "),
            sentences("That crane broke."),
        )
    )
    assert result[0] > result[1]


def test_units_without_words_score_zero_and_function_words_do_not_divide_by_zero() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = salience(corpus(sentences("--- ", "It is. ", "Pump hums.")))
        assert result[0] == 0 < result[1]
        assert salience(corpus([])).tolist() == []
        assert salience(corpus()).tolist() == []
        assert salience(corpus(sentences("***"))).tolist() == [0.0]


@pytest.mark.parametrize("text", ["装置は停止した。", "장치가 멈췄다. ", "الجهاز متوقف. "])
def test_other_scripts_score(text: str) -> None:
    assert salience(corpus(sentences(text, text))).min() > 0


@given(st.lists(st.lists(st.text(max_size=30), max_size=5), max_size=4))
def test_scores_lie_within_bounds(passages: list[list[str]]) -> None:
    texts = corpus(*(sentences(*units) for units in passages))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = salience(texts)
    assert result.shape == (len(texts),)
    assert ((result >= 0) & (result <= 1)).all()
    assert result.tolist() == salience(texts).tolist()
