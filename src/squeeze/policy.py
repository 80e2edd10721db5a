"""A learned policy that picks segments one after the other, for `squeeze.allocate.Expand`.

After the selective expansion of REFRAG (arXiv 2509.01092): each pick is drawn from a softmax over the segments that are
not picked yet, given what is picked already; the policy is trained by REINFORCE with a baseline. Here it is a bilinear
model in numpy, small enough to be fitted on the features of a few thousand segments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from squeeze.errors import InputError

Matrix = NDArray[np.float64]


@dataclass
class SequentialPolicy:
    """Picks segments by features. Not shared between threads while it learns.

    The logit of segment i is `features[i] @ linear + features[i] @ pair @ mean(features of the picked)`.

    Attributes:
        width: features of a segment.
        linear: weights, (width,).
        pair: weights between a segment and those picked before it, (width, width).
        baseline: running mean of the rewards.
    """

    width: int
    linear: Matrix = field(init=False)
    pair: Matrix = field(init=False)
    baseline: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self.linear = np.zeros(self.width)
        self.pair = np.zeros((self.width, self.width))

    def best(self, features: Matrix, picks: int) -> list[int]:
        """The segments of highest probability, one after the other; ties go to the earlier one."""
        return self._walk(self._checked(features), picks, lambda logits: int(np.argmax(logits)))[0]

    def sample(self, features: Matrix, picks: int, rng: np.random.Generator) -> tuple[list[int], float]:
        """Drawn segments and the logarithm of their joint probability.

        Args:
            features: one row for each segment, (segments, width).
            picks: how many to draw; all when there are fewer.
            rng: the source of randomness.
        """
        picked, chances = self._walk(self._checked(features), picks, lambda logits: _draw(logits, rng))
        return picked, float(sum(np.log(chance) for chance in chances))

    def learn(
        self, features: Matrix, picks: int, reward: Callable[[list[int]], float], rng: np.random.Generator, rate: float
    ) -> float:
        """One step of REINFORCE: draws, asks for the reward, moves the weights; returns the reward.

        Raises:
            InputError: the reward is NaN or infinite; the weights stay as they were.
        """
        rows = self._checked(features)
        picked, _ = self.sample(rows, picks, rng)
        value = float(reward(picked))
        if not np.isfinite(value):
            raise InputError(f"the reward is {value}; allowed: finite numbers")
        advantage = value - self.baseline
        step_linear, step_pair = self.gradient(rows, picked)
        self.linear += rate * advantage * step_linear
        self.pair += rate * advantage * step_pair
        self.baseline += 0.05 * advantage
        return value

    def gradient(self, features: Matrix, picked: list[int]) -> tuple[Matrix, Matrix]:
        """Gradient of the log-probability of these picks in this order: for `linear` and for `pair`."""
        rows = self._checked(features)
        linear, pair = np.zeros_like(self.linear), np.zeros_like(self.pair)
        for place, index in enumerate(picked):
            context = _mean(rows, picked[:place])
            moved = rows[index] - _softmax(self._logits(rows, picked[:place])) @ rows
            linear += moved
            pair += np.outer(moved, context)
        return linear, pair

    def _walk(self, rows: Matrix, picks: int, choose: Callable[[Matrix], int]) -> tuple[list[int], list[float]]:
        picked: list[int] = []
        chances: list[float] = []
        for _ in range(min(picks, len(rows))):
            logits = self._logits(rows, picked)
            picked.append(choose(logits))
            chances.append(float(_softmax(logits)[picked[-1]]))
        return picked, chances

    def _logits(self, rows: Matrix, picked: list[int]) -> Matrix:
        """Logits of all segments; those picked already get minus infinity, so that they cannot be drawn again."""
        logits: Matrix = rows @ self.linear + rows @ (self.pair @ _mean(rows, picked))
        logits[picked] = -np.inf
        return logits

    def _checked(self, features: Matrix) -> Matrix:
        rows = np.asarray(features, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.width:
            raise InputError(f"features have the shape {rows.shape}; allowed: (segments, {self.width})")
        if not np.isfinite(rows).all():
            raise InputError("a feature is NaN or infinite")
        return rows


def _mean(rows: Matrix, picked: list[int]) -> Matrix:
    result: Matrix = rows[picked].mean(axis=0) if picked else np.zeros(rows.shape[1])
    return result


def _softmax(logits: Matrix) -> Matrix:
    powers = np.exp(logits - logits.max())
    result: Matrix = powers / powers.sum()
    return result


def _draw(logits: Matrix, rng: np.random.Generator) -> int:
    return int(rng.choice(len(logits), p=_softmax(logits)))
