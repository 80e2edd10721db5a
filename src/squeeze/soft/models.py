"""Language models and their tokenizers from a folder or the hub: safetensors only, no code of the model's own."""

from __future__ import annotations

import os
from typing import Any

from squeeze.errors import ConfigError, InputError, need


def load_model(name: str | os.PathLike[str]) -> Any:
    """The causal language model of a folder or hub name, in eval mode and in the dtype it is stored in.

    Raises:
        ConfigError: there is none, it is a pickle, or it needs code of its own.
    """
    transformers = need("transformers", extra="soft")
    try:
        model = transformers.AutoModelForCausalLM.from_pretrained(os.fspath(name), use_safetensors=True, dtype="auto")
    except (OSError, ValueError, ImportError, RuntimeError, KeyError) as error:
        raise ConfigError(_trouble("model", name, error)) from error
    return model.eval()


def load_hf_tokenizer(name: str | os.PathLike[str]) -> Any:
    """The Hugging Face tokenizer of a folder or hub name.

    Raises:
        ConfigError: there is none.
    """
    transformers = need("transformers", extra="soft")
    try:
        return transformers.AutoTokenizer.from_pretrained(os.fspath(name))
    except Exception as error:  # the tokenizer library raises bare Exception for files that do not read
        raise ConfigError(_trouble("tokenizer", name, error)) from error


def tokenizer_of(model: Any, given: Any) -> Any:
    """The tokenizer that goes with a model: one that was given, that of the name, or that of where it was loaded from.

    Args:
        model: a name or a model.
        given: a tokenizer object, or `"estimate"` for none.

    Raises:
        ConfigError: there is none to be found.
    """
    if isinstance(model, str | os.PathLike):
        return load_hf_tokenizer(model)
    if not isinstance(given, str) and hasattr(given, "encode"):
        return given
    place = str(getattr(model, "name_or_path", "") or "")
    if place:
        return load_hf_tokenizer(place)
    raise ConfigError("the model does not say where it was loaded from; give its tokenizer too (tokenizer=…)")


def check_model(model: Any) -> None:
    """Raises `InputError` where a model is neither a name nor a Hugging Face model."""
    if not isinstance(model, str | os.PathLike) and not hasattr(model, "get_input_embeddings"):
        raise InputError(f"model is {type(model).__name__}; allowed: a folder, a hub name, or a Hugging Face model")


def _trouble(what: str, name: str | os.PathLike[str], error: Exception) -> str:
    first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return f"the {what} {os.fspath(name)!r} does not load: {first}; allowed: a folder with safetensors, or a hub name"
