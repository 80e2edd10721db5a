"""The original texts of a result, decoded from the result; and the markers in a model's answer, spelled out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, cast

from squeeze.errors import CorruptError, InputError, NotReversibleError, SqueezeError

if TYPE_CHECKING:
    from squeeze.base import Coded, Lossless
    from squeeze.coding.expander import Expander
    from squeeze.types import Compressed


class Restoring:
    """What `Compressed` can do backwards."""

    __slots__ = ()

    def restore(self) -> tuple[str, ...]:
        """The original text of every passage, decoded from the result.

        After a pipeline it is what the last lossy stage left.

        Raises:
            NotReversibleError: text was dropped, or the result holds soft tokens.
            CorruptError: the coded text does not decode, or was changed.
        """
        return restore(cast("Compressed", self))

    def decode_markers(self, text: str) -> str:
        """A text about the result, a model's answer, with every marker in it replaced by what it stands for."""
        if not isinstance(text, str):
            raise InputError(f"text is {type(text).__name__}; allowed: str")
        return "".join(self.decode_stream((text,)))

    def decode_stream(self, pieces: Iterable[str]) -> Iterator[str]:
        """`decode_markers` for a text that arrives piece by piece; a marker may be spread over two pieces."""
        expander = self.expander()
        for piece in pieces:
            yield expander.feed(piece)
        yield expander.flush()

    def expander(self) -> Expander:
        """What replaces markers by `feed(piece)` and, at the end, `flush()`."""
        from squeeze.coding.expander import Expander

        return Expander(_entries(cast("Compressed", self)))


def restore(result: Compressed) -> tuple[str, ...]:
    """The text of every passage; see `Restoring.restore`."""
    if any(not hasattr(part, "text") for part in result.parts):
        raise NotReversibleError(f"the result of {result.method!r} holds soft tokens, which do not restore to text")
    if result.coding:
        return _decode(result)
    if result.coding is None and any(
        result.spans(i) != [(0, len(p.text))] for i, p in enumerate(result.passages) if p.text
    ):
        raise NotReversibleError(f"{result.method!r} dropped text; the result cannot be restored")
    texts = result.texts()
    return tuple(texts.get(index, "") for index in range(len(result.passages)))


def _coded(result: Compressed) -> tuple[type[Lossless], Coded]:
    """The method and the coded form that a result holds: its parts and what `coding` adds, never the passages."""
    from squeeze.base import Coded, Lossless
    from squeeze.registry import method_class

    coding = dict(result.coding or {})
    name = coding.pop("method", None)
    cls = method_class(name) if isinstance(name, str) else None
    if cls is None or not issubclass(cls, Lossless):
        raise CorruptError(f"coding.method is {name!r}; allowed: the name of a lossless method")
    bodies = tuple(part.text for part in result.parts if hasattr(part, "text"))
    return cls, Coded(result.parts[0].lead if result.parts else "", bodies, coding)


def _decode(result: Compressed) -> tuple[str, ...]:
    from squeeze.base.lossless import digest

    cls, coded = _coded(result)
    try:
        texts = cls.decode(coded)
    except SqueezeError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise CorruptError(f"the coded text of {cls.name!r} does not decode: {error}") from error
    if len(texts) != len(result.parts) or digest(texts) != coded.data.get("digest"):
        raise CorruptError(f"the coded text of {cls.name!r} does not decode to what was coded; it was changed")
    by_passage = {part.passage: text for part, text in zip(result.parts, texts, strict=True)}
    return tuple(by_passage.get(index, "") for index in range(len(result.passages)))


def _entries(result: Compressed) -> dict[str, str]:
    if not result.coding:
        return {}
    cls, coded = _coded(result)
    return cls.entries(coded)
