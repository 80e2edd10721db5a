"""Encoders that stand on the reader's own weights: their checkpoints, and what a method needs from what a caller gives.

A checkpoint holds what was trained alone: adapters, heads. The model under it is named by its fingerprint.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch

from squeeze.errors import ConfigError, CorruptError, InputError
from squeeze.soft.files import folder_of, head, read_head, read_settings, read_tensors, shapes, weights_of, write
from squeeze.soft.fingerprint import model_fingerprint
from squeeze.soft.models import check_model, load_model, tokenizer_of
from squeeze.tokens import Tokenizer, load_tokenizer

Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Kind:
    """What sort of encoder a checkpoint holds.

    Attributes:
        format: name of the format.
        version: of the format.
        encoder: class of the encoder, made of a model and settings.
        settings: class of its settings.
        claims: what settings claim that the weights do not hold, for an error message; empty for nothing. Asked before
            memory is taken.
    """

    format: str
    version: int
    encoder: type
    settings: type
    claims: Callable[[Any, Shapes], str]


class Opened(NamedTuple):
    """An encoder ready for use, the tokenizer whose ids it takes, and the one that counts."""

    encoder: Any
    spells: Tokenizer
    counts: Tokenizer


def save(encoder: Any, folder: str | os.PathLike[str], kind: Kind) -> None:
    """Writes what was trained; a save that fails leaves the checkpoint that was there.

    Raises:
        ConfigError: the folder cannot be written to, or the disk is full.
    """
    info = head(kind.format, kind.version, encoder.fingerprint())
    info |= {"settings": asdict(encoder.settings), "base": encoder.base}
    write(folder, info["weights"], encoder.own_state(), info)


def load(name: str | os.PathLike[str], model: Any, kind: Kind) -> Any:
    """The encoder of a checkpoint on its model, in eval mode.

    Args:
        name: a folder or a hub name.
        model: the causal model that it was trained on.
        kind: what is expected.

    Raises:
        ConfigError: no such checkpoint, weights that are missing, or a model that the checkpoint was not made for.
        CorruptError: a file that does not read, is a pickle, or does not hold what its settings say.
    """
    folder = folder_of(name)
    info = read_head(folder, kind.format, kind.version)
    weights = weights_of(info, folder)
    settings = read_settings(info, folder, kind.settings)
    if info.get("base") != model_fingerprint(model):
        raise ConfigError(f"{folder} was made for the model {info.get('base')}; this is {model_fingerprint(model)}")
    claimed = kind.claims(settings, shapes(weights))
    if claimed:
        raise CorruptError(f"{folder} {claimed}")
    encoder = kind.encoder(model, settings)
    state: dict[str, torch.Tensor] = encoder.own_state()
    read = read_tensors(weights, {key: tuple(value.shape) for key, value in state.items()})
    if encoder.fingerprint_of(read) != info.get("fingerprint"):
        raise CorruptError(f"the weights in {folder} are not those that its {info.get('fingerprint')!r} stands for")
    with torch.no_grad():
        for key, value in state.items():
            value.copy_(read[key])  # in the model's dtype, whichever it was trained in
    return encoder


def open_encoder(checkpoint: Any, model: Any, tokenizer: Any, kind: Kind) -> Opened:
    """The encoder of a checkpoint for a model.

    Args:
        checkpoint: a folder, a hub name or an encoder.
        model: a folder, a hub name or a Hugging Face model.
        tokenizer: what counts; `"estimate"` for the model's own.
        kind: what is expected.

    Raises:
        ConfigError: something is missing, or the model is not the one that the checkpoint was made for.
        CorruptError: the checkpoint does not read.
        InputError: an argument of a wrong type.
    """
    check_model(model)
    named = isinstance(checkpoint, str | os.PathLike)
    if not named and not isinstance(checkpoint, kind.encoder):
        allowed = f"a folder, a hub name, a {kind.encoder.__name__}"
        raise InputError(f"checkpoint is {type(checkpoint).__name__}; allowed: {allowed}")
    folder: Path | None = folder_of(checkpoint) if named else None
    loaded = load_model(model) if isinstance(model, str | os.PathLike) else model
    encoder = checkpoint if folder is None else load(folder, loaded, kind)
    found = model_fingerprint(loaded)
    if encoder.base != found:
        raise ConfigError(f"the encoder was made for the model {encoder.base}; this is {found}: give that model")
    own = tokenizer_of(model, tokenizer)
    counts = own if isinstance(tokenizer, str) and tokenizer == "estimate" else tokenizer
    return Opened(encoder.eval(), load_tokenizer(own), load_tokenizer(counts))


def adapter_ranks(found: Shapes) -> set[int]:
    """The ranks of the adapters among some tensors."""
    return {shape[0] for name, shape in found.items() if ".lora_A." in name}
