"""The report on soft tokens: fair conditions, honest figures, one command."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("peft")

import squeeze
from squeeze.bench import soft_answers
from squeeze.bench.soft_judge import Item, Judge, contexts
from squeeze.bench.soft_rows import choose, prompt_of, usable
from squeeze.bench.soft_scores import f1, gap, mean, paired
from squeeze.errors import ConfigError
from squeeze.soft import ArcEncoder, ArcSettings, CompEncoder, CompSettings, Reader
from squeeze.soft.tiny import byte_tokenizer, tiny_model


def row(number: int, **more: Any) -> dict[str, Any]:
    documents = [{"text": f"Box {number} holds tin {number}.", "is_gold": True}]
    documents += [{"text": f"Shelf {other} is empty.", "is_gold": False} for other in range(4)]
    return {"question": f"What is in box {number}?", "answers": [f"tin {number}"], "documents": documents, **more}


def test_f1_is_that_of_words() -> None:
    assert f1("The red fox.", ["red fox", "a dog"]) == 1.0
    assert f1("a big red fox", ["red fox"]) == pytest.approx(0.8)
    assert f1("nothing", ["red fox"]) == f1("", ["red fox"]) == f1("x", []) == 0.0
    assert f1("red red", ["red fox"]) == 0.5


def test_intervals_and_shares_are_what_they_say() -> None:
    values = np.random.default_rng(1).normal(3.0, 1.0, 200)
    found = mean(values.tolist())
    half = 1.96 * values.std() / 200**0.5
    assert found["mean"] == pytest.approx(values.mean(), abs=1e-3)
    assert found["high"] - found["low"] == pytest.approx(2 * half, rel=0.15)
    none, full = [0.0, 1.0, 2.0], [4.0, 5.0, 6.0]
    assert gap([2.0, 3.0, 4.0], none, full) == {"mean": 0.5, "low": 0.5, "high": 0.5}
    assert gap(none, full, none) is None
    apart = paired([1.0, 2.0, 3.0], [0.0, 2.0, 4.0])
    assert (apart["mean"], apart["won"], apart["lost"]) == (0.0, 1, 1) and apart["low"] < 0 < apart["high"]
    assert mean(values.tolist()) == found


def test_contexts_hold_the_gold_and_what_fits_in_a_seeded_order() -> None:
    sizes, gold = [30, 20, 50, 0, 10], [False, True, False, False, False]
    places, draws = set(), [choose(sizes, gold, 75, random.Random(seed), 2) for seed in range(60)]
    for own in draws:
        assert 1 in own and 3 not in own and sum(sizes[at] for at in own) + 2 * (len(own) - 1) <= 75
        assert len(set(own)) == len(own) >= 2
        places.add(own.index(1))
    assert len(places) > 1 and len({tuple(own) for own in draws}) > 3
    assert draws[7] == choose(sizes, gold, 75, random.Random(7), 2)
    assert choose(sizes, gold, 19, random.Random(0)) == choose([0], [True], 9, random.Random(0)) == []


def test_rows_without_a_short_answer_in_a_gold_document_do_not_count() -> None:
    assert usable(row(1)) and usable(row(1, extra={"answer_in_gold": True}))
    for wrong in (
        row(1, answers=[]),
        row(1, answers=[" "]),
        row(1, question=""),
        row(1, documents=[{"text": "x", "is_gold": False}]),
        row(1, documents=None),
        row(1, extra={"answer_in_gold": False}),
        row(1, extra={"long_form": True}),
    ):
        assert not usable(wrong)


def test_conditions_are_alike_in_all_but_the_context() -> None:
    model, tokenizer = tiny_model(), byte_tokenizer()
    encoder = ArcEncoder.from_model(model, ArcSettings(layers=1, factors=(2, 4), chunk=64))
    arc = squeeze.load("arc", model=model, tokenizer=tokenizer, checkpoint=encoder)
    judge, reader = Judge(model, tokenizer, 4, 3), Reader(model, tokenizer)
    item = Item(
        ("Box 1 holds tin 1.", "Shelf 2 is empty, and so is the one below it."), "What is in box 1?", ("tin 1",)
    )
    other = Item(("Nothing here.",), "Where?", ("there",))
    found = contexts(judge, item, other, {"vectors": arc})
    assert set(found) == {"none", "full"} | {
        f"{name} {factor}x" for name in ("truncated", "pooled", "vectors", "another's") for factor in (2, 4)
    }
    prompt, text = prompt_of(tokenizer, item.question), "\n\n".join(item.passages)
    rows = {name: judge.row(context, item.question) for name, context in found.items()}
    for factor in (2, 4):
        assert len(found[f"truncated {factor}x"].embeds) == len(found[f"vectors {factor}x"].embeds)
        result = arc.compress(list(item.passages), budget=len(found[f"vectors {factor}x"].embeds))
        read = reader.inputs_embeds(result, prompt).inputs_embeds[0]
        assert torch.allclose(rows[f"vectors {factor}x"].embeds, read, atol=1e-5)
        assert found[f"another's {factor}x"].slots == arc.count_vectors(13, factor)
    pair = judge.text(judge.ids(item.passages[0])).embeds[:2].mean(0)
    assert torch.allclose(found["pooled 2x"].embeds[0], pair, atol=1e-6)
    scores = judge.likelihoods([rows["full"], rows["none"]], " tin 1")
    for (total, tokens), context in zip(scores, (text, None), strict=True):
        assert tokens == 5 and total == pytest.approx(reader.answer_logprob(context, prompt, "tin 1"), abs=1e-4)
    said = judge.answers(list(rows.values()))
    assert said[1] == reader.generate(text, prompt, max_new_tokens=4)
    assert said == [judge.answers([own])[0] for own in rows.values()]


@pytest.mark.parametrize("method", ["arc", "compllm"])
def test_the_program_writes_what_it_prints(method: str, tmp_path: Path, capsys: Any) -> None:
    model, place, encoder = tiny_model(), str(tmp_path / "model"), str(tmp_path / "encoder")
    model.save_pretrained(place)
    byte_tokenizer().save_pretrained(place)
    if method == "arc":
        ArcEncoder.from_model(model, ArcSettings(layers=1, factors=(2, 4), lora=2)).save_pretrained(encoder)
    else:
        CompEncoder(model, CompSettings(lora=2, factor=4)).save_pretrained(encoder)
    Path(encoder, "training.json").write_text(json.dumps({"results": {"steps": 7}}))
    data, seen = tmp_path / "boxes.dev.jsonl", tmp_path / "boxes.train.jsonl"
    data.write_text("".join(json.dumps(row(number)) + "\n" for number in range(6)))
    seen.write_text(json.dumps(row(0)) + "\n")
    given = ["--model", place, "--checkpoint", encoder, "--data", str(data), "--context", "90", "--new-tokens", "3"]
    target = tmp_path / "report.json"
    soft_answers.main([*given, "--seen", str(seen), "--rows", "4", "--untrained", "--json", str(target)])
    report = json.loads(target.read_text())
    found = report["results"]["sets"]["boxes"]
    assert found["rows"] == 4 and report["results"]["training"] == {"steps": 7}
    assert report["settings"]["model"] == "model" and str(tmp_path) not in target.read_text()
    own = found["conditions"]
    assert own["none"]["gap_log_likelihood"] in (None, {"mean": 0.0, "low": 0.0, "high": 0.0})
    assert own["none"]["context_positions"] == 0 < own["vectors 4x"]["context_positions"]
    # an encoder that was never trained is what its own fresh copy is
    assert own["vectors 4x"]["log_likelihood_per_token"] == own["untrained 4x"]["log_likelihood_per_token"]
    assert found["differences"]["4x - untrained"]["token"]["mean"] == 0
    assert report["results"]["needed_at_4x"]["boxes"].startswith(("reached", "not reached against"))
    printed = capsys.readouterr().out
    assert all(name in printed for name in own) and "boxes, 4 rows" in printed
    with pytest.raises(ConfigError, match="no row with an answer"):
        soft_answers.main([*given, "--seen", str(data)])
