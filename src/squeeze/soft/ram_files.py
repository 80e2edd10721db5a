"""Checkpoints of the RAM encoder, those that ship, adapters of a reader that learned with it, and opening for `ram`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from squeeze.errors import ConfigError, CorruptError, need
from squeeze.soft import on_model
from squeeze.soft.files import folder_of, head, read_head, read_tensors, weights_of, write
from squeeze.soft.fingerprint import model_fingerprint, weights_fingerprint
from squeeze.soft.layers import LINEAR
from squeeze.soft.ram import RamEncoder, RamSettings
from squeeze.soft.reference import WEIGHTS
from squeeze.soft.seeds import seeded

FORMAT = "squeeze.ram"
READER = "squeeze.ram.reader"
VERSION = 1


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


class ReaderAdapters:
    """Low-rank adapters put on a reader, which stay there: it answers with them from then on.

    Make the compressor (or the encoder) from the model first: encoders stand on the plain weights.

    Args:
        model: a Hugging Face causal language model; it is changed.
        rank: of the adapters; they start at zero, so nothing is answered otherwise until they are trained or read.
        seed: of their random weights.
    """

    def __init__(self, model: Any, rank: int, *, seed: int = 0) -> None:
        self.model, self.rank, self.base = model, rank, model_fingerprint(model)
        peft = need("peft", extra="soft")
        settings = peft.LoraConfig(r=rank, lora_alpha=2 * rank, lora_dropout=0.0, target_modules=list(LINEAR))
        with seeded(seed):
            peft.inject_adapter_in_model(settings, model)

    def parameters(self) -> dict[str, torch.nn.Parameter]:
        """The adapters' weights by name."""
        return {name: value for name, value in self.model.named_parameters() if "lora_" in name}

    def fingerprint(self) -> str:
        """16 hex digits that name the weights as they are now."""
        return self._fingerprint_of(self.parameters())

    def _fingerprint_of(self, weights: Mapping[str, torch.Tensor]) -> str:
        return weights_fingerprint(weights.items(), repr((self.rank, self.base)))

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes the adapters as safetensors and JSON.

        Raises:
            ConfigError: the folder cannot be written to, or the disk is full.
        """
        info = head(READER, VERSION, self.fingerprint()) | {"rank": self.rank, "base": self.base}
        write(folder, info["weights"], self.parameters(), info)

    def read(self, folder: str | os.PathLike[str]) -> None:
        """Puts weights that were saved into the adapters.

        Raises:
            ConfigError: there are none, or they are another model's.
            CorruptError: they do not read, or are of another rank.
        """
        place = folder_of(folder)
        info = read_head(place, READER, VERSION)
        if info.get("base") != self.base:
            raise ConfigError(f"{place} was made for the model {info.get('base')}; this is {self.base}")
        own = self.parameters()
        read = read_tensors(weights_of(info, place), {name: tuple(value.shape) for name, value in own.items()})
        if self._fingerprint_of(read) != info.get("fingerprint"):
            raise CorruptError(f"the weights in {place} are not those that its {info.get('fingerprint')!r} stands for")
        with torch.no_grad():
            for name, value in own.items():
                value.copy_(read[name])  # in the model's dtype, whichever they were trained in


def adapt_reader(model: Any, folder: str | os.PathLike[str]) -> Any:
    """The model with a reader's adapters put on it, `CHECKPOINT/reader` say; it is changed.

    Raises:
        ConfigError: there are none, or they are another model's.
        CorruptError: they do not read.
    """
    place = folder_of(folder)
    rank = read_head(place, READER, VERSION).get("rank")
    if type(rank) is not int or not 1 <= rank <= 1 << 12:
        raise CorruptError(f"rank of {place} is {rank!r}; allowed: a whole number from 1 to {1 << 12}")
    ReaderAdapters(model, rank).read(place)
    return model


def _place(name: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """The folder of a checkpoint that ships, or the name itself; what is on disk under that name goes first."""
    ships = WEIGHTS / os.fspath(name)
    return ships if not Path(name).exists() and ships.parent == WEIGHTS and ships.is_dir() else name
