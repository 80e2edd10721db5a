"""Fitting the ranker: examples from rows, the loss and its slopes, the same network from the same seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from squeeze.errors import CorruptError
from squeeze.score.features import FEATURES
from squeeze.train.evidence import valued
from squeeze.train.ranker_fit import Recipe, Table, _slopes, fit
from squeeze.train.ranker_rows import VARIANTS, example

COLOURS = {"door": "green", "roof": "black", "gate": "brown", "wall": "amber", "fence": "white", "porch": "violet"}


def row_of(part: str, **extra: Any) -> dict[str, Any]:
    documents = [
        {
            "id": other,
            "title": f"The {other}",
            "text": f"Here stands the {other}. The {other} is painted {colour}. Rain falls. Birds sing.",
            "is_gold": other == part,
        }
        for other, colour in COLOURS.items()
    ]
    return {
        "id": part,
        "question": f"How is the {part} painted?",
        "answers": [COLOURS[part].upper()],
        "documents": documents,
        "extra": {"answer_in_gold": True, "non_gold_with_answer": 0, **extra},
    }


@pytest.mark.parametrize("variant", VARIANTS)
def test_labels_follow_the_answer_through_every_variant(variant: str) -> None:
    one = example(row_of("gate"), variant)
    marked = [text.lower() for text, answer in zip(one.corpus.texts, one.answer.tolist(), strict=True) if answer]
    assert len(marked) == 1 and "the gate is painted brown." in marked[0]
    assert one.rows.shape == (len(one.corpus), len(FEATURES))
    assert one.fair and one.usable


def test_supporting_sentences_weigh_half_and_both_sides_the_same() -> None:
    one = example(row_of("gate", supporting_sentences=["Here stands the gate."]))
    assert one.support.sum() == 1 and one.positive.sum() == 2
    weights = one.weight
    assert weights[one.positive].sum() == pytest.approx(1)
    assert weights[~one.positive].sum() == pytest.approx(1)
    assert weights[one.answer][0] == pytest.approx(2 * weights[one.support][0])


def test_a_row_without_gold_marks_is_refused() -> None:
    row = row_of("gate")
    for document in row["documents"]:
        document.pop("is_gold")
    with pytest.raises(CorruptError, match="'gate' marks no document as gold"):
        example(row)


def test_a_row_whose_answer_is_nowhere_is_not_fitted_on() -> None:
    row = row_of("gate") | {"answers": ["turquoise"]}
    assert not example(row).usable


def test_evidence_survives_only_where_the_unit_is_kept() -> None:
    one = example(row_of("gate"))
    assert one.survives(one.answer.astype(np.float64), 0.2) is True
    assert one.survives(1 - one.answer.astype(np.float64), 0.2) is False


def test_the_same_seed_gives_the_same_network_and_it_learns() -> None:
    examples = [example(row_of(part)) for part in COLOURS]
    table = Table.of([examples])
    assert len(table.starts) == len(COLOURS) + 1
    recipe = Recipe(hidden=(8,), members=2, epochs=30, drop=0.0, batch=3)
    first, again, other = (fit(table, recipe, seed) for seed in (0, 0, 1))
    for left, right in zip(first.weights, again.weights, strict=True):
        np.testing.assert_array_equal(left, right)
    assert not np.array_equal(first.weights[0], other.weights[0])
    scores = first(table.rows.astype(np.float64))
    assert scores[table.labels > 0].min() > np.median(scores[table.labels == 0])


def test_slopes_are_those_of_the_loss() -> None:
    random = np.random.default_rng(0)
    values = [random.normal(size=shape).astype(np.float32) for shape in ((3, 4), (4,), (4, 1), (1,))]
    inputs = random.normal(size=(5, 3)).astype(np.float32)
    labels = np.array([1, 0, 0, 1, 0], np.float32)
    weights = np.full(5, 0.3, np.float32)

    def loss() -> float:
        hidden = np.maximum(inputs.astype(np.float64) @ values[0] + values[1], 0)
        output = (hidden @ values[2] + values[3])[:, 0]
        return float((weights * (np.log1p(np.exp(output)) - labels * output)).sum())

    slopes = _slopes(values, inputs, labels, weights)
    for value, slope in zip(values, slopes, strict=True):
        for index in np.ndindex(value.shape):
            kept, step = value[index], np.float32(1e-3)
            value[index] = kept + step
            above = loss()
            value[index] = kept - step
            below = loss()
            value[index] = kept
            assert slope[index] == pytest.approx((above - below) / (2 * step), abs=2e-3)


def test_ways_of_valuing_units_keep_the_best_first() -> None:
    one = example(row_of("gate"))
    plain = valued(one, "score", 0.0)
    for way, strength in (("repeat", 0.5), ("passage", 0.5), ("repeat", 0.0), ("passage", 1.0)):
        changed = valued(one, way, strength)
        assert np.argmax(changed) == np.argmax(plain)
    np.testing.assert_array_equal(
        np.argsort(-valued(one, "passage", 1.0), kind="stable"), np.argsort(-plain, kind="stable")
    )
