"""`ram_text`: near segments word for word, of far ones a clause."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from squeeze.allocate import Allocator, TopK
from squeeze.base import ByScorer, Draft, Job
from squeeze.errors import ConfigError
from squeeze.registry import register
from squeeze.render import JOINER
from squeeze.score.base import DEFAULT_SCORER, Corpus, Scores
from squeeze.segment.layout import Layout
from squeeze.select import Choice
from squeeze.skim import Plan, Planner, Reading
from squeeze.tokens import count_many


@register("ram_text")
class RAMText(ByScorer):
    """Near segments word for word, far ones skimmed to a clause: the text-only form of RAM, for any model.

    RAM (arXiv 2602.01840) keeps the segments that are close to the query as text and turns each other one into a
    vector, which only a model trained for it can read. Here the others become text too: of each passage that scores
    and of which the budget would show nothing, the clause that shares most with the query, shortened where its share
    asks for it; then, while the share lasts, a clause of further far segments. That is a degradation of the method, not
    the method: a clause says less than a vector made of all the words.

    Near is what the allocator gives its whole size. A unit of a near segment counts at least a share of what its
    segment does, so that near passages are read as wholes; a far unit is still kept when it scores higher. Skims go by
    score while their share of the budget lasts; what stays free goes to further units. Headings, headers and lead-ins
    come along as in `edu`. With `per_passage` nothing is far, and it is `edu`.
    """

    _plan: ClassVar[Plan | None] = None
    """Set in the copy that serves one call."""

    def __init__(
        self,
        *,
        scorer: Any = DEFAULT_SCORER,
        skim: float = 0.02,
        segment_tokens: int = 1000,
        allocator: Allocator | None = None,
        **options: Any,
    ) -> None:
        """Takes the options of every selector and how closely what is read.

        Args:
            scorer: a scorer's name, a `Scorer`, or a callable `(unit texts, query) -> scores`.
            skim: share of the budget that skims may take, 0 to 0.5. The default shows a few passages more; each further
                hundredth costs about as much of what answers as `edu` would lose with that much less room.
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
        if type(segment_tokens) is not int or segment_tokens < 1:
            raise ConfigError(f"segment_tokens is {segment_tokens!r}; allowed: a whole number from 1 up")
        if allocator is not None and not isinstance(allocator, Allocator):
            raise ConfigError(f"allocator is {allocator!r}; allowed: an object with share(sizes, scores, budget)")
        self.reading = Reading(segment_tokens, float(skim), allocator or TopK(skim=0))

    def score(self, corpus: Corpus, query: str | None) -> Scores:
        """The scorer's scores."""
        if self._plan is not None:
            return np.concatenate(self._plan.scores) if self._plan.scores else np.zeros(0)
        return super().score(corpus, query)

    def arranged(self, choice: Choice, limit: int) -> Sequence[int]:
        """Skims first, then all others by score, units of near segments at no less than their segment's."""
        if self._plan is None or not choice.order:
            return choice.order
        keys = np.concatenate(self._plan.keys)
        return sorted(choice.order, key=lambda unit: -keys[unit])

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
