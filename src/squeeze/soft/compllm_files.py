"""Checkpoints of the CompLLM encoder, and what `compllm` needs from what a caller gives."""

from __future__ import annotations

import os
from typing import Any

from squeeze.soft import on_model
from squeeze.soft.compllm import CompEncoder, CompSettings

FORMAT = "squeeze.compllm"
VERSION = 1


def _claims(settings: CompSettings, found: on_model.Shapes) -> str:
    ranks = on_model.adapter_ranks(found)
    if ranks == {settings.lora}:
        return ""
    return f"holds adapters of rank {sorted(ranks)}; its settings say {settings.lora}"


KIND = on_model.Kind(FORMAT, VERSION, CompEncoder, CompSettings, _claims)


def save(encoder: CompEncoder, folder: str | os.PathLike[str]) -> None:
    """Writes the adapters and the head (see `squeeze.soft.on_model.save`)."""
    on_model.save(encoder, folder, KIND)


def load(name: str | os.PathLike[str], model: Any) -> CompEncoder:
    """The encoder of a checkpoint on its model, in eval mode (see `squeeze.soft.on_model.load`)."""
    encoder: CompEncoder = on_model.load(name, model, KIND)
    return encoder


def open_compllm(checkpoint: Any, model: Any, tokenizer: Any) -> on_model.Opened:
    """The encoder of a checkpoint for a model, and the tokenizers (see `squeeze.soft.on_model.open_encoder`)."""
    return on_model.open_encoder(checkpoint, model, tokenizer, KIND)
