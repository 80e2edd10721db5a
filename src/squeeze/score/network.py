"""A small fitted network that numpy evaluates: standardised features, hidden layers, one number for each row."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from squeeze.errors import CorruptError

Matrix = NDArray[np.float64]

FARTHEST = 6.0
"""How far from the mean of the fit a feature may count, in its spreads: texts unlike all of the fit stay sane."""


@dataclass(frozen=True)
class Network:
    """Several fitted networks of the same shape, whose outputs are averaged.

    Attributes:
        names: the features, in the order of the columns.
        mean: what is subtracted from each feature, (features,).
        scale: what the rest is divided by, (features,).
        weights: for each layer the weights of all members, (members, inputs, outputs).
        biases: for each layer its biases, (members, outputs).
    """

    names: tuple[str, ...]
    mean: Matrix
    scale: Matrix
    weights: tuple[Matrix, ...]
    biases: tuple[Matrix, ...]

    def __call__(self, rows: Matrix) -> Matrix:
        """One number for each row of features, (rows,). No layer but the last may give less than 0."""
        inputs = np.clip((rows - self.mean) / self.scale, -FARTHEST, FARTHEST)
        total = np.zeros(len(rows))
        for member in range(len(self.weights[0])):
            values = inputs
            for depth, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
                values = values @ weight[member] + bias[member]
                if depth < len(self.weights) - 1:
                    values = np.maximum(values, 0)
            total += values[:, 0]
        average: Matrix = total / len(self.weights[0])
        return average

    def save(self, path: Path) -> None:
        """Writes the network without pickle, numbers at half precision, the same bytes for the same network."""
        arrays: dict[str, Any] = {"names": np.array(self.names), "mean": self.mean, "scale": self.scale}
        for depth, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            arrays[f"weight{depth}"] = weight.astype(np.float16)
            arrays[f"bias{depth}"] = bias.astype(np.float32)
        np.savez_compressed(path, **arrays)

    @classmethod
    def load(cls, path: Path, names: Sequence[str]) -> Network:
        """The network of a file.

        Args:
            path: a file that `save` wrote.
            names: the features that will be given, in order.

        Raises:
            CorruptError: the file is missing or damaged, or was fitted on other features.
        """
        try:
            with np.load(path, allow_pickle=False) as arrays:
                network = cls._of(arrays)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise CorruptError(
                f"the weights in {path.name} cannot be read ({error}); install squeeze-rag again"
            ) from error
        if network.names != tuple(names):
            raise CorruptError(
                f"the weights in {path.name} are for other features than the {len(names)} that this version "
                "computes; install squeeze-rag again"
            )
        network._check(path.name)
        return network

    @classmethod
    def _of(cls, arrays: Any) -> Network:
        depth = sum(name.startswith("weight") for name in arrays)
        return cls(
            names=tuple(map(str, arrays["names"])),
            mean=arrays["mean"].astype(np.float64),
            scale=arrays["scale"].astype(np.float64),
            weights=tuple(arrays[f"weight{i}"].astype(np.float64) for i in range(depth)),
            biases=tuple(arrays[f"bias{i}"].astype(np.float64) for i in range(depth)),
        )

    def _check(self, name: str) -> None:
        """Raises when the arrays do not fit together."""
        width, fits = len(self.names), bool(self.weights)
        members = len(self.weights[0]) if fits else 0
        fits = fits and members > 0 and self.mean.shape == self.scale.shape == (width,) and bool((self.scale > 0).all())
        for weight, bias in zip(self.weights, self.biases, strict=True):
            fits = fits and weight.ndim == 3 and weight.shape[:2] == (members, width)
            fits = fits and bias.shape == (members, weight.shape[-1])
            width = weight.shape[-1]
        if not (fits and width == 1 and all(np.isfinite(a).all() for a in (self.mean, *self.weights, *self.biases))):
            raise CorruptError(f"the weights in {name} do not fit together; install squeeze-rag again")
