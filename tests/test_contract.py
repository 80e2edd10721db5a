"""The promises, tested for every registered method."""

from __future__ import annotations

import asyncio
import json
import pickle
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

import squeeze
from conftest import QUERY, TEXTS, byte_tokenizer, example, overhead_words, words
from squeeze import Budget, Compressed, Compressor, Passage, Pipeline
from squeeze.base import Selector, whole
from squeeze.errors import BudgetError, ConfigError, InputError, NotReversibleError, SqueezeError
from squeeze.registry import method_class, option_names

METHODS = squeeze.available()
BOUNDARY = regex.compile(r"\X")

pieces = st.sampled_from(
    [
        "Pumps need oil. ",
        "The valve opens at 40 bar, because the spring gives way. ",
        "\n\n",
        "\n",
        "# Head\n\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n",
        "- item one\n- item two\n",
        "```\ncode here\n```\n",
        "弁は閉じている。",
        "👩‍👩‍👧 ñ é ",
        "\r\n",
        "\u200b",
        "\ud83d",
        "\x00",
        "<|endoftext|> ",
        '{"a": [1, 2, {"b": "c"}], "d": null}\n',
        "2024-01-01 ERROR disk full\n",
    ]
)
texts = st.one_of(st.text(max_size=80), st.lists(pieces, max_size=14).map("".join))
inputs = st.lists(texts, max_size=4)
queries = st.one_of(st.none(), st.text(max_size=20), st.sampled_from(["pump oil", "valve 40 bar", "弁", "ERROR disk"]))


def selectors() -> list[str]:
    return [name for name in METHODS if issubclass(method_class(name), Selector)]


def run(compressor: Compressor, passages: object, query: str | None, limit: int | None) -> Compressed | None:
    """The result, or None where a method that may drop nothing says that it cannot reach the limit."""
    try:
        return compressor.compress(passages, query, budget=limit)  # type: ignore[arg-type]
    except BudgetError as error:
        assert not isinstance(compressor, Selector)
        assert limit is not None and error.limit == limit < error.reached
        return None


@pytest.mark.parametrize("name", METHODS)
def test_class_says_what_it_is(name: str) -> None:
    cls = method_class(name)
    assert cls.name == name and cls.family and cls.output in ("text", "ids", "soft", "both")
    assert (cls.__doc__ or "").strip().splitlines()[0].endswith((".", ":"))
    assert isinstance(example(name), cls)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("limit", [0, 1, 2, 7, 20, 60, 10_000, None])
def test_budget_and_account(name: str, limit: int | None, passages: list[Passage]) -> None:
    compressor = example(name)
    result = run(compressor, passages, QUERY, limit)
    if result is None:
        return
    assert limit is None or result.tokens_after <= limit
    assert result.tokens_after <= result.tokens_before
    assert result.method == name and result.tokenizer == compressor.tokenizer.name and result.seconds >= 0
    if compressor.output == "text":
        assert result.tokens_after == compressor.count(result.text)
        assert result.tokens_before == compressor.count("\n\n".join(TEXTS))
        if limit == 0:
            assert result.text == ""


@pytest.mark.parametrize("name", METHODS)
def test_budget_holds_for_any_text(name: str) -> None:
    compressor = example(name)

    @given(inputs, queries, st.integers(0, 60))
    def check(given_texts: list[str], query: str | None, limit: int) -> None:
        result = run(compressor, given_texts, query, limit)
        if result is not None:
            assert result.tokens_after <= min(limit, result.tokens_before)
            assert_slices(result)

    check()


@pytest.mark.parametrize("counter", [words, overhead_words, byte_tokenizer(), "estimate"])
@pytest.mark.parametrize("name", selectors())
def test_budget_holds_for_any_counter(name: str, counter: object) -> None:
    compressor = squeeze.load(name, tokenizer=counter)

    @given(inputs, queries, st.floats(0, 1))
    def check(given_texts: list[str], query: str | None, keep: float) -> None:
        result = compressor.compress(given_texts, query, budget=Budget(keep=keep))
        assert compressor.count(result.text) == result.tokens_after <= keep * result.tokens_before + 1e-6
        assert_slices(result)

    check()


def assert_slices(result: Compressed) -> None:
    """Parts are slices in source order, apart from each other, cut at whole characters only."""
    place, was_text = (-1, 0), False
    for part in result.parts:
        text = result.passages[part.passage].text
        if isinstance(part, squeeze.TextPart) and not part.coded:
            assert text[part.start : part.end] == part.text
        assert place <= (part.passage, part.start)
        is_text = isinstance(part, squeeze.TextPart)
        if place[0] == part.passage and was_text and is_text:
            assert text[place[1] : part.start].strip(), "neighbours with only white space between are one part"
        place, was_text = (part.passage, part.end), is_text
    for index, passage in enumerate(result.passages):
        inside = {match.end() for match in BOUNDARY.finditer(passage.text)} | {0}
        for start, end in result.spans(index):
            assert 0 <= start < end <= len(passage.text) and {start, end} <= inside


@pytest.mark.parametrize("name", selectors())
def test_whole_input_comes_back_byte_for_byte(name: str) -> None:
    compressor = example(name)

    @given(inputs, queries)
    def check(given_texts: list[str], query: str | None) -> None:
        for budget in (None, Budget(keep=1.0), Budget(max_tokens=10**9)):
            result = compressor.compress(given_texts, query, budget=budget)
            assert result.text == "\n\n".join(given_texts) and not result.warnings
            assert result.restore() == tuple(given_texts)
            assert all(unit.kept for unit in result.units())

    check()


@pytest.mark.parametrize("name", selectors())
def test_every_unit_is_listed(name: str, passages: list[Passage]) -> None:
    result = example(name).compress(passages, QUERY, budget=40)
    for index, passage in enumerate(passages):
        own = [unit for unit in result.units() if unit.passage == index]
        assert "".join(passage.text[u.start : u.end] for u in own) == passage.text
        spans = result.spans(index)
        for unit in own:
            inside = any(s < unit.end and unit.start < e for s, e in spans)
            assert unit.kept == inside, unit
            assert 0 <= unit.score <= 1 and unit.tokens >= 0
            kept_reasons = {"score", "needed", "min_keep", "cut"}
            assert unit.reason in (kept_reasons if unit.kept else {"budget", "duplicate", "below_min_score"})
    with pytest.raises(NotReversibleError):
        result.restore()


@pytest.mark.parametrize("name", METHODS)
def test_async_many_threads_and_pickle_agree(name: str, passages: list[Passage]) -> None:
    compressor = example(name)
    jobs = [(passages[: 1 + i % 5], QUERY if i % 2 else None) for i in range(12)]

    def view(result: Compressed) -> object:
        parts = [(p.passage, p.start, p.end, getattr(p, "text", None), p.lead) for p in result.parts]
        vectors = [np.asarray(p.vectors).tolist() for p in result.parts if isinstance(p, squeeze.SoftPart)]
        return parts, vectors, result.tokens_after, result.warnings

    one_by_one = [view(compressor.compress(p, q)) for p, q in jobs]
    again = pickle.loads(pickle.dumps(compressor))
    assert [view(again.compress(p, q)) for p, q in jobs] == one_by_one
    many = compressor.compress_many([p for p, _ in jobs], [q for _, q in jobs])
    assert [view(result) for result in many] == one_by_one
    with ThreadPoolExecutor(16) as pool:
        assert [view(r) for r in pool.map(lambda job: compressor.compress(*job), jobs)] == one_by_one

    async def gather() -> list[Compressed]:
        return await asyncio.gather(*[compressor.acompress(p, q) for p, q in jobs])

    assert [view(result) for result in asyncio.run(gather())] == one_by_one


@pytest.mark.parametrize("name", METHODS)
def test_result_survives_json(name: str, passages: list[Passage]) -> None:
    result = example(name).compress(passages, QUERY)
    again = Compressed.from_dict(json.loads(json.dumps(result.to_dict())))
    assert again.to_dict() == result.to_dict()
    assert again.passages == result.passages and again.units() == result.units()
    if example(name).output == "text":
        assert again.text == result.text and again.texts() == result.texts()


@pytest.mark.parametrize("name", METHODS)
def test_nothing_outside_changes(name: str, passages: list[Passage]) -> None:
    before, state, np_state = list(passages), random.getstate(), np.random.get_state()[1].copy()
    compressor = example(name)
    settings = {key: repr(value) for key, value in vars(compressor).items()}
    run(compressor, passages, QUERY, 30)
    assert passages == before and random.getstate() == state
    assert np.array_equal(np.random.get_state()[1], np_state)
    assert {key: repr(value) for key, value in vars(compressor).items()} == settings


@pytest.mark.parametrize("name", METHODS)
def test_blank_queries_mean_no_query(name: str, passages: list[Passage]) -> None:
    compressor = example(name)
    results = [run(compressor, passages, query, 30) for query in (None, "", "   ", "\n\t")]
    assert len({None if r is None else tuple(map(repr, r.parts)) for r in results}) == 1
    assert all(r is None or r.query is None for r in results)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("given_passages", [b"bytes", 7, [None], [b"x"], [["list"]], {"a": "b"}])
def test_passages_of_a_wrong_type_are_named(name: str, given_passages: object) -> None:
    with pytest.raises(InputError, match="passage"):
        example(name).compress(given_passages)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", METHODS)
def test_wrong_arguments_are_named(name: str) -> None:
    compressor = example(name)
    with pytest.raises(InputError, match="query"):
        compressor.compress(["a"], 7)  # type: ignore[arg-type]
    for wrong in (-1, True, 1.5, "8"):
        with pytest.raises(ConfigError, match=r"max_tokens|budget"):
            compressor.compress(["a"], budget=wrong)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="no_such_option"):
        squeeze.load(name, no_such_option=1)
    with pytest.raises(ConfigError, match="2 queries for 1"):
        compressor.compress_many([["a"]], ["b", "c"])


@pytest.mark.parametrize("name", selectors())
def test_options_of_every_selector_are_checked(name: str) -> None:
    assert {"unit", "format", "gap", "titles", "min_score", "min_keep", "per_passage"} <= set(
        option_names(method_class(name))
    )
    for option, value in [
        ("unit", "word"),
        ("format", "docx"),
        ("gap", 3),
        ("titles", "yes"),
        ("min_score", float("nan")),
        ("min_score", 2),
        ("min_keep", -1),
        ("per_passage", 1),
    ]:
        with pytest.raises(ConfigError, match=option):
            squeeze.load(name, **{option: value})


@pytest.mark.parametrize("name", selectors())
def test_a_pipeline_of_one_is_the_method(name: str, passages: list[Passage]) -> None:
    for limit in (5, 30, None):
        alone = example(name).compress(passages, QUERY, budget=limit)
        piped = Pipeline([example(name)]).compress(passages, QUERY, budget=limit)
        assert piped.text == alone.text and piped.parts == alone.parts and piped.units() == alone.units()


@pytest.mark.parametrize("name", selectors())
def test_overhead_counts_and_is_never_printed(name: str) -> None:
    given_passages = [Passage(f"Fact {i} about pumps. And more of it.", overhead=9) for i in range(4)]
    compressor = squeeze.load(name, tokenizer=words)
    result = compressor.compress(given_passages, "pumps", budget=30)
    assert result.tokens_before == 4 * 8 + 36
    assert result.tokens_after == words(result.text) + 9 * len(result.texts()) <= 30
    assert 1 <= len(result.texts()) <= 2


@pytest.mark.parametrize("name", METHODS)
def test_same_output_whatever_the_hash_seed(name: str) -> None:
    example(name)
    code = (
        "import sys, json; from squeeze.registry import method_class\n"
        "texts = json.loads(sys.argv[1])\n"
        "r = method_class(sys.argv[2]).example().compress(texts, sys.argv[3])\n"
        "print(json.dumps([[p.passage, p.start, p.end, getattr(p, 'text', ''), p.lead] for p in r.parts]))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code, json.dumps(TEXTS * 3), name, QUERY],
            env={"PYTHONHASHSEED": seed, "PATH": "/usr/bin", "OMP_NUM_THREADS": "1"},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert len(outputs) == 1


def test_a_method_that_breaks_its_budget_is_caught() -> None:
    class Greedy(Selector):
        """Keeps everything, whatever the limit."""

        @classmethod
        def example(cls) -> Greedy:
            return cls()

        def score(self, corpus, query):  # type: ignore[no-untyped-def]
            return np.ones(len(corpus))

        def _compress(self, job):  # type: ignore[no-untyped-def]
            from squeeze.base import Draft

            return Draft(whole(job.passages))

    with pytest.raises(BudgetError, match="limit is 1"):
        Greedy.example().compress(["Much too long for this."], budget=1)


@pytest.mark.parametrize("scores", [[0.5], [float("nan")] * 3, [float("inf"), 0, 0]])
def test_a_scorer_that_misbehaves_is_named(scores: list[float]) -> None:
    compressor = squeeze.load("edu", scorer=lambda units, query: scores)
    with pytest.raises(SqueezeError, match="score"):
        compressor.compress(["One is here. Two is there. Three is gone."], "one", budget=4)
