"""The benchmark of lossless methods on a small folder of its own."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import squeeze
from squeeze.bench import lossless, lossless_reader, lossless_rows
from squeeze.bench.longest_first import longest_first
from squeeze.coding.select import Phrase


def folder_with(path: Path, texts: list[str]) -> Path:
    (path / "dev").mkdir()
    with gzip.open(path / "dev" / "logs.dev.jsonl.gz", "wt", encoding="utf-8") as out:
        for text in texts:
            out.write(json.dumps({"documents": [{"text": text}, {"text": "end"}]}) + "\n")
    return path


def test_longest_first_takes_the_longest_and_counts_the_rest_again() -> None:
    ids = [1, 2, 3, 4, 5, 9, 1, 2, 3, 4, 5, 8, 4, 5, 7, 4, 5]
    assert longest_first(ids, 8) == [Phrase(5, (0, 6), 2)]
    assert longest_first(ids, 4)[0] == Phrase(4, (0, 6), 1)
    assert longest_first([7] * 20, 8) == [Phrase(8, (0, 8), 5)]
    assert longest_first([], 8) == longest_first([1], 8) == []


def test_windows_are_full_and_spread() -> None:
    assert lossless.windows(range(10), 3, 5) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert lossless.windows(range(10), 2, 2) == [[0, 1], [4, 5]]
    assert lossless.windows(range(2), 3, 5) == []


def test_the_program_writes_its_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Bytes:
        def encode(self, text: str) -> list[int]:
            return list(text.encode())

    monkeypatch.setattr(lossless, "load_tokenizer", lambda name: Bytes())
    folder = folder_with(tmp_path, [f"line {at}: the disk is full\n" * 6 for at in range(3)])
    target = tmp_path / "out.json"
    lossless.main(
        ["--data", str(folder), "--sets", "logs", "--sizes", "100,200", "-n", "2", "--rows", "0", "--json", str(target)]
    )
    report = json.loads(target.read_text("utf-8"))
    assert [run["size"] for run in report["runs"]] == [100, 200]
    for run in report["runs"]:
        saved = {method: figures["saved"] for method, figures in run["methods"].items()}
        assert saved["meta_tokens"] > 0.3
        assert saved["meta_tokens"] >= saved["longest first, 8"]


def test_a_missing_set_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no set 'logs'"):
        next(lossless.rows(tmp_path, "logs"))


def rows_of(path: Path, name: str, rows: list[dict[str, object]]) -> Path:
    with gzip.open(path / f"{name}.dev.jsonl.gz", "wt", encoding="utf-8") as out:
        for row in rows:
            out.write(json.dumps(row) + "\n")
    return path


def test_whole_rows_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_with(
        tmp_path, [f"entry {at} of the log says that the disk of host {at} is full\n" * 9 for at in range(4)]
    )
    monkeypatch.setattr(lossless_rows, "load", lambda name, tokenizer: squeeze.load(name, tokenizer=Bytes()))
    found = lossless_rows.measure_set(folder, "logs", 3, "bytes")
    assert found["rows"] == 3 and found["lossless"] > 0.5 and found["meta_tokens"] > 0.5
    assert found["least"] <= found["lossless"] and "whole rows x3" in lossless_rows.line(found)


class Bytes:
    name = "bytes"

    def encode(self, text: str) -> list[int]:
        return list(text.encode())

    def decode(self, ids: list[int]) -> str:
        return bytes(ids).decode("utf-8", errors="replace")

    def count(self, text: str) -> int:
        return len(self.encode(text))


def test_a_local_model_reads_plain_and_coded_text(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from squeeze.soft.tiny import byte_tokenizer, tiny_model

    pairs = json.dumps({f"device-{at:04}": f"serial-{at * 37:06}" for at in range(60)}, indent=1)
    record = json.dumps([{"order": f"#{at}", "status": "delivered to the customer"} for at in range(9)])
    filler = json.dumps([{"order": f"#{at + 40}", "status": "delivered to the customer"} for at in range(9)])
    rows_of(
        tmp_path,
        "kv_json",
        [{"question": "Which?", "answers": ["serial-000370"], "documents": [{"text": pairs}]}] * 2,
    )
    documents = [{"text": text} for text in (filler, record, filler)]
    rows_of(tmp_path, "tool_json_orders", [{"question": "Which?", "answers": ["#7"], "documents": documents}])
    model = tmp_path / "model"
    tiny_model().save_pretrained(str(model))
    byte_tokenizer().save_pretrained(str(model))
    found = lossless_reader.read(str(model), tmp_path, 2, 900)
    assert [(each["set"], each["rows"]) for each in found] == [("kv_json", 2), ("tool_json_orders", 1)]
    for each in found:
        assert each["tokens_coded"] < each["tokens_plain"] <= 900
        assert all(value < 0 for value in each["log_likelihood_per_answer_token"].values())
