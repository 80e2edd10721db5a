"""Whether the evidence survives: an answer inside a kept span of a gold passage, row by row, with intervals."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from squeeze.bench.baselines import Kept, words
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


def kept_spans(result: Compressed) -> Kept:
    """The kept spans of a result, as the measures take them."""
    return [(index, span) for index in range(len(result.passages)) for span in result.spans(index)]


def answer_kept(row: Row, kept: Kept) -> bool:
    """Whether an answer lies inside one kept span of a gold document. Titles do not count."""
    wanted = answers(row)
    for index, (start, end) in kept:
        document = row["documents"][index]
        if document.get("is_gold"):
            text = fold(document["text"][start:end])
            if any(answer in text for answer in wanted):
                return True
    return False


def must_keep(row: Row, kept: Kept) -> bool | None:
    """Whether every `must_keep` string lies in the kept spans; None for a row that has none."""
    wanted = row.get("extra", {}).get("must_keep") or []
    if not wanted:
        return None
    text = fold(" ".join(row["documents"][index]["text"][start:end] for index, (start, end) in kept))
    return all(fold(item) in text for item in wanted)


def cover(row: Row, text: str) -> float | None:
    """The share of a long answer's pairs of longer words that a text has, the mean over answers; None for others."""
    if not (row.get("extra", {}).get("long_form") or row.get("extra", {}).get("summary")):
        return None
    have, wanted = _pairs(text), [pairs for pairs in map(_pairs, row["answers"]) if pairs]
    if not row["answers"]:
        return None
    return float(np.mean([len(pairs & have) / len(pairs) for pairs in wanted])) if wanted else 0.0


def _pairs(text: str) -> set[tuple[str, str]]:
    longer = [word for word in words(text) if len(word) > 3]
    return set(itertools.pairwise(longer))


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


def interval(groups: Sequence[Sequence[float]], *, draws: int = 2000, seed: int = 0) -> tuple[float, float]:
    """The 95 % bootstrap interval of the mean over groups of the mean of each, rows drawn anew within their group."""
    full = [np.asarray(group, dtype=np.float64) for group in groups if len(group)]
    if not full:
        return 0.0, 0.0
    draw = np.random.default_rng(seed)
    means = np.mean([draw.choice(group, (draws, len(group))).mean(axis=1) for group in full], axis=0)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)
