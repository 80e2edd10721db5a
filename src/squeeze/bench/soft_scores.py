"""Scores of answers and what they say over rows: token F1, bootstrap intervals, the share of a gap that is closed."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

DRAWS = 2000
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def words(text: str) -> list[str]:
    """Lower case words without punctuation and articles, as SQuAD compares answers."""
    bare = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return _ARTICLES.sub(" ", bare).split()


def f1(said: str, answers: Sequence[str]) -> float:
    """The best token F1 of what was said against any of the answers, 0 to 1."""
    return max((_f1(words(said), words(answer)) for answer in answers), default=0.0)


def _f1(said: list[str], wanted: list[str]) -> float:
    if not said or not wanted:
        return float(said == wanted)
    common = sum((Counter(said) & Counter(wanted)).values())
    return 2 * common / (len(said) + len(wanted))


def mean(values: Sequence[float], seed: int = 0) -> dict[str, float]:
    """The mean with its 95 % bootstrap interval over rows."""
    given = np.asarray(values, dtype=np.float64)
    return _with_interval(given.mean(), given[_draws(len(given), seed)].mean(axis=1))


def gap(
    values: Sequence[float], none: Sequence[float], full: Sequence[float], seed: int = 0
) -> dict[str, float] | None:
    """Of the way from no context to the full text, the share that the mean has gone, with its interval.

    None where the full text is no better than none, so that there is no gap to close.
    """
    own, low, high = (np.asarray(given, dtype=np.float64) for given in (values, none, full))
    if high.mean() <= low.mean():
        return None
    at = _draws(len(own), seed)
    ways = high[at].mean(axis=1) - low[at].mean(axis=1)
    shares = (own[at].mean(axis=1) - low[at].mean(axis=1))[ways > 0] / ways[ways > 0]
    return _with_interval((own.mean() - low.mean()) / (high.mean() - low.mean()), shares)


def paired(first: Sequence[float], second: Sequence[float], seed: int = 0) -> dict[str, float]:
    """How much better the first is, row by row: mean difference with its interval, rows won and lost."""
    apart = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    return {**mean(apart.tolist(), seed), "won": int((apart > 0).sum()), "lost": int((apart < 0).sum())}


def _draws(rows: int, seed: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).integers(0, rows, (DRAWS, rows))


def _with_interval(value: Any, draws: np.ndarray[Any, Any]) -> dict[str, float]:
    low, high = np.percentile(draws, [2.5, 97.5])
    return {"mean": round(float(value), 4), "low": round(float(low), 4), "high": round(float(high), 4)}
