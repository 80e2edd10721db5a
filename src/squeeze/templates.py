"""Lines of one shape with other numbers, as logs have them: together they count as one line or a few."""

from __future__ import annotations

import re

import numpy as np

from squeeze.score.base import Corpus, Scores

KINDS = ("line", "record")
"""Kinds of units that a program wrote in great number."""

_FULL = 3
"""How many lines of a shape keep their whole score."""

_LEAST = 8
"""Lines below which nothing is a pattern yet."""

_NUMBERED = re.compile(r"[^\s\"'=,;()\[\]{}]*\d[^\s\"'=,;()\[\]{}]*")


def shape(line: str) -> str:
    """The line with everything that holds a digit replaced by one mark."""
    return _NUMBERED.sub("#", line)


def weights(corpus: Corpus, scores: Scores) -> Scores:
    """What the score of each unit is multiplied with when units are ranked, (units,), above 0 and at most 1.

    The best three lines of a shape count fully, the n-th best counts 3 / n, so that a line of which there is only one
    is not pushed out by a hundred that differ in a number. The line that matches a query best is the first of its
    shape and loses nothing. All other kinds of units count fully.
    """
    result = np.ones(len(corpus))
    lines = [index for index, kind in enumerate(corpus.kinds) if kind in KINDS]
    if len(lines) < _LEAST:
        return result
    seen: dict[str, int] = {}
    texts = corpus.texts
    for index in sorted(lines, key=lambda index: (-float(scores[index]), index)):
        own = shape(texts[index])
        rank = seen[own] = seen.get(own, 0) + 1
        result[index] = min(1.0, _FULL / rank)
    return result
