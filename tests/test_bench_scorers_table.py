"""The table of scorers in the guide."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from squeeze.bench import scorers_table


def row(method: str, data: str, value: float, ms: float) -> dict[str, Any]:
    return {"method": method, "data": data, "value": value, "p50_ms": ms}


REPORT = {
    "settings": {"keep": [0.125]},
    "rows_measured": {"one": 60, "two": 70},
    "results": [
        row("bm25", "one", 0.1, 1),
        *(row("edu", data, value, 4) for data, value in (("one", 0.912345), ("two", 0.75), ("mean", 0.83))),
        *(row("edu:scorer=bm25", data, value, 2) for data, value in (("one", 0.5), ("two", 0.7), ("mean", 0.6))),
    ],
    "lines": [{"row": 1}],
}


def test_what_the_table_shows_is_kept_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = tmp_path / "bench.json"
    given.write_text(json.dumps(REPORT))
    monkeypatch.setattr(scorers_table, "REPORT", tmp_path / "scorers.json")
    monkeypatch.setattr("sys.argv", ["scorers_table", str(given)])
    scorers_table.main()
    kept = json.loads((tmp_path / "scorers.json").read_text())
    assert not kept["lines"] and len(kept["results"]) == 6 and kept["results"][0]["value"] == 0.9123
    lines = scorers_table.markdown().splitlines()
    assert lines[0] == "| scorer | one | two | mean | time |"
    assert lines[2:4] == ["| `ranker` | 0.91 | 0.75 | 0.83 | 1 |", "| `bm25` | 0.50 | 0.70 | 0.60 | 0.5 |"]
    assert "12.5 % of the tokens, on 60, 70 questions" in lines[-1]


def test_a_report_of_other_methods_is_refused() -> None:
    with pytest.raises(SystemExit, match="no results of edu"):
        scorers_table.shown({**REPORT, "results": [row("bm25", "one", 0.1, 1)]})
