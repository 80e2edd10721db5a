"""Training soft tokens, end to end on a two-layer random model."""

from __future__ import annotations

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
from soft_training import SHORT, command, make_files, rows_of, run_of, sentence
from squeeze.bench.rows import read_rows
from squeeze.bench.soft_rows import prompt_of
from squeeze.errors import ConfigError, CorruptError
from squeeze.soft import Reader, text_embeds
from squeeze.soft.models import load_hf_tokenizer
from squeeze.train import release, soft, soft_run, soft_state
from squeeze.train.losses import read_loss
from squeeze.train.soft_method import Batch
from squeeze.train.soft_options import parse


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return make_files(tmp_path_factory.mktemp("files"))


def test_a_run_leaves_a_checkpoint_that_loads_a_log_a_curve_and_what_it_took(
    files: dict[str, str], tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    out = tmp_path / "out"
    soft.main(command(files, out, "--set", "residual=mean"))
    compressor = squeeze.load("arc", model=files["model"], checkpoint=str(out))
    result = compressor.compress([sentence(random.Random(1))], budget=8)
    assert 0 < result.tokens_after <= 8 and compressor.factors == (2, 4, 8)
    assert compressor.encoder.settings.residual and compressor.encoder.settings.lora == 2
    assert len(rows_of(out)) == 6 and [len(row) for row in rows_of(out, "measured")] == [13] * 3
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


@pytest.mark.parametrize("distil", ["0", "1"])
def test_shots_stand_before_a_question_as_a_chat_prints_them(
    files: dict[str, str], tmp_path: Path, distil: str
) -> None:
    run = run_of(files, tmp_path / "out", "--shots", "2", "--end", "--distil", distil, "--distil-question")
    arc, tokenizer = run.method, load_hf_tokenizer(files["model"])
    asked = arc.source.asked(1, random.Random(0))[0]
    assert asked.answer[-1] == tokenizer.eos_token_id and len(asked.shots) == 2
    turns = []
    for one in (*asked.shots, asked):
        question = tokenizer.decode(one.question).split("<|assistant|>")[0].strip()
        context = "\n\n".join(tokenizer.decode(ids) for ids in one.passages)
        turns.append({"role": "user", "content": f"{context}\n\n{question}"})
        turns.append({"role": "assistant", "content": tokenizer.decode(one.answer)})
    chat = tokenizer.apply_chat_template(turns[:-1], tokenize=False, add_generation_prompt=True)
    ids = torch.tensor([tokenizer.encode(chat, add_special_tokens=False)])
    assert torch.equal(text_embeds(run.model, ids)[0], arc.prompts.full(asked))
    loss = arc.loss(Batch("question", 2, [asked, arc.source.asked(1, random.Random(1))[0]], 0, 0))
    loss.backward()
    assert float(loss.detach()) > 0
    if distil == "0":  # the two ways to put a prompt together agree
        alone = arc.loss(Batch("question", 2, [asked], 0, 0)).detach()
        with torch.no_grad():
            context = arc.prompts.question(asked, arc._encode(asked.every, 2))
            assert float(read_loss(run.model, [context], [asked.answer])) == pytest.approx(float(alone), abs=1e-4)


def test_mixed_precision_trains_weights_that_stay_whole(files: dict[str, str], tmp_path: Path) -> None:
    for number, more in enumerate((["--distil", "0.5"], ["--lora", "0"])):
        out = tmp_path / str(number)
        soft.main(command(files, out, "--no-curve", "--dtype", "bf16", "--set", "residual=mean", *more))
        assert all(np.isfinite(rows_of(out)))
        encoder = squeeze.load("arc", model=files["model"], checkpoint=str(out)).encoder
        assert {value.dtype for value in encoder.parameters()} == {torch.float32}


def test_recall_asks_for_the_rest_of_a_sentence_of_the_passage(files: dict[str, str], tmp_path: Path) -> None:
    run = run_of(files, tmp_path / "out", "--no-curve", "--qa-share", "0", "--recall", "1", "--text", files["text"])
    kinds = set()
    for number in range(20):
        batch = run.method.draw(number, random.Random(number))
        kinds.add(batch.kind)
        for passage, cue, rest in batch.rows:
            assert len(cue) >= 4 and rest
            ends = [at for at in range(len(passage)) if passage[at : at + len(cue) + len(rest)] == [*cue, *rest]]
            assert ends, "cue and rest stand next to each other in the passage"
    assert kinds == {"recall"}
    assert run.pass_over()["loss"] > 0


def test_a_run_is_released_in_half_precision(files: dict[str, str], tmp_path: Path) -> None:
    out, ships = tmp_path / "out", tmp_path / "ships"
    soft.main(command(files, out, "--no-curve", "--steps", "2", "--set", "residual=salient", "adapted=1"))
    size = release.release(out, files["model"], ships)
    assert size < sum(path.stat().st_size for path in out.iterdir() if path.suffix == ".safetensors")
    assert json.loads((ships / soft.REPORT).read_text())["results"]["steps"] == 2
    compressor = squeeze.load("arc", model=files["model"], checkpoint=str(ships))
    assert compressor.compress([sentence(random.Random(1))], budget=8).tokens_after <= 8
    soft.main(command(files, tmp_path / "own", "--no-curve", "--steps", "2", "--lora", "0"))
    with pytest.raises(ConfigError, match="--lora"):
        release.release(tmp_path / "own", files["model"], ships)


def test_held_out_rows_are_not_trained_on(files: dict[str, str], tmp_path: Path) -> None:
    source = run_of(files, tmp_path / "out").method.source
    assert len(source.held_questions) == 3 == len(source.held_texts)
    assert len(source.questions) == 9 and len(source.texts) == 9
    prepared = source.prepared
    trained = {tuple(prepared.documents[at]) for q in source.questions for at in span(prepared, q) if prepared.gold[at]}
    assert not trained & {ids for asked in source.held_questions for ids in map(tuple, asked.passages)}


def test_rates_rise_then_fall_to_their_floor() -> None:
    options = parse(["--model", "m", "--out", "o", "--steps", "110", "--warm-up", "10", "--floor", "0.2"])
    shares = [soft_run.rate_at(step, options) for step in range(120)]
    assert shares[0] == 0.1 and shares[9] == shares[10] == 1.0 and shares[60] == pytest.approx(0.6)
    assert shares[110:] == [pytest.approx(0.2)] * 10


def span(prepared: Any, number: int) -> range:
    return range(int(prepared.owners[number]), int(prepared.owners[number + 1]))
