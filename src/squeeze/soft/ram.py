"""The RAM encoder: segments ranked by a question and pooled by it, all in one pass (arXiv 2602.01840).

    ids of the question and of the segments, rows of one batch → first layers of the language model, causal mask off
    ranking   the mean state of each row → a small contrastive head → cosine with the question's
    skimming  the states of a segment, weighted by the softmax of their cosines with the question's → alignment layer
              → one vector in the model's input-embedding space

The layers are the reader's own: their weights are shared with the model, which is never changed. What is trained is the
head, the alignment layer and, where asked for, low-rank adapters on the layers. Untrained, the head gives the cosine of
the mean states, as in the paper, and every vector is the same blank, which tells the reader nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional

from squeeze.errors import ConfigError, CorruptError, InputError, need
from squeeze.soft.fingerprint import model_fingerprint, weights_fingerprint
from squeeze.soft.layers import LINEAR, Cut
from squeeze.soft.ram_layers import Align, Contrast, Row, Sums
from squeeze.soft.seeds import seeded

_BATCH = 2048  # most tokens of a batch, padding included: larger ones are no faster and take more memory
_LEAST = 256  # tokens that a batch is filled up to even by much shorter rows: smaller ones are slower
_ALIKE = 0.8  # share of the longest row from which on a row is padded to it otherwise
_TINY = 1e-6


@dataclass(frozen=True, slots=True)
class RamSettings:
    """The shape of an encoder.

    Attributes:
        layers: layers of the model that encode.
        limit: most tokens that see each other; a longer segment or question is read in stretches of this length, and
            ranked and pooled as one.
        rank: width of the contrastive head's bottleneck.
        hidden: width between the alignment layer's two maps; 0 for the model's own.
        sharpness: what cosines are multiplied by before the softmax that pools, 0 to 20. At 1, as in the paper, weights
            are nearly even, and a reader that was not trained on such vectors takes them badly; the more, the nearer a
            vector is to the words of its segment that are near the question.
        lora: rank of the low-rank adapters on the layers; 0 for none.
        alpha: scale of the adapters.
    """

    layers: int
    limit: int = 256
    rank: int = 128
    hidden: int = 0
    sharpness: float = 20.0
    lora: int = 0
    alpha: int = 32

    def __post_init__(self) -> None:
        for name, least in (("layers", 1), ("limit", 1), ("rank", 1), ("hidden", 0), ("lora", 0), ("alpha", 1)):
            value = getattr(self, name)
            if type(value) is not int or not least <= value <= 1 << 20:
                raise ConfigError(f"{name} is {value!r}; allowed: a whole number from {least} to {1 << 20}")
        sharp = self.sharpness
        if isinstance(sharp, bool) or not isinstance(sharp, int | float) or not 0 <= sharp <= 20:
            raise ConfigError(f"sharpness is {sharp!r}; allowed: a number from 0 to 20")


class Read(NamedTuple):
    """What is known of segments after reading them.

    Attributes:
        scores: cosine of each segment with the question, (segments,).
        vectors: one for each segment, (segments, width).
    """

    scores: torch.Tensor
    vectors: torch.Tensor


class RamEncoder(nn.Module):
    """Ranks and pools segments for the model that it stands on.

    Args:
        model: a Hugging Face causal language model, whose weights are shared and stay as they are.
        settings: the shape.
        seed: of the random weights.

    Raises:
        ConfigError: the model is not of a kind that can be cut, or carries adapters.
    """

    def __init__(self, model: Any, settings: RamSettings, *, seed: int = 0) -> None:
        super().__init__()
        self.settings, self.base = settings, model_fingerprint(model)
        with seeded(seed):
            self.cut = Cut(model, settings.layers, shared=True)
            if any("lora_" in name for name, _ in self.cut.named_parameters()):
                raise ConfigError("the model carries adapters; make the encoder from the plain model first")
            if settings.lora:
                peft = need("peft", extra="soft")
                adapters = peft.LoraConfig(
                    r=settings.lora, lora_alpha=settings.alpha, lora_dropout=0.0, target_modules=list(LINEAR)
                )
                peft.inject_adapter_in_model(adapters, self.cut)
            self.asked = Contrast(self.cut.width, settings.rank)
            self.told = Contrast(self.cut.width, settings.rank)
            self.align = Align(self.cut.width, settings.hidden or self.cut.width)
        self.to(next(self.cut.embed.parameters()))
        self.blank()
        self.train(False)

    def blank(self, ids: Sequence[int] = ()) -> None:
        """Sets what an untrained vector is: the mean embedding of ids, as long as an embedding usually is.

        Args:
            ids: of a mark that tells a reader nothing, " ..." say; without any all that the model knows are meant.
        """
        every = torch.arange(int(self.cut.config.vocab_size), device=self.device)
        with torch.no_grad():
            known = self.cut.embedded(every[None])[0].float()
            own = known[list(ids)].mean(0) if ids else known.mean(0)
            own = own * known.norm(dim=-1).median() / own.norm().clamp(min=_TINY)
            self.align.blank.copy_(own)

    def forward(self, question: Sequence[int] | None, segments: Sequence[Row]) -> Read:
        """Scores and vectors of segments, with gradient.

        Without a question each segment is compared with the mean of all, and pooled evenly.

        Args:
            question: its ids; None for none.
            segments: at least one, each with at least one id that is pooled.

        Raises:
            InputError: something is empty, or has an id that the model does not know.
            CorruptError: the layers give values that are no finite numbers.
        """
        self.check(question, segments)
        sums = Sums(len(segments), self.cut.width, self.device)
        asked: torch.Tensor | None = None
        for rows, states, embedded in self._batches(question, segments):
            own = [at for at, row in enumerate(rows) if row[0] < 0]  # the question's, all in the first batch
            if own:
                both = [states[at, : len(rows[at][1].ids)] for at in own]
                asked = self.asked(torch.cat(both).mean(0))
            sums.add(rows, states, embedded, self._weights(states, asked))
        kind = next(self.align.parameters()).dtype
        told = self.told(sums.means().to(kind))
        aim = functional.normalize(told.mean(0), dim=-1) if asked is None else asked
        pooled, embeds = sums.pooled()
        read = Read(told @ aim, self.align(pooled.to(kind), embeds.to(kind)))
        if not torch.isfinite(read.scores).all() or not torch.isfinite(read.vectors).all():
            raise CorruptError("the layers give values that are no finite numbers; the model or the checkpoint is bad")
        return read

    def read(self, question: Sequence[int] | None, segments: Sequence[Row]) -> Read:
        """Scores and vectors of segments without gradient, on the CPU (see `forward`)."""
        with torch.no_grad():
            found = self(question, segments)
        return Read(found.scores.float().cpu(), found.vectors.cpu())

    def means(self, rows: Sequence[Sequence[int]]) -> torch.Tensor:
        """The mean state of each row without gradient, (rows, width): what the contrastive head gets."""
        self.check(None, [Row(ids) for ids in rows])
        with torch.no_grad():
            sums = Sums(len(rows), self.cut.width, self.device)
            for own, states, embedded in self._batches(None, [Row(ids) for ids in rows]):
                sums.add(own, states, embedded, states.new_ones(states.shape[:2]))
        return sums.means()

    def check(self, question: Sequence[int] | None, segments: Sequence[Row]) -> None:
        """Raises `InputError` where something is not what the encoder can read."""
        if not segments:
            raise InputError("there are no segments to read; give at least one")
        size = int(self.cut.config.vocab_size)
        for row in [*segments, *([] if question is None else [Row(question)])]:
            if not 0 <= row.lead < len(row.ids):
                raise InputError(f"a row has {len(row.ids)} ids, {row.lead} of them a lead; give one to pool at least")
            if not 0 <= min(row.ids) <= max(row.ids) < size:
                raise InputError(f"ids run from {min(row.ids)} to {max(row.ids)}; the model knows 0 to {size - 1}")

    def _weights(self, states: torch.Tensor, asked: torch.Tensor | None) -> torch.Tensor:
        """What each state counts in the vector of its row, (batch, tokens), not yet brought to the sum of 1."""
        if asked is None or not self.settings.sharpness:
            return states.new_ones(states.shape[:2])
        return torch.exp(self.settings.sharpness * (self.told(states) @ asked - 1).float())

    def _batches(
        self, question: Sequence[int] | None, segments: Sequence[Row]
    ) -> Iterator[tuple[list[tuple[int, Row]], torch.Tensor, torch.Tensor]]:
        """Rows (segment or -1, ids), their states and their input embeddings, each (batch, tokens, width)."""
        rows = sorted(
            ((at, piece) for at, row in enumerate(segments) for piece in self._pieces(row)),
            key=lambda item: -len(item[1].ids),
        )
        asked = [(-1, piece) for piece in self._pieces(Row(question or ()))]
        while rows or asked:
            longest = max(len(row.ids) for _, row in [*rows[:1], *asked])
            least, most = _LEAST // longest, max(1, _BATCH // longest - len(asked))
            near = sum(_ALIKE * longest <= len(row.ids) for _, row in rows[:most])
            count = max(min(least, most), near, 1)
            batch, rows, asked = [*asked, *rows[:count]], rows[count:], []
            yield batch, *self._encoded([row.ids for _, row in batch])

    def _pieces(self, row: Row) -> list[Row]:
        """A row in stretches that the layers read apart from each other; the lead may end in any of them."""
        size = self.settings.limit
        return [
            Row(row.ids[start : start + size], min(size, max(0, row.lead - start)))
            for start in range(0, len(row.ids), size)
        ]

    def _encoded(self, rows: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        """States and input embeddings of rows side by side, each (batch, tokens, width); states of root mean square 1.

        The scale of states is that of a few channels and of the first token, which would drown all others in a mean.
        """
        lengths = [len(ids) for ids in rows]
        table = torch.zeros(len(rows), max(lengths), dtype=torch.long)
        for row, ids in enumerate(rows):
            table[row, : len(ids)] = torch.tensor(list(ids))
        embedded = self.cut.embedded(table.to(self.device))
        hidden = self.cut.states(embedded, lengths)
        states = self.cut.last(hidden, hidden, lengths)
        return states / (states.pow(2).mean(-1, keepdim=True) + _TINY).sqrt(), embedded

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.align.second.weight.device

    def own_state(self) -> dict[str, torch.Tensor]:
        """The tensors that are trained and saved: the head, the alignment layer and the adapters."""
        return {name: value for name, value in self.state_dict().items() if "lora_" in name or name[:4] != "cut."}

    def fingerprint(self) -> str:
        """16 hex digits that name the trained weights and the settings as they are now."""
        return self.fingerprint_of(self.own_state())

    def fingerprint_of(self, state: Mapping[str, torch.Tensor]) -> str:
        """The fingerprint that the encoder has with these trained weights."""
        return weights_fingerprint(state.items(), repr((asdict(self.settings), self.base)))

    def save_pretrained(self, folder: str | PathLike[str]) -> None:
        """Writes what was trained as safetensors and JSON (see `squeeze.soft.ram_files.save`)."""
        need("squeeze.soft.ram_files", extra="soft").save(self, folder)

    @classmethod
    def from_pretrained(cls, name: str | PathLike[str], model: Any) -> RamEncoder:
        """The encoder of a folder or hub name (see `squeeze.soft.ram_files.load`)."""
        encoder: RamEncoder = need("squeeze.soft.ram_files", extra="soft").load(name, model)
        return encoder
