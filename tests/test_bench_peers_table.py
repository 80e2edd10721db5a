from __future__ import annotations

import json
import os
import pathlib
import sys
from typing import Any

import pytest

from peer_fakes import FAKE, install, rows
from squeeze.bench.command import Options, bench
from squeeze.bench.peers import __main__ as table
from squeeze.bench.peers import _process
from squeeze.bench.peers._process import Peer
from squeeze.bench.readme import peers as region
from squeeze.errors import ConfigError


@pytest.fixture
def one_peer(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, tmp_path, "fake_peers", fake=FAKE)
    monkeypatch.setattr(table, "TOKENIZER", "estimate")
    for name in ("fake_peers", "fake_peers.fake"):
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.fixture(autouse=True)
def nowhere(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(_process.PLACE, str(tmp_path / "environments"))


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
        assert results["limited"] == {"fake:rows=1": "rows of each set: 1, as it runs a model and is slow"}
        assert list(results["not_run"]) == ["fake:absent=1"] and results["versions"]["fake"]["python"]
        assert "not run" in capsys.readouterr().out

    def test_what_is_run_on_the_shortest_rows_alone_is_marked(self, one_peer: None, tmp_path: pathlib.Path) -> None:
        data, out = rows(tmp_path / "a.jsonl", ["When was the lamp lit?", "When?"]), tmp_path / "table.json"
        assert self.run(data, "--shortest", "--peers", "fake,fake:titles=true:rows=1", "--json", str(out)) == 0
        results = json.loads(out.read_text())["results"]
        marked = {row["method"]: row.get("shortest", False) for row in results["table"]}
        assert marked == {"fake": False, "fake:titles=true": True, "edu": False}
        assert "rows of each set: 1, the shortest" in results["limited"]["fake:titles=true"]

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
            "table": [
                squad,
                row("loser", 0.5, 0.9, shortest=True),
                row("winner", 0.95, 0.9),
                row("one_row", 0.1, 0.9, edu_low=None),
                lossless,
            ],
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
