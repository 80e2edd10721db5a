"""The original texts of a result, decoded from the result."""

from __future__ import annotations

from squeeze.errors import NotReversibleError
from squeeze.types import Compressed, TextPart


def restore(result: Compressed) -> tuple[str, ...]:
    """The text of every passage; after a pipeline, what its last lossy stage left.

    Raises:
        NotReversibleError: text was dropped, or the result holds soft tokens.
        CorruptError: the coded text does not decode.
    """
    parts = [part for part in result.parts if isinstance(part, TextPart)]
    if len(parts) < len(result.parts):
        raise NotReversibleError(f"the result of {result.method!r} holds soft tokens, which do not restore to text")
    if result.coding and "method" in result.coding:
        return _decode(result, parts)
    if result.coding is None and any(
        result.spans(i) != [(0, len(p.text))] for i, p in enumerate(result.passages) if p.text
    ):
        raise NotReversibleError(f"{result.method!r} dropped text; the result cannot be restored")
    texts = result.texts()
    return tuple(texts.get(index, "") for index in range(len(result.passages)))


def _decode(result: Compressed, parts: list[TextPart]) -> tuple[str, ...]:
    from squeeze.base import Coded, Lossless
    from squeeze.registry import method_class

    coding = dict(result.coding or {})
    name, header = coding.pop("method"), coding.pop("header")
    cls = method_class(name)
    if not issubclass(cls, Lossless):
        raise NotReversibleError(f"{name!r} is no lossless method")
    texts = cls.decode(Coded(header, tuple(part.text for part in parts), coding))
    by_passage = {part.passage: text for part, text in zip(parts, texts, strict=True)}
    return tuple(by_passage.get(index, "") for index in range(len(result.passages)))
