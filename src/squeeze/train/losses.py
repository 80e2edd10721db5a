"""What soft tokens are trained on: the frozen decoder's cross-entropy for text that follows vectors.

The objectives and their shares are those of ARC-Encoder (arXiv 2510.20535): repeat the passage after `<Rec>`, go on
after `<Cont>`, later answer questions between passages. The gradient goes through the decoder into the vectors; the
decoder itself gets none.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch.nn import functional

from squeeze.errors import ConfigError
from squeeze.soft.arc import ArcEncoder
from squeeze.soft.inputs import text_embeds

Ids = Sequence[int]
Objective = Literal["reconstruction", "continuation"]
_IGNORED = -100


@dataclass(frozen=True, slots=True)
class Mix:
    """What a training step is drawn from.

    Attributes:
        factors: pooling factors, each as likely as the others.
        decoders: decoders of the encoder, each as likely as the others.
        reconstruction: share of steps that repeat the passage; the rest goes on from it.
    """

    factors: tuple[int, ...]
    decoders: tuple[str, ...]
    reconstruction: float = 0.2

    def draw(self, chance: random.Random) -> tuple[Objective, int, str]:
        """The objective, factor and decoder of one step."""
        objective: Objective = "reconstruction" if chance.random() < self.reconstruction else "continuation"
        return objective, chance.choice(self.factors), chance.choice(self.decoders)


@dataclass(frozen=True, slots=True)
class Step:
    """How passages are encoded in one step.

    Attributes:
        encoder: the encoder that is trained.
        model: the decoder, whose weights stay as they are.
        factor: pooling factor.
        decoder: the decoder's name in the encoder; None for the only one.
    """

    encoder: ArcEncoder
    model: Any
    factor: int
    decoder: str | None = None


def reconstruction(step: Step, passages: Sequence[Ids], prefix: Ids = (), targets: Sequence[Ids] | None = None) -> Any:
    """Loss of repeating passages from their vectors and `<Rec>`: mean cross-entropy per token, a scalar tensor.

    Args:
        step: what encodes and what reads.
        passages: ids of the passages, as the encoder spells them.
        prefix: ids that stand before the vectors, a begin mark say.
        targets: ids of the same passages as the decoder spells them, where it spells otherwise.
    """
    vectors = step.encoder.encode_batch(passages, step.factor, task="rec", decoder=step.decoder)
    return _after(step, vectors, passages if targets is None else targets, prefix)


def continuation(step: Step, passages: Sequence[Ids], following: Sequence[Ids], prefix: Ids = ()) -> Any:
    """Loss of going on from passages given as vectors and `<Cont>`: mean cross-entropy per token, a scalar tensor.

    Args:
        step: what encodes and what reads.
        passages: ids of the passages, as the encoder spells them.
        following: ids of what follows each of them, as the decoder spells it.
        prefix: ids that stand before the vectors: a begin mark, text before the passage.
    """
    vectors = step.encoder.encode_batch(passages, step.factor, task="cont", decoder=step.decoder)
    return _after(step, vectors, following, prefix)


def interleaved(step: Step, shots: Sequence[Sequence[tuple[Literal["text", "passage"], Ids]]]) -> Any:
    """Loss of the last answer of prompts in which passages, given as vectors, alternate with text.

    Args:
        step: what encodes and what reads.
        shots: prompts; each a list of text and passages in reading order, of which the last is the answer, as text.

    Raises:
        ConfigError: a prompt that does not end with text.
    """
    passages = [ids for prompt in shots for kind, ids in prompt if kind == "passage"]
    vectors = iter(
        step.encoder.encode_batch(passages, step.factor, task="cont", decoder=step.decoder) if passages else []
    )
    contexts, targets = [], []
    for prompt in shots:
        if not prompt or prompt[-1][0] != "text" or not prompt[-1][1]:
            raise ConfigError("a prompt to train on ends with the text of its answer")
        pieces = [next(vectors) if kind == "passage" else _text(step, ids) for kind, ids in prompt[:-1]]
        contexts.append(torch.cat(pieces))
        targets.append(prompt[-1][1])
    return read_loss(step.model, contexts, targets)


def read_loss(model: Any, contexts: Sequence[torch.Tensor], targets: Sequence[Ids]) -> Any:
    """Mean cross-entropy of target tokens, each row's after its context, a scalar tensor.

    Args:
        model: the decoder; neither its weights nor its flags change, and it gets no gradient.
        contexts: input embeddings of each row, (positions, width), with gradient.
        targets: ids of each row.

    Raises:
        ConfigError: a row without context or without target.
    """
    if not targets or not all(len(ids) for ids in targets) or not all(len(context) for context in contexts):
        raise ConfigError("every row needs a context and a target of at least one token")
    device = contexts[0].device
    most = max(len(ids) for ids in targets)
    longest = max(len(context) + len(ids) for context, ids in zip(contexts, targets, strict=True))
    rows, labels = [], torch.full((len(targets), most), _IGNORED, device=device)
    mask = torch.zeros(len(targets), longest, dtype=torch.long, device=device)
    with frozen(model):
        for row, (context, ids) in enumerate(zip(contexts, targets, strict=True)):
            target = torch.tensor([list(ids)], device=device)
            embeds = torch.cat([context, text_embeds(model, target)[0].to(context.dtype)])
            rows.append(functional.pad(embeds, (0, 0, longest - len(embeds), 0)))
            mask[row, longest - len(embeds) :] = 1
            labels[row, most - len(ids) :] = target[0]
        logits = model(
            inputs_embeds=torch.stack(rows).to(model.dtype),
            attention_mask=mask,
            position_ids=(mask.cumsum(1) - 1).clamp(min=0),
            use_cache=False,
            logits_to_keep=most + 1,
        ).logits[:, :-1]
    return functional.cross_entropy(logits.flatten(0, 1).float(), labels.flatten(), ignore_index=_IGNORED)


@contextmanager
def frozen(model: Any) -> Iterator[None]:
    """Inside, a graph through the model leaves its weights out, and nothing is dropped at random."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    training = [module for module in model.modules() if module.training]
    for parameter in trained:
        parameter.requires_grad_(False)
    model.eval()
    try:
        yield
    finally:
        for parameter in trained:
            parameter.requires_grad_(True)
        for module in training:
            module.training = True


def _after(step: Step, vectors: Sequence[torch.Tensor], targets: Sequence[Ids], prefix: Ids) -> Any:
    before = _text(step, prefix)
    return read_loss(step.model, [torch.cat([before, own]) for own in vectors], targets)


def _text(step: Step, ids: Ids) -> torch.Tensor:
    """Input embeddings of text, (tokens, width), without gradient and in the vectors' dtype."""
    like = next(step.encoder.parameters())
    with torch.no_grad():
        return text_embeds(step.model, torch.tensor([list(ids)], dtype=torch.long))[0].to(like)
