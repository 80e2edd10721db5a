"""SmolLM2 for transformers of another age: the settings and the tokenizer written as they read them."""

from __future__ import annotations

import json
import os
import pathlib
import tempfile
from typing import Any


def with_model(options: dict[str, Any]) -> dict[str, Any]:
    """The options with the folder of a small causal model: SmolLM2-135M-Instruct unless another is given."""
    from squeeze.bench import smollm2

    return {**options, "model": str(options.get("model") or smollm2.ensure())}


def older(folder: str) -> tempfile.TemporaryDirectory[str]:
    """A folder with the same weights that transformers 4.40 and tokenizers 0.19 read; it goes with the object.

    They know neither `rope_parameters` nor merges as pairs, both silently or not at all.
    """
    source, made = pathlib.Path(folder), tempfile.TemporaryDirectory(prefix="smollm2-")
    target = pathlib.Path(made.name)
    os.symlink((source / "model.safetensors").absolute(), target / "model.safetensors")
    config = _read(source / "config.json")
    config["rope_theta"] = config.pop("rope_parameters", {}).get("rope_theta", config.get("rope_theta", 10000.0))
    config["torch_dtype"] = config.pop("dtype", "float32")
    _write(target / "config.json", config)
    tokenizer = _read(source / "tokenizer.json")
    merges = tokenizer["model"]["merges"]
    tokenizer["model"]["merges"] = [one if isinstance(one, str) else " ".join(one) for one in merges]
    tokenizer["model"].pop("ignore_merges", None)
    _write(target / "tokenizer.json", tokenizer)
    names = {"bos_token", "eos_token", "pad_token", "unk_token"}
    special = {key: value for key, value in _read(source / "tokenizer_config.json").items() if key in names}
    kind: dict[str, Any] = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}
    kind["model_input_names"] = ["input_ids", "attention_mask"]
    _write(target / "tokenizer_config.json", special | kind)
    return made


def _read(file: pathlib.Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return value


def _write(file: pathlib.Path, value: dict[str, Any]) -> None:
    file.write_text(json.dumps(value), encoding="utf-8")
