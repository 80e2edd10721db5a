"""Checkpoints of the ARC-style encoder: `squeeze.json` and one safetensors file that it names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from squeeze.errors import ConfigError, CorruptError, need
from squeeze.soft.arc import ArcEncoder, ArcSettings, Base, is_own
from squeeze.soft.files import folder_of, head, read_head, read_settings, read_tensors, shapes, weights_of, write
from squeeze.soft.fingerprint import model_fingerprint
from squeeze.soft.layers import Cut

FORMAT = "squeeze.arc"
VERSION = 1


def save(
    encoder: ArcEncoder, folder: str | os.PathLike[str], tokenizer: Any = None, dtype: torch.dtype | None = None
) -> None:
    """Writes an encoder; a save that fails leaves the checkpoint that was there.

    Args:
        encoder: what to write.
        folder: where; made if need be.
        tokenizer: the encoder's Hugging Face tokenizer, saved beside it. Needed where the encoder's base is another
            model than the decoder.
        dtype: of the tensors in the file; their own if left out.

    Raises:
        ConfigError: the folder cannot be written to, or the disk is full.
    """
    state = {key: value if dtype is None else value.to(dtype) for key, value in encoder.own_state().items()}
    info = head(FORMAT, VERSION, encoder.fingerprint_of(state)) | {
        "settings": {**asdict(encoder.settings), "factors": list(encoder.settings.factors)},
        "base": asdict(encoder.base),
        "decoders": {name: asdict(decoder) for name, decoder in encoder.decoders.items()},
    }
    write(folder, info["weights"], state, info)
    if tokenizer is not None:
        tokenizer.save_pretrained(os.fspath(folder))


def load(name: str | os.PathLike[str], model: Any = None) -> ArcEncoder:
    """The encoder of a checkpoint, in eval mode.

    Args:
        name: a folder or a hub name.
        model: the causal model under the adapters; needed where the checkpoint holds adapters only.

    Raises:
        ConfigError: no such checkpoint, weights that are missing, or a model that the checkpoint was not made for.
        CorruptError: a file that does not read, is a pickle, or does not hold what its settings say.
    """
    folder = folder_of(name)
    info = read_head(folder, FORMAT, VERSION)
    weights = weights_of(info, folder)
    found = shapes(weights)
    settings, base = read_settings(info, folder, ArcSettings), _base(info, folder)
    _plausible(settings, base, found, folder)
    encoder = _empty(settings, base, model, folder)
    _add_decoders(encoder, info, folder)
    expected = {key: tuple(value.shape) for key, value in encoder.own_state().items()}
    encoder.load_state_dict(read_tensors(weights, expected), strict=False, assign=True)
    if base.own:
        encoder.cut.compute_buffers()
    if encoder.fingerprint() != info.get("fingerprint"):
        raise CorruptError(f"the weights in {folder} are not those that its {info.get('fingerprint')!r} stands for")
    for key, value in encoder.named_parameters():
        value.requires_grad_(base.own or is_own(key))
    if not base.own:  # what ships is stored in half precision
        encoder.to(next(encoder.cut.embed.parameters()).dtype)
    return encoder.eval()


def has_tokenizer(name: str | os.PathLike[str]) -> bool:
    """Whether a checkpoint has a tokenizer of its own."""
    return (folder_of(name) / "tokenizer.json").is_file()


def needs_model(name: str | os.PathLike[str]) -> bool:
    """Whether a checkpoint holds adapters only, so that the model under them is needed."""
    folder = folder_of(name)
    return not _base(read_head(folder, FORMAT, VERSION), folder).own


def _base(info: Mapping[str, Any], folder: Path) -> Base:
    given = info.get("base")
    kinds = {"own": bool, "fingerprint": str, "config": dict}
    if not isinstance(given, dict) or {key: type(value) for key, value in given.items()} != kinds:
        raise CorruptError(f"base of {folder} is not what an encoder is cut from")
    return Base(**given)


def _plausible(settings: ArcSettings, base: Base, found: Mapping[str, tuple[int, ...]], folder: Path) -> None:
    """Raises where settings claim more than the weights file holds: memory is taken for what is there only."""
    layers = {name.split(".")[2] for name in found if name.startswith("cut.layers.")}
    own = len(settings.with_adapters) if settings.lora else settings.layers
    if layers and len(layers) != own:
        raise CorruptError(f"{folder} holds {len(layers)} layers; its settings say {own}")
    if base.own != ("cut.embed.weight" in found) or base.own == bool(settings.lora):
        raise CorruptError(f"{folder}: its settings and its weights disagree on whether the layers are its own")
    ranks = {shape[0] for name, shape in found.items() if ".lora_A." in name}
    if settings.lora and ranks != {settings.lora}:
        raise CorruptError(f"{folder} holds adapters of rank {sorted(ranks)}; its settings say {settings.lora}")
    hidden = {shape[0] for name, shape in found.items() if name.endswith(".first.weight")}
    if settings.hidden and hidden != {settings.hidden}:
        raise CorruptError(f"{folder} holds projectors of width {sorted(hidden)}; its settings say {settings.hidden}")
    if base.own:
        size = (base.config.get("vocab_size"), base.config.get("hidden_size"))
        if size != found["cut.embed.weight"]:
            raise CorruptError(f"{folder} holds embeddings {found['cut.embed.weight']}; its settings say {size}")


def _empty(settings: ArcSettings, base: Base, model: Any, folder: Path) -> ArcEncoder:
    """An encoder whose own weights are still to be read: they take no memory."""
    if not base.own:
        if model is None:
            raise ConfigError(f"{folder} holds adapters for a model; give that model too (model=…)")
        if model_fingerprint(model) != base.fingerprint:
            raise ConfigError(f"{folder} was made for the model {base.fingerprint}; this is {model_fingerprint(model)}")
        return ArcEncoder(Cut(model, settings.layers, shared=True), settings, base)
    transformers = need("transformers", extra="soft")
    try:
        config = transformers.AutoConfig.for_model(**{**base.config, "num_hidden_layers": settings.layers})
        with torch.device("meta"):
            shell = transformers.AutoModelForCausalLM.from_config(config)
    except Exception as error:  # transformers raises many kinds for settings that make no model
        raise CorruptError(f"base of {folder} makes no model: {error}") from None
    return ArcEncoder(Cut(shell, settings.layers, shared=True), settings, base)


def _add_decoders(encoder: ArcEncoder, info: Mapping[str, Any], folder: Path) -> None:
    given = info.get("decoders")
    if not isinstance(given, dict) or not given:
        raise CorruptError(f"{folder} names no decoders")
    for name, values in given.items():
        sound = isinstance(values, dict) and {key: type(value) for key, value in values.items()} == {
            "width": int,
            "fingerprint": str,
        }
        if not sound or not 1 <= values["width"] <= 1 << 20:
            raise CorruptError(f"decoder {name!r} of {folder} is {values!r}; allowed: a width and a fingerprint")
        try:
            encoder.add_decoder(name, values["width"], values["fingerprint"])
        except ConfigError as error:
            raise CorruptError(f"{folder}: {error}") from None
