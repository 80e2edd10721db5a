"""The parts of the RAM encoder: contrastive heads, the alignment layer, and sums over the tokens of segments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional


class Row(NamedTuple):
    """Ids of a segment, of which the first `lead` are ranked by and not pooled (its title)."""

    ids: Sequence[int]
    lead: int = 0


class Contrast(nn.Module):
    """The contrastive head of one side: mean states become unit vectors that are compared by cosine.

    States are shifted and scaled, and a map through a bottleneck is added, which starts at zero.
    """

    def __init__(self, width: int, rank: int) -> None:
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(width))
        self.scale = nn.Parameter(torch.ones(width))
        self.down = nn.Linear(width, rank, bias=False)
        self.up = nn.Linear(rank, width, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """(…, width) -> unit vectors, (…, width); a state of zeros stays one."""
        own = (states - self.shift) * self.scale
        return functional.normalize(own + self.up(self.down(own)), dim=-1)


class Align(nn.Module):
    """The alignment layer: what a pooled segment is to the reader.

    A blank that all vectors share, plus the mean input embedding by a gate for each channel, plus two maps of the mean
    state. Gate and maps start at zero, so an untrained vector is the blank, whatever its segment holds: a frozen reader
    takes a mean of embeddings, which is nobody's, far worse than a place with nothing in it.
    """

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.first = nn.Linear(width, hidden, bias=False)
        self.second = nn.Linear(hidden, width, bias=False)
        self.blank = nn.Parameter(torch.zeros(width))
        self.gate = nn.Parameter(torch.zeros(width))
        nn.init.zeros_(self.second.weight)

    def forward(self, states: torch.Tensor, embeds: torch.Tensor) -> torch.Tensor:
        """Mean states and mean input embeddings of segments, each (…, width), to vectors, (…, width)."""
        added: torch.Tensor = self.second(functional.silu(self.first(states)))
        return self.blank + self.gate * embeds + added


class Sums:
    """Sums over the tokens of each segment, whose stretches may lie in several rows; in float32."""

    def __init__(self, segments: int, width: int, device: torch.device) -> None:
        self.plain, self.states, self.embeds = (torch.zeros(segments, width, device=device) for _ in range(3))
        self.tokens, self.weights = (torch.zeros(segments, 1, device=device) for _ in range(2))

    def add(
        self, rows: Sequence[tuple[int, Row]], states: torch.Tensor, embedded: torch.Tensor, weights: torch.Tensor
    ) -> None:
        """Adds a batch; what each token counts stands in `weights`, (batch, tokens)."""
        kept = [at for at, (segment, _) in enumerate(rows) if segment >= 0]
        if not kept:
            return
        places = torch.arange(states.shape[1], device=states.device)[None]
        ends = torch.tensor([len(rows[at][1].ids) for at in kept], device=states.device)[:, None]
        leads = torch.tensor([rows[at][1].lead for at in kept], device=states.device)[:, None]
        owner = torch.tensor([rows[at][0] for at in kept], device=states.device)
        states, embedded, weights = states[kept].float(), embedded[kept].float(), weights[kept].float()
        inside = (places < ends).float()[..., None]
        share = (inside.squeeze(-1) * (places >= leads) * weights)[..., None]
        self.plain = self.plain.index_add(0, owner, (states * inside).sum(1))
        self.tokens = self.tokens.index_add(0, owner, inside.sum(1))
        self.states = self.states.index_add(0, owner, (states * share).sum(1))
        self.embeds = self.embeds.index_add(0, owner, (embedded * share).sum(1))
        self.weights = self.weights.index_add(0, owner, share.sum(1))

    def means(self) -> torch.Tensor:
        """Mean states, (segments, width)."""
        return self.plain / self.tokens

    def pooled(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Weighted means of states and of input embeddings, each (segments, width)."""
        return self.states / self.weights, self.embeds / self.weights
