"""The base of methods that drop nothing: `encode` and `decode`, with the round trip checked on every call."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from squeeze.base.compressor import Compressor, Draft, Job, whole
from squeeze.errors import BudgetError, CorruptError
from squeeze.render import JOINER
from squeeze.types import Notice, TextPart


@dataclass(frozen=True, slots=True)
class Coded:
    """The coded form of some texts.

    Attributes:
        header: what stands in front of them in the prompt (the dictionary).
        bodies: the coded texts, one for each text.
        data: JSON-ready values that decoding needs besides the text.
    """

    header: str
    bodies: tuple[str, ...]
    data: Mapping[str, Any] = field(default_factory=dict)


class Lossless(Compressor):
    """A method whose result restores to the input, byte for byte."""

    family: ClassVar[str] = "lossless"

    @abstractmethod
    def encode(self, texts: Sequence[str]) -> Coded:
        """The coded form of the texts, shorter in tokens where the method can make it so."""

    @classmethod
    @abstractmethod
    def decode(cls, coded: Coded) -> tuple[str, ...]:
        """The texts that `encode` was given.

        Raises:
            CorruptError: it does not decode.
        """

    def _compress(self, job: Job) -> Draft:
        texts = tuple(passage.text for passage in job.passages)
        coded = self.encode(texts)
        if self.decode(coded) != texts:
            raise CorruptError(f"{self.name}: the coded form does not restore to the input; nothing was returned")
        draft = Draft(_parts(coded, texts), coding={"method": self.name, "header": coded.header, **coded.data})
        after = self._measure(job.passages, draft)
        shorter = after < job.tokens_before
        if job.limit is not None and min(after, job.tokens_before) > job.limit:
            reached = min(after, job.tokens_before)
            raise BudgetError(
                f"{self.name}: the shortest form has {reached} tokens, the limit is {job.limit}; raise the limit, "
                "or put a method that drops text before it",
                reached=reached,
                limit=job.limit,
            )
        if shorter:
            return draft
        notice = Notice("not_shorter", f"the coded form has {after} tokens, the input {job.tokens_before}")
        return Draft(whole(job.passages), warnings=(notice,), coding={})


def _parts(coded: Coded, texts: Sequence[str]) -> tuple[TextPart, ...]:
    return tuple(
        TextPart(
            index, 0, len(text), body, JOINER if index else coded.header, ((0, len(text)),) if text else ()
        )
        for index, (body, text) in enumerate(zip(coded.bodies, texts, strict=True))
    )  # fmt: skip
