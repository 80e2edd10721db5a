"""What an ARC-style encoder is made of: its settings, what it knows of its decoders, projectors, and salience."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import nn
from torch.nn import functional

from squeeze.errors import ConfigError

Task = Literal["cont", "rec"]
"""Which special vector ends a passage: `<Cont>` (all reading) or `<Rec>` (training to repeat the passage)."""

_SAMPLE = 8192
_RIDGE = 1e-4
_SHARPNESS = 3.0


@dataclass(frozen=True, slots=True)
class ArcSettings:
    """The shape of an encoder.

    Attributes:
        layers: layers kept of the model that the encoder is cut from.
        factors: pooling factors that it is trained for, ascending.
        chunk: most tokens that see each other; longer passages are encoded in chunks of this size.
        hidden: width between the projector's two maps; 0 for the encoder's own width.
        special: whether `<Rec>` and `<Cont>` exist; without them no vector is appended.
        residual: `"mean"` adds the mean input embedding of each group to its vector, `"salient"` a mean weighted by
            what each token is worth (see `Salience`); only for decoders with the embeddings of the encoder. The
            projector then sees normed states and starts at zero. Not in the paper; it makes small training budgets
            go further.
        lora: rank of the low-rank adapters on the kept layers; 0 trains the layers and the embedding themselves.
        alpha: scale of the adapters.
        adapted: how many of the last kept layers have adapters; 0 for all.
    """

    layers: int
    factors: tuple[int, ...] = (2, 4, 8)
    chunk: int = 1024
    hidden: int = 0
    special: bool = True
    residual: Literal["", "mean", "salient"] = ""
    lora: int = 0
    alpha: int = 32
    adapted: int = 0

    def __post_init__(self) -> None:
        for name, least in (("layers", 1), ("chunk", 1), ("hidden", 0), ("lora", 0), ("alpha", 1), ("adapted", 0)):
            value = getattr(self, name)
            if type(value) is not int or not least <= value <= 1 << 20:
                raise ConfigError(f"{name} is {value!r}; allowed: a whole number from {least} to {1 << 20}")
        factors = self.factors
        whole = isinstance(factors, tuple) and all(type(factor) is int and factor >= 1 for factor in factors)
        if not whole or not factors or list(factors) != sorted(set(factors)):
            raise ConfigError(f"factors is {factors!r}; allowed: a tuple of ascending whole numbers from 1 up")
        if not isinstance(self.special, bool):
            raise ConfigError(f"special is {self.special!r}; allowed: True, False")
        if self.residual not in ("", "mean", "salient"):
            raise ConfigError(f"residual is {self.residual!r}; allowed: 'mean', 'salient', '' for none")

    @property
    def with_adapters(self) -> range:
        """Numbers of the kept layers that have adapters, where there are any."""
        return range(max(0, self.layers - (self.adapted or self.layers)), self.layers)


@dataclass(frozen=True, slots=True)
class Decoder:
    """A language model that reads the vectors.

    Attributes:
        width: size of its input embeddings.
        fingerprint: `model_fingerprint` of it; empty where it is not known yet.
    """

    width: int
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class Base:
    """Where the weights of the kept layers come from.

    Attributes:
        own: whether they are the encoder's own (and saved with it), or the model's, under adapters.
        fingerprint: of that model.
        config: its settings, enough to build it.
    """

    own: bool
    fingerprint: str
    config: dict[str, Any] = field(default_factory=dict)


class Head(nn.Module):
    """What one decoder needs: the two-map projector, and `<Rec>` and `<Cont>` in the encoder's width.

    Args:
        width: of the encoder's states.
        hidden: between the two maps.
        out: width of the decoder's input embeddings.
        special: whether there are special vectors.
        added: whether vectors are added to a residual: states are normed, so that the size of deep states does not
            matter, and nothing is added before training.
    """

    def __init__(self, width: int, hidden: int, out: int, *, special: bool, added: bool = False) -> None:
        super().__init__()
        self.added = added
        self.first = nn.Linear(width, hidden, bias=False)  # torch draws linear maps Kaiming-uniform, as the paper does
        self.second = nn.Linear(hidden, out, bias=False)
        if added:
            nn.init.zeros_(self.second.weight)
        self.rec = nn.Parameter(torch.ones(width)) if special else None
        self.cont = nn.Parameter(torch.ones(width)) if special else None

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """(…, encoder width) -> (…, decoder width)."""
        if self.added:
            states = functional.rms_norm(states, states.shape[-1:])
        return self.second(self.first(states))  # type: ignore[no-any-return]

    def special(self, task: Task) -> torch.Tensor | None:
        """The special vector of a task, (encoder width), or None where the encoder has none."""
        return self.rec if task == "rec" else self.cont


class Salience(nn.Module):
    """How much each token of a group counts in the residual: a softmax over the group of a learned linear score.

    A group's mean is nobody's embedding: a frozen decoder reads little from it. Weights let the rare word of a group
    stand for it. Ids of byte-pair vocabularies are in the order in which pieces were merged, the frequent ones first,
    so scores start as the logarithm of the id, as far as embeddings tell it; training goes on from there.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.embedding = nn.Parameter(torch.zeros(width))
        self.state = nn.Parameter(torch.zeros(width))

    def start(self, embed: nn.Module, size: int) -> None:
        """Sets the scores of an untrained encoder from an embedding of so many ids, by ridge regression."""
        ids = torch.linspace(0, size - 1, min(size, _SAMPLE)).long()
        with torch.no_grad():
            rows = embed(ids.to(next(embed.parameters()).device)).double().cpu()
            rows, wanted = rows - rows.mean(0), (ids + 1).double().log()
            shrink = _RIDGE * len(rows) * torch.eye(rows.shape[1], dtype=rows.dtype)
            found = torch.linalg.solve(rows.T @ rows + shrink, rows.T @ (wanted - wanted.mean()))
            self.embedding.copy_(found * _SHARPNESS)

    def forward(self, embedded: torch.Tensor, states: torch.Tensor, mean: torch.Tensor) -> torch.Tensor:
        """The weights of the tokens of each group, (batch, groups, tokens), in place of those of its mean.

        Args:
            embedded: input embeddings, (batch, tokens, width).
            states: what the last kept layer gets, (batch, tokens, width).
            mean: the matrices of `squeeze.soft.pooling.averaging`, (batch, groups, tokens).
        """
        scores = embedded @ self.embedding + functional.rms_norm(states, states.shape[-1:]) @ self.state
        inside = mean > 0
        least = torch.finfo(scores.dtype).min
        return torch.softmax(scores[:, None].masked_fill(~inside, least), -1) * inside
