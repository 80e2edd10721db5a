"""The command `squeeze bench`: rows in, table, JSON and picture out, and what it does with bad input."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from peer_fakes import install
from squeeze import cli
from squeeze.bench import runners, show
from squeeze.bench.command import Options, bench, to_json
from squeeze.types import Passage

EXAMPLES = Path(__file__).parent.parent / "examples" / "data"
TIMES = ("ms", "p50_ms", "p95_ms", "tokens_per_s", "seconds", "first_ms", "until_first_ms")


def row(**changes: Any) -> dict[str, Any]:
    made = {
        "id": "lamp",
        "question": "When was the lamp of the north tower lit?",
        "answers": ["In 1874", "the year 1874"],
        "documents": [
            {"id": "a", "title": "Mill", "text": "The mill was built by hand. It has four sails. The miller is old."},
            {"id": "b", "title": "Tower", "text": "The north tower is round. Its lamp was lit in 1874. Lunch is late."},
        ],
    }
    return {**made, **changes}


def marked(**changes: Any) -> dict[str, Any]:
    """A row that says which document is gold."""
    made = row(**changes)
    for at, document in enumerate(made["documents"]):
        document["is_gold"] = at == 1
    return made


def write(path: Path, *rows: Any) -> str:
    path.write_text("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in rows), "utf-8")
    return str(path)


def code(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        cli.main(["bench", *arguments])
    return int(stop.value.code or 0)


def untimed(value: Any) -> Any:
    """The value without what differs from run to run."""
    if isinstance(value, dict):
        return {key: untimed(item) for key, item in value.items() if key not in (*TIMES, "workers", "machine")}
    return [untimed(item) for item in value] if isinstance(value, list) else value


PEER = """
from squeeze.bench.runners import Output, Runner
from squeeze.errors import MissingDependencyError

class Echo(Runner):
    most = 2

    def run(self, documents, question, limit):
        if "broken" in question:
            raise RuntimeError("no")
        return Output(" ".join(d.text for d in documents), ms=5.0)

def runner(tokenizer, options):
    if options.get("gone"):
        raise MissingDependencyError("echo is not installed; run: pip install echo")
    return Echo()
"""


class TestRun:
    @pytest.fixture
    def peer(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        install(monkeypatch, tmp_path, "some_peers", echo=PEER)

    def test_a_peer_is_one_file(self, peer: None, tmp_path: Path) -> None:
        data = write(tmp_path / "a.jsonl", marked(), marked(question="broken?"), marked())
        report = bench(Options((data,), methods=("echo", "echo:gone=1"), keep=(0.5,), workers=1))
        (line,) = [one for one in report["results"] if one["method"] == "echo"]
        assert line["kind"] == "peer" and line["rows"] == 1 and line["failed"] == 1 and line["p50_ms"] == 5.0
        assert line["by_text"] and [one["row"] for one in report["lines"] if one["method"] == "echo"] == [0, 1]
        assert line["over"] == 1 and line["gold"] == 1.0, "its text has the answer, and its overrun is its own"
        assert report["skipped"]["failed"] == {"echo": {"RuntimeError": 1}}
        assert "pip install echo" in report["skipped"]["missing"]["echo:gone=1"]
        assert report["exit_code"] == 3

    def test_twice_the_same_numbers_in_one_process_and_in_two(self, tmp_path: Path) -> None:
        rows = [row(id=f"r{n}", question=f"When was lamp {n} lit?") for n in range(9)]
        data = (write(tmp_path / "a.jsonl", *rows), write(tmp_path / "b.jsonl", *rows[:4]))
        reports = [bench(Options(data, keep=(0.5, 0.25), workers=workers)) for workers in (1, 1, 2)]
        assert untimed(reports[0]) == untimed(reports[1]) == untimed(reports[2])
        assert [line["data"] for line in reports[2]["lines"]] == sorted(line["data"] for line in reports[2]["lines"])
        assert reports[0]["exit_code"] == 0
        means = [one for one in reports[0]["results"] if one["data"] == "mean"]
        assert {one["method"] for one in means} == {*runners.ALWAYS, *runners.METHODS}
        assert all(one["over"] == 0 for one in means)

    def test_another_seed_is_another_random_baseline(self, tmp_path: Path) -> None:
        data = (str(EXAMPLES / "lighthouses"),)
        shared: dict[str, Any] = {"questions": str(EXAMPLES / "questions.jsonl"), "methods": (), "keep": (0.25,)}
        tokens = []
        for seed in (0, 1):
            lines = bench(Options(data, seed=seed, rows=4, workers=1, **shared))["lines"]
            tokens.append([line["tokens"] for line in lines if line["method"] == "random"])
        assert tokens[0] != tokens[1]

    def test_an_overrun_fails_the_run(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def everything(passages: Sequence[Passage], *_: Any) -> list[tuple[int, tuple[int, int]]]:
            return [(at, (0, len(passage.text))) for at, passage in enumerate(passages)]

        monkeypatch.setitem(runners.PLAIN, "bm25", everything)
        data = write(tmp_path / "a.jsonl", row(), row(question=""))
        report = bench(Options((data,), methods=(), keep=(0.5,), workers=1))
        assert report["exit_code"] == 1 and [one["over"] for one in report["results"] if one["method"] == "bm25"] == [1]
        assert code(data, "--keep", "0.5", "--methods", "edu", "--workers", "1", "--quiet") == 1


class TestCommand:
    def test_table_json_and_picture(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        pytest.importorskip("matplotlib")
        data, out, picture = write(tmp_path / "mine.jsonl", row(), row()), tmp_path / "o.json", tmp_path / "o.png"
        call = ("--methods", "edu:unit=sentence", "--keep", "0.5,0.25", "--workers", "1", "--seed", "7")
        assert code(data, *call, "--json", str(out), "--plot", str(picture)) == 0
        shown = capsys.readouterr()
        for word in ("mine", "full", "truncation", "random", "bm25", "bm25_passages", "edu:unit=sentence", "tokens/s"):
            assert word in shown.out
        report = json.loads(out.read_text("utf-8"))
        assert report["seed"] == 7 and report["settings"]["keep"] == [0.5, 0.25] and report["exit_code"] == 0
        assert report["machine"]["commit"] and report["machine"]["versions"]["numpy"] and report["machine"]["cores"]
        assert len(report["lines"]) == 2 * (1 + 2 * 5)
        fields = {"data", "id", "method", "keep", "gold", "must", "before", "tokens", "over", "ms"}
        assert all(fields <= line.keys() for line in report["lines"])
        assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 10_000

    def test_what_was_left_out_is_said_and_the_code_says_so(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        data = write(tmp_path / "a.jsonl", row(), row(question=""), row(answers=["1999"]), row(answers=["1999"]))
        assert code(data, "--methods", "edu", "--keep", "0.5", "--workers", "1", "--quiet") == 3
        shown = capsys.readouterr()
        assert shown.out == "" and "no_question: a 1 (line 2); " in shown.err
        assert "answer_not_in_documents: a 2 (the first: line 3); " in shown.err

    def test_rows_that_no_fault_leaves_out_are_fine(self, tmp_path: Path) -> None:
        data = write(tmp_path / "a.jsonl", row(), marked(answers=["is"]))
        assert code(data, "--methods", "edu", "--keep", "0.5", "--workers", "1", "--quiet") == 0

    def test_json_on_standard_output(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        data = write(tmp_path / "a.jsonl", row())
        assert code(data, "--methods", "edu", "--keep", "0.5", "--workers", "1", "--json", "-") == 0
        shown = capsys.readouterr()
        assert json.loads(shown.out)["rows_measured"] == {"a": 1} and "bm25_passages" in shown.err

    def test_a_folder(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        call = (str(EXAMPLES / "lighthouses"), "--questions", str(EXAMPLES / "questions.jsonl"), "-n", "3")
        assert code(*call, "--methods", "edu", "--keep", "0.25", "--workers", "1", "--top", "6") == 0
        assert "lighthouses" in capsys.readouterr().out

    def test_a_question_about_a_file_that_is_not_there(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        asked = write(
            tmp_path / "q.jsonl",
            {"question": "When was the lamp lit?", "answer": "1874", "file": "tower.md"},
            {"question": "When was the lamp lit?", "answer": "1874", "file": "a.md"},
        )
        (tmp_path / "d").mkdir()
        (tmp_path / "d" / "a.md").write_text("The lamp was lit in 1874. Lunch is late.", "utf-8")
        call = (str(tmp_path / "d"), "--questions", asked, "--methods", "edu", "--keep", "0.5", "--workers", "1")
        assert code(*call, "--quiet") == 3
        assert "no_such_document: d 1 (line 1: tower.md); the folder has no document of" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("arguments", "part"),
        [
            ((), "no data"),
            (("nosuch.jsonl",), "nosuch.jsonl"),
            (("a.jsonl", "--methods", "ed"), "Did you mean 'edu'?"),
            (("a.jsonl", "--methods", "edu:unit=word"), "'word'"),
            (("a.jsonl", "--keep", "half"), "--keep 'half'"),
            (("a.jsonl", "--keep", "1.5"), "keep is 1.5"),
            (("a.jsonl", "--keep", ","), "--keep"),
            (("a.jsonl", "--reference", "nosuch"), "'nosuch'"),
            (("a.jsonl", "--tokenizer", "estimat"), "estimate"),
            (("a.jsonl", "--plot", "a.bmp"), ".png"),
            (("a.jsonl", "--json", "nosuch/a.json"), "nosuch"),
            (("a.jsonl", "--reader-model", "x"), "--reader-url"),
            (("a.jsonl", "--reader-url", "http://localhost:1"), "--reader-model"),
            (("a.jsonl", "--reader-url", "file:///etc/passwd", "--reader-model", "x"), "http"),
            (("bad.jsonl",), "no row counts: bad: 1 no_question (line 1)"),
            (("torn.jsonl",), "no row counts: torn: 2 not_json (the first: line 2)"),
        ],
    )
    def test_wrong_usage(
        self,
        arguments: tuple[str, ...],
        part: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        pytest.importorskip("matplotlib")
        monkeypatch.chdir(tmp_path)
        write(Path("a.jsonl"), row())
        write(Path("bad.jsonl"), row(question=""))
        write(Path("torn.jsonl"), "", "{", "{")
        assert code(*arguments, "--workers", "1") == 2
        shown = capsys.readouterr()
        assert part in shown.err and shown.err.count("\n") == 1 and shown.out == ""

    def test_the_list_names_the_programs(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert code("--list") == 0
        out = capsys.readouterr().out
        for name in ("edu", "bm25_title", "squeeze.bench.soft", "squeeze.bench.lossless", "squeeze.bench.speed"):
            assert name in out
        assert "squeeze.bench.adapters" in dict(show.programs()) and "squeeze.bench.show" not in dict(show.programs())

    def test_nothing_heavy_is_imported_for_it(self) -> None:
        import subprocess

        heavy = "matplotlib", "torch", "numpy"
        program = f"import sys, squeeze.bench_cli; print([n for n in {heavy} if n in sys.modules])"
        found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert found.stdout.strip() == "[]"


class TestReport:
    def test_lines_of_json_stand_alone(self) -> None:
        report = {"seed": 0, "results": [{"a": 1}, {"a": 2}], "lines": [{"b": "ü"}]}
        text = to_json(report)
        assert json.loads(text) == report and '{"a": 1},\n' in text and "ü" in text

    def test_a_narrow_table_is_cut_into_whole_parts(self, tmp_path: Path) -> None:
        from rich.console import Console

        data = write(tmp_path / "mine.jsonl", row(), row())
        report = bench(Options((data,), methods=("edu",), keep=(0.5,), workers=1))
        for width, tables in ((240, 1), (70, 2)):
            to = Console(width=width, file=(tmp_path / f"{width}").open("w", encoding="utf-8"))
            show.table(report, to)
            to.file.close()
            text = (tmp_path / f"{width}").read_text("utf-8")
            assert text.count("┏") == tables and "…" not in text and "tokens/s" in text
