"""Tuning on meta-tokens, end to end on a two-layer random model."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("peft")

from squeeze.compressors.meta_tokens import decode
from squeeze.soft.tiny import byte_tokenizer, tiny_model
from squeeze.train import meta_tokens
from squeeze.train.meta_data import IGNORED, Builder, Question, made_up, of_rows


def test_questions_are_answered_by_their_contexts() -> None:
    found = list(made_up(40, 3))
    assert found == list(made_up(40, 3)) and found != list(made_up(40, 4))
    for item in found:
        assert item.answer in item.context and item.answer not in item.question


def test_rows_become_questions(tmp_path: Path) -> None:
    rows = [
        {"question": "Who?", "answers": ["Ann"], "documents": [{"text": "Ann."}, {"text": "Ben."}]},
        {"question": "Who else?", "answers": [], "documents": []},
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert list(of_rows(str(path), 5)) == [Question("Ann.\n\nBen.", "Who?", "Ann")]
    assert list(of_rows(str(path), 0)) == []


def test_the_context_is_coded_and_only_the_answer_counts() -> None:
    tokenizer, model = byte_tokenizer(), tiny_model()
    reserved = meta_tokens.reserve(model, tokenizer, 6)
    item = next(made_up(1, 0))
    plain = Builder(tokenizer, (), 2000).example(item, 1)
    coded = Builder(tokenizer, reserved, 2000).example(item, 1)
    other = Builder(tokenizer, reserved, 2000).example(item, 2)
    assert plain is not None and coded is not None and other is not None
    assert plain.answer == coded.answer == (*tokenizer(item.answer, add_special_tokens=False)["input_ids"], 257)
    assert coded.labels == (*[IGNORED] * len(coded.prompt), *coded.answer)
    assert coded.saved > 100 and len(coded.ids) == len(plain.ids) - coded.saved
    start = coded.prompt.index(reserved[0])
    end = next(at for at in range(len(coded.prompt), 0, -1) if coded.prompt[:at].count(reserved[1]) == 0)
    assert start < end
    tail = len(plain.prompt) - start - len(tokenizer(item.context, add_special_tokens=False)["input_ids"])
    body = coded.prompt[start : len(coded.prompt) - tail]
    assert decode(body, reserved=reserved) == list(plain.prompt[start : len(plain.prompt) - tail])
    assert other.ids != coded.ids and len(other.ids) == len(coded.ids)
    assert Builder(tokenizer, reserved, 10).example(item, 1) is None


def test_text_that_looks_reserved_stays_text() -> None:
    tokenizer, model = byte_tokenizer(), tiny_model()
    reserved = meta_tokens.reserve(model, tokenizer, 2)
    assert not set(Builder(tokenizer).ids("<Dict> <M0> </Dict> <|user|>")) & {*reserved, 259}


@pytest.mark.parametrize("tied", [False, True])
def test_new_rows_are_new_and_old_ones_stay(tied: bool) -> None:
    tokenizer, model = byte_tokenizer(), tiny_model(tie_word_embeddings=tied)
    before = model.get_input_embeddings().weight.detach().clone()
    reserved = meta_tokens.reserve(model, tokenizer, 4)
    after = model.get_input_embeddings().weight.detach()
    assert reserved == list(range(261, 267)) and tokenizer.convert_tokens_to_ids("<M3>") == 266
    assert torch.equal(after[:261], before)
    assert len({tuple(row) for row in after[reserved].tolist()}) == 6
    assert (after[reserved] - before.mean(dim=0)).abs().max() < before.std() * 2
    assert (model.get_output_embeddings().weight is model.get_input_embeddings().weight) == tied


def test_training_learns_and_touches_only_what_it_may() -> None:
    tokenizer, model = byte_tokenizer(), tiny_model()
    reserved = meta_tokens.reserve(model, tokenizer, 4)
    frozen = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    examples = Builder(tokenizer, reserved, 2000).examples(made_up(2, 1, 3))
    tuned = meta_tokens.with_lora(model, reserved, rank=4, seed=0)
    before = meta_tokens.likelihood(tuned, examples)
    options = meta_tokens.parse(["--model", "m", "--out", "o", "--steps", "25", "--batch", "2", "--rate", "0.01"])
    losses = meta_tokens.train(tuned, examples, options)
    assert len(losses) == 25 and losses[-1] < losses[0]
    assert meta_tokens.likelihood(tuned, examples) > before
    for name, weight in tuned.base_model.model.named_parameters():
        plain = name.replace(".base_layer", "").replace(".original_module", "")
        if plain in frozen:
            assert torch.equal(weight.detach(), frozen[plain]), name
    trained = {name for name, weight in tuned.named_parameters() if weight.requires_grad}
    assert all("lora" in name or "token_adapter" in name for name in trained)


def test_the_program_leaves_an_adapter_and_a_report(tmp_path: Path) -> None:
    source, out = tmp_path / "model", tmp_path / "out"
    tiny_model().save_pretrained(str(source))
    byte_tokenizer().save_pretrained(str(source))
    rows = tmp_path / "pairs.dev.jsonl"
    rows.write_text(json.dumps({"question": "Who?", "answers": ["Ann"], "documents": [{"text": "Ann was here. " * 9}]}))
    command = ["--model", str(source), "--out", str(out), "--made-up", "8", "--records", "3", "--tests", "4"]
    command += [
        "--tokens",
        "1500",
        "--steps",
        "3",
        "--batch",
        "2",
        "--rank",
        "2",
        "--reserve",
        "8",
        "--rows",
        str(rows),
    ]
    meta_tokens.main([*command, "--test-rows", str(rows), "--report", str(tmp_path / "report.json")])
    report = json.loads((tmp_path / "report.json").read_text())["results"]
    assert report["steps"] == 3 and report["examples"] == 9
    for name in ("made_up", "pairs"):
        figures = report["log_likelihood_per_answer_token"][name]
        assert set(figures) == {"questions", "plain", "saved", "coded_untuned", "coded_tuned", "plain_tuned"}
        assert all(math.isfinite(value) for value in figures.values()) and figures["saved"] > 0.2
    again, tokenizer, reserved = meta_tokens.load_tuned(source, out)
    assert reserved == list(range(261, 271)) and tokenizer.convert_tokens_to_ids("<M7>") == 270
    examples = Builder(tokenizer, reserved, 1500).examples(made_up(4, 1_000_003, 3), 500_000)
    expected = report["log_likelihood_per_answer_token"]["made_up"]["coded_tuned"]
    assert meta_tokens.likelihood(again, examples) == pytest.approx(expected, abs=1e-3)
    with pytest.raises(SystemExit, match="at most 5 tokens"):
        meta_tokens.main([*command, "--tokens", "5"])
