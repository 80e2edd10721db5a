"""Fingerprints: short names of models and checkpoints, so that no model reads vectors that do not fit it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

SEPARATOR = ":"
_SIGNS = 256  # values looked at per parameter of a model
_VALUES = 1 << 16  # values looked at per tensor of a checkpoint
_CONFIG = ("model_type", "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads")
_ADAPTER = ("lora_", "modules_to_save")


def model_fingerprint(model: nn.Module) -> str:
    """16 hex digits that name a language model whatever dtype and device it is loaded with.

    The signs of a few hundred values of every parameter are looked at: signs survive rounding to a shorter dtype, and
    no two trained models share all of them. Adapters that are put around a model do not count.
    """
    config: Any = getattr(model, "config", None)
    digest = hashlib.sha256(repr([(name, getattr(config, name, None)) for name in _CONFIG]).encode())
    for name, parameter in sorted((_bare(name), value) for name, value in _own(model)):
        digest.update(f"{name} {tuple(parameter.shape)}".encode())
        digest.update((_strided(parameter, _SIGNS) > 0).to(torch.uint8).cpu().numpy().tobytes())
    return digest.hexdigest()[:16]


def weights_fingerprint(tensors: Iterable[tuple[str, torch.Tensor]], extra: str = "") -> str:
    """16 hex digits that name a set of named tensors and the settings that go with them."""
    digest = hashlib.sha256(extra.encode())
    for name, tensor in sorted(tensors):
        digest.update(f"{name} {tuple(tensor.shape)}".encode())
        digest.update(_strided(tensor, _VALUES).float().cpu().numpy().tobytes())
    return digest.hexdigest()[:16]


def joined(model: str, checkpoint: str) -> str:
    """The fingerprint of a `SoftPart`: of the model that reads it and of the checkpoint that made it."""
    return f"{model}{SEPARATOR}{checkpoint}"


def model_part(fingerprint: str) -> str:
    """The model's half of a `SoftPart`'s fingerprint."""
    return fingerprint.partition(SEPARATOR)[0]


def _own(model: nn.Module) -> Iterable[tuple[str, torch.Tensor]]:
    for name, value in model.named_parameters():
        if value.is_floating_point() and not any(mark in name for mark in _ADAPTER):
            yield name, value.detach()


def _bare(name: str) -> str:
    """A parameter's name without what an adapter library puts around it."""
    return name.removeprefix("base_model.model.").replace(".base_layer.", ".").replace(".original_module.", ".")


def _strided(tensor: torch.Tensor, count: int) -> torch.Tensor:
    flat = tensor.detach().reshape(-1)
    return flat[:: max(1, flat.numel() // count)][:count]
