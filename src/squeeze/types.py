"""The values that go in and come out: passages, budgets, parts and the compressed result. All are frozen."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from squeeze.errors import ConfigError, InputError, NotTextError, whole
from squeeze.restoring import Restoring

Span = tuple[int, int]
"""A half-open range of character offsets, `text[start:end]`."""

WarningCode = Literal[
    "nothing_fits", "unit_cut", "best_left_out", "records_removed", "no_overlap", "below_min_score", "not_shorter"
]


@dataclass(frozen=True, slots=True)
class Passage:
    """One text that a retriever found.

    Attributes:
        text: the passage itself; may be empty.
        title: counted as words of every unit of the passage when scoring; printed only with `titles=True`.
        id: the caller's name for it, used in error messages and in reports.
        metadata: the caller's own values; `metadata["format"]` fixes the format of this passage.
        overhead: tokens that a framework prints beside the text (its metadata). They count in the totals and in the
            budget, never in the text.
    """

    text: str
    title: str = ""
    id: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    overhead: int = 0

    def __post_init__(self) -> None:
        for name in ("text", "title", "id"):
            if not isinstance(getattr(self, name), str):
                raise InputError(f"{name} of passage {self.id!r} is {type(getattr(self, name)).__name__}, not str")
        if not isinstance(self.metadata, Mapping):
            raise InputError(f"metadata of passage {self.id!r} is {type(self.metadata).__name__}, not a mapping")
        if type(self.overhead) is not int or self.overhead < 0:
            raise InputError(f"overhead of passage {self.id!r} is {self.overhead!r}; allowed: a whole number from 0 up")


@dataclass(frozen=True, slots=True)
class Budget:
    """How long the result may be. With both limits given the tighter one holds; with none, everything fits.

    Attributes:
        max_tokens: tokens of the rendered text, 0 or more.
        keep: share of the tokens of the whole input, 0 to 1.
    """

    max_tokens: int | None = None
    keep: float | None = None

    def __post_init__(self) -> None:
        if self.max_tokens is not None:
            number = whole(self.max_tokens)
            if number is None:
                raise ConfigError(f"max_tokens is {self.max_tokens!r}; allowed: a whole number from 0 up, or None")
            object.__setattr__(self, "max_tokens", number)
        keep = self.keep
        if keep is not None and (isinstance(keep, bool) or not isinstance(keep, int | float) or not 0 <= keep <= 1):
            raise ConfigError(f"keep is {keep!r}; allowed: a number from 0 to 1, or None")

    def limit(self, tokens_before: int) -> int | None:
        """The most tokens that the result may have for an input of `tokens_before`; None when nothing limits it."""
        limits = [] if self.max_tokens is None else [self.max_tokens]
        if self.keep is not None:
            limits.append(math.floor(self.keep * tokens_before + 1e-9))  # 0.1 * 30 is 3, whatever the binary fraction
        return min(limits) if limits else None


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning about one call: what happened that the caller may not expect.

    Attributes:
        code: `nothing_fits`, `unit_cut`, `best_left_out` (the unit that scores best needs more than the whole limit),
            `records_removed`, `no_overlap`, `below_min_score` or `not_shorter`.
        message: a sentence for a person.
        passage: index of the passage it is about; None when it is about the whole call.
    """

    code: WarningCode
    message: str
    passage: int | None = None


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit of the input and what became of it.

    Attributes:
        passage: index of the passage.
        start: first character in the passage.
        end: character after the last.
        tokens: its length in tokens, counted alone.
        score: 0 to 1, relative to the best that the query itself could reach.
        kept: whether the result has it.
        reason: why it was kept or left out (`score`, `needed`, `min_keep`, `all`, `cut`; `budget`, `duplicate`,
            `below_min_score`).
    """

    passage: int
    start: int
    end: int
    tokens: int
    score: float
    kept: bool
    reason: str


@dataclass(frozen=True, slots=True)
class TextPart:
    """A piece of the result that is text.

    Attributes:
        passage: index of the passage it comes from.
        start: first character in the passage.
        end: character after the last.
        text: `passages[passage].text[start:end]`, or its coded form.
        lead: what stands before it in the rendered text and is no part of the source: joiner, title, gap mark, or the
            dictionary of a lossless method.
        sources: None for a verbatim slice; for a coded part the spans of the passage that it stands for.
    """

    passage: int
    start: int
    end: int
    text: str
    lead: str = ""
    sources: tuple[Span, ...] | None = None

    @property
    def coded(self) -> bool:
        """Whether the text is a coded form of the source and not a slice of it."""
        return self.sources is not None

    @property
    def spans(self) -> tuple[Span, ...]:
        """The spans of the passage that this part stands for."""
        if self.sources is not None:
            return self.sources
        return ((self.start, self.end),) if self.end > self.start else ()


@dataclass(frozen=True, slots=True, eq=False)
class SoftPart:
    """A piece of the result that is vectors in a model's input-embedding space.

    Attributes:
        passage: index of the passage it comes from.
        start: first character that the vectors stand for.
        end: character after the last.
        vectors: array or tensor, (tokens, width).
        fingerprint: names the model and the checkpoint that the vectors fit; a reader with another one refuses them.
        lead: text that stands before it and is no part of the source.
    """

    passage: int
    start: int
    end: int
    vectors: Any
    fingerprint: str
    lead: str = ""

    @property
    def spans(self) -> tuple[Span, ...]:
        """The spans of the passage that this part stands for."""
        return ((self.start, self.end),) if self.end > self.start else ()


@dataclass(frozen=True, slots=True, eq=False)
class Compressed(Restoring):
    """What a compressor returns: the kept parts in reading order, and an account of the whole input.

    Attributes:
        passages: the input, as passages.
        query: the question, or None.
        parts: what is kept in reading order, each a `TextPart` or a `SoftPart`.
        all_units: every unit of the input (see `units`).
        tokens_before: tokens of all passages joined by blank lines, overheads included.
        tokens_after: tokens of the rendered result, vectors and the overheads of kept passages included.
        seconds: wall time of the call.
        tokenizer: name of the tokenizer that counted.
        method: name of the method.
        warnings: what happened that the caller may not expect.
        coding: what a lossless method needs to restore the input besides the text itself; None for other methods.
    """

    passages: tuple[Passage, ...]
    query: str | None
    parts: tuple[TextPart | SoftPart, ...]
    all_units: tuple[Unit, ...]
    tokens_before: int
    tokens_after: int
    seconds: float
    tokenizer: str
    method: str
    warnings: tuple[Notice, ...] = ()
    coding: Mapping[str, Any] | None = None

    @property
    def text(self) -> str:
        """The rendered text that goes into the prompt.

        Raises:
            NotTextError: the result holds soft tokens.
        """
        self._require_text()
        return "".join(part.lead + part.text for part in self.parts if isinstance(part, TextPart))

    def texts(self) -> dict[int, str]:
        """The kept text of each passage of which something is kept, by passage index, titles left out.

        Raises:
            NotTextError: the result holds soft tokens.
        """
        self._require_text()
        pieces: dict[int, list[str]] = {}
        for part in self.parts:
            if isinstance(part, TextPart) and part.spans:
                seen = pieces.setdefault(part.passage, [])
                seen.append(part.lead + part.text if seen else part.text)
        return {passage: "".join(texts) for passage, texts in pieces.items()}

    def spans(self, passage: int) -> list[Span]:
        """The kept spans of a passage, ascending.

        Raises:
            IndexError: there is no passage of that index.
        """
        if not 0 <= passage < len(self.passages):
            raise IndexError(f"passage {passage} of {len(self.passages)}")
        return [span for part in self.parts if part.passage == passage for span in part.spans]

    def units(self) -> list[Unit]:
        """Every unit of the input in source order: passage, span, tokens, score, kept or not, and why."""
        return list(self.all_units)

    @property
    def kept(self) -> float:
        """Share of the tokens that are kept, 0 to 1; 1.0 for an empty input."""
        return self.tokens_after / self.tokens_before if self.tokens_before else 1.0

    def reopen(self, piece: Unit | TextPart | SoftPart | int) -> str:
        """The source text of a piece that was skimmed or dropped.

        For a unit its own text; for a part, or the index of one, the part with what was left out around it, up to its
        neighbours in the passage. `squeeze.tools.ExpandTool` offers the same to a model.

        Raises:
            ConfigError: the result has no such piece.
            InputError: it is neither a unit, nor a part, nor an index.
        """
        from squeeze.reopening import reopen

        return reopen(self, piece)

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON-ready values; `from_dict` reads it back."""
        from squeeze.serial import to_dict

        return to_dict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Compressed:
        """A result from what `to_dict` gave.

        Raises:
            CorruptError: a field is missing or of the wrong type, or a span lies outside of its passage.
        """
        from squeeze.serial import from_dict

        return from_dict(data)

    def to_html(self) -> str:
        """One self-contained HTML page: kept text marked, dropped text dimmed, scores on hover, tokens as bars."""
        from squeeze.report import page

        return page(self)

    def _repr_html_(self) -> str:
        from squeeze.report import fragment

        return fragment(self)

    def _require_text(self) -> None:
        if any(isinstance(part, SoftPart) for part in self.parts):
            raise NotTextError(
                f"the result of {self.method!r} holds soft tokens; read it with squeeze.soft.Reader, "
                "or compress with a method whose result is text"
            )
