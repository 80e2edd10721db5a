"""The base of methods that select: segments the passages, chooses units under the budget, renders them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from squeeze import segment
from squeeze.base.compressor import Compressor, Draft, Job, whole
from squeeze.base.selection import Outcome, Selection
from squeeze.errors import ConfigError, nearest
from squeeze.render import GAP, Style
from squeeze.score.base import DEFAULT_SCORER, Corpus, Scores, load_scorer
from squeeze.segment.blocks import UnitKind
from squeeze.segment.layout import Layout
from squeeze.select import Choice, MeasureWith, Picks, within
from squeeze.types import Span

UNITS = ("sentence", "edu")


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectorOptions:
    """The options that every selector has.

    Attributes:
        unit: `sentence` or `edu` (clauses).
        format: format of the passages, or `auto`; `metadata["format"]` of a passage goes before it.
        gap: mark where something was left out, empty for none.
        titles: whether titles are printed.
        min_score: units below this score are left out even where there is room, 0 to 1.
        min_keep: how many of the best units are kept whatever their score.
        per_passage: each passage alone: its own scores, share of the budget and duplicates.
    """

    unit: UnitKind = "sentence"
    format: str = "auto"
    gap: str = GAP
    titles: bool = False
    min_score: float = 0.0
    min_keep: int = 0
    per_passage: bool = False

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise ConfigError(f"unit is {self.unit!r}; {nearest(str(self.unit), UNITS)}")
        segment.check_format(self.format)
        score = self.min_score
        if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
            raise ConfigError(f"min_score is {score!r}; allowed: a number from 0 to 1")
        if type(self.min_keep) is not int or self.min_keep < 0:
            raise ConfigError(f"min_keep is {self.min_keep!r}; allowed: a whole number from 0 up")
        if not isinstance(self.per_passage, bool):
            raise ConfigError(f"per_passage is {self.per_passage!r}; allowed: True or False")


class Selector(Compressor):
    """A method whose result is made of units of the input. It writes `score`; the rest is done here.

    Attributes:
        strict: whether choosing stops at the first unit that does not fit.
        cuts_last: whether that unit is cut at a word.
    """

    family: ClassVar[str] = "selection"
    shared_options: ClassVar[tuple[str, ...]] = tuple(field.name for field in fields(SelectorOptions))
    strict: ClassVar[bool] = False
    cuts_last: ClassVar[bool] = False

    def __init__(self, *, tokenizer: Any = "estimate", **options: Any) -> None:
        """Takes a tokenizer and the fields of `SelectorOptions`."""
        super().__init__(tokenizer=tokenizer)
        for name in options:
            if name not in self.shared_options:
                method = self.name or type(self).__name__
                raise ConfigError(f"{method} has no option {name!r}; {nearest(name, self.shared_options)}")
        self.options = SelectorOptions(**options)
        self.style = Style(self.options.gap, self.options.titles)

    @abstractmethod
    def score(self, corpus: Corpus, query: str | None) -> Scores:
        """Scores of all units, (units,), each from 0 to 1; the higher, the sooner the unit is kept."""

    def arranged(self, choice: Choice, limit: int) -> Sequence[int]:
        """The units of a choice in the order in which they are tried, those of `choice.order`, best first.

        A method overrides this when more than scores decides: what is tried first, and up to which share of `limit`.
        """
        return choice.order

    def chosen(self, choice: Choice, limit: int, measure: MeasureWith) -> tuple[Picks, Mapping[int, Span]]:
        """The units to keep, and spans of further units; `measure` counts the result of both."""
        order = self.arranged(choice, limit)
        return within(replace(choice, order=order), limit, lambda units: measure(units, {})), {}

    def _compress(self, job: Job) -> Draft:
        layouts = self._layouts(job)
        call = Selection(self, job, layouts)
        if job.fits and not self.options.min_score:
            return Draft(whole(job.passages), call.units(Outcome(), everything=True))
        outcome = call.choose()
        return Draft(tuple(call.parts(outcome)), call.units(outcome), tuple(call.notices(outcome)))

    def _layouts(self, job: Job) -> tuple[Layout, ...]:
        layouts = []
        for index, passage in enumerate(job.passages):
            given = passage.metadata.get("format", self.options.format)
            layouts.append(segment.parse(passage.text, format=segment.check_format(given), unit=self.options.unit))
            if job.progress is not None:
                job.progress(index + 1, len(job.passages))
        return tuple(layouts)

    def checked_scores(self, corpus: Corpus, query: str | None) -> Scores:
        """The method's scores, checked and rounded."""
        scores = np.asarray(self.score(corpus, query), dtype=np.float64)
        if scores.shape != (len(corpus),):
            raise ConfigError(f"{self.name}: {len(corpus)} units got scores of shape {scores.shape}")
        if not np.isfinite(scores).all():
            raise ConfigError(
                f"{self.name}: a score is {scores[~np.isfinite(scores)][0]}; allowed: numbers from 0 to 1"
            )
        return np.clip(np.round(scores, 9), 0, 1)  # rounded: summation order must not decide between equal units


class ByScorer(Selector):
    """A selector whose scores come from a scorer that the user names or gives."""

    def __init__(self, *, scorer: Any = DEFAULT_SCORER, **options: Any) -> None:
        """Takes the options of every selector and a scorer.

        Args:
            scorer: a scorer's name, a `Scorer`, or a callable `(unit texts, query) -> scores`.
            options: the options of `Selector`.
        """
        super().__init__(**options)
        self.scorer = load_scorer(scorer)

    @classmethod
    def example(cls) -> Self:
        """An instance with its defaults."""
        return cls()

    def score(self, corpus: Corpus, query: str | None) -> Scores:
        """The scorer's scores."""
        return self.scorer.score(corpus, query)
