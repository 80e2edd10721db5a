"""Training runs side by side."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from squeeze.errors import ConfigError, CorruptError
from squeeze.train.trials import compared, main, read


def run(folder: Path, after: float, **settings: object) -> Path:
    folder.mkdir()
    measured = [
        {"step": step, "measured": {"answer/none": 5.0, "answer/4x": value}} for step, value in ((0, 4), (9, after))
    ]
    results = {"steps": 9, "context_tokens": 90, "target_tokens": 30, "hours": 0.1, "measured": measured}
    (folder / "training.json").write_text(json.dumps({"settings": {"batch": 4, **settings}, "results": results}))
    return folder


def test_runs_are_told_apart_by_what_they_do_not_share(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [run(tmp_path / "plain", 3.5), run(tmp_path / "taught", 4.5, distil=0.5)]
    found = compared([read(folder) for folder in folders])
    assert [one["settings"] for one in found] == [{"distil": None}, {"distil": 0.5}]
    main([*map(str, folders), "--json", str(tmp_path / "out" / "trials.json")])
    assert "answer/4x    4.000 -> 4.500" in capsys.readouterr().out
    report = json.loads((tmp_path / "out" / "trials.json").read_text())
    assert report["settings"] == {"batch": 4} and report["results"][1]["after"]["answer/4x"] == 4.5


def test_what_is_no_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nowhere"):
        read(tmp_path / "nowhere")
    folder = run(tmp_path / "cut", 3.5)
    (folder / "training.json").write_text('{"settings": {}')
    with pytest.raises(CorruptError, match="cut"):
        read(folder)
