"""`compllm`: short segments as vectors that are computed once and read for every later question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from squeeze.base import SoftEncoder
from squeeze.errors import ConfigError, need
from squeeze.registry import register
from squeeze.tokens import Tokenizer


@register("compllm")
class CompLLM(SoftEncoder):
    """Segments of 20 tokens as vectors, each encoded once and kept for every later question (arXiv 2509.19228).

    A result is read with `squeeze.soft.Reader`. The checkpoint fixes how many tokens a vector stands for. Encoding on
    the fly costs more than it saves below a few thousand tokens: with a cache, a corpus is encoded ahead.
    """

    def __init__(
        self,
        *,
        tokenizer: Any = "estimate",
        model: Any = None,
        checkpoint: Any = None,
        device: str | None = None,
        cache: Any = None,
    ) -> None:
        """Opens the encoder.

        Args:
            tokenizer: what counts; `"estimate"` stands for the model's own.
            model: the language model that encodes and reads: a folder, a hub name, or a loaded Hugging Face model
                (then give its tokenizer as `tokenizer`). It is never changed.
            checkpoint: the adapters and the head: a folder, a hub name, or a `CompEncoder`.
            device: where to encode, `"cuda"` say; where the model is if left out.
            cache: where vectors of segments are found and kept: a folder, or a `squeeze.soft.VectorCache`.

        Raises:
            ConfigError: something is missing, or the model is not the one that the checkpoint was made for.
            CorruptError: the checkpoint does not read.
        """
        if checkpoint is None or model is None:
            advice = need("squeeze.soft.reference", extra="soft").advice("compllm")
            raise ConfigError(f"compllm has no default encoder; {advice}")
        opened = need("squeeze.soft.compllm_files", extra="soft").open_compllm(checkpoint, model, tokenizer)
        super().__init__(tokenizer=opened.counts)
        self.encoder: Any = opened.encoder if device is None else opened.encoder.to(device)
        self._spells: Tokenizer = opened.spells
        prints = need("squeeze.soft.fingerprint", extra="soft")
        self._fingerprint: str = prints.joined(self.encoder.base, self.encoder.fingerprint())
        self.use_cache(cache)

    @classmethod
    def example(cls) -> Self:
        """An untrained encoder on a two-layer random model."""
        tiny, soft = need("squeeze.soft.tiny", extra="soft"), need("squeeze.soft.compllm", extra="soft")
        model = tiny.tiny_model()
        encoder = soft.CompEncoder(model, soft.CompSettings(lora=2))
        return cls(tokenizer=tiny.byte_tokenizer(), model=model, checkpoint=encoder)

    @property
    def fingerprint(self) -> str:
        """The model and the checkpoint that the vectors fit."""
        return self._fingerprint

    @property
    def factors(self) -> tuple[int, ...]:
        """The checkpoint's one factor."""
        return (int(self.encoder.settings.factor),)

    def count_vectors(self, tokens: int, factor: int) -> int:
        """Vectors of a passage of so many ids: those of its segments, each rounded up."""
        return int(self.encoder.count(tokens))

    def ids(self, text: str) -> list[int]:
        """The ids that the encoder reads, spelled by the model's tokenizer."""
        return self._spells.encode(text)

    def pieces(self, ids: Sequence[int]) -> list[Sequence[int]]:
        """The segments of a passage; tokens of different segments do not see each other."""
        pieces: list[Sequence[int]] = self.encoder.segments(ids)
        return pieces

    def encode(self, ids: Sequence[int], factor: int) -> Any:
        """Vectors of one segment, (tokens / factor rounded up, width), on the CPU."""
        return self.encoder.encode(ids).cpu()

    def encode_alike(self, pieces: Sequence[Sequence[int]], factor: int) -> list[Any]:
        """Vectors of segments of one length side by side, each as `encode` gives them up to rounding."""
        return [vectors.cpu() for vectors in self.encoder.encode_batch(pieces)]

    def like(self) -> Any:
        """No vectors, (0, width), in the model's dtype."""
        weight = self.encoder.head.weight
        return need("torch", extra="soft").zeros(0, weight.shape[0], dtype=weight.dtype)
