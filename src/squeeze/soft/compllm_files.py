"""Checkpoints of the CompLLM encoder, and what `compllm` needs from what a caller gives."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, NamedTuple

import torch

from squeeze.errors import ConfigError, CorruptError, InputError
from squeeze.soft.compllm import CompEncoder, CompSettings
from squeeze.soft.files import folder_of, read_info, read_tensors, shapes, write
from squeeze.soft.fingerprint import model_fingerprint
from squeeze.soft.models import check_model, load_model, tokenizer_of
from squeeze.tokens import Tokenizer, load_tokenizer

FORMAT = "squeeze.compllm"
VERSION = 1
_WEIGHTS = re.compile(r"weights-[0-9a-f]{16}\.safetensors")


class Opened(NamedTuple):
    """An encoder ready for use, the tokenizer whose ids it takes, and the one that counts."""

    encoder: CompEncoder
    spells: Tokenizer
    counts: Tokenizer


def save(encoder: CompEncoder, folder: str | os.PathLike[str]) -> None:
    """Writes the adapters and the head; a save that fails leaves the checkpoint that was there.

    Raises:
        ConfigError: the folder cannot be written to, or the disk is full.
    """
    fingerprint = encoder.fingerprint()
    info = {
        "format": FORMAT,
        "version": VERSION,
        "weights": f"weights-{fingerprint}.safetensors",
        "fingerprint": fingerprint,
        "settings": asdict(encoder.settings),
        "base": encoder.base,
    }
    write(folder, str(info["weights"]), encoder.own_state(), info)


def load(name: str | os.PathLike[str], model: Any) -> CompEncoder:
    """The encoder of a checkpoint on its model, in eval mode.

    Args:
        name: a folder or a hub name.
        model: the causal model that it was trained on.

    Raises:
        ConfigError: no such checkpoint, weights that are missing, or a model that the checkpoint was not made for.
        CorruptError: a file that does not read, is a pickle, or does not hold what its settings say.
    """
    folder = folder_of(name)
    info = read_info(folder)
    if info.get("format") != FORMAT or info.get("version") != VERSION:
        found = f"{info.get('format')!r}, version {info.get('version')!r}"
        raise CorruptError(f"{folder} is {found}; allowed: {FORMAT!r}, version {VERSION}")
    weights = info.get("weights")
    if not isinstance(weights, str) or not _WEIGHTS.fullmatch(weights):
        raise CorruptError(f"weights of {folder} is {weights!r}; allowed: weights-<16 hex digits>.safetensors")
    settings = _settings(info, folder)
    if info.get("base") != model_fingerprint(model):
        raise ConfigError(f"{folder} was made for the model {info.get('base')}; this is {model_fingerprint(model)}")
    ranks = {shape[0] for key, shape in shapes(folder / weights).items() if ".lora_A." in key}
    if ranks != {settings.lora}:  # looked at first, so that memory is taken for what is there only
        raise CorruptError(f"{folder} holds adapters of rank {sorted(ranks)}; its settings say {settings.lora}")
    encoder = CompEncoder(model, settings)
    expected = {key: tuple(value.shape) for key, value in encoder.own_state().items()}
    read = read_tensors(folder / weights, expected)
    if encoder.fingerprint_of(read) != info.get("fingerprint"):
        raise CorruptError(f"the weights in {folder} are not those that its {info.get('fingerprint')!r} stands for")
    with torch.no_grad():
        for key, value in encoder.own_state().items():
            value.copy_(read[key])  # in the model's dtype, whichever it was trained in
    return encoder


def open_compllm(checkpoint: Any, model: Any, tokenizer: Any) -> Opened:
    """The encoder of a checkpoint for a model.

    Args:
        checkpoint: a folder, a hub name or a `CompEncoder`.
        model: a folder, a hub name or a Hugging Face model.
        tokenizer: what counts; `"estimate"` for the model's own.

    Raises:
        ConfigError: something is missing, or the model is not the one that the checkpoint was made for.
        CorruptError: the checkpoint does not read.
        InputError: an argument of a wrong type.
    """
    check_model(model)
    named = isinstance(checkpoint, str | os.PathLike)
    if not named and not isinstance(checkpoint, CompEncoder):
        raise InputError(f"checkpoint is {type(checkpoint).__name__}; allowed: a folder, a hub name, a CompEncoder")
    folder = folder_of(checkpoint) if named else None
    loaded = load_model(model) if isinstance(model, str | os.PathLike) else model
    encoder = checkpoint if folder is None else load(folder, loaded)
    found = model_fingerprint(loaded)
    if encoder.base != found:
        raise ConfigError(f"the encoder was made for the model {encoder.base}; this is {found}: give that model")
    own = tokenizer_of(model, tokenizer)
    counts = own if isinstance(tokenizer, str) and tokenizer == "estimate" else tokenizer
    return Opened(encoder.eval(), load_tokenizer(own), load_tokenizer(counts))


def _settings(info: Mapping[str, Any], folder: Path) -> CompSettings:
    given = info.get("settings")
    if not isinstance(given, dict) or set(given) != {field.name for field in fields(CompSettings)}:
        raise CorruptError(f"settings of {folder} are not those of an encoder")
    try:
        return CompSettings(**given)
    except ConfigError as error:
        raise CorruptError(f"settings of {folder}: {error}") from None
