"""`ram_text`: near segments word for word, of far ones a clause."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from squeeze.allocate import Allocator, TopK
from squeeze.base import ByScorer, Draft, Job
from squeeze.errors import ConfigError
from squeeze.floor import Floor
from squeeze.registry import register
from squeeze.render import JOINER
from squeeze.score.base import DEFAULT_SCORER, Corpus, Scores
from squeeze.segment.layout import Layout
from squeeze.select import Choice, MeasureWith, Picks
from squeeze.skim import Plan, Planner, Reading
from squeeze.tokens import count_many
from squeeze.types import Span


@register("ram_text")
class RAMText(ByScorer):
    """Near segments word for word, far ones skimmed to a clause: the text-only form of RAM, for any model.

    RAM (arXiv 2602.01840) keeps the segments that are close to the query as text and turns each other one into a
    vector, which only a model trained for it can read. Here the others become text too: of each passage of which the
    budget would show nothing, the clause that shares most with the query, of which four tokens' worth of words stand
    for it at least. That is a degradation of the method, not the method: a clause says less than a vector made of all
    the words.

    A passage is shown when its best unit scores `show_from` or more and the skims of all such passages fit beside the
    best unit of all; where they do not, the best passages come first. Passages that score less, but above 0, are shown
    too where a tenth of the budget is enough for all skims. Below `show_from` a score is none to speak of: with the
    default scorer that is 0.05 of what the query could reach.

    Near is what the allocator gives its whole size. A unit of a near segment counts at least a share of what its
    segment does, so that near passages are read as wholes; a far unit is still kept when it scores higher. Headings,
    headers and lead-ins come along with units as in `edu`. A passage in which nothing may be cut (code, records, tags)
    is skimmed by its shortest unit that scores, with what it needs, up to 16 tokens, or not at all; HTML is not
    skimmed, for a piece of it is mostly tags. With `per_passage` nothing is far, and it is `edu`; with `skim=0` nothing
    is skimmed.
    """

    _plan: ClassVar[Plan | None] = None
    """Set in the copy that serves one call."""

    def __init__(
        self,
        *,
        scorer: Any = DEFAULT_SCORER,
        skim: float = 0.02,
        show_from: float = 0.05,
        segment_tokens: int = 1000,
        allocator: Allocator | None = None,
        **options: Any,
    ) -> None:
        """Takes the options of every selector and how closely what is read.

        Args:
            scorer: a scorer's name, a `Scorer`, or a callable `(unit texts, query) -> scores`.
            skim: share of the budget that skims may take where their shortest take less, 0 to 0.5; 0 for none. Each
                hundredth costs about as much of what answers as `edu` would lose with that much less room.
            show_from: score of its best unit from which a passage is shown, 0 to 1; 0 for all that score at all, which
                costs most where passages are short: there a few words of each are a large share of the budget.
            segment_tokens: neighbouring units of a passage are near or far together up to this length; 1 for each
                unit by itself.
            allocator: shares the rest of the budget over the segments; by default the best whole
                (`squeeze.allocate.TopK`).
            options: the options of `Selector`.

        Raises:
            ConfigError: an option outside of its range.
        """
        super().__init__(scorer=scorer, **options)
        if isinstance(skim, bool) or not isinstance(skim, int | float) or not 0 <= skim <= 0.5:
            raise ConfigError(f"skim is {skim!r}; allowed: a number from 0 to 0.5")
        if isinstance(show_from, bool) or not isinstance(show_from, int | float) or not 0 <= show_from <= 1:
            raise ConfigError(f"show_from is {show_from!r}; allowed: a number from 0 to 1")
        if type(segment_tokens) is not int or segment_tokens < 1:
            raise ConfigError(f"segment_tokens is {segment_tokens!r}; allowed: a whole number from 1 up")
        if allocator is not None and not isinstance(allocator, Allocator):
            raise ConfigError(f"allocator is {allocator!r}; allowed: an object with share(sizes, scores, budget)")
        self.show_from = float(show_from)
        self.reading = Reading(segment_tokens, float(skim), allocator or TopK(skim=0))

    def score(self, corpus: Corpus, query: str | None) -> Scores:
        """The scorer's scores."""
        if self._plan is not None:
            return np.concatenate(self._plan.scores) if self._plan.scores else np.zeros(0)
        return super().score(corpus, query)

    def arranged(self, choice: Choice, limit: int) -> Sequence[int]:
        """Skims of segments first, then all others by score, units of near segments at no less than their segment's."""
        if self._plan is None or not choice.order:
            return choice.order
        keys = np.concatenate(self._plan.keys)
        return sorted(choice.order, key=lambda unit: -keys[unit])

    def chosen(self, choice: Choice, limit: int, measure: MeasureWith) -> tuple[Picks, Mapping[int, Span]]:
        """The best unit, then skims of passages that would not be shown, then all other units."""
        plan = self._plan
        if plan is None or not choice.order or not self.reading.share:
            return super().chosen(choice, limit, measure)
        scores, keys = np.concatenate(plan.scores), np.concatenate(plan.keys)
        ordered = replace(choice, order=self.arranged(choice, limit))
        return Floor(
            ordered, scores, keys, plan.query, self.count, measure, limit=limit, room=plan.room, sure=self.show_from
        ).chosen()

    def _compress(self, job: Job) -> Draft:
        if job.fits or self.options.per_passage:  # alone, a passage is never far from the query
            return super()._compress(job)
        corpus = Corpus.of(job.passages, self._layouts(job))
        tokens = count_many(self.tokenizer, corpus.texts)
        extra = self.count(JOINER)
        scores = self.checked_scores(corpus, job.query)
        planner = Planner(corpus, scores, tokens, job.query, self.count, extra)
        call = copy.copy(self)  # so that calls in other threads see nothing of this one
        vars(call)["_plan"] = planner.plan(self.reading, job.limit or 0)
        return super(RAMText, call)._compress(job)

    def _layouts(self, job: Job) -> tuple[Layout, ...]:
        return super()._layouts(job) if self._plan is None else self._plan.layouts
