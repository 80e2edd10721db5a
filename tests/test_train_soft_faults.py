"""What training soft tokens does when something is wrong: bad data, another model, no numbers, a full disk."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("peft")

import squeeze
from soft_training import command, make_files, rows_of, write
from squeeze.errors import ConfigError, CorruptError
from squeeze.train import soft, soft_arc, soft_state


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return make_files(tmp_path_factory.mktemp("files"))


def test_bad_data_is_named(files: dict[str, str], tmp_path: Path) -> None:
    rows = [{"question": "Who?", "answers": [], "documents": [{"text": "Ann.", "is_gold": True}]}]
    empty = write(tmp_path / "empty.jsonl", rows)
    for more, message in (
        (["--data", empty], r"empty\.jsonl has no question with an answer"),
        (["--text", write(tmp_path / "short.jsonl", [{"text": "Hm."}])], r"short\.jsonl has no text"),
        (["--data", str(tmp_path / "gone.jsonl")], "no data file"),
        (["--data", "--text"], "nothing to train on"),
        (["--method", "arcs"], "Did you mean 'arc'"),
        (["--set", "colour=red"], "fields of ArcSettings"),
        (["--set", "residual"], "name=value"),
        (["--qa-share", "2"], "0 to 1"),
        (["--batch", "0"], "1 and more"),
    ):
        with pytest.raises(ConfigError, match=message):
            soft.main(command(files, tmp_path / "out", "--no-curve", *more))
    with pytest.raises(ConfigError, match="no run to go on with"):
        soft.main(["--model", files["model"], "--out", str(tmp_path / "nowhere"), "--resume"])


def test_another_model_and_other_options_are_refused(files: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    soft.main(command(files, out, "--no-curve", "--steps", "1"))
    with pytest.raises(ConfigError, match="has model"):
        soft.main(["--model", files["other"], "--out", str(out), "--resume"])
    with pytest.raises(ConfigError, match="seed 0, not 5"):
        soft.main(["--model", files["model"], "--out", str(out), "--resume", "--seed", "5"])
    with pytest.raises(ConfigError, match="holds a run already"):
        soft.main(command(files, out))
    more = ["--no-curve", "--start", str(out), "--steps", "1"]
    with pytest.raises(ConfigError, match="was made for the model"):
        soft.main([*command(files, tmp_path / "next", *more), "--model", files["other"]])
    soft.main(command(files, tmp_path / "next", *more))
    assert rows_of(tmp_path / "next") != rows_of(out)


@pytest.mark.parametrize("broken", ["loss", "gradient"])
def test_a_loss_that_is_no_number_stops_the_run_and_keeps_what_was(
    files: dict[str, str], tmp_path: Path, monkeypatch: Any, broken: str
) -> None:
    out, kept = tmp_path / "out", {}
    real = soft_arc.Arc.loss

    def loss(arc: Any, batch: Any) -> Any:
        found = real(arc, batch)
        if len(rows_of(out)) < 4:
            return found
        kept.update({path.name: path.read_bytes() for path in out.glob("*.safetensors")})
        return found * float("nan") if broken == "loss" else Endless.apply(found)

    monkeypatch.setattr(soft_arc.Arc, "loss", loss)
    with pytest.raises(ConfigError, match="step 5: the loss is"):
        soft.main(command(files, out, "--no-curve"))
    assert kept and kept == {path.name: path.read_bytes() for path in out.glob("*.safetensors")}
    monkeypatch.setattr(soft_arc.Arc, "loss", real)
    soft.main(["--model", files["model"], "--out", str(out), "--resume"])
    assert len(rows_of(out)) == 6


def test_a_full_disk_and_a_kill_while_saving_leave_the_state_of_before(
    files: dict[str, str], tmp_path: Path, monkeypatch: Any
) -> None:
    out = tmp_path / "out"
    soft.main(command(files, out, "--no-curve", "--steps", "1"))
    state, replace = out / soft_state.STATE, os.replace
    before = state.read_bytes()

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigError, match=r"No space left.*the one of before is kept"):
        soft.main(["--model", files["model"], "--out", str(out), "--resume", "--steps", "2"])
    assert state.read_bytes() == before and not list(out.glob(".*.part"))
    monkeypatch.undo()
    monkeypatch.setattr(os, "replace", lambda one, other: killed() if other == state else replace(one, other))
    with pytest.raises(KeyboardInterrupt):
        soft.main(["--model", files["model"], "--out", str(out), "--resume", "--steps", "2"])
    assert state.read_bytes() == before
    monkeypatch.undo()
    soft.main(["--model", files["model"], "--out", str(out), "--resume", "--steps", "2"])
    assert len(rows_of(out)) == 2 and state.read_bytes() != before
    squeeze.load("arc", model=files["model"], checkpoint=str(out))
    state.write_bytes(before[:-100])
    with pytest.raises(CorruptError, match="state"):
        soft.main(["--model", files["model"], "--out", str(out), "--resume"])


class Endless(torch.autograd.Function):
    """Passes a value on, and an infinite gradient back."""

    @staticmethod
    def forward(_: Any, value: Any) -> Any:
        return value.clone()

    @staticmethod
    def backward(_: Any, gradient: Any) -> Any:
        return gradient * float("inf")
