"""The ARC-style encoder: passages become vectors in a decoder's input-embedding space (arXiv 2510.20535).

    token ids → first layers of a causal model, causal mask off → last kept layer with pooled queries over un-pooled
    keys and values → `<Rec>` or `<Cont>` appended → two bias-free linear maps → vectors that the decoder reads

One encoder serves several decoders; each has its own projector and its own two special vectors. The decoder itself is
never changed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from os import PathLike
from typing import Any, Literal

import torch
from torch import nn

from squeeze.errors import ConfigError, InputError, nearest, need
from squeeze.soft.fingerprint import model_fingerprint, weights_fingerprint
from squeeze.soft.layers import Cut
from squeeze.soft.pooling import averaging, groups
from squeeze.soft.seeds import seeded

Task = Literal["cont", "rec"]
"""Which special vector ends a passage: `<Cont>` (all reading) or `<Rec>` (training to repeat the passage)."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LORA_TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


@dataclass(frozen=True, slots=True)
class ArcSettings:
    """The shape of an encoder.

    Attributes:
        layers: layers kept of the model that the encoder is cut from.
        factors: pooling factors that it is trained for, ascending.
        chunk: most tokens that see each other; longer passages are encoded in chunks of this size.
        hidden: width between the projector's two maps; 0 for the encoder's own width.
        special: whether `<Rec>` and `<Cont>` exist; without them no vector is appended.
        residual: whether the mean input embedding of each group is added to its vector; only for decoders with the
            embeddings of the encoder. Not in the paper; it makes small training budgets go further.
        lora: rank of the low-rank adapters on the kept layers; 0 trains the layers and the embedding themselves.
        alpha: scale of the adapters.
    """

    layers: int
    factors: tuple[int, ...] = (2, 4, 8)
    chunk: int = 1024
    hidden: int = 0
    special: bool = True
    residual: bool = False
    lora: int = 0
    alpha: int = 32

    def __post_init__(self) -> None:
        for name, least in (("layers", 1), ("chunk", 1), ("hidden", 0), ("lora", 0), ("alpha", 1)):
            value = getattr(self, name)
            if type(value) is not int or not least <= value <= 1 << 20:
                raise ConfigError(f"{name} is {value!r}; allowed: a whole number from {least} to {1 << 20}")
        factors = self.factors
        whole = isinstance(factors, tuple) and all(type(factor) is int and factor >= 1 for factor in factors)
        if not whole or not factors or list(factors) != sorted(set(factors)):
            raise ConfigError(f"factors is {factors!r}; allowed: a tuple of ascending whole numbers from 1 up")
        if not isinstance(self.special, bool) or not isinstance(self.residual, bool):
            raise ConfigError("special and residual are switches; allowed: True, False")


@dataclass(frozen=True, slots=True)
class Decoder:
    """A language model that reads the vectors.

    Attributes:
        width: size of its input embeddings.
        fingerprint: `model_fingerprint` of it; empty where it is not known yet.
    """

    width: int
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class Base:
    """Where the weights of the kept layers come from.

    Attributes:
        own: whether they are the encoder's own (and saved with it), or the model's, under adapters.
        fingerprint: of that model.
        config: its settings, enough to build it.
    """

    own: bool
    fingerprint: str
    config: dict[str, Any] = field(default_factory=dict)


class Head(nn.Module):
    """What one decoder needs: the two-map projector, and `<Rec>` and `<Cont>` in the encoder's width."""

    def __init__(self, width: int, hidden: int, out: int, special: bool) -> None:
        super().__init__()
        self.first = nn.Linear(width, hidden, bias=False)  # torch draws linear maps Kaiming-uniform, as the paper does
        self.second = nn.Linear(hidden, out, bias=False)
        self.rec = nn.Parameter(torch.ones(width)) if special else None
        self.cont = nn.Parameter(torch.ones(width)) if special else None

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """(…, encoder width) -> (…, decoder width)."""
        return self.second(self.first(states))  # type: ignore[no-any-return]

    def special(self, task: Task) -> torch.Tensor | None:
        """The special vector of a task, (encoder width), or None where the encoder has none."""
        return self.rec if task == "rec" else self.cont


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
                r=settings.lora, lora_alpha=settings.alpha, lora_dropout=0.0, target_modules=list(_LORA_TARGETS)
            )
            peft.inject_adapter_in_model(adapters, self.cut)

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
            head = Head(self.cut.width, hidden, width, self.settings.special)
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
        vectors: torch.Tensor = head(self.cut.last(states, mean @ states, lengths))
        return vectors + mean @ embedded if self.settings.residual else vectors

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
        return {name: value for name, value in state.items() if "lora_" in name or name.startswith("heads.")}

    def fingerprint(self) -> str:
        """16 hex digits that name the weights and settings as they are now."""
        return weights_fingerprint(self.own_state().items(), repr((asdict(self.settings), self.base.fingerprint)))

    def save_pretrained(self, folder: str | PathLike[str], tokenizer: Any = None) -> None:
        """Writes the encoder as safetensors and JSON (see `squeeze.soft.checkpoint.save`)."""
        need("squeeze.soft.checkpoint", extra="soft").save(self, folder, tokenizer)

    @classmethod
    def from_pretrained(cls, name: str | PathLike[str], model: Any = None) -> ArcEncoder:
        """The encoder of a folder or hub name (see `squeeze.soft.checkpoint.load`)."""
        encoder: ArcEncoder = need("squeeze.soft.checkpoint", extra="soft").load(name, model)
        return encoder
