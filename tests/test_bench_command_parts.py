"""The parts of `squeeze bench`: sets of rows, runners, means."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from squeeze import bench_cli
from squeeze.bench import runners
from squeeze.bench.command import Options
from squeeze.bench.sets import checked, read_sets
from squeeze.bench.summary import counts, summaries
from squeeze.bench.survival import interval
from squeeze.bench.work import Line
from squeeze.errors import ConfigError, CorruptError, UnknownMethodError
from squeeze.types import Passage
from test_bench_command import EXAMPLES, marked, row, write


class TestSets:
    @pytest.mark.parametrize(
        ("given", "reason"),
        [
            (row(question=" "), "no_question"),
            (row(question=None), "no_question"),
            (row(documents=[]), "no_documents"),
            (row(documents=[{"id": "a"}]), "no_documents"),
            (row(documents="text"), "no_documents"),
            (row(answers=[]), "no_answer"),
            (row(answers=["?!"]), "no_answer"),
            (row(answers=["In 1999"]), "answer_not_in_documents"),
            (marked(answers=["four sails"]), "answer_not_in_documents"),
            (marked(answers=["is"]), "answer_in_several_documents"),
            (marked(extra={"answer_in_gold": True, "non_gold_with_answer": 2}), "answer_in_several_documents"),
            ([], "not_an_object"),
            ("text", "not_an_object"),
        ],
    )
    def test_rows_that_say_nothing_are_left_out_with_a_reason(self, given: Any, reason: str) -> None:
        assert checked(given) == (None, reason)

    def test_gold_documents_that_are_not_marked_are_those_with_an_answer(self) -> None:
        found, _ = checked(row())
        assert found is not None and [document["is_gold"] for document in found["documents"]] == [False, True]
        assert found["extra"]["answer_in_gold"] and found["extra"]["non_gold_with_answer"] == 0

    def test_an_answer_may_stand_alone_and_rows_count_for_what_must_be_kept(self) -> None:
        one = row(answer="In 1874")
        del one["answers"]
        assert (checked(one)[0] or {})["answers"] == ["In 1874"]
        must, _ = checked(row(answers=[], extra={"must_keep": ["four sails"]}))
        assert must is not None and must["extra"]["must_keep"] == ["four sails"]

    def test_files_make_sets_and_bad_lines_are_counted(self, tmp_path: Path) -> None:
        plain = write(tmp_path / "mine.jsonl", "\ufeff" + json.dumps(row()), "", "{oops", row(question=""), row(), "7")
        packed = tmp_path / "mine.jsonl.gz"
        packed.write_bytes(gzip.compress((json.dumps(row(id=9)) + "\n").encode() * 3))
        first, second = read_sets([plain, str(packed)], rows=2)
        assert (first.name, second.name) == ("mine", "mine (2)")
        assert len(first.rows) == 2 and first.skipped == {"not_json": 1, "no_question": 1}
        assert [one["id"] for one in second.rows] == ["9", "9"] and second.measure == "gold"

    def test_a_set_is_judged_by_what_most_of_its_rows_have(self, tmp_path: Path) -> None:
        must = [row(answers=[], extra={"must_keep": ["four sails"]})] * 3
        assert read_sets([write(tmp_path / "a.jsonl", *must, row())])[0].measure == "must"
        long = row(answers=["The lamp of the tower was lit then"], extra={"long_form": True})
        assert read_sets([write(tmp_path / "b.jsonl", long, row())])[0].measure == "cover"

    def test_files_that_do_not_read(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"nosuch\.jsonl"):
            read_sets([str(tmp_path / "nosuch.jsonl")])
        (tmp_path / "a.jsonl.gz").write_bytes(b"plain")
        with pytest.raises(CorruptError, match="gzip"):
            read_sets([str(tmp_path / "a.jsonl.gz")])
        (tmp_path / "b.jsonl").write_bytes(b'"\xff"\n')
        with pytest.raises(CorruptError, match="UTF-8"):
            read_sets([str(tmp_path / "b.jsonl")])
        with pytest.raises(ConfigError, match="--questions"):
            read_sets([str(EXAMPLES / "lighthouses")])

    def test_a_folder_and_questions(self) -> None:
        (one,) = read_sets([str(EXAMPLES / "lighthouses")], questions=str(EXAMPLES / "questions.jsonl"), top=5)
        assert one.name == "lighthouses" and len(one.rows) > 30
        names = [document["id"] for document in one.rows[0]["documents"]]
        assert len(names) == 5 and names == sorted(names) and "01-what-a-lighthouse-does.md" in names
        assert [document["is_gold"] for document in one.rows[0]["documents"]].count(True) == 1

    def test_questions_in_the_folder_are_no_document(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("The lamp was lit in 1874.", "utf-8")
        (tmp_path / "b.txt").write_text("The mill has sails.", "utf-8")
        (tmp_path / "c.txt").write_bytes(b"\xff\xfe")
        asked = write(tmp_path / "q.jsonl", {"question": "When?", "answers": ["1874"]}, {"question": ""}, "[")
        (one,) = read_sets([str(tmp_path)], questions=asked)
        assert [(d["id"], d["is_gold"]) for d in one.rows[0]["documents"]] == [("a.txt", True), ("b.txt", False)]
        assert one.skipped == {"no_question": 1, "not_json": 1, "unreadable_document": 1}


class TestRunners:
    def test_names_and_options(self) -> None:
        specs = runners.specs_of(["edu:unit=sentence:scorer=bm25", "edu", "bm25", "edu"])
        assert [spec.label for spec in specs] == [*runners.ALWAYS, "edu:unit=sentence:scorer=bm25", "edu"]
        assert specs[-2].options == {"unit": "sentence", "scorer": "bm25"}
        paths = runners.specs_of(["beaver:table=/x/a", "beaver:table=/y/a"], always=())
        assert [spec.label for spec in paths] == ["beaver:table=a", "beaver:table=/y/a"]

    def test_labels_have_no_folders(self) -> None:
        assert [runners.short(value) for value in ("hf:/a/b/", "org/name", "cl100k_base")] == [
            "hf:b",
            "name",
            "cl100k_base",
        ]

    def test_the_command_names_the_default_methods(self) -> None:
        assert tuple(bench_cli.NAMES.split(",")) == runners.METHODS == Options(()).methods
        assert tuple(map(float, bench_cli.KEEPS.split(","))) == Options(()).keep

    def test_unknown_names_and_options(self) -> None:
        with pytest.raises(UnknownMethodError, match="Did you mean 'edu'"):
            runners.specs_of(["ed"])
        with pytest.raises(ConfigError, match="no options"):
            runners.specs_of(["random:seed=3"])
        with pytest.raises(ConfigError, match="Did you mean 'unit'"):
            runners.check(runners.specs_of(["edu:unti=edu"], always=())[0])

    @pytest.mark.parametrize("name", [*runners.PLAIN, "random", "edu", "passages", "truncate"])
    def test_runners_keep_to_the_limit_and_give_slices(self, name: str) -> None:
        documents = [Passage(d["text"], title=d["title"]) for d in row()["documents"]]
        runner = runners.Making().make(runners.specs_of([name], always=())[0])
        for limit in (0, 3, 12, 25):
            output = runner.run(documents, "When was the lamp lit?", limit)
            assert output.text is not None and output.kept is not None
            assert runners.load_tokenizer("estimate").count(output.text) <= limit or not output.text
            assert output.kept == sorted(output.kept)

    def test_random_follows_the_seed(self) -> None:
        documents = [Passage(f"Sheet {n} is blue. Crate {n} is red. Box {n} is green.") for n in range(6)]
        spec = runners.specs_of(["random"], always=())[0]
        texts = [runners.Making(seed=seed).make(spec).run(documents, "q", 25).text for seed in (0, 0, 1)]
        assert texts[0] == texts[1] != texts[2]


class TestSummary:
    def test_means_differences_and_failures(self) -> None:
        sets = read_sets([str(EXAMPLES / "lighthouses")], questions=str(EXAMPLES / "questions.jsonl"), rows=4)
        lines = [
            Line(0, at, method, 0.5, gold=gold, before=100, tokens=40, ms=10.0 * (at + 1))
            for method, values in (("bm25", (True, False, False, True)), ("edu", (True, True, True, False)))
            for at, gold in enumerate(values)
        ]
        lines[-1].failed, lines[-1].gold = "ValueError", None
        base, own = summaries(sets, lines, "bm25")
        assert base["difference"] is None and base["value"] == 0.5 and base["p50_ms"] == 25.0
        assert own["rows"] == 3 and own["failed"] == 1 and own["value"] == 1.0
        assert (own["won"], own["lost"]) == (2, 0) and own["difference"] == pytest.approx(2 / 3)
        assert own["tokens_kept"] == pytest.approx(0.4) and own["tokens_per_s"] == pytest.approx(300 / 0.06)
        assert counts(sets, lines, {})["failed"] == {"edu": {"ValueError": 1}}

    def test_intervals_hold_the_mean_and_narrow_with_more_rows(self) -> None:
        few, many = interval([[0, 1] * 5]), interval([[0, 1] * 500])
        assert few[0] < many[0] < 0.5 < many[1] < few[1]
        assert interval([[1, 1], [0, 0]]) == (0.5, 0.5) and interval([]) == (0.0, 0.0)
