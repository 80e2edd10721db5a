"""Whether the evidence survives: an answer inside a kept span of a gold passage, row by row, with intervals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from squeeze.types import Compressed

Row = dict[str, Any]

_FOLD = re.compile(r"\W+")


def fold(text: str) -> str:
    """Lower case, with everything between words as one space: how answers are looked for."""
    return _FOLD.sub(" ", text.lower()).strip()


def answers(row: Row) -> list[str]:
    """The folded answers of a row that says something about survival, else an empty list.

    Left out are rows without an answer, with a long one, whose answer is in no gold document (it cannot survive), and
    those where another document has it too (it may survive by luck).
    """
    extra = row.get("extra", {})
    if extra.get("long_form") or extra.get("summary"):
        return []
    if not extra.get("answer_in_gold", True) or extra.get("non_gold_with_answer", 0):
        return []
    return [folded for folded in map(fold, row["answers"]) if folded]


def answer_kept(row: Row, result: Compressed) -> bool:
    """Whether an answer lies inside one kept span of a gold document. Titles do not count."""
    wanted = answers(row)
    for index, document in enumerate(row["documents"]):
        if document.get("is_gold"):
            for start, end in result.spans(index):
                kept = fold(document["text"][start:end])
                if any(answer in kept for answer in wanted):
                    return True
    return False


def must_keep(row: Row, result: Compressed) -> bool | None:
    """Whether every `must_keep` string lies in the kept spans; None for a row that has none."""
    wanted = row.get("extra", {}).get("must_keep") or []
    if not wanted:
        return None
    texts = [document["text"] for document in row["documents"]]
    kept = fold(" ".join(text[start:end] for i, text in enumerate(texts) for start, end in result.spans(i)))
    return all(fold(item) in kept for item in wanted)


@dataclass(frozen=True, slots=True)
class Difference:
    """Two methods on the same rows.

    Attributes:
        won: rows where the first is better.
        lost: rows where the second is.
        low: lower end of the 95 % bootstrap interval of the mean difference.
        high: upper end.
    """

    won: int
    lost: int
    low: float
    high: float


def difference(first: Sequence[float], second: Sequence[float], *, draws: int = 2000, seed: int = 0) -> Difference:
    """The paired difference of two lists of values, one value for each row."""
    apart = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    if not len(apart):
        return Difference(0, 0, 0.0, 0.0)
    means = np.random.default_rng(seed).choice(apart, (draws, len(apart))).mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return Difference(int((apart > 0).sum()), int((apart < 0).sum()), float(low), float(high))
