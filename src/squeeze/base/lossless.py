"""The base of methods that drop nothing: `encode` and `decode`, with the round trip checked on every call."""

from __future__ import annotations

import hashlib
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
        leads: what stands before each coded text but the first; None: the blank line between passages. It is no part
            of what decodes.
    """

    header: str
    bodies: tuple[str, ...]
    data: Mapping[str, Any] = field(default_factory=dict)
    leads: tuple[str, ...] | None = None


class Lossless(Compressor):
    """A method whose result restores to the input, byte for byte.

    Attributes:
        min_saving: share of the tokens that coding must save; an input where it saves less is passed through.
    """

    family: ClassVar[str] = "lossless"
    min_saving: float = 0.0

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

    @classmethod
    def entries(cls, coded: Coded) -> dict[str, str]:
        """What each marker stands for, where the coded form has markers that a model may quote."""
        return {}

    def _compress(self, job: Job) -> Draft:
        texts = tuple(passage.text for passage in job.passages)
        coded = self.encode(texts)
        if self.decode(coded) != texts:
            raise CorruptError(f"{self.name}: the coded form does not restore to the input; nothing was returned")
        draft = Draft(_parts(coded, texts), coding={"method": self.name, "digest": digest(texts), **coded.data})
        after = self._measure(job.passages, draft)
        reached = min(after, job.tokens_before)
        if job.limit is not None and reached > job.limit:
            raise BudgetError(
                f"{self.name}: the shortest form has {reached} tokens, the limit is {job.limit}; raise the limit, "
                "or put a method that drops text before it",
                reached=reached,
                limit=job.limit,
            )
        saved = job.tokens_before - after
        if saved > 0 and (saved >= self.min_saving * job.tokens_before or not job.fits):
            return draft
        message = f"the coded form has {after} tokens, the input {job.tokens_before}"
        if saved > 0:
            message += f"; that is less than min_saving={self.min_saving} saves"
        return Draft(whole(job.passages), warnings=(Notice("not_shorter", message),), coding={})


def digest(texts: Sequence[str]) -> str:
    """A fingerprint of the texts, by which an edit of their coded form is found out."""
    found = hashlib.sha256()
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        found.update(len(data).to_bytes(8, "big") + data)
    return found.hexdigest()[:32]


def _parts(coded: Coded, texts: Sequence[str]) -> tuple[TextPart, ...]:
    leads = (JOINER,) * len(texts) if coded.leads is None else coded.leads
    return tuple(
        TextPart(
            index, 0, len(text), body, leads[index] if index else coded.header, ((0, len(text)),) if text else ()
        )
        for index, (body, text) in enumerate(zip(coded.bodies, texts, strict=True))
    )  # fmt: skip
