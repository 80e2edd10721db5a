"""Numbers made comparable between texts: relative to the best, to the mean, or by rank."""

from __future__ import annotations

import numpy as np

from squeeze.score.base import Scores

_LEAST = 1e-9
"""Spreads and sums below this are 0 but for rounding."""


def relative(values: Scores) -> Scores:
    """The values as shares of the highest; 0 where none is above 0."""
    top = float(values.max()) if len(values) else 0.0
    return values / top if top > _LEAST else np.zeros(len(values))


def standard(values: Scores) -> Scores:
    """The values with mean 0 and spread 1, at most 4 from 0; 0 where all are equal."""
    spread = float(values.std()) if len(values) else 0.0
    return np.clip((values - values.mean()) / spread, -4, 4) if spread > _LEAST else np.zeros(len(values))


def centred(values: Scores) -> Scores:
    """The values less their mean."""
    return values - values.mean() if len(values) else values


def nearness(values: Scores) -> Scores:
    """1 for the highest value, 1/2 for the second, and so on; equal values share the better place, 0 gets 0."""
    order = np.sort(values)
    higher = len(values) - np.searchsorted(order, values, side="right")
    near: Scores = (values > 0) / (1.0 + higher)
    return near


def saturated(values: Scores) -> Scores:
    """Values from 0 up brought below 1, small ones nearly unchanged."""
    bounded: Scores = 1 - np.exp(-values)
    return bounded
