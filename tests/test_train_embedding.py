"""Fitting the scorer "embedding", and the parts of its benchmark, with a made-up encoder."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from squeeze.bench import embedding as bench
from squeeze.errors import ConfigError
from squeeze.score.embedding import INPUTS
from squeeze.score.features import FEATURES
from squeeze.score.network import Network
from squeeze.score.similarity import SIMILARITIES
from squeeze.train import ranker_embedding as train
from squeeze.train.ranker_rows import example

COLOURS = {"door": "green", "roof": "black", "gate": "brown", "wall": "amber", "fence": "white", "porch": "violet"}


class Letters:
    """An encoder whose vectors count letters, and which remembers what it was asked."""

    width = 26

    def __init__(self, beginning: str = "") -> None:
        self.layout = SimpleNamespace(query=beginning)
        self.asked: list[str] = []

    def texts(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += texts
        counts = np.array([[text.lower().count(chr(97 + i)) for i in range(26)] for text in texts], np.float32)
        return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9)

    def queries(self, texts: Sequence[str]) -> np.ndarray:
        return self.texts([self.layout.query + text for text in texts])


def row_of(part: str) -> dict[str, Any]:
    documents = [
        {"title": f"The {other}", "text": f"Rain falls. The {other} is painted {colour}.", "is_gold": other == part}
        for other, colour in COLOURS.items()
    ]
    return {
        "id": part,
        "question": f"How is the {part} painted?",
        "answers": [COLOURS[part]],
        "documents": documents,
        "extra": {"answer_in_gold": True, "non_gold_with_answer": 0, "source": "made up", "license": "none"},
    }


def data(folder: Path, part: str) -> Path:
    folder.mkdir()
    for name in (*train.SETS, *train.DEV_SETS):
        with gzip.open(folder / f"{name}.{part}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(row_of(part)) + "\n" for part in COLOURS)
    return folder


def test_texts_are_asked_for_once_and_kept(tmp_path: Path) -> None:
    encoder: Any = Letters("q: ")
    first = train.Remembered(encoder, tmp_path / "deep" / "nq.npz")
    vectors = first.texts(["Lamp", "lamp", "door"])
    assert encoder.asked == ["lamp", "door"] and (vectors[0] == vectors[1]).all()
    assert not np.allclose(first.queries(["lamp"]), vectors[:1], atol=1e-2)
    first.save()
    again = train.Remembered(encoder, tmp_path / "deep" / "nq.npz")
    asked = len(encoder.asked)
    assert (again.texts(["DOOR"]) == vectors[2]).all() and len(encoder.asked) == asked


def test_features_of_vectors_stand_after_the_others() -> None:
    one, encoder = example(row_of("gate")), Letters()
    with_them = train.with_vectors(one, "How is the gate painted?", encoder)
    without = train.with_vectors(one, "How is the gate painted?", None)
    assert with_them.rows.shape == without.rows.shape == (len(one.corpus), len(INPUTS))
    assert (with_them.rows[:, : len(FEATURES)] == one.rows).all()
    assert (without.rows[:, len(FEATURES) :] == 0).all()
    assert with_them.rows[:, len(FEATURES) + SIMILARITIES.index("sim_nearness")].max() == 1


@pytest.mark.parametrize(("given", "name", "rows"), [("7", "nq", 7), ("7,nq=2", "nq", 2), ("nq=2,7", "squad", 7)])
def test_rows_to_embed_are_given_for_all_or_single_sets(given: str, name: str, rows: int) -> None:
    assert train.embedded_rows(given, name) == rows


@pytest.mark.parametrize("given", ["", "nq=3", "many", "5,nq=x"])
def test_rows_to_embed_that_do_not_read_are_named(given: str) -> None:
    with pytest.raises(ConfigError, match="--embedded is"):
        train.embedded_rows(given, "nq")


def test_the_program_writes_weights_sources_and_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = Letters()
    monkeypatch.setattr(train, "default_model", lambda: "letters")
    monkeypatch.setattr(train.Encoder, "of", lambda *_: encoder)
    monkeypatch.setattr(train, "SETS", ("nq", "squad"))
    weights = tmp_path / "w.npz"
    folders = ["--data", str(data(tmp_path / "train", "train")), "--dev", str(data(tmp_path / "dev", "dev"))]
    places = ["--cache", str(tmp_path / "cache"), "--weights", str(weights), "--report", str(tmp_path / "report")]
    given = ["fit", *folders, *places, "--embedded", "4,squad=0", "--dev-sets", "nq", "--left-out"]
    monkeypatch.setattr("sys.argv", given)
    train.main()
    asked = len(encoder.asked)
    written = weights.read_bytes()
    assert Network.load(weights, INPUTS).names == INPUTS
    assert "nq: 6 rows; none; made up" in weights.with_suffix(".sources.txt").read_text(encoding="utf-8")
    report = json.loads((tmp_path / "report" / "embedding_fit.json").read_text(encoding="utf-8"))
    assert [row["set"] for row in report["left_out"]] == ["nq", "squad"] and report["dev"][0]["rows"] == 6
    assert "as given, ranker" in (tmp_path / "report" / "embedding_fit.txt").read_text(encoding="utf-8")
    train.main()
    assert len(encoder.asked) == asked and weights.read_bytes() == written


def test_the_benchmark_embeds_distinct_units_and_times_in_turn(tmp_path: Path) -> None:
    file = data(tmp_path / "dev", "dev") / "nq.dev.jsonl.gz"
    questions, texts = bench.units(str(file), 2)
    assert len(questions) == 2 and len(set(texts)) == len(texts) == 7
    order: list[str] = []
    seconds = bench.in_turn({name: (lambda name=name: order.append(name)) for name in "ab"}, 2)  # type: ignore[misc]
    assert order == ["a", "b"] * 3 and set(seconds) == {"a", "b"}
