"""What the benchmarks count as kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import squeeze
from conftest import words
from squeeze.bench.baselines import BASELINES
from squeeze.bench.questions import main
from squeeze.bench.rows import row_passages
from squeeze.bench.survival import answer_kept, answers, difference, kept_spans, must_keep


def row(**extra: object) -> dict[str, object]:
    return {
        "question": "When was the lamp lit?",
        "answers": ["In 1874"],
        "documents": [
            {"id": "a", "title": "In 1874", "text": "It was lit in\n1874. Lunch is late.", "is_gold": True},
            {"id": "b", "title": "", "text": "The mill was built in 1874.", "is_gold": False},
        ],
        "extra": extra,
    }


def spans(kept: dict[int, tuple[int, int]]) -> list[tuple[int, tuple[int, int]]]:
    passages = tuple(row_passages(row()))
    parts = tuple(squeeze.TextPart(i, s, e, passages[i].text[s:e]) for i, (s, e) in kept.items())
    found = kept_spans(squeeze.Compressed(passages, None, parts, (), 9, 3, 0.0, "t", "m"))
    assert found == list(kept.items())
    return found


@pytest.mark.parametrize("name", BASELINES)
def test_baselines_keep_slices_within_the_limit(name: str) -> None:
    passages = row_passages(row())
    for limit in range(20):
        kept = BASELINES[name](passages, "When was the lamp lit?", limit, words)
        assert sum(words(passages[i].text[s:e]) + 1 for i, (s, e) in kept) <= limit
        assert kept == sorted(kept) and all(passages[i].text[s:e].strip() for i, (s, e) in kept)
    assert len(BASELINES[name](passages, "lamp", 99, words)) == 4 and BASELINES[name]([], "lamp", 9, words) == []


def test_the_program_measures_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, report = tmp_path / "mine.jsonl", tmp_path / "out.json"
    data.write_text("\n".join(json.dumps(row(answer_in_gold=True, non_gold_with_answer=0)) for _ in range(3)) + "\n")
    main([str(data), "--methods", "edu,bm25_title,truncate", "--keep", "0.4", "--json", str(report)])
    lines = json.loads(report.read_text())["results"]
    assert [(line["method"], line["rows"], line["over"]) for line in lines] == [
        ("bm25_title", 3, 0),
        ("edu", 3, 0),
        ("truncate", 3, 0),
    ]
    assert lines[1]["kept"] == 1.0 and "mean" in capsys.readouterr().out


def test_an_answer_counts_inside_a_kept_span_of_a_gold_document() -> None:
    assert answer_kept(row(), spans({0: (0, 19)}))
    assert not answer_kept(row(), spans({0: (0, 13)}))
    assert not answer_kept(row(), spans({1: (0, 27)})), "another document's answer is luck"
    assert not answer_kept(row(), spans({0: (20, 34)})), "a title is no evidence"


def test_rows_that_say_nothing_are_left_out() -> None:
    assert answers(row()) == ["in 1874"]
    for extra in ({"long_form": True}, {"answer_in_gold": False}, {"non_gold_with_answer": 2}):
        assert answers(row(**extra)) == []


def test_must_keep_wants_every_string() -> None:
    assert must_keep(row(), spans({0: (0, 19)})) is None
    assert must_keep(row(must_keep=["lit", "mill"]), spans({0: (0, 19), 1: (0, 27)})) is True
    assert must_keep(row(must_keep=["lit", "mill"]), spans({0: (0, 19)})) is False


def test_differences_are_paired() -> None:
    found = difference([1, 1, 0, 1], [0, 1, 1, 0])
    assert (found.won, found.lost) == (2, 1) and found.low < 0.25 < found.high
    assert difference([], []).high == 0.0
    assert difference([1, 1, 1], [0, 0, 0]).low == 1.0
