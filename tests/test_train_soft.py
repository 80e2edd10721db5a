"""Training soft tokens, end to end on a two-layer random model."""

from __future__ import annotations

import json
import os
import random
import signal
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("peft")

import squeeze
from squeeze.errors import ConfigError, CorruptError
from squeeze.soft.tiny import byte_tokenizer, tiny_model
from squeeze.train import soft, soft_run, soft_state
from squeeze.train.soft_method import Setting, build
from squeeze.train.soft_options import parse

WORDS = "oak elm ash fir yew lime pear plum fig date red blue grey gold old new tall small dry wet".split()
SHORT = ["--context", "120", "--passage", "48", "--following", "24", "--shortest", "16", "--held", "3", "--batch", "2"]


def sentence(chance: random.Random) -> str:
    return f"The {chance.choice(WORDS)} {chance.choice(WORDS)} is {chance.choice(WORDS)}."


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    place, chance = tmp_path_factory.mktemp("files"), random.Random(0)
    tiny_model().save_pretrained(str(place / "model"))
    byte_tokenizer().save_pretrained(str(place / "model"))
    tiny_model(seed=1).save_pretrained(str(place / "other"))
    byte_tokenizer().save_pretrained(str(place / "other"))
    texts = [{"title": "t", "text": " ".join(sentence(chance) for _ in range(5))} for _ in range(12)]
    rows = []
    for number in range(12):
        gold, answer = sentence(chance), WORDS[number]
        documents = [{"title": "", "text": f"{gold[:-1]} {answer}.", "is_gold": True}]
        documents += [{"title": "", "text": sentence(chance), "is_gold": False} for _ in range(3)]
        rows.append({"question": f"Which {number}?", "answers": [answer], "documents": documents})
    return {
        "model": str(place / "model"),
        "other": str(place / "other"),
        "text": write(place / "some.text.jsonl", texts),
        "data": write(place / "some.train.jsonl", rows),
    }


def command(files: dict[str, str], out: Path, *more: str) -> list[str]:
    given = ["--model", files["model"], "--text", files["text"], "--data", files["data"], "--out", str(out)]
    return [*given, *SHORT, "--layers", "1", "--lora", "2", "--steps", "6", "--every", "3", "--warm-up", "1", *more]


def rows_of(out: Path, key: str = "loss") -> list[Any]:
    lines = (out / soft_state.LOG).read_text().splitlines()
    return [row[key] for row in map(json.loads, lines) if key in row]


def test_a_run_leaves_a_checkpoint_that_loads_a_log_a_curve_and_what_it_took(
    files: dict[str, str], tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    out = tmp_path / "out"
    soft.main(command(files, out, "--set", "residual=true"))
    compressor = squeeze.load("arc", model=files["model"], checkpoint=str(out))
    result = compressor.compress([sentence(random.Random(1))], budget=8)
    assert 0 < result.tokens_after <= 8 and compressor.factors == (2, 4, 8)
    assert compressor.encoder.settings.residual and compressor.encoder.settings.lora == 2
    assert len(rows_of(out)) == 6 and [len(row) for row in rows_of(out, "measured")] == [10] * 3
    assert set(rows_of(out, "kind")) == {"reconstruction", "continuation", "question"} & set(rows_of(out, "kind"))
    assert (out / soft_run.CURVE).read_bytes().startswith(b"\x89PNG")
    report = json.loads((out / soft.REPORT).read_text())
    assert report["results"]["steps"] == 6 and report["results"]["context_tokens"] > 100
    assert report["results"]["peak_bytes"] > 1 << 20 and report["results"]["hours_a_million_tokens"] > 0
    assert not any(str(tmp_path) in str(value) for value in report["settings"].values())


def test_a_stopped_and_resumed_run_gives_the_losses_of_an_unbroken_one(
    files: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    soft.main(command(files, whole, "--no-curve"))
    one = soft_run.Run.pass_over

    def interrupted(run: soft_run.Run) -> dict[str, Any]:
        if run.step == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        return one(run)

    monkeypatch.setattr(soft_run.Run, "pass_over", interrupted)
    soft.main(command(files, broken, "--no-curve"))
    assert len(rows_of(broken)) == 4
    monkeypatch.setattr(soft_run.Run, "pass_over", one)
    with (broken / soft_state.LOG).open("a") as log:  # of a step that was never saved, and one that was half written
        log.write('{"step": 5, "loss": 9.0}\n{"step": 6, "lo')
    soft.main(["--model", files["model"], "--out", str(broken), "--resume"])
    assert rows_of(broken) == rows_of(whole) and rows_of(broken, "norm") == rows_of(whole, "norm")
    last = [squeeze.load("arc", model=files["model"], checkpoint=str(out)).fingerprint for out in (whole, broken)]
    assert last[0] == last[1]


def test_a_seed_gives_the_same_run_twice_and_another_seed_another(files: dict[str, str], tmp_path: Path) -> None:
    for name, seed in (("one", "0"), ("two", "0"), ("three", "1")):
        soft.main(command(files, tmp_path / name, "--no-curve", "--seed", seed, "--steps", "3"))
    assert rows_of(tmp_path / "one") == rows_of(tmp_path / "two") != rows_of(tmp_path / "three")
