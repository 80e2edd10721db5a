"""Compressors in a row: what one leaves, the next one gets; spans always point into the original passages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from squeeze.base import Compressor, Draft, Job, Lossless, whole
from squeeze.errors import ConfigError
from squeeze.types import Budget, Compressed, Notice, Passage, SoftPart, Span, TextPart, Unit


@dataclass(frozen=True, slots=True)
class _State:
    """What a stage gets.

    Attributes:
        passages: its input.
        origin: index of each in the original passages.
        slices: for each, the stretches of its text that are source: (start in the text, span in the source). What
            lies between them was set there by a stage (gap marks).
    """

    passages: tuple[Passage, ...]
    origin: tuple[int, ...]
    slices: tuple[tuple[tuple[int, Span], ...], ...]


class Pipeline(Compressor):
    """Stages in a row; the budget binds the end result. A lossless or soft stage can only be the last one.

    Args of the constructor:
        stages: at least one compressor. All count with tokenizers of one name.
    """

    family: ClassVar[str] = "pipeline"

    def __init__(self, stages: Sequence[Compressor]) -> None:
        if isinstance(stages, Compressor) or not all(isinstance(stage, Compressor) for stage in stages) or not stages:
            raise ConfigError(f"stages is {stages!r}; allowed: a list of one or more compressors")
        names = sorted({stage.tokenizer.name for stage in stages})
        if len(names) > 1:
            raise ConfigError(f"the stages count with different tokenizers ({', '.join(names)}); give all the same one")
        for stage in stages[:-1]:
            if isinstance(stage, Lossless) or stage.output != "text":
                raise ConfigError(f"{stage.name!r} can only be the last stage: no other can read what it leaves")
        super().__init__(tokenizer=stages[0].tokenizer)
        self.stages = tuple(stages)
        self.name = "+".join(stage.name for stage in stages)  # type: ignore[misc]  # an instance has its own name
        self.output = stages[-1].output  # type: ignore[misc]

    @classmethod
    def example(cls) -> Self:
        """Whole passages by score, then their best sentences."""
        from squeeze.registry import method_class

        return cls([method_class("passages").example(), method_class("edu").example()])

    def _compress(self, job: Job) -> Draft:
        state = _State(
            job.passages,
            tuple(range(len(job.passages))),
            tuple(((0, (0, len(passage.text))),) for passage in job.passages),
        )
        draft, results, warnings = Draft(whole(job.passages)), list[Compressed](), list[Notice]()
        for stage in self.stages:
            result = stage.compress(state.passages, job.query, budget=Budget(job.limit), progress=job.progress)
            results.append(result)
            warnings += [_placed(notice, state) for notice in result.warnings]
            if result.parts != whole(state.passages) or result.coding is not None:
                draft = Draft(tuple(part for old in result.parts for part in _composed(old, state)))
                state = state if result.coding is not None else _next(draft.parts, job.passages)
        units = _units(results[0].all_units, draft.parts)
        return Draft(draft.parts, units, tuple(warnings), results[-1].coding)


def _placed(notice: Notice, state: _State) -> Notice:
    """A warning of a stage with the index of the original passage."""
    return notice if notice.passage is None else replace(notice, passage=state.origin[notice.passage])


def _composed(part: TextPart | SoftPart, state: _State) -> list[TextPart | SoftPart]:
    """A part of a stage's result as parts of the original passages."""
    origin, text = state.origin[part.passage], state.passages[part.passage].text
    pieces = list(_pieces(state.slices[part.passage], part.start, part.end))
    if isinstance(part, SoftPart) or part.coded or not pieces:
        spans = tuple(span for _, span in pieces)
        start, end = (spans[0][0], spans[-1][1]) if spans else (0, 0)
        if isinstance(part, SoftPart):
            return [replace(part, passage=origin, start=start, end=end)]
        sources = spans if part.coded else None
        return [TextPart(origin, start, end, part.text, part.lead, sources)]
    out: list[TextPart | SoftPart] = []
    lead, at = part.lead, part.start
    for begin, (start, end) in pieces:
        stop = begin + end - start
        out.append(TextPart(origin, start, end, text[begin:stop], lead + text[at:begin]))
        lead, at = "", stop
    return out


def _pieces(slices: tuple[tuple[int, Span], ...], start: int, end: int) -> Any:
    """The stretches of source inside text[start:end]: (start in the text, span in the source)."""
    for begin, (source_start, source_end) in slices:
        low = max(begin, start)
        high = min(begin + source_end - source_start, end)
        if low < high:
            yield low, (source_start + low - begin, source_start + high - begin)


def _next(parts: tuple[TextPart | SoftPart, ...], passages: tuple[Passage, ...]) -> _State:
    """What the next stage gets: the kept text of each passage of which something is kept."""
    texts: dict[int, str] = {}
    slices: dict[int, list[tuple[int, Span]]] = {}
    for part in parts:
        if isinstance(part, TextPart) and part.spans:
            text = texts.get(part.passage)
            text = "" if text is None else text + part.lead
            slices.setdefault(part.passage, []).append((len(text), (part.start, part.end)))
            texts[part.passage] = text + part.text
    return _State(
        tuple(replace(passages[index], text=text) for index, text in texts.items()),
        tuple(texts),
        tuple(tuple(slices[index]) for index in texts),
    )


def _units(units: tuple[Unit, ...], parts: tuple[TextPart | SoftPart, ...]) -> tuple[Unit, ...]:
    """The first stage's units; those that a later stage left out say so."""
    kept: dict[int, list[Span]] = {}
    for part in parts:
        kept.setdefault(part.passage, []).extend(part.spans)
    out, at = [], dict.fromkeys(kept, 0)
    for unit in units:
        spans = kept.get(unit.passage, [])
        index = at.get(unit.passage, 0)
        while index < len(spans) and spans[index][1] <= unit.start:
            index += 1
        at[unit.passage] = index
        there = index < len(spans) and spans[index][0] < unit.end
        out.append(unit if there or not unit.kept else replace(unit, kept=False, reason="budget"))
    return tuple(out)
