"""The ARC-style encoder: passages become vectors in a decoder's input-embedding space (arXiv 2510.20535).

    token ids → first layers of a causal model, causal mask off → last kept layer with pooled queries over un-pooled
    keys and values → `<Rec>` or `<Cont>` appended → two bias-free linear maps → vectors that the decoder reads

One encoder serves several decoders; each has its own projector and its own two special vectors. The decoder itself is
never changed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from os import PathLike
from typing import Any

import torch
from torch import nn

from squeeze.errors import ConfigError, InputError, nearest, need
from squeeze.soft.arc_parts import ArcSettings, Base, Decoder, Head, Salience, Task
from squeeze.soft.fingerprint import model_fingerprint, weights_fingerprint
from squeeze.soft.layers import LINEAR, Cut
from squeeze.soft.pooling import averaging, groups
from squeeze.soft.seeds import seeded

__all__ = ["ArcEncoder", "ArcSettings", "Base", "Decoder", "Task", "is_own"]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class ArcEncoder(nn.Module):
    """Turns token ids into vectors for one of its decoders.

    Args:
        cut: the kept layers.
        settings: the shape; it must agree with `cut`.
        base: where the kept layers come from.
    """

    def __init__(self, cut: Cut, settings: ArcSettings, base: Base) -> None:
        super().__init__()
        self.settings, self.base, self.cut = settings, base, cut
        self.heads = nn.ModuleDict()
        self.decoders: dict[str, Decoder] = {}
        if settings.lora:
            peft = need("peft", extra="soft")
            adapters = peft.LoraConfig(
                r=settings.lora,
                lora_alpha=settings.alpha,
                lora_dropout=0.0,
                target_modules=list(LINEAR),
                layers_to_transform=list(settings.with_adapters),
                layers_pattern="layers",
            )
            peft.inject_adapter_in_model(adapters, self.cut)
        self.salience = Salience(cut.width) if settings.residual == "salient" else None

    @classmethod
    def from_model(cls, model: Any, settings: ArcSettings, *, name: str = "decoder", seed: int = 0) -> ArcEncoder:
        """An untrained encoder cut from a causal model, with that model as its first decoder.

        Args:
            model: a Hugging Face causal language model; it is not changed. With adapters its weights are shared,
                otherwise copied.
            settings: the shape.
            name: what the decoder is called.
            seed: of the random weights.
        """
        fingerprint = model_fingerprint(model)
        own = not settings.lora
        with seeded(seed):
            cut = Cut(model, settings.layers, shared=not own)
            encoder = cls(cut, settings, Base(own, fingerprint, cut.config.to_dict() if own else {}))
        if encoder.salience is not None:
            encoder.salience.start(cut.embed, int(cut.config.vocab_size))
        width = model.get_input_embeddings().weight.shape[1]
        encoder.add_decoder(name, width, fingerprint, seed=seed)
        return encoder.to(next(model.parameters()).dtype)

    def add_decoder(self, name: str, width: int, fingerprint: str = "", *, seed: int = 0) -> None:
        """Makes room for another decoder: a fresh projector and fresh special vectors.

        Raises:
            ConfigError: the name is taken or not allowed, or the width does not suit `residual`.
        """
        if not _NAME.fullmatch(name) or name in self.decoders:
            raise ConfigError(f"decoder name {name!r} is taken or not allowed; allowed: letters, digits, - and _")
        if self.settings.residual and width != self.cut.width:
            raise ConfigError(f"residual needs a decoder of width {self.cut.width}; {name!r} has {width}")
        hidden = self.settings.hidden or self.cut.width
        like = next(self.cut.embed.parameters())
        with seeded(seed):
            head = Head(
                self.cut.width, hidden, width, special=self.settings.special, added=bool(self.settings.residual)
            )
        self.heads[name] = head.to(like)
        self.decoders[name] = Decoder(width, fingerprint)

    def train_heads_only(self, *names: str) -> None:
        """Leaves only the heads of these decoders to train: how a decoder is added to a trained encoder."""
        wanted = {f"heads.{self.decoder(name)}." for name in names}
        for key, value in self.named_parameters():
            value.requires_grad_(key.startswith(tuple(wanted)))

    def decoder(self, name: str | None = None) -> str:
        """The name of a decoder; None stands for the only one.

        Raises:
            ConfigError: there is no such decoder, or more than one and none was named.
        """
        if name is None and len(self.decoders) == 1:
            return next(iter(self.decoders))
        if name not in self.decoders:
            raise ConfigError(f"decoder is {name!r}; {nearest(str(name), self.decoders)}")
        return name

    def chunks(self, ids: Sequence[int]) -> list[Sequence[int]]:
        """A passage as the chunks that are encoded apart from each other."""
        size = self.settings.chunk
        return [ids[start : start + size] for start in range(0, len(ids), size)]

    def count(self, tokens: int, factor: int) -> int:
        """Vectors of a passage of so many tokens, the special one included; 0 for an empty passage."""
        if not tokens:
            return 0
        full, rest = divmod(tokens, self.settings.chunk)
        special = 1 if self.settings.special else 0
        return full * groups(self.settings.chunk, factor) + groups(rest, factor) + special

    def forward(
        self, ids: torch.Tensor, factor: int, *, decoder: str | None = None, lengths: list[int] | None = None
    ) -> torch.Tensor:
        """Vectors of chunks, (batch, tokens) -> (batch, groups, decoder width), special vectors left out.

        Args:
            ids: token ids; chunks stand at the left of their row.
            factor: tokens per vector.
            decoder: which decoder reads them.
            lengths: tokens of each chunk; None where all fill their row. Vectors beyond a chunk's groups mean nothing.
        """
        head = self.heads[self.decoder(decoder)]
        embedded = self.cut.embedded(ids)
        states = self.cut.states(embedded, lengths)
        mean = averaging(lengths or [ids.shape[1]] * len(ids), factor, states)
        weights = mean if self.salience is None else self.salience(embedded, states, mean)
        vectors: torch.Tensor = head(self.cut.last(states, mean @ states, lengths))
        return vectors + weights @ embedded if self.settings.residual else vectors

    def special(self, task: Task, decoder: str | None = None) -> torch.Tensor:
        """The vector that ends a passage, (1, decoder width); (0, decoder width) for an encoder without."""
        head: Any = self.heads[self.decoder(decoder)]
        state = head.special(task)
        if state is None:
            return torch.zeros(0, head.second.out_features, dtype=head.second.weight.dtype, device=self.device)
        return head(state[None])  # type: ignore[no-any-return]

    def encode(self, ids: Sequence[int], factor: int, *, decoder: str | None = None) -> torch.Tensor:
        """Vectors of one chunk without gradient, (groups, decoder width).

        They depend on the chunk alone: nothing else is in the batch.

        Raises:
            InputError: no ids, more than a chunk holds, or an id that the encoder does not know.
        """
        self.check(ids)
        with torch.no_grad():
            return self(torch.tensor([list(ids)], device=self.device), factor, decoder=decoder)[0]  # type: ignore[no-any-return]

    def encode_batch(
        self, passages: Sequence[Sequence[int]], factor: int, *, task: Task, decoder: str | None = None
    ) -> list[torch.Tensor]:
        """Vectors of passages side by side, with gradient and special vectors, each (vectors, decoder width).

        Passages longer than a chunk are encoded in chunks. Results agree with `encode` up to rounding.
        """
        pieces = [piece for ids in passages for piece in self.chunks(ids)]
        for piece in pieces:
            self.check(piece)
        lengths = [len(piece) for piece in pieces]
        table = torch.zeros(len(pieces), max(lengths), dtype=torch.long)
        for row, piece in enumerate(pieces):
            table[row, : len(piece)] = torch.tensor(list(piece))
        rows = iter(self(table.to(self.device), factor, decoder=decoder, lengths=lengths))
        special = self.special(task, decoder)
        return [
            torch.cat([*(next(rows)[: groups(len(piece), factor)] for piece in self.chunks(ids)), special])
            for ids in passages
        ]

    def check(self, ids: Sequence[int]) -> None:
        """Raises `InputError` where ids are not one chunk that the encoder can read."""
        size = int(self.cut.config.vocab_size)
        if not 1 <= len(ids) <= self.settings.chunk:
            raise InputError(f"a chunk has {len(ids)} tokens; allowed: 1 to {self.settings.chunk}")
        if not 0 <= min(ids) <= max(ids) < size:
            raise InputError(f"token ids run from {min(ids)} to {max(ids)}; the encoder knows 0 to {size - 1}")

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    def own_state(self) -> dict[str, torch.Tensor]:
        """The tensors that are saved: all of them, or adapters and heads where the layers are the model's."""
        state: dict[str, torch.Tensor] = self.state_dict()
        if self.base.own:
            return state
        return {name: value for name, value in state.items() if is_own(name)}

    def fingerprint(self) -> str:
        """16 hex digits that name the weights and settings as they are now."""
        return self.fingerprint_of(self.own_state())

    def fingerprint_of(self, state: Mapping[str, torch.Tensor]) -> str:
        """16 hex digits that name these weights under the settings."""
        return weights_fingerprint(state.items(), repr((asdict(self.settings), self.base.fingerprint)))

    def save_pretrained(self, folder: str | PathLike[str], tokenizer: Any = None) -> None:
        """Writes the encoder as safetensors and JSON (see `squeeze.soft.checkpoint.save`)."""
        need("squeeze.soft.checkpoint", extra="soft").save(self, folder, tokenizer)

    @classmethod
    def from_pretrained(cls, name: str | PathLike[str], model: Any = None) -> ArcEncoder:
        """The encoder of a folder or hub name (see `squeeze.soft.checkpoint.load`)."""
        encoder: ArcEncoder = need("squeeze.soft.checkpoint", extra="soft").load(name, model)
        return encoder


def is_own(name: str) -> bool:
    """Whether a tensor of this name is the encoder's where the layers are the model's."""
    return "lora_" in name or name.startswith(("heads.", "salience."))
