"""Learning from what the decoder itself says after the full text: a signal at every token, for small budgets.

The frozen decoder reads a prompt twice, once with its passages as text and once with vectors in their place. The loss
is the Kullback-Leibler divergence of its next-token distributions at the tokens of the target, mixed with the usual
cross-entropy. It is neither in ARC-Encoder nor in CompLLM, which distils hidden states (see `losses.distillation`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn import functional

from squeeze.errors import ConfigError
from squeeze.train.losses import Ids, forward_rows


def divergence(
    model: Any,
    full: Sequence[torch.Tensor],
    contexts: Sequence[torch.Tensor],
    targets: Sequence[Ids],
    share: float = 1.0,
) -> torch.Tensor:
    """How far reading vectors is from reading the full text at the target's tokens, a scalar tensor.

    Args:
        model: the decoder; it gets no gradient.
        full: input embeddings of what the teacher reads before each target, (positions, width).
        contexts: of what the student reads, with gradient, (positions, width).
        targets: ids of each row.
        share: of the divergence, from 0 to 1; the rest is the cross-entropy of the targets.

    Raises:
        ConfigError: the share is not from 0 to 1, or rows are missing or empty.
    """
    if not 0 <= share <= 1:
        raise ConfigError(f"the share of distillation is {share!r}; allowed: 0 to 1")
    if not targets or not len(full) == len(contexts) == len(targets) or not all(len(ids) for ids in targets):
        raise ConfigError("every row needs a full text, a context and a target of at least one token")
    own = _distributions(model, contexts, targets)
    wanted = torch.tensor([token for ids in targets for token in ids], device=own.device)
    surprise = functional.nll_loss(own, wanted)
    if not share:
        return surprise
    with torch.no_grad():
        aim = _distributions(model, full, targets)
    apart = functional.kl_div(own, aim, reduction="batchmean", log_target=True)
    return share * apart + (1 - share) * surprise


def _distributions(model: Any, contexts: Sequence[torch.Tensor], targets: Sequence[Ids]) -> torch.Tensor:
    """Log-probabilities of every token at the places of the targets, one row after the other, (tokens, vocabulary)."""
    most = max(len(ids) for ids in targets)
    logits = forward_rows(model, contexts, targets, logits_to_keep=most + 1).logits[:, :-1]
    places = torch.cat([logits[row, most - len(ids) :] for row, ids in enumerate(targets)])
    return torch.log_softmax(places.float(), -1)
