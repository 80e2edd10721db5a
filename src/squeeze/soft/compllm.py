"""The CompLLM encoder: short segments become concept embeddings, each apart from the others (arXiv 2509.19228).

    ids of a segment → input embeddings, then ⌈tokens / factor⌉ end-of-sequence embeddings → the language model itself
    with low-rank adapters → last hidden states at the appended places → one linear layer → vectors that it reads

A segment's vectors depend on the segment alone, so they are computed once and read for every later question. The
adapters sit on a copy of the model's modules that shares its weights: the model itself is never touched, so it needs
no switching back and forth, and threads may read and encode at the same time.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any

import torch
from torch import nn

from squeeze.errors import ConfigError, InputError, need
from squeeze.soft.fingerprint import model_fingerprint, weights_fingerprint
from squeeze.soft.layers import LINEAR
from squeeze.soft.pooling import groups
from squeeze.soft.seeds import seeded


@dataclass(frozen=True, slots=True)
class CompSettings:
    """The shape of an encoder.

    Attributes:
        segment: most tokens of a segment.
        factor: tokens per vector; a shorter last segment gives tokens / factor vectors, rounded up.
        lora: rank of the adapters.
        alpha: scale of the adapters.
        end: id whose embedding is appended, once per vector; None for the model's end-of-sequence mark.
    """

    segment: int = 20
    factor: int = 2
    lora: int = 16
    alpha: int = 32
    end: int | None = None

    def __post_init__(self) -> None:
        for name, least in (("segment", 1), ("factor", 1), ("lora", 1), ("alpha", 1), ("end", 0)):
            value = getattr(self, name)
            if name == "end" and value is None:
                continue
            if type(value) is not int or not least <= value <= 1 << 20:
                raise ConfigError(f"{name} is {value!r}; allowed: a whole number from {least} to {1 << 20}")


class CompEncoder(nn.Module):
    """Turns segments of token ids into concept embeddings for the model that it stands on.

    Args:
        model: a Hugging Face causal language model, whose weights are shared and stay as they are.
        settings: the shape.
        seed: of the random weights.

    Raises:
        ConfigError: the model is not of a kind that adapters fit, or names no end-of-sequence mark.
    """

    def __init__(self, model: Any, settings: CompSettings, *, seed: int = 0) -> None:
        super().__init__()
        self.settings = CompSettings(**{**asdict(settings), "end": _end(model, settings.end)})
        self.base = model_fingerprint(model)
        weight = model.get_input_embeddings().weight
        self.size, self.width = int(weight.shape[0]), int(weight.shape[1])
        peft = need("peft", extra="soft")
        lora = peft.LoraConfig(
            r=settings.lora, lora_alpha=settings.alpha, lora_dropout=0.0, target_modules=list(LINEAR)
        )
        with seeded(seed):
            self.inner: Any = _sharing(model)
            try:
                peft.inject_adapter_in_model(lora, self.inner)
            except ValueError as error:
                raise ConfigError(
                    f"a {model.config.model_type} model cannot carry the adapters: {error}; allowed: the Llama, Qwen "
                    "and Gemma kinds"
                ) from error
            self.head = nn.Linear(self.width, self.width)
        for value in self.parameters():
            if value.requires_grad:
                value.data = value.data.to(weight)
        self.train(False)

    def segments(self, ids: Sequence[int]) -> list[Sequence[int]]:
        """A passage as the segments that are encoded apart from each other."""
        size = self.settings.segment
        return [ids[start : start + size] for start in range(0, len(ids), size)]

    def count(self, tokens: int) -> int:
        """Vectors of a passage of so many tokens."""
        full, rest = divmod(tokens, self.settings.segment)
        return full * groups(self.settings.segment, self.settings.factor) + groups(rest, self.settings.factor)

    def forward(self, segments: Sequence[Sequence[int]]) -> list[torch.Tensor]:
        """Vectors of segments side by side, with gradient, each (tokens / factor rounded up, width).

        A shorter segment is padded at the right, where nothing before it looks, so results agree with those of each
        segment alone up to rounding; segments of one length need no padding.

        Raises:
            InputError: a segment that is empty, too long, or has an id that the model does not know.
        """
        self.check(segments)
        slots = [groups(len(ids), self.settings.factor) for ids in segments]
        places = [len(ids) + own for ids, own in zip(segments, slots, strict=True)]
        table = torch.full((len(segments), max(places)), int(self.settings.end or 0), dtype=torch.long)
        for row, ids in enumerate(segments):
            table[row, : len(ids)] = torch.tensor(list(ids))
        # No attention mask is needed: what stands at the right of a place is never looked at.
        out = self.inner(inputs_embeds=self.inner.get_input_embeddings()(table.to(self.device)), use_cache=False)
        states = out.last_hidden_state
        return [
            self.head(states[row, end - own : end]) for row, (end, own) in enumerate(zip(places, slots, strict=True))
        ]

    def encode(self, ids: Sequence[int]) -> torch.Tensor:
        """Vectors of one segment without gradient; nothing else is in the batch."""
        return self.encode_batch([ids])[0]

    def encode_batch(self, segments: Sequence[Sequence[int]]) -> list[torch.Tensor]:
        """Vectors of segments side by side, without gradient."""
        with torch.no_grad():
            return [vectors.clone() for vectors in self(segments)]

    def check(self, segments: Sequence[Sequence[int]]) -> None:
        """Raises `InputError` where something is not a segment that the model can read."""
        if not segments:
            raise InputError("there are no segments to encode; give at least one")
        for ids in segments:
            if not 1 <= len(ids) <= self.settings.segment:
                raise InputError(f"a segment has {len(ids)} tokens; allowed: 1 to {self.settings.segment}")
            if not 0 <= min(ids) <= max(ids) < self.size:
                raise InputError(f"token ids run from {min(ids)} to {max(ids)}; the model knows 0 to {self.size - 1}")

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.head.weight.device

    def own_state(self) -> dict[str, torch.Tensor]:
        """The tensors that are trained and saved: the adapters and the linear layer."""
        return {name: value for name, value in self.state_dict().items() if "lora_" in name or name.startswith("head.")}

    def fingerprint(self) -> str:
        """16 hex digits that name the trained weights and the settings as they are now."""
        return self.fingerprint_of(self.own_state())

    def fingerprint_of(self, state: Mapping[str, torch.Tensor]) -> str:
        """The fingerprint that the encoder has with these trained weights."""
        return weights_fingerprint(state.items(), repr((asdict(self.settings), self.base)))

    def save_pretrained(self, folder: str | PathLike[str]) -> None:
        """Writes the adapters and the head as safetensors and JSON (see `squeeze.soft.compllm_files.save`)."""
        need("squeeze.soft.compllm_files", extra="soft").save(self, folder)

    @classmethod
    def from_pretrained(cls, name: str | PathLike[str], model: Any) -> CompEncoder:
        """The encoder of a folder or hub name (see `squeeze.soft.compllm_files.load`)."""
        encoder: CompEncoder = need("squeeze.soft.compllm_files", extra="soft").load(name, model)
        return encoder


def _sharing(model: Any) -> Any:
    """A copy of the layers of a model, frozen, without the output head, whose weights are the model's own."""
    inner = model.get_decoder() if hasattr(model, "get_decoder") else model.base_model
    memo: dict[int, Any] = {
        id(parameter): nn.Parameter(parameter.detach(), requires_grad=False) for parameter in inner.parameters()
    }
    return copy.deepcopy(inner, memo)


def _end(model: Any, given: int | None) -> int:
    size = model.get_input_embeddings().weight.shape[0]
    found: Any = given
    for place in (getattr(model, "generation_config", None), model.config):
        if found is None:
            found = getattr(place, "eos_token_id", None)
    first = found[0] if isinstance(found, list | tuple) and found else found
    if type(first) is not int or not 0 <= first < size:
        raise ConfigError(f"the end-of-sequence id is {first!r}; allowed: 0 to {size - 1}; give it as settings.end")
    return first
