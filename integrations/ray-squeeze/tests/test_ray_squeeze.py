"""Both pipelines on local Ray with two workers: the same as one process."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

ray = pytest.importorskip("ray")
torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("peft")

import squeeze
from ray_squeeze import compress, encode
from ray_squeeze.pipelines import Workers
from squeeze.errors import ConfigError, InputError
from squeeze.soft import CompEncoder, CompSettings, VectorCache
from squeeze.soft.tiny import byte_tokenizer, tiny_model

TEXTS = [
    f"Pump {number} is checked in spring. Its valve opens at {40 + number} bar. Lunch is at noon."
    for number in range(12)
]
TWO = Workers(count=2, rows=3, batch=1)


@pytest.fixture(scope="module")
def local() -> Iterator[None]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    yield
    ray.shutdown()


@pytest.fixture
def options(tmp_path: Path) -> dict[str, str]:
    """A model and an encoder for it, as folders that the workers load."""
    model = tiny_model()
    model.save_pretrained(tmp_path / "model")
    byte_tokenizer().save_pretrained(tmp_path / "model")
    CompEncoder(model, CompSettings(lora=2)).save_pretrained(tmp_path / "encoder")
    return {"model": str(tmp_path / "model"), "checkpoint": str(tmp_path / "encoder")}


def test_two_workers_encode_what_one_process_encodes(local: None, options: dict[str, str], tmp_path: Path) -> None:
    dataset = ray.data.from_items([{"id": number, "text": text} for number, text in enumerate(TEXTS)])
    rows = encode(dataset, tmp_path / "cache", workers=TWO, **options).take_all()
    alone = squeeze.load("compllm", **options)
    assert {row["id"]: row["vectors"] for row in rows} == {
        number: alone.compress(text).tokens_after for number, text in enumerate(TEXTS)
    }
    cached = squeeze.load("compllm", cache=VectorCache(tmp_path / "cache", read_only=True), **options)
    for text in TEXTS:
        assert torch.equal(cached.compress(text).parts[0].vectors, alone.compress(text).parts[0].vectors)
    assert cached.cache.misses == 0
    soft = compress(dataset, method="compllm", workers=TWO, cache=str(tmp_path / "cache"), **options).take_all()
    for row in soft:
        found = squeeze.Compressed.from_dict(json.loads(row["compressed"]))
        expected = alone.compress(row["text"]).parts[0].vectors
        assert torch.equal(torch.as_tensor(found.parts[0].vectors), expected)


def test_two_workers_compress_what_one_process_compresses(local: None) -> None:
    items = [{"texts": TEXTS[at : at + 3], "question": f"When does valve {at} open?"} for at in range(9)]
    rows = compress(ray.data.from_items(items), text="texts", query="question", budget=20, workers=TWO).take_all()
    assert len(rows) == 9
    for row in rows:
        alone = squeeze.compress(list(row["texts"]), row["question"], max_tokens=20)
        assert row["compressed"] == alone.text
        assert (row["tokens_before"], row["tokens_after"]) == (alone.tokens_before, alone.tokens_after)


def test_what_does_not_fit_is_named_before_any_worker_starts(local: None, tmp_path: Path) -> None:
    dataset = ray.data.from_items([{"text": "a"}])
    with pytest.raises(ConfigError, match="no column 'body'"):
        compress(dataset, text="body")
    with pytest.raises(ConfigError, match="no column 'question'"):
        compress(dataset, query="question")
    with pytest.raises(ConfigError, match="no vectors"):
        encode(dataset, tmp_path, method="edu")
    with pytest.raises(ConfigError, match="max_tokens"):
        compress(dataset, budget=-1)
    with pytest.raises(ConfigError, match="count"):
        Workers(count=0)
    with pytest.raises(InputError, match="dataset"):
        compress(["a"])
