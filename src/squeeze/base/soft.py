"""The base of methods whose result is vectors: counts them first, then encodes passage by passage."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

from squeeze.base.compressor import Compressor, Draft, Job, whole
from squeeze.errors import BudgetError, need
from squeeze.types import Notice, SoftPart, Unit

PROBE = "Élan 1931: ``x += 0.5``\t(弁は閉じている)\n\n  don't <s></s> 👩‍👧"
"""A text that tokenizers spell in ways of their own: its ids tell them apart."""


class SoftEncoder(Compressor):
    """A method that turns token ids into vectors. It writes `encode`, `count_vectors`, `factors` and `fingerprint`.

    `tokenizer="estimate"` stands for the model's own tokenizer here, so that tokens and vectors are counted alike.

    Attributes:
        cache: the `VectorCache` in which vectors of pieces are found and kept; None for none (see `use_cache`).
    """

    family: ClassVar[str] = "soft tokens"
    output: ClassVar[str] = "soft"
    needs: ClassVar[str] = "soft"
    cache: Any = None

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """What names the model and the checkpoint that the vectors fit."""

    @property
    @abstractmethod
    def factors(self) -> tuple[int, ...]:
        """Tokens per vector that the checkpoint was trained for, ascending."""

    @abstractmethod
    def count_vectors(self, tokens: int, factor: int) -> int:
        """Vectors of a passage of so many ids, special ones included; 0 for none."""

    @abstractmethod
    def encode(self, ids: Sequence[int], factor: int) -> Any:
        """Vectors of one piece, a tensor (vectors, width). They depend on nothing but the piece and the factor."""

    def ids(self, text: str) -> list[int]:
        """The ids that a passage is encoded from."""
        return self.tokenizer.encode(text)

    def pieces(self, ids: Sequence[int]) -> list[Sequence[int]]:
        """A passage's ids as the pieces that are encoded apart from each other; one unless a method has limits."""
        return [ids] if ids else []

    def encode_many(self, pieces: Sequence[Sequence[int]], factor: int) -> list[Any]:
        """Vectors of several pieces, each as `encode` gives them, or as the cache has them."""
        if self.cache is None:
            return [self.encode(piece, factor) for piece in pieces]
        found = []
        for piece in pieces:
            expected = self.expected(piece, factor)
            compute = partial(self.encode, piece, factor)
            found.append(self.cache.get_or_compute(self.cache_key(piece, factor), compute, **expected))
        return found

    def encode_alike(self, pieces: Sequence[Sequence[int]], factor: int) -> list[Any]:
        """Vectors of pieces of one length side by side: faster, and as `encode` gives them up to rounding."""
        return [self.encode(piece, factor) for piece in pieces]

    def like(self) -> Any | None:
        """No vectors at all, (0, width), in the dtype of those that `encode` gives; None where that is not known."""
        return None

    def variant(self) -> dict[str, Any]:
        """What changes vectors besides model, checkpoint, factor and ids; it goes into the keys of a cache."""
        return {}

    def use_cache(self, given: Any) -> None:
        """Looks vectors up in a cache from now on: a folder, a `VectorCache`, a store, or None for none.

        The weights must not change any more: what names them is taken down here.
        """
        self.cache = None if given is None else need("squeeze.soft.cache", extra="soft").VectorCache.of(given)
        if self.cache is not None:
            like, spelled = self.like(), self.ids(PROBE)
            kind = {} if like is None else {"dtype": str(like.dtype), "width": int(like.shape[1])}
            self._constant: dict[str, Any] = {
                "method": self.name,
                "weights": self.fingerprint,
                "tokenizer": spelled,
                **kind,
                **self.variant(),
            }

    def cache_key(self, piece: Sequence[int], factor: int) -> str:
        """The key of a piece's vectors: the method, model, checkpoint, dtype, tokenizer, factor and ids say it all."""
        key: str = need("squeeze.soft.cache", extra="soft").cache_key(
            **self._constant, factor=factor, ids=[int(token) for token in piece]
        )
        return key

    def expected(self, piece: Sequence[int], factor: int) -> dict[str, Any]:
        """The `shape` and `dtype` that a piece's vectors must have; empty where they are not known."""
        like = self.like()
        return {} if like is None else {"shape": (-(-len(piece) // factor), int(like.shape[1])), "dtype": like.dtype}

    def ending(self) -> Any | None:
        """Vectors that end each passage, (vectors, width); None for none."""
        return None

    def _compress(self, job: Job) -> Draft:
        ids = [self.ids(passage.text) for passage in job.passages]
        units = tuple(
            Unit(index, 0, len(passage.text), len(own), 1.0, bool(own), "all" if own else "budget")
            for index, (passage, own) in enumerate(zip(job.passages, ids, strict=True))
            if passage.text
        )
        most = job.tokens_before if job.limit is None else min(job.limit, job.tokens_before)
        totals = {factor: self._total(job, ids, factor) for factor in self.factors}
        fitting = [factor for factor, total in totals.items() if total <= most]
        if not fitting:
            return self._none_fits(job, units, totals)
        return Draft(self._parts(job, ids, fitting[0]), units)

    def _total(self, job: Job, ids: Sequence[Sequence[int]], factor: int) -> int:
        kept = [(len(own), passage.overhead) for own, passage in zip(ids, job.passages, strict=True) if own]
        return sum(self.count_vectors(tokens, factor) + overhead for tokens, overhead in kept)

    def _none_fits(self, job: Job, units: tuple[Unit, ...], totals: dict[int, int]) -> Draft:
        factor, reached = min(totals.items(), key=lambda item: item[1])
        if not job.fits:
            raise BudgetError(
                f"{self.name}: at {factor} tokens per vector, the most that this checkpoint can, the input takes "
                f"{reached} vectors; the limit is {job.limit}: raise it, or drop text before this method",
                reached=reached,
                limit=job.limit or 0,
            )
        notice = Notice("not_shorter", f"the input takes {reached} vectors and has {job.tokens_before} tokens")
        return Draft(whole(job.passages), units, (notice,))

    def _parts(self, job: Job, ids: Sequence[Sequence[int]], factor: int) -> tuple[SoftPart, ...]:
        torch = need("torch", extra="soft")
        ending, parts = self.ending(), []
        for index, (passage, own) in enumerate(zip(job.passages, ids, strict=True)):
            if own:
                vectors = self.encode_many(self.pieces(own), factor)
                vectors = torch.cat([*vectors, ending] if ending is not None else vectors)
                parts.append(SoftPart(index, 0, len(passage.text), vectors, self.fingerprint))
            if job.progress is not None:
                job.progress(index + 1, len(job.passages))
        return tuple(parts)
