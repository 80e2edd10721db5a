"""What a serving engine takes: a prompt with vectors in it as one tensor, in base64 or in a safetensors file.

vLLM reads the base64 form where it is started with `--enable-prompt-embeds`, as `prompt_embeds` of its Completions API:
a tensor (positions, width) in the model's dtype, written by `torch.save`. The server adds no chat template and no begin
mark there, so the prompt is whole: template, context, question, and the opening of the answer.
"""

from __future__ import annotations

import base64
import io
import os
from typing import Any

import torch

from squeeze.errors import CorruptError, InputError, need
from squeeze.files import write_file

TENSOR = "prompt_embeds"
"""Name of the tensor in a safetensors file."""

_FORMAT = "squeeze.prompt_embeds/1"


def prompt_embeds(reader: Any, compressed: Any, prompt: Any) -> torch.Tensor:
    """A context and a prompt as the model reads them, (positions, width), in the model's dtype, on the CPU.

    Args:
        reader: a `Reader` with the model that is served.
        compressed: one context (see `Reader.inputs_embeds`).
        prompt: its prompt.

    Raises:
        InputError: a list of contexts; each is a request of its own.
        SqueezeError: whatever `Reader.inputs_embeds` raises.
    """
    if isinstance(compressed, list | tuple):
        raise InputError(f"{len(compressed)} contexts are given; allowed: one, as each is a request of its own")
    embeds: torch.Tensor = reader.inputs_embeds(compressed, prompt).inputs_embeds[0]
    return embeds.detach().cpu().contiguous()


def to_prompt_embeds(reader: Any, compressed: Any, prompt: Any) -> str:
    """The base64 text that vLLM's `prompt_embeds` takes; arguments and errors are those of `prompt_embeds`."""
    file = io.BytesIO()
    torch.save(prompt_embeds(reader, compressed, prompt).clone(), file)
    return base64.b64encode(file.getvalue()).decode("ascii")


def save_prompt_embeds(path: str | os.PathLike[str], reader: Any, compressed: Any, prompt: Any) -> None:
    """Writes the tensor as safetensors, whole or not at all, with the model's fingerprint.

    Args:
        path: the file.
        reader: see `prompt_embeds`.
        compressed: see `prompt_embeds`.
        prompt: see `prompt_embeds`.

    Raises:
        ConfigError: the file cannot be written.
    """
    told = {"format": _FORMAT, "model": reader.fingerprint}
    tensor = prompt_embeds(reader, compressed, prompt)
    write_file(os.fspath(path), need("safetensors.torch", extra="soft").save({TENSOR: tensor}, told))


def load_prompt_embeds(path: str | os.PathLike[str]) -> torch.Tensor:
    """The tensor of a file that `save_prompt_embeds` wrote, (positions, width).

    Raises:
        CorruptError: the file does not hold one.
    """
    files = need("squeeze.soft.files", extra="soft")
    source = files.Path(path)
    found = files.shapes(source)
    if set(found) != {TENSOR} or len(found[TENSOR]) != 2:
        raise CorruptError(f"{source} holds {found}; allowed: one tensor {TENSOR!r}, (positions, width)")
    tensor: torch.Tensor = files.read_tensors(source, found)[TENSOR]
    return tensor
