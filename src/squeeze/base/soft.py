"""The base of methods whose result is vectors: counts them first, then encodes passage by passage."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from squeeze.base.compressor import Compressor, Draft, Job, whole
from squeeze.errors import BudgetError, need
from squeeze.types import Notice, SoftPart, Unit


class SoftEncoder(Compressor):
    """A method that turns token ids into vectors. It writes `encode`, `count_vectors`, `factors` and `fingerprint`.

    `tokenizer="estimate"` stands for the model's own tokenizer here, so that tokens and vectors are counted alike.
    """

    family: ClassVar[str] = "soft tokens"
    output: ClassVar[str] = "soft"
    needs: ClassVar[str] = "soft"

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
        """Vectors of several pieces, each as `encode` gives them."""
        return [self.encode(piece, factor) for piece in pieces]

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
