"""`arc`: passages as vectors that a language model reads in place of their tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from squeeze.base import SoftEncoder
from squeeze.errors import need
from squeeze.registry import register
from squeeze.tokens import Tokenizer


@register("arc")
class ARC(SoftEncoder):
    """Passages as vectors in the model's input-embedding space, 2 to 8 times fewer than tokens (arXiv 2510.20535).

    A result is read with `squeeze.soft.Reader`. Without a limit the least compression is used that the checkpoint was
    trained for; a limit chooses the least that fits. Every passage also takes one special vector, which is counted.
    """

    def __init__(
        self,
        *,
        tokenizer: Any = "estimate",
        model: Any = None,
        checkpoint: Any = None,
        decoder: str | None = None,
        device: str | None = None,
        cache: Any = None,
    ) -> None:
        """Opens the encoder.

        Args:
            tokenizer: what counts; `"estimate"` stands for the model's own.
            model: the language model that reads the vectors: a folder, a hub name, or a loaded Hugging Face model
                (then give its tokenizer as `tokenizer`). May be left out where the checkpoint holds all its weights,
                and where the checkpoint is left out, too: then it is SmolLM2-135M-Instruct as
                `python -m squeeze.bench.smollm2` makes it.
            checkpoint: the encoder: a folder, a hub name, or an `ArcEncoder`; the one that ships if left out.
            decoder: which decoder of the checkpoint the model is; needed where it has several.
            device: where to encode, `"cuda"` say; where the weights are if left out.
            cache: where vectors of chunks are found and kept: a folder, or a `squeeze.soft.VectorCache`.

        Raises:
            ConfigError: something is missing, or the model is not the one that the checkpoint was made for.
            CorruptError: the checkpoint does not read.
        """
        opening = need("squeeze.soft.opening", extra="soft")
        opened = (
            opening.open_shipped(model, tokenizer)
            if checkpoint is None
            else opening.open_arc(checkpoint, model, tokenizer, decoder)
        )
        super().__init__(tokenizer=opened.counts)
        self.encoder: Any = opened.encoder if device is None else opened.encoder.to(device)
        self.decoder: str = opened.decoder
        self._spells: Tokenizer = opened.spells
        prints = need("squeeze.soft.fingerprint", extra="soft")
        self._fingerprint: str = prints.joined(opened.reads, self.encoder.fingerprint())
        self.use_cache(cache)

    @classmethod
    def example(cls) -> Self:
        """An untrained encoder cut from a two-layer random model."""
        tiny, soft = need("squeeze.soft.tiny", extra="soft"), need("squeeze.soft.arc", extra="soft")
        model = tiny.tiny_model()
        encoder = soft.ArcEncoder.from_model(model, soft.ArcSettings(layers=2, chunk=256))
        return cls(tokenizer=tiny.byte_tokenizer(), model=model, checkpoint=encoder)

    @property
    def fingerprint(self) -> str:
        """The model and the checkpoint that the vectors fit."""
        return self._fingerprint

    @property
    def factors(self) -> tuple[int, ...]:
        """Pooling factors that the checkpoint was trained for, ascending."""
        factors: tuple[int, ...] = self.encoder.settings.factors
        return factors

    def count_vectors(self, tokens: int, factor: int) -> int:
        """Vectors of a passage of so many ids, `<Cont>` included."""
        return int(self.encoder.count(tokens, factor))

    def ids(self, text: str) -> list[int]:
        """The ids that the encoder reads, spelled by its own tokenizer."""
        return self._spells.encode(text)

    def pieces(self, ids: Sequence[int]) -> list[Sequence[int]]:
        """The chunks of a passage; tokens of different chunks do not see each other."""
        pieces: list[Sequence[int]] = self.encoder.chunks(ids)
        return pieces

    def encode(self, ids: Sequence[int], factor: int) -> Any:
        """Vectors of one chunk, (groups, width), on the CPU."""
        return self.encoder.encode(ids, factor, decoder=self.decoder).cpu()

    def encode_alike(self, pieces: Sequence[Sequence[int]], factor: int) -> list[Any]:
        """Vectors of chunks of one length side by side, each as `encode` gives them up to rounding."""
        torch = need("torch", extra="soft")
        for piece in pieces:
            self.encoder.check(piece)
        table = torch.tensor([list(piece) for piece in pieces], device=self.encoder.device)
        with torch.no_grad():
            return [rows.clone() for rows in self.encoder(table, factor, decoder=self.decoder).cpu()]

    def like(self) -> Any:
        """No vectors, (0, width), in the dtype of those of this decoder."""
        weight = self.encoder.heads[self.decoder].second.weight
        return need("torch", extra="soft").zeros(0, weight.shape[0], dtype=weight.dtype)

    def variant(self) -> dict[str, Any]:
        """The decoder: one encoder may have several for the same model."""
        return {"decoder": self.decoder}

    def ending(self) -> Any:
        """`<Cont>` as the model reads it, (1, width); (0, width) where the checkpoint has none."""
        with need("torch", extra="soft").no_grad():
            return self.encoder.special("cont", self.decoder).cpu()
