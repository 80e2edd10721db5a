"""The benchmark of soft tokens, on a model of two layers."""

from __future__ import annotations

import argparse

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("peft")

from squeeze.bench.soft import compressors_of, line, measure
from squeeze.soft import Reader
from squeeze.soft.tiny import byte_tokenizer, tiny_model


def test_both_methods_stand_beside_the_full_text() -> None:
    model, tokenizer = tiny_model(), byte_tokenizer()
    given = argparse.Namespace(factors=[2, 8], compllm=[2], layers=1, seed=0)
    compressors = compressors_of(model, tokenizer, given)
    found = measure(Reader(model, tokenizer), compressors, 400, 1, 0)
    rows = {(row["method"], row["factor"]): row for row in found["factors"]}
    assert {key: row["vectors"] for key, row in rows.items()} == {("arc", 2): 201, ("arc", 8): 51, ("compllm", 2): 200}
    for row in rows.values():
        assert row["kv_bytes"] < found["full_kv_bytes"] and row["kv_times_smaller"] > 1
        assert all(row[name]["seconds"] >= 0 for name in ("encode", "cached", "on_the_fly", "at_hand"))
    assert line(found).count("\n") == 3 and "compllm 2x" in line(found)
    assert all(compressor.cache is None for compressor in compressors)
