"""A tiny model, a few texts and questions, and runs of the training program on them."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from squeeze.soft.models import load_hf_tokenizer, load_model
from squeeze.soft.tiny import byte_tokenizer, tiny_model
from squeeze.train import soft, soft_run, soft_state
from squeeze.train.soft_method import Setting
from squeeze.train.soft_options import parse

WORDS = "oak elm ash fir yew lime pear plum fig date red blue grey gold old new tall small dry wet".split()  # noqa: SIM905
SHORT = ["--context", "120", "--passage", "48", "--following", "24", "--shortest", "16", "--held", "3", "--batch", "2"]


def sentence(chance: random.Random) -> str:
    return f"The {chance.choice(WORDS)} {chance.choice(WORDS)} is {chance.choice(WORDS)}."


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def make_files(place: Path) -> dict[str, str]:
    chance = random.Random(0)
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


def run_of(files: dict[str, str], out: Path, *more: str) -> soft_run.Run:
    options = parse(command(files, out, *more))
    out.mkdir()
    model = load_model(files["model"]).requires_grad_(False)
    prepared = soft.ids_of(options, load_hf_tokenizer(files["model"]), 261)
    return soft_run.Run(options, Setting(options, model, prepared, out))
