"""Training soft tokens, end to end on a two-layer random model."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("peft")

import squeeze
from squeeze.bench.rows import read_rows
from squeeze.bench.soft_rows import prompt_of
from squeeze.errors import ConfigError, CorruptError
from squeeze.soft import Reader
from squeeze.soft.models import load_hf_tokenizer, load_model
from squeeze.soft.tiny import byte_tokenizer, tiny_model
from squeeze.train import soft, soft_arc, soft_run, soft_state
from squeeze.train.soft_method import Batch, Setting
from squeeze.train.soft_options import parse

WORDS = "oak elm ash fir yew lime pear plum fig date red blue grey gold old new tall small dry wet".split()  # noqa: SIM905
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


def test_ids_travel_without_the_texts(files: dict[str, str], tmp_path: Path) -> None:
    ids, given = tmp_path / "ids", ["--model", files["model"], *SHORT]
    soft.main([*given, "--text", files["text"], "--data", files["data"], "--prepare", str(ids)])
    assert np.load(ids / "documents.npy").dtype == np.uint16 and not (tmp_path / "out").exists()
    shape = ["--layers", "1", "--lora", "2", "--steps", "3", "--every", "3", "--warm-up", "1", "--no-curve"]
    soft.main([*given, "--ids", str(ids), "--out", str(tmp_path / "far"), *shape])
    soft.main(command(files, tmp_path / "near", "--no-curve", "--steps", "3"))
    assert rows_of(tmp_path / "far") == rows_of(tmp_path / "near")
    (ids / "gold.npy").unlink()
    with pytest.raises(CorruptError, match="gold"):
        soft.main([*given, "--ids", str(ids), "--out", str(tmp_path / "none"), *shape])
    with pytest.raises(ConfigError, match="--prepare"):
        soft.main([*given, "--ids", str(tmp_path), "--out", str(tmp_path / "none"), *shape])


@pytest.mark.parametrize("more", [[], ["--distil", "1"], ["--lora", "0"]])
def test_the_loss_falls_and_only_what_may_change_changes(
    files: dict[str, str], tmp_path: Path, more: list[str]
) -> None:
    plain = ["--no-curve", "--steps", "60", "--every", "60", "--rate-layers", "0.005", "--rate-heads", "0.005"]
    run = run_of(files, tmp_path / "out", *plain, "--qa-share", "1", *more)
    before = {name: value.clone() for name, value in run.model.state_dict().items()}
    losses = [run.pass_over()["loss"] for _ in range(60)]
    assert sum(losses[-10:]) < 0.9 * sum(losses[:10]), losses
    assert all(torch.equal(value, before[name]) for name, value in run.model.state_dict().items())
    assert all(value.grad is None for value in run.model.parameters())


def test_first_steps_can_leave_layers_alone(files: dict[str, str], tmp_path: Path) -> None:
    run = run_of(files, tmp_path / "out", "--no-curve", "--lora", "0", "--heads-first", "1", "--decay", "0.5")
    layers = [value.detach().clone() for _, value in run.roles["layers"]]
    run.pass_over()
    assert all(torch.equal(was, now) for was, (_, now) in zip(layers, run.roles["layers"], strict=True))
    run.pass_over()
    assert not any(torch.equal(was, now) for was, (_, now) in zip(layers, run.roles["layers"], strict=True))


def test_compllm_learns_from_answers_that_are_made_once(
    files: dict[str, str], tmp_path: Path, monkeypatch: Any
) -> None:
    out = tmp_path / "out"
    given = command(files, out, "--no-curve", "--method", "compllm", "--factors", "2", "--answer", "4")
    soft.main(given)
    assert squeeze.load("compllm", model=files["model"], checkpoint=str(out)).factors == (2,)
    kept = (out / "answers.jsonl").read_text()
    assert 1 <= len(kept.splitlines()) <= 9  # of the questions, three are kept out
    monkeypatch.setattr("squeeze.train.soft_compllm.own_answers", lambda *_, **__: pytest.fail("answered again"))
    (out / soft_state.STATE).unlink()
    losses = rows_of(out)
    soft.main(given)
    assert rows_of(out) == losses and (out / "answers.jsonl").read_text() == kept
    with pytest.raises(ConfigError, match="one of them"):
        soft.main(command(files, tmp_path / "two", "--method", "compllm", "--factors", "2", "4"))


def test_questions_are_trained_as_the_reader_reads_them(files: dict[str, str], tmp_path: Path) -> None:
    run = run_of(files, tmp_path / "out")
    arc, chance = run.method, random.Random(3)
    asked = arc.source.asked(1, chance)[0]
    assert len(asked.passages) > 1
    tokenizer = load_hf_tokenizer(files["model"])
    texts, answer = [tokenizer.decode(ids) for ids in asked.passages], tokenizer.decode(asked.answer)
    question = next(row["question"] for row in read_rows(files["data"]) if row["answers"] == [answer])
    compressor = squeeze.load("arc", model=run.model, tokenizer=tokenizer, checkpoint=arc.encoder)
    result = compressor.compress(texts, budget=compressor.count_vectors(400, 2))
    reader, prompt = Reader(run.model, tokenizer), prompt_of(tokenizer, question)
    with torch.no_grad():
        trained = arc.prompts.question(asked, arc._encode(asked.passages, 2))
        full, none = arc.prompts.full(asked), arc.prompts.question(asked, [])
    for context, own in ((result, trained), ("\n\n".join(texts), full), (None, none)):
        read = reader.inputs_embeds(context, prompt).inputs_embeds[0]
        assert read.shape == own.shape and torch.allclose(read, own, atol=1e-5)
    loss = arc.loss(Batch("question", 2, [asked], 0, 0))
    assert -float(loss.detach()) == pytest.approx(np.mean(reader.answer_logprobs(result, prompt, answer)), abs=1e-4)


def test_held_out_rows_are_not_trained_on(files: dict[str, str], tmp_path: Path) -> None:
    source = run_of(files, tmp_path / "out").method.source
    assert len(source.held_questions) == 3 == len(source.held_texts)
    assert len(source.questions) == 9 and len(source.texts) == 9
    prepared = source.prepared
    trained = {tuple(prepared.documents[at]) for q in source.questions for at in span(prepared, q) if prepared.gold[at]}
    assert not trained & {ids for asked in source.held_questions for ids in map(tuple, asked.passages)}


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


def test_rates_rise_then_fall_to_their_floor() -> None:
    options = parse(["--model", "m", "--out", "o", "--steps", "110", "--warm-up", "10", "--floor", "0.2"])
    shares = [soft_run.rate_at(step, options) for step in range(120)]
    assert shares[0] == 0.1 and shares[9] == shares[10] == 1.0 and shares[60] == pytest.approx(0.6)
    assert shares[110:] == [pytest.approx(0.2)] * 10


class Endless(torch.autograd.Function):
    """Passes a value on, and an infinite gradient back."""

    @staticmethod
    def forward(_: Any, value: Any) -> Any:
        return value.clone()

    @staticmethod
    def backward(_: Any, gradient: Any) -> Any:
        return gradient * float("inf")


def run_of(files: dict[str, str], out: Path, *more: str) -> soft_run.Run:
    options = parse(command(files, out, *more))
    out.mkdir()
    model = load_model(files["model"]).requires_grad_(False)
    prepared = soft.ids_of(options, load_hf_tokenizer(files["model"]), 261)
    return soft_run.Run(options, Setting(options, model, prepared, out))


def span(prepared: Any, number: int) -> range:
    return range(int(prepared.owners[number]), int(prepared.owners[number + 1]))
