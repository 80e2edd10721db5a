"""What the caller is told: warnings that name the limit, and errors that say what to write instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import squeeze
from conftest import words
from squeeze import Budget, load
from squeeze.errors import ConfigError, InputError

TEXT = (
    "Boats are let by the hour.\n\nThe keeper paid 40 crowns a year for oil, which he bought at the harbour market "
    "every spring.\n\nDogs are welcome."
)
QUERY = "How much did the keeper pay for oil?"


def notices(text: object, query: str | None = QUERY, **options: Any) -> list[tuple[str, str]]:
    result = squeeze.compress(text, query, **({"tokenizer": words} | options))  # type: ignore[arg-type]
    return [(notice.code, notice.message) for notice in result.warnings]


class TestBestLeftOut:
    def test_the_best_unit_over_the_limit_is_named(self) -> None:
        said = ("best_left_out", "the unit that scores best needs 18 tokens, the limit is 12")
        assert notices(TEXT, max_tokens=12) == [said]
        assert notices(["Tea is served.", TEXT], keep=0.49)[0][0] == "best_left_out"
        result = squeeze.compress(["Tea is served.", TEXT], QUERY, max_tokens=12, tokenizer=words)
        assert result.warnings[0].passage == 1 and "best_left_out" in result.to_html()

    def test_what_it_needs_counts(self) -> None:
        text = f"# The lighthouse of the north\n\n{TEXT}\n\n# Hall\n\nTea is served."
        assert notices(text, max_tokens=20) == [
            ("best_left_out", "the unit that scores best needs 25 tokens, the limit is 20")
        ]

    def test_nothing_is_said_without_cause(self) -> None:
        assert notices(TEXT, max_tokens=18) == []
        assert notices(TEXT, None, max_tokens=12) == [] and notices(TEXT) == []
        assert notices(TEXT, max_tokens=2)[0][0] == "unit_cut"
        assert [code for code, _ in notices(TEXT, "quantum", max_tokens=12)] == ["no_overlap"]
        alike = "The lamp is red. " * 2 + "The lamp is red now."
        assert notices(alike, "lamp", max_tokens=4) == []

    def test_a_result_with_it_reads_back(self) -> None:
        result = squeeze.compress(TEXT, QUERY, max_tokens=12, tokenizer=words)
        assert squeeze.Compressed.from_dict(result.to_dict()).warnings == result.warnings

    def test_a_pipeline_names_the_passage_of_the_input(self) -> None:
        stages = [load("passages", tokenizer=words), load("edu", tokenizer=words)]
        result = squeeze.Pipeline(stages).compress(["Tea is served.", TEXT], QUERY, budget=12)
        assert all(notice.passage in (None, 1) for notice in result.warnings)


class TestNothingFits:
    def test_what_is_needed_is_above_the_limit(self) -> None:
        text = "```\ncode(a, b, c, d)\nmore(a, b)\n```\n# Bob\n\n```\nsome code here\n```"
        ((code, message),) = notices(text, "code", max_tokens=3)
        assert (
            code == "nothing_fits"
            and "the limit is 3 tokens; the shortest unit needs 7 with what it cannot stand without" in message
        )

    def test_a_limit_of_nothing(self) -> None:
        assert notices(TEXT, max_tokens=0) == [
            ("nothing_fits", "the limit is 0 tokens; the shortest unit needs 3"),
        ]
        assert [message for _, message in notices(TEXT, "quantum", max_tokens=0)] == [
            "the query shares no word with the passages",
            "the limit is 0 tokens; the shortest unit needs 3",
        ]


class TestArguments:
    @pytest.mark.parametrize(
        ("name", "hint"), [("budget", "max_tokens="), ("question", "query="), ("ratio", "keep="), ("unti", "'unit'")]
    )
    def test_an_argument_of_another_name(self, name: str, hint: str) -> None:
        given: dict[str, Any] = {name: 25}
        with pytest.raises(ConfigError, match=hint):
            squeeze.compress(TEXT, **given)

    @pytest.mark.parametrize(
        ("name", "hint"),
        [("max_tokens", r"budget=Budget\(max_tokens=…\)"), ("keep", r"budget=Budget\(keep"), ("x", "query")],
    )
    def test_a_compressor_takes_a_budget(self, name: str, hint: str) -> None:
        given: dict[str, Any] = {name: 1}
        compressor = load("edu")
        with pytest.raises(ConfigError, match=hint):
            compressor.compress(TEXT, **given)
        with pytest.raises(ConfigError, match=hint):
            compressor.compress_many([TEXT], **given)

    def test_every_kind_of_whole_number(self) -> None:
        budget = Budget(max_tokens=np.int64(9))  # type: ignore[arg-type]
        assert budget == Budget(9) and type(budget.max_tokens) is int
        assert load("edu").compress(TEXT, QUERY, budget=np.int32(9)).tokens_after <= 9  # type: ignore[arg-type]

    def test_a_path_is_no_text(self) -> None:
        for given in (Path("notes.txt"), [TEXT, Path("notes.txt")]):
            with pytest.raises(InputError, match=r"read the file: Path\('notes.txt'\).read_text"):
                squeeze.compress(given)  # type: ignore[arg-type]
