"""The `Compressor` interface. `compress` is final: it checks the input, runs the method, and enforces the promises."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, ClassVar, Never, Self, final

from squeeze.errors import BudgetError, ConfigError, InputError, SqueezeError
from squeeze.pool import in_pool
from squeeze.render import JOINER
from squeeze.tokens import Tokenizer, load_tokenizer
from squeeze.types import Budget, Compressed, Notice, Passage, SoftPart, TextPart, Unit

Progress = Callable[[int, int], None]
"""Called with (steps done, steps in all) while a call works."""


@dataclass(frozen=True, slots=True)
class Job:
    """One checked call, as a method sees it.

    Attributes:
        passages: the input.
        query: the question, or None. Never blank.
        budget: the limits as given.
        limit: the most tokens that the result may have, overheads of kept passages included; None without a limit.
        tokens_before: tokens of the whole input.
        progress: to be called as work advances, or None.
    """

    passages: tuple[Passage, ...]
    query: str | None
    budget: Budget
    limit: int | None
    tokens_before: int
    progress: Progress | None = None

    @property
    def fits(self) -> bool:
        """Whether the whole input is within the limit."""
        return self.limit is None or self.tokens_before <= self.limit


@dataclass(frozen=True, slots=True)
class Draft:
    """What a method gives back before the promises are checked (see `Compressed` for the fields)."""

    parts: tuple[TextPart | SoftPart, ...]
    units: tuple[Unit, ...] = ()
    warnings: tuple[Notice, ...] = ()
    coding: Mapping[str, Any] | None = None


def whole(passages: Sequence[Passage]) -> tuple[TextPart, ...]:
    """The parts that render as the join of all passages, empty ones included."""
    return tuple(
        TextPart(index, 0, len(passage.text), passage.text, JOINER if index else "")
        for index, passage in enumerate(passages)
    )


class Compressor(ABC):
    """Shortens passages for a language model. One instance serves many threads and may be pickled.

    A method derives from `Selector`, `Lossless` or `SoftEncoder`, or directly from this class and writes `_compress`.

    Attributes:
        name: registry name, set by `squeeze.register`.
        family: what kind of method it is.
        output: `text`, `soft` or `both`.
        needs: the extra that it needs, empty for none.
        shared_options: names of options that the constructor passes on to a base class.
    """

    name: ClassVar[str] = ""
    family: ClassVar[str] = ""
    output: ClassVar[str] = "text"
    needs: ClassVar[str] = ""
    shared_options: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *, tokenizer: Any = "estimate") -> None:
        self.tokenizer: Tokenizer = load_tokenizer(tokenizer)

    @classmethod
    @abstractmethod
    def example(cls) -> Self:
        """The smallest instance that needs no download; tests, docs and the command use it."""

    @abstractmethod
    def _compress(self, job: Job) -> Draft:
        """The method itself. It keeps within `job.limit`; the base checks that it did."""

    @final
    def compress(
        self,
        passages: str | Passage | Iterable[str | Passage],
        query: str | None = None,
        *,
        budget: Budget | int | None = None,
        progress: Progress | None = None,
        **unknown: Never,
    ) -> Compressed:
        """The passages shortened to the budget.

        Args:
            passages: what the retriever found, in the order in which it goes into the prompt.
            query: the question; None, empty and blank mean "no question".
            budget: a `Budget`, a number of tokens, or None for no limit.
            progress: called with (steps done, steps in all) as the work advances.
            unknown: what is no argument; the error says where it belongs.

        Raises:
            InputError: a passage or the query is not text.
            ConfigError: the budget is not allowed, or there is no such argument.
            BudgetError: the method may drop nothing and can't reach the limit.
        """
        started = time.perf_counter()
        _refuse(unknown)
        items, question, limits = _passages(passages), _query(query), _budget(budget)
        before = self.count(JOINER.join(p.text for p in items)) + sum(p.overhead for p in items)
        job = Job(items, question, limits, limits.limit(before), before, progress)
        draft = self._compress(job)
        after = self._measure(items, draft)
        if after > before:
            draft = self._pass_through(job, draft, after)
            after = before
        self._check(job, draft, after)
        return Compressed(
            passages=items,
            query=question,
            parts=draft.parts,
            all_units=draft.units,
            tokens_before=before,
            tokens_after=after,
            seconds=time.perf_counter() - started,
            tokenizer=self.tokenizer.name,
            method=self.name or type(self).__name__,
            warnings=draft.warnings,
            coding=draft.coding,
        )

    async def acompress(
        self,
        passages: str | Passage | Iterable[str | Passage],
        query: str | None = None,
        *,
        budget: Budget | int | None = None,
        progress: Progress | None = None,
        **unknown: Never,
    ) -> Compressed:
        """`compress` in a small thread pool shared by all compressors, so that the event loop stays alive."""
        _refuse(unknown)
        return await in_pool(self.compress, passages, query, budget=budget, progress=progress)

    def compress_many(
        self,
        batches: Iterable[str | Passage | Iterable[str | Passage]],
        queries: str | Sequence[str | None] | None = None,
        *,
        budget: Budget | int | None = None,
        progress: Progress | None = None,
        **unknown: Never,
    ) -> list[Compressed]:
        """One result for each batch of passages, each within the budget.

        Args:
            batches: lists of passages.
            queries: one question for all, or one for each batch.
            budget: the limit of each result.
            progress: called with (batches done, batches in all).
            unknown: what is no argument; the error says where it belongs.

        Raises:
            ConfigError: the number of queries is not the number of batches, or there is no such argument.
        """
        _refuse(unknown)
        lists = list(batches)
        questions = [queries] * len(lists) if queries is None or isinstance(queries, str) else list(queries)
        if len(questions) != len(lists):
            raise ConfigError(f"{len(questions)} queries for {len(lists)} batches; give one for all or one for each")
        results = []
        for passages, question in zip(lists, questions, strict=True):
            results.append(self.compress(passages, question, budget=budget))
            if progress is not None:
                progress(len(results), len(lists))
        return results

    def count(self, text: str) -> int:
        """Tokens of a text; 0 for the empty text, whatever a counter adds per call."""
        return self.tokenizer.count(text) if text else 0

    def _measure(self, passages: tuple[Passage, ...], draft: Draft) -> int:
        """Tokens of a draft: its text up to the next vectors counted as one, its vectors, its passages' overheads."""
        tokens, text = 0, ""
        for part in draft.parts:
            text += part.lead
            if isinstance(part, TextPart):
                text += part.text
                continue
            tokens += self.count(text) + len(part.vectors)  # as a reader has it: no token spans vectors
            text = ""
        shown = {part.passage for part in draft.parts}
        return tokens + self.count(text) + sum(passages[index].overhead for index in shown)

    def _pass_through(self, job: Job, draft: Draft, after: int) -> Draft:
        """The input itself, in place of a draft that is longer than it."""
        if not job.fits:
            raise BudgetError(
                f"{self.name}: the shortest form has {after} tokens, the input {job.tokens_before}, "
                f"the limit is {job.limit}",
                reached=min(after, job.tokens_before),
                limit=job.limit or 0,
            )
        notice = Notice("not_shorter", f"the compressed form has {after} tokens, the input {job.tokens_before}")
        units = tuple(replace(unit, kept=True, reason="all") for unit in draft.units)
        return Draft(whole(job.passages), units, (*draft.warnings, notice), {} if draft.coding is not None else None)

    def _check(self, job: Job, draft: Draft, after: int) -> None:
        """Raises when the method broke a promise: that is a fault of the method, never of the caller."""
        if job.limit is not None and after > job.limit:
            raise BudgetError(
                f"{self.name}: the result has {after} tokens, the limit is {job.limit}", reached=after, limit=job.limit
            )
        place = (-1, 0)
        for part in draft.parts:
            passage = job.passages[part.passage]
            verbatim = not isinstance(part, TextPart) or part.coded or passage.text[part.start : part.end] == part.text
            if not (verbatim and place <= (part.passage, part.start) and part.start <= part.end <= len(passage.text)):
                raise SqueezeError(
                    f"{self.name}: a part of passage {part.passage} is not a slice of it, or out of order"
                )
            place = (part.passage, part.end)


def _passages(given: Any) -> tuple[Passage, ...]:
    if isinstance(given, str | Passage):
        given = [given]
    if isinstance(given, PathLike):
        raise InputError(f"passages is {_path(given)}")
    if not isinstance(given, Iterable) or isinstance(given, bytes | Mapping):
        raise InputError(f"passages is {type(given).__name__}; allowed: a str, a Passage, or an iterable of these")
    items: list[Passage] = []
    for index, item in enumerate(given):
        if isinstance(item, str):
            items.append(Passage(item))
        elif isinstance(item, Passage):
            items.append(item)
        elif isinstance(item, PathLike):
            raise InputError(f"passage {index} is {_path(item)}")
        else:
            raise InputError(f"passage {index} is {type(item).__name__}; allowed: str or Passage")
    return tuple(items)


def _path(given: Any) -> str:
    """What to say of a path that stands where a text is wanted."""
    return f"the path {str(given)!r} and no text; read the file: Path({str(given)!r}).read_text(encoding='utf-8')"


def _refuse(unknown: Mapping[str, object]) -> None:
    """Raises for an argument that there is none of; a limit belongs into the budget."""
    for name in unknown:
        hint = f"budget=Budget({name}=…)" if name in ("max_tokens", "keep") else "passages, query, budget and progress"
        raise ConfigError(f"a compressor takes no argument {name!r}; give {hint}")


def _query(given: Any) -> str | None:
    if given is None:
        return None
    if not isinstance(given, str):
        raise InputError(f"query is {type(given).__name__}; allowed: str or None")
    return given if given.strip() else None


def _budget(given: Any) -> Budget:
    if given is None:
        return Budget()
    if isinstance(given, Budget):
        return given
    try:
        return Budget(max_tokens=given)
    except ConfigError:  # the argument has another name here
        raise ConfigError(f"budget is {given!r}; allowed: a Budget, a whole number of tokens, or None") from None
