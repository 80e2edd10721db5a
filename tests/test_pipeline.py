"""Compressors in a row: budgets, spans and accounts compose."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import squeeze
from conftest import QUERY, TEXTS, words
from squeeze import Passage, Pipeline
from squeeze.base import Coded, Lossless, Selector
from squeeze.errors import ConfigError, NotReversibleError


class Shorten(Lossless):
    """Writes the word `pump` as `~`; refuses nothing, restores exactly."""

    name = "shorten"

    @classmethod
    def example(cls) -> Shorten:
        return cls(tokenizer=len)

    def encode(self, texts):  # type: ignore[no-untyped-def]
        if any("~" in text for text in texts):
            return Coded("", tuple(texts), {"plain": True})
        return Coded("", tuple(text.replace("pump", "~") for text in texts), {"plain": False})

    @classmethod
    def decode(cls, coded):  # type: ignore[no-untyped-def]
        return tuple(body if coded.data["plain"] else body.replace("~", "pump") for body in coded.bodies)


class Odd(Selector):
    """Keeps units with an odd number first, whatever the query."""

    name = "odd"

    @classmethod
    def example(cls) -> Odd:
        return cls(tokenizer=len)

    def score(self, corpus, query):  # type: ignore[no-untyped-def]
        return np.array([0.9 if index % 2 else 0.1 for index in range(len(corpus))])


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    from squeeze import registry

    monkeypatch.setitem(registry._classes, "shorten", Shorten)


def stages() -> list[squeeze.Compressor]:
    return [squeeze.load("passages", tokenizer=len), Odd.example(), squeeze.load("edu", tokenizer=len)]


@given(st.lists(st.sampled_from([*TEXTS, "A. B. C. D. E.", " \n"]), max_size=5), st.integers(0, 400))
def test_spans_point_into_the_original(texts: list[str], limit: int) -> None:
    result = Pipeline(stages()).compress(texts, QUERY, budget=limit)
    assert len(result.text) == result.tokens_after <= limit
    for part in result.parts:
        assert texts[part.passage][part.start : part.end] == part.text
    for unit in result.units():
        inside = any(s < unit.end and unit.start < e for s, e in result.spans(unit.passage))
        assert unit.kept == inside


def test_a_later_stage_keeps_the_gap_marks_of_an_earlier_one() -> None:
    text = "One is red. Two is hot. Three leaks. Four is old. Five is new."
    first = squeeze.load("edu", tokenizer=words, scorer=lambda units, query: [1, 0, 1, 0, 1])
    keep_all = squeeze.load("edu", tokenizer=words)
    alone = first.compress(text, "x", budget=11)
    piped = Pipeline([first, keep_all]).compress(text, "x", budget=11)
    assert alone.text == piped.text == "One is red. … Three leaks. … Five is new."
    assert piped.spans(0) == alone.spans(0) and piped.tokens_after == 10


def test_a_lossless_stage_goes_last_and_restores_what_was_left() -> None:
    passages = [
        Passage("The pump is red. Lunch is late. The pump leaks."),
        Passage("Nothing here."),
        Passage("A pump."),
    ]
    pipeline = Pipeline([squeeze.load("edu", tokenizer=len), Shorten.example()])
    result = pipeline.compress(passages, "pump", budget=45)
    assert "~" in result.text and result.tokens_after == len(result.text) <= 45
    left = squeeze.load("edu", tokenizer=len).compress(passages, "pump", budget=45)
    assert result.restore() == tuple(left.texts().get(i, "") for i in range(3))
    assert [result.spans(i) for i in range(3)] == [left.spans(i) for i in range(3)]
    with pytest.raises(NotReversibleError):
        left.restore()
    with pytest.raises(ConfigError, match="last stage"):
        Pipeline([Shorten.example(), squeeze.load("edu", tokenizer=len)])


def test_everything_fits_and_nothing_changes() -> None:
    texts = ["", "The pump.", " ", ""]
    result = Pipeline(stages()).compress(texts, "pump")
    assert result.text == "\n\n".join(texts) and result.restore() == tuple(texts)


def test_what_makes_no_pipeline_is_named() -> None:
    with pytest.raises(ConfigError, match="stages"):
        Pipeline([])
    with pytest.raises(ConfigError, match="stages"):
        Pipeline(["edu"])  # type: ignore[list-item]
    with pytest.raises(ConfigError, match="different tokenizers"):
        Pipeline([squeeze.load("edu", tokenizer=len), squeeze.load("edu")])
    assert Pipeline(stages()).name == "passages+odd+edu"
