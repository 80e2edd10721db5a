"""What `arc` needs, from what a caller gives: the encoder, the model's fingerprint and the two tokenizers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from squeeze.errors import ConfigError, InputError
from squeeze.soft.arc import ArcEncoder
from squeeze.soft.checkpoint import has_tokenizer, load, needs_model
from squeeze.soft.files import folder_of, read_info
from squeeze.soft.fingerprint import model_fingerprint
from squeeze.soft.models import check_model, load_hf_tokenizer, load_model, tokenizer_of
from squeeze.soft.reference import advice, shipped, shipped_model
from squeeze.tokens import Tokenizer, load_tokenizer


@dataclass(frozen=True, slots=True)
class Opened:
    """An encoder ready for use.

    Attributes:
        encoder: the encoder, put into eval mode.
        decoder: which of its decoders reads the vectors.
        reads: fingerprint of that model.
        spells: the tokenizer whose ids the encoder takes.
        counts: the tokenizer that counts.
    """

    encoder: ArcEncoder
    decoder: str
    reads: str
    spells: Tokenizer
    counts: Tokenizer


def open_arc(checkpoint: Any, model: Any, tokenizer: Any, decoder: str | None, *, loaded: Any = None) -> Opened:
    """The encoder of a checkpoint for a model.

    A model given by name is loaded only where its weights are needed: under adapters, or to learn its fingerprint.

    Args:
        checkpoint: a folder, a hub name or an `ArcEncoder`.
        model: a folder, a hub name, a Hugging Face model, or None where the checkpoint says all there is to know.
        tokenizer: what counts; `"estimate"` for the model's own.
        decoder: name of the decoder, or None for the only one.
        loaded: the model of that name, where it has been loaded already.

    Raises:
        ConfigError: something is missing, or the model is not the one that the checkpoint was made for.
        CorruptError: the checkpoint does not read.
        InputError: an argument of a wrong type.
    """
    if model is not None:
        check_model(model)
    named = isinstance(model, str | os.PathLike)
    loaded = loaded if named else model
    folder = folder_of(checkpoint) if isinstance(checkpoint, str | os.PathLike) else None
    if folder is not None:
        if needs_model(folder) and named and loaded is None:
            loaded = load_model(model)
        encoder = load(folder, loaded if needs_model(folder) else None)
    elif isinstance(checkpoint, ArcEncoder):
        encoder = checkpoint
    else:
        raise InputError(f"checkpoint is {type(checkpoint).__name__}; allowed: a folder, a hub name, an ArcEncoder")
    name = encoder.decoder(decoder)
    if loaded is None and named and not encoder.decoders[name].fingerprint:
        loaded = load_model(model)
    reads = _fingerprint(encoder, name, loaded)
    own = load_hf_tokenizer(folder) if folder is not None and has_tokenizer(folder) else None
    models = tokenizer_of(model, tokenizer) if model is not None or own is None else own
    counts = load_tokenizer(models if isinstance(tokenizer, str) and tokenizer == "estimate" else tokenizer)
    return Opened(encoder.eval(), name, reads, load_tokenizer(models if own is None else own), counts)


def open_shipped(model: Any, tokenizer: Any) -> Opened:
    """The encoder that ships, for a model, or for the one that it was trained for where none is given.

    Args:
        model: as for `open_arc`, or None.
        tokenizer: what counts; `"estimate"` for the model's own.

    Raises:
        ConfigError: it was trained for another model, or that model has not been converted yet.
    """
    folder = shipped("arc")
    if model is None:
        return open_arc(folder, shipped_model(), tokenizer, None)
    loaded = load_model(model) if isinstance(model, str | os.PathLike) else model
    made_for = read_info(folder)["base"]["fingerprint"]
    if model_fingerprint(loaded) != made_for:
        raise ConfigError(f"the checkpoint of arc that ships was trained for another model; {advice('arc')}")
    return open_arc(folder, model, tokenizer, None, loaded=loaded)


def _fingerprint(encoder: ArcEncoder, name: str, model: Any) -> str:
    """The fingerprint of the model that reads, checked against what the checkpoint knows."""
    known = encoder.decoders[name]
    if model is None:
        if not known.fingerprint:
            raise ConfigError(f"the checkpoint does not know the model behind its decoder {name!r}; give it (model=…)")
        return known.fingerprint
    width, found = model.get_input_embeddings().weight.shape[1], model_fingerprint(model)
    if width != known.width or known.fingerprint not in ("", found):
        raise ConfigError(
            f"the checkpoint's decoder {name!r} is the model {known.fingerprint or 'unknown'} of width {known.width}; "
            f"this model is {found} of width {width}: give the model that the checkpoint was trained for"
        )
    return found
