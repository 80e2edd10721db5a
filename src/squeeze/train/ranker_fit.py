"""Fits the networks of the ranker with numpy: Adam on a weighted logistic loss, whole rows at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from squeeze.score.features import FEATURES
from squeeze.score.network import FARTHEST, Network
from squeeze.train.ranker_rows import Example

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Recipe:
    """How a network is fitted.

    Attributes:
        hidden: widths of the hidden layers; none gives logistic regression.
        members: networks whose outputs are averaged.
        epochs: passes over the rows.
        rate: highest step size, falling to 0 along a half cosine.
        decay: pull of the weights toward 0.
        drop: share of the features left out of each step, so that none is relied on alone.
        batch: rows in a step.
    """

    hidden: tuple[int, ...] = (24,)
    members: int = 3
    epochs: int = 8
    rate: float = 3e-3
    decay: float = 3e-3
    drop: float = 0.1
    batch: int = 24


@dataclass(frozen=True)
class Table:
    """Units of many rows, one after the other: features, labels, weights, and where each row starts."""

    rows: Floats
    labels: Floats
    weights: Floats
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, groups: Sequence[Sequence[Example]]) -> Table:
        """The usable examples of several sets. Each set weighs the same in all, whatever its size."""
        usable = [(one, 1 / len(group)) for group in groups for one in group if one.usable]
        weights = np.concatenate([one.weight * share for one, share in usable])
        return cls(
            rows=np.concatenate([one.rows for one, _ in usable]),
            labels=np.concatenate([one.positive for one, _ in usable]).astype(np.float32),
            weights=(weights * 2 * len(usable) / weights.sum()).astype(np.float32),
            starts=np.concatenate([[0], np.cumsum([len(one.rows) for one, _ in usable])]).astype(np.int64),
        )


def fit(table: Table, recipe: Recipe, seed: int, names: Sequence[str] = FEATURES) -> Network:
    """The network of this recipe over the features of these names, the same for the same seed."""
    mean, scale = table.rows.mean(axis=0), table.rows.std(axis=0)
    scale[scale < 1e-4] = 1  # a feature that never changes says nothing
    inputs = np.clip((table.rows - mean) / scale, -FARTHEST, FARTHEST).astype(np.float32)
    members = [_member(inputs, table, recipe, np.random.default_rng([seed, index])) for index in range(recipe.members)]
    layers = range(0, len(members[0]), 2)
    return Network(
        names=tuple(names),
        mean=mean.astype(np.float64),
        scale=scale.astype(np.float64),
        weights=tuple(np.stack([member[layer] for member in members]).astype(np.float64) for layer in layers),
        biases=tuple(np.stack([member[layer + 1] for member in members]).astype(np.float64) for layer in layers),
    )


def _member(inputs: Floats, table: Table, recipe: Recipe, random: np.random.Generator) -> list[Floats]:
    """The weights and biases of one network, layer by layer."""
    widths = (inputs.shape[1], *recipe.hidden, 1)
    values: list[Floats] = []
    for source, target in pairwise(widths):
        spread = np.sqrt(2 / source) * (0.3 if target == 1 else 1)
        values += [random.normal(0, spread, (source, target)).astype(np.float32), np.zeros(target, np.float32)]
    mean = [np.zeros_like(value) for value in values]
    square = [np.zeros_like(value) for value in values]
    rows = len(table.starts) - 1
    steps, step = recipe.epochs * -(-rows // recipe.batch), 0
    for _ in range(recipe.epochs):
        order = random.permutation(rows)
        for first in range(0, rows, recipe.batch):
            chosen = order[first : first + recipe.batch]
            units = np.concatenate([np.arange(table.starts[row], table.starts[row + 1]) for row in chosen])
            seen = inputs[units] * np.where(random.random(inputs.shape[1]) >= recipe.drop, 1, 0).astype(np.float32)
            weights = table.weights[units] / len(chosen)
            step += 1
            rate = recipe.rate * 0.5 * (1 + np.cos(np.pi * step / steps))
            for index, slope in enumerate(_slopes(values, seen, table.labels[units], weights)):
                if index % 2 == 0:
                    slope = slope + recipe.decay * values[index]
                mean[index] = 0.9 * mean[index] + 0.1 * slope
                square[index] = 0.99 * square[index] + 0.01 * slope**2
                unbiased = np.sqrt(square[index] / (1 - 0.99**step)) + 1e-8
                values[index] = (values[index] - rate * mean[index] / (1 - 0.9**step) / unbiased).astype(np.float32)
    return values


def _slopes(values: list[Floats], inputs: Floats, labels: Floats, weights: Floats) -> list[Floats]:
    """The slopes of the weighted logistic loss, one for each array of `values`."""
    layers = [inputs]
    for index in range(0, len(values) - 2, 2):
        layers.append(np.maximum(layers[-1] @ values[index] + values[index + 1], 0))
    output = (layers[-1] @ values[-2] + values[-1])[:, 0]
    error = (((1 / (1 + np.exp(-np.clip(output, -30, 30)))) - labels) * weights)[:, None].astype(np.float32)
    slopes: list[Floats] = [np.zeros(0, np.float32)] * len(values)
    for index in range(len(values) - 2, -1, -2):
        layer = layers[index // 2]
        slopes[index], slopes[index + 1] = layer.T @ error, error.sum(axis=0)
        if index:
            error = (error @ values[index].T) * (layer > 0)
    return slopes
