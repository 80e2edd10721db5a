from __future__ import annotations

import ast
import json
import os
import pathlib
import sys
from typing import Any

import pytest

import squeeze.bench.peers as package
from squeeze.bench import runners
from squeeze.bench.command import Options, bench
from squeeze.bench.peers import __main__ as table
from squeeze.bench.peers import _process
from squeeze.bench.peers._process import (
    Peer,
    PeerCrashed,
    PeerError,
    PeerGarbled,
    PeerGaveUp,
    PeerTimeout,
    Setting,
)
from squeeze.bench.readme import peers as region
from squeeze.errors import ConfigError, MissingDependencyError
from squeeze.types import Passage

FOLDER = pathlib.Path(package.__file__).parent

FAKE = '''
"""A package that does as the question says."""
import os
import sys
import time

DISTRIBUTIONS = ()


def runner(tokenizer, options):
    from squeeze.bench.peers._process import Peer, Setting

    return Peer(__file__, tokenizer, options, Setting(options.pop("environment", "none"), ("json",), loading=60.0))


def start(options):
    if options.get("absent"):
        import a_package_that_nobody_has
    print("loading ...", flush=True)

    def shorten(texts, question, limit, share):
        print("chatter", flush=True)
        if question == "crash?":
            sys.stderr.write("no memory\\n")
            sys.stderr.flush()
            os._exit(3)
        if question == "slow?":
            time.sleep(600)
        if question == "raise?":
            raise AssertionError("prefix")
        if question == "number?":
            return 7
        if question == "nothing?":
            return None
        return " ".join(texts)[: int(len(" ".join(texts)) * share)] + options.get("mark", "")

    return shorten
'''

TEXTS = [Passage("The lamp was lit in 1907. It shone far.", title="Lamp"), Passage("Nothing here.", title="Other")]


@pytest.fixture
def fake(tmp_path: pathlib.Path) -> str:
    file = tmp_path / "fake.py"
    file.write_text(FAKE)
    return str(file)


@pytest.fixture(autouse=True)
def nowhere(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(_process.PLACE, str(tmp_path / "environments"))


def peer(file: str, seconds: float = 60.0, **options: Any) -> Peer:
    return Peer(file, "estimate", options, Setting("none", ("json",), seconds=seconds))


class TestPeer:
    def test_its_text_comes_back_and_what_it_prints_does_not(self, fake: str) -> None:
        made = peer(fake, mark="é\ud800")
        assert made.name == "fake" and made.versions["python"]
        output = made.run(TEXTS, "when?", 8)
        assert output.text is not None and output.text.startswith("The lamp") and output.text.endswith("é\ud800")
        assert "chatter" not in output.text and output.kept is None and output.tokens is None
        made.close()

    def test_a_package_that_writes_no_text_says_how_long_it_is(self, fake: str) -> None:
        made = peer(fake)
        output = made.run(TEXTS, "number?", 8)
        assert output.text is None and output.tokens == 7 and output.ms is None
        made.close()

    def test_titles_stand_in_front_where_they_are_wanted(self, fake: str) -> None:
        made = peer(fake, titles=True)
        text = made.run([*TEXTS, Passage("No title.")], "when?", 1000).text
        assert text == "Lamp\nThe lamp was lit in 1907. It shone far. Other\nNothing here. No title."
        made.close()

    def test_the_time_of_its_processor_counts_where_that_is_wanted(self, fake: str) -> None:
        made = peer(fake, clock="processor")
        output = made.run(TEXTS, "when?", 8)
        assert output.ms is not None and output.ms >= 0.0
        made.close()

    def test_its_own_error_has_its_own_name_and_the_next_row_goes_on(self, fake: str) -> None:
        made = peer(fake)
        with pytest.raises(PeerError, match="prefix") as caught:
            made.run(TEXTS, "raise?", 8)
        assert type(caught.value).__name__ == "AssertionError"
        with pytest.raises(PeerGarbled, match="neither"):
            made.run(TEXTS, "nothing?", 8)
        assert made.run(TEXTS, "when?", 8).text
        made.close()

    def test_after_a_crash_another_process_is_started(self, fake: str) -> None:
        made = peer(fake)
        with pytest.raises(PeerCrashed, match="no memory"):
            made.run(TEXTS, "crash?", 8)
        assert made.run(TEXTS, "when?", 8).text
        made.close()

    def test_it_gives_up_after_crashes_in_a_row(self, fake: str) -> None:
        made = peer(fake)
        for _ in range(_process.FAULTS):
            with pytest.raises(PeerCrashed):
                made.run(TEXTS, "crash?", 8)
        with pytest.raises(PeerGaveUp):
            made.run(TEXTS, "when?", 8)

    def test_one_that_does_not_answer_is_ended(self, fake: str) -> None:
        made = peer(fake, seconds=0.5)
        process = made._process
        assert process is not None
        with pytest.raises(PeerTimeout, match=r"0\.5 s"):
            made.run(TEXTS, "slow?", 8)
        assert process.popen.poll() is not None
        made.seconds = 60.0
        assert made.run(TEXTS, "when?", 8).text
        made.close()

    def test_a_text_larger_than_a_pipe_does_not_hang_on_a_slow_one(self, fake: str) -> None:
        made = peer(fake, seconds=0.5)
        big = [Passage("word " * 200_000)]
        with pytest.raises(PeerTimeout):
            made.run(big, "slow?", 8)
        made.seconds = 60.0
        assert made.run(big, "when?", 1_000_000).text == "word " * 200_000
        made.close()

    @pytest.mark.parametrize("line", ["{not json", "[1]", "7", '"text"'])
    def test_an_answer_that_is_none(self, tmp_path: pathlib.Path, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
        worker = tmp_path / "worker.py"
        worker.write_text(
            "import sys\nsys.stdin.readline()\nprint('{\"ready\": {}}', flush=True)\n"
            f"sys.stdin.readline()\nprint({line!r}, flush=True)\nsys.stdin.readline()\n"
        )
        monkeypatch.setattr(_process, "_WORKER", worker)
        made = peer("some.py")
        with pytest.raises(PeerGarbled):
            made.run(TEXTS, "when?", 8)

    def test_its_process_ends_when_its_input_does(self, fake: str) -> None:
        made = peer(fake)
        assert made._process is not None
        popen = made._process.popen
        assert popen.stdin is not None
        popen.stdin.close()
        assert popen.wait(timeout=60) == 0


class TestMissing:
    def test_no_environment_and_not_installed_here(self, fake: str) -> None:
        with pytest.raises(MissingDependencyError, match=r"nobody_has.*make peers"):
            Peer(fake, "estimate", {}, Setting("none", ("json", "nobody_has")))
        with pytest.raises(MissingDependencyError, match="nobody_has"):
            Peer(fake, "estimate", {}, Setting("none", ("nobody_has.part",)))

    def test_a_package_that_does_not_import(self, fake: str) -> None:
        with pytest.raises(MissingDependencyError, match=r"does not start.*a_package_that_nobody_has"):
            peer(fake, absent=True)

    def test_an_environment_that_is_broken(self, fake: str, tmp_path: pathlib.Path) -> None:
        python = tmp_path / "environments" / "none" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
        python.chmod(0o755)
        with pytest.raises(MissingDependencyError, match="broken"):
            peer(fake)

    def test_an_environment_is_taken_before_what_is_installed_here(self, fake: str, tmp_path: pathlib.Path) -> None:
        python = tmp_path / "environments" / "none" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.symlink_to(sys.executable)
        setting = Setting("none", ("nobody_has",))
        assert _process.interpreter(setting) == str(python)
        made = Peer(fake, "estimate", {}, setting)
        assert made.run(TEXTS, "when?", 8).text
        made.close()


class TestAdapters:
    def test_all_are_found(self) -> None:
        assert runners.peers() == [
            "delta_ltsc",
            "embeddings_filter",
            "llmlingua",
            "llmslim",
            "longllmlingua",
            "selective_context",
            "sentence_embedding_optimizer",
            "trimwise",
        ]

    @pytest.mark.parametrize("file", sorted(FOLDER.glob("*.py")), ids=lambda file: file.name)
    def test_what_runs_elsewhere_imports_only_the_standard_library_at_the_top(self, file: pathlib.Path) -> None:
        if file.name in ("_process.py", "__main__.py"):
            return
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Import):
                assert all(name.name.partition(".")[0] in sys.stdlib_module_names for name in node.names)
            if isinstance(node, ast.ImportFrom):
                assert node.level == 1 or (node.module or "").partition(".")[0] in sys.stdlib_module_names

    @pytest.mark.parametrize("name", runners.peers())
    def test_one_that_is_not_installed_is_missing_by_name(
        self, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
    ) -> None:
        monkeypatch.setattr(_process, "_has", lambda module: False)
        options = {"model": str(tmp_path)}  # without one, the models of the packages would be looked for
        spec = runners.Spec(name, name, options, "peer")
        with pytest.raises(MissingDependencyError, match="make peers"):
            runners.Making("estimate", 0, (spec,)).make(spec)

    def test_every_environment_has_its_requirements(self) -> None:
        said = " ".join(file.read_text(encoding="utf-8") for file in FOLDER.glob("[a-z]*.py"))
        for name in ("light", "embeddings", "llmlingua"):
            lines = (FOLDER / "requirements" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
            assert f'Setting("{name}"' in said
            assert all("==" in line for line in lines if not line.startswith("#"))


def rows(file: pathlib.Path, questions: list[str]) -> str:
    documents = [
        {"id": "a", "title": "Lamp", "text": "The lamp was lit in 1907. It shone far over the sea.", "is_gold": True},
        {"id": "b", "title": "Sea", "text": "The sea is wide. Nobody knows how deep it is there.", "is_gold": False},
    ]
    lines = [{"question": question, "answers": ["1907"], "documents": documents} for question in questions]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(file)


@pytest.fixture
def one_peer(fake: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "fake_peers"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "fake.py").write_text(FAKE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(runners, "PEERS", "fake_peers")
    monkeypatch.setattr(table, "TOKENIZER", "estimate")
    for name in ("fake_peers", "fake_peers.fake"):
        monkeypatch.delitem(sys.modules, name, raising=False)


class TestInTheCommand:
    def test_it_is_measured_beside_ours_and_what_fails_is_counted(self, one_peer: None, tmp_path: pathlib.Path) -> None:
        data = rows(tmp_path / "a.jsonl", ["When was the lamp lit?", "raise?", "crash?", "When?"])
        report = bench(Options((data,), methods=("fake", "fake:absent=1"), keep=(0.5,), workers=1))
        (line,) = [one for one in report["results"] if one["method"] == "fake"]
        assert (line["kind"], line["rows"], line["failed"]) == ("peer", 2, 2)
        assert line["by_text"] and line["gold"] == 1.0
        assert report["skipped"]["failed"] == {"fake": {"AssertionError": 1, "PeerCrashed": 1}}
        assert "a_package_that_nobody_has" in report["skipped"]["missing"]["fake:absent=1"]
        assert report["exit_code"] == 3


class TestTable:
    def run(self, *arguments: str) -> int:
        with pytest.raises(SystemExit) as ended:
            table.main(arguments)
        return int(ended.value.code or 0)

    def test_it_compares_edu_at_the_tokens_that_were_kept(
        self, one_peer: None, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        sets = [rows(tmp_path / f"{name}.jsonl", ["When was the lamp lit?", "When?", "raise?"]) for name in "ab"]
        out = tmp_path / "table.json"
        names = "fake,fake:rows=1,fake:absent=1"
        assert self.run(*sets, "--keep", "0.5", "--peers", names, "--json", str(out)) == 3
        results = json.loads(out.read_text())["results"]
        of = {(row["method"], row["data"]): row for row in results["table"]}
        assert of["fake", "a"]["rows"] == 2 and of["fake", "a"]["failed"] == {"AssertionError": 1}
        assert of["fake:rows=1", "mean"]["rows"] == 2 and of["fake:rows=1", "mean"]["edu_low"] is None
        mean = of["fake", "mean"]
        assert set(mean["equal"]) == {"edu", "edu_untitled", "bm25"} and mean["equal"]["edu"]["over"] == 0
        assert mean["equal"]["edu"]["tokens_kept"] <= mean["tokens_kept"]
        assert mean["kept"] == 1.0 and mean["edu_won"] == 0
        assert of["edu", "mean"]["kind"] == "method" and of["edu", "mean"]["over"] == 0
        assert list(results["not_run"]) == ["fake:absent=1"] and results["versions"]["fake"]["python"]
        assert "not run" in capsys.readouterr().out

    def test_one_that_gives_no_result_is_among_what_was_not_run(self, one_peer: None, tmp_path: pathlib.Path) -> None:
        out = tmp_path / "table.json"
        self.run(rows(tmp_path / "a.jsonl", ["raise?"]), "--peers", "fake", "--json", str(out))
        results = json.loads(out.read_text())["results"]
        assert results["not_run"] == {"fake": "no row gave a result: 1 × AssertionError"}

    def test_others_stay_in_the_file(self, one_peer: None, tmp_path: pathlib.Path) -> None:
        data, out = rows(tmp_path / "a.jsonl", ["When?"]), tmp_path / "table.json"
        assert self.run(data, "--peers", "fake", "--json", str(out)) == 0
        assert self.run(data, "--peers", "fake:titles=true:rows=1", "--add", "--json", str(out)) == 0
        results = json.loads(out.read_text())["results"]
        assert {row["method"] for row in results["table"]} == {"fake", "fake:titles=true", "edu"}
        assert self.run(data, "--peers", "fake", "--json", str(out)) == 0
        assert {row["method"] for row in json.loads(out.read_text())["results"]["table"]} == {"fake", "edu"}

    def test_one_that_loses_nothing_stands_beside_lossless(
        self, one_peer: None, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Peer, "limited", False, raising=False)
        real = Peer.__init__

        def unlimited(self: Peer, *given: Any, **named: Any) -> None:
            real(self, *given, **named)
            self.limited = False

        monkeypatch.setattr(Peer, "__init__", unlimited)
        out = tmp_path / "table.json"
        assert self.run(rows(tmp_path / "a.jsonl", ["number?"]), "--peers", "fake", "--json", str(out)) == 0
        row = json.loads(out.read_text())["results"]["table"][0]
        assert row["keep"] is None and row["kept"] is None and set(row["equal"]) == {"lossless"}
        assert 0 < row["tokens_kept"] < 1 and row["equal"]["lossless"]["tokens_kept"] > 0


class TestReadme:
    def test_it_names_what_is_ahead_and_what_was_not_run(self, tmp_path: pathlib.Path) -> None:
        def row(method: str, kept: float, edu: float, keep: float | None = 0.25, **more: Any) -> dict[str, Any]:
            equal = {"edu": {"kept": edu}, "edu_untitled": {"kept": edu - 0.1}, "bm25": {"kept": 0.5}}
            base = {"method": method, "kind": "peer", "data": "mean", "keep": keep, "rows": 50, "kept": kept}
            base |= {"tokens_kept": 0.24, "over": 0, "p50_ms": 12.3, "failed": {}, "equal": equal}
            return base | {"edu_low": edu - kept - 0.1, "edu_high": edu - kept + 0.1} | more

        lossless = row("coder", 0, 0, None) | {"kept": None, "equal": {"lossless": {"tokens_kept": 0.9}}}
        squad = row("loser", 0.95, 0.9, data="squad")
        results = {
            "table": [squad, row("loser", 0.5, 0.9, shortest=True), row("winner", 0.95, 0.9), lossless]
            + [row("one_row", 0.1, 0.9, edu_low=None)],
            "not_run": {"gone": "no row gave a result: 3 × AssertionError"},
        }
        file = tmp_path / "peers.json"
        file.write_text(json.dumps({"results": results, "settings": {}}))
        text = region(file)
        assert "| `loser` | 50 | 24 % | 0.50 | **0.90** |" in text
        assert "in the mean: `winner`; level with it: none" in text
        assert (
            "single sets: `loser` on squad (0.95 to 0.90, 50 rows)" in text
            and "shortest rows of each set, as they are slow: `loser`" in text
        )
        assert "`gone`" in text and "AssertionError" in text and "`coder`" in text

    def test_the_committed_report_renders(self) -> None:
        file = pathlib.Path("reports/peers.json")
        if not file.is_file():
            pytest.skip("not measured yet")
        text = region(file)
        names = {row["method"].partition(":")[0] for row in json.loads(file.read_text())["results"]["table"]}
        assert all(f"`{name}" in text for name in names)


def test_options_that_a_limit_does_not_allow_are_refused(one_peer: None, tmp_path: pathlib.Path) -> None:
    with pytest.raises(ConfigError):
        table.main([rows(tmp_path / "a.jsonl", ["When?"]), "--peers", "nobody"])
    assert os.environ.get(_process.PLACE)
