"""Checkpoints of the RAM encoder, those that ship, and what `ram` needs from what a caller gives."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from squeeze.soft import on_model
from squeeze.soft.ram import RamEncoder, RamSettings

FORMAT = "squeeze.ram"
VERSION = 1
WEIGHTS = Path(__file__).resolve().parent / "weights"
"""Where the checkpoints lie that ship with squeeze; each is named as its folder."""


def _claims(settings: RamSettings, found: on_model.Shapes) -> str:
    ranks = on_model.adapter_ranks(found)
    if ranks != ({settings.lora} if settings.lora else set()):
        return f"holds adapters of rank {sorted(ranks)}; its settings say {settings.lora}"
    heads = {found.get(f"{side}.down.weight", (0,))[0] for side in ("asked", "told")}
    if heads != {settings.rank}:
        return f"holds heads of rank {sorted(heads)}; its settings say {settings.rank}"
    hidden = found.get("align.first.weight", (0,))[0]
    if settings.hidden and hidden != settings.hidden:
        return f"holds an alignment layer of width {hidden}; its settings say {settings.hidden}"
    return ""


KIND = on_model.Kind(FORMAT, VERSION, RamEncoder, RamSettings, _claims)


def save(encoder: RamEncoder, folder: str | os.PathLike[str]) -> None:
    """Writes what was trained (see `squeeze.soft.on_model.save`)."""
    on_model.save(encoder, folder, KIND)


def load(name: str | os.PathLike[str], model: Any) -> RamEncoder:
    """The encoder of a checkpoint on its model, in eval mode (see `squeeze.soft.on_model.load`)."""
    encoder: RamEncoder = on_model.load(_place(name), model, KIND)
    return encoder


def open_ram(checkpoint: Any, model: Any, tokenizer: Any) -> on_model.Opened:
    """The encoder of a checkpoint for a model, and the tokenizers (see `squeeze.soft.on_model.open_encoder`)."""
    place = _place(checkpoint) if isinstance(checkpoint, str) else checkpoint
    return on_model.open_encoder(place, model, tokenizer, KIND)


def _place(name: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """The folder of a checkpoint that ships, or the name itself; what is on disk under that name goes first."""
    ships = WEIGHTS / os.fspath(name)
    return ships if not Path(name).exists() and ships.parent == WEIGHTS and ships.is_dir() else name
