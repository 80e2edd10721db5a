"""What goes into a model as `inputs_embeds`: embeddings of token ids, checked vectors, padded rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from squeeze.errors import ConfigError, CorruptError, InputError


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """A batch that a model can read; shorter rows are padded at the left.

    Attributes:
        inputs_embeds: (batch, positions, width), in the model's dtype and on its device.
        attention_mask: 1 for what is read, 0 for padding, (batch, positions).
        position_ids: 0, 1, … from each row's first read position on, (batch, positions).
        text_ids: the token ids of each row's text, vectors left out.
        slots: number of vectors in each row.
    """

    inputs_embeds: torch.Tensor
    attention_mask: torch.Tensor
    position_ids: torch.Tensor
    text_ids: tuple[tuple[int, ...], ...]
    slots: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One row before it is padded: embeddings of text and vectors in reading order.

    Attributes:
        embeds: (positions, width).
        text_ids: the token ids of the text.
        slots: number of vectors.
    """

    embeds: torch.Tensor
    text_ids: tuple[int, ...]
    slots: int


def text_embeds(model: Any, ids: torch.Tensor) -> torch.Tensor:
    """The embeddings that the model makes of token ids, (batch, tokens) -> (batch, tokens, width), scaled as it does.

    Raises:
        ConfigError: the model embeds tokens in every layer, which vectors cannot stand in for.
    """
    config: Any = getattr(model, "config", None)
    if getattr(config, "hidden_size_per_layer_input", 0):
        kind = getattr(config, "model_type", type(model).__name__)
        raise ConfigError(f"a {kind} model embeds tokens in every layer, so it cannot read vectors")
    return model.get_input_embeddings()(ids.to(device_of(model)))  # type: ignore[no-any-return]


def prepare_embeds(model: Any, vectors: Any) -> torch.Tensor:
    """Vectors in the model's dtype and on its device, whatever they are in.

    Args:
        model: the model that reads them.
        vectors: array or tensor, (…, width).

    Raises:
        ConfigError: their width is not the model's.
        CorruptError: one of them is not finite, here or in the model's dtype.
    """
    tensor = torch.as_tensor(vectors)
    weight = model.get_input_embeddings().weight
    if tensor.ndim < 2 or tensor.shape[-1] != weight.shape[1]:
        raise ConfigError(f"vectors have the shape {tuple(tensor.shape)}; the model reads (…, {weight.shape[1]})")
    if not tensor.is_floating_point():
        raise InputError(f"vectors are {tensor.dtype}; allowed: floating-point numbers")
    tensor = tensor.detach().to(device=weight.device, dtype=weight.dtype)
    if not torch.isfinite(tensor).all():
        bad = int((~torch.isfinite(tensor)).any(-1).sum())
        raise CorruptError(f"{bad} vectors hold values that are no finite numbers; encode them again")
    return tensor


def device_of(model: Any) -> torch.device:
    """Where the model's input embeddings are."""
    return model.get_input_embeddings().weight.device  # type: ignore[no-any-return]


def ids_row(model: Any, ids: Sequence[int]) -> Row:
    """A row of text alone."""
    return Row(_embedded(model, ids), tuple(ids), 0)


def vectors_row(model: Any, vectors: Any) -> Row:
    """A row of vectors alone, checked."""
    embeds = prepare_embeds(model, vectors)
    return Row(embeds, (), len(embeds))


def join(rows: Sequence[Row]) -> Row:
    """Rows one after the other as one."""
    return Row(
        torch.cat([row.embeds for row in rows]),
        tuple(token for row in rows for token in row.text_ids),
        sum(row.slots for row in rows),
    )


def pad_left(rows: Sequence[Row]) -> Inputs:
    """Rows as a batch, padded at the left with zeros that nothing looks at."""
    lengths = [len(row.embeds) for row in rows]
    most, first = max(lengths), rows[0].embeds
    embeds = first.new_zeros(len(rows), most, first.shape[1])
    mask = torch.zeros(len(rows), most, dtype=torch.long, device=first.device)
    for index, (row, length) in enumerate(zip(rows, lengths, strict=True)):
        embeds[index, most - length :] = row.embeds
        mask[index, most - length :] = 1
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    return Inputs(embeds, mask, positions, tuple(row.text_ids for row in rows), tuple(row.slots for row in rows))


def positions_of(model: Any) -> int | None:
    """The most positions that the model reads; None where its settings do not say."""
    config: Any = model.config
    config = config.get_text_config() if hasattr(config, "get_text_config") else config
    most = getattr(config, "max_position_embeddings", None)
    return most if isinstance(most, int) and most > 0 else None


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Inside, the model is in eval mode; after that, every part of it is in the mode it was in."""
    training = [module for module in model.modules() if module.training]
    if not training:
        yield
        return
    model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True


def _embedded(model: Any, ids: Sequence[int]) -> torch.Tensor:
    size = model.get_input_embeddings().weight.shape[0]
    if ids and not 0 <= min(ids) <= max(ids) < size:
        raise ConfigError(f"token ids run from {min(ids)} to {max(ids)}; the model knows 0 to {size - 1}")
    with torch.no_grad():
        return text_embeds(model, torch.tensor([list(ids)], dtype=torch.long))[0]
