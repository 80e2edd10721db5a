"""One selection of units: what is wanted, what fits, what is said about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from squeeze.base.compressor import Job
from squeeze.base.ranking import Ranking, joined, rank
from squeeze.cutting import cut
from squeeze.render import JOINER, parts
from squeeze.score.base import Corpus
from squeeze.segment.layout import Layout
from squeeze.select import Choice, Costs, Picks
from squeeze.tokens import count_many
from squeeze.types import Notice, Span, TextPart, Unit

if TYPE_CHECKING:
    from squeeze.base.selector import Selector

_CUT_TRIES = 8
"""How many of the best units are tried for a cut when nothing fits whole."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was chosen for some passages.

    Attributes:
        picks: the chosen units.
        cuts: units of which a span of their passage is kept, where nothing fitted whole.
        skims: units of which a span is kept because the method shows no more of them.
    """

    picks: Picks = field(default_factory=dict)
    cuts: Mapping[int, Span] = field(default_factory=dict)
    skims: Mapping[int, Span] = field(default_factory=dict)


class Selection:
    """One selection: the state that the steps of `Selector._compress` share.

    A group is a range of passages that are chosen from together: all of them, or each alone with `per_passage`.
    """

    def __init__(self, selector: Selector, job: Job, layouts: tuple[Layout, ...]) -> None:
        self.selector, self.job, self.layouts = selector, job, layouts
        self.corpus = Corpus.of(job.passages, self.layouts)
        self.tokens = count_many(selector.tokenizer, self.corpus.texts)
        self.alone: list[tuple[int, Corpus, Ranking]] = []  # with `per_passage`: first unit of each passage
        if selector.options.per_passage and job.passages:
            base = 0
            for passage, layout in zip(job.passages, layouts, strict=True):
                own = Corpus.of([passage], [layout])
                self.alone.append((base, own, rank(selector, own, job.query, dedupe=False)))
                base += len(own)
            self.ranking = joined([ranking for _, _, ranking in self.alone])
        else:
            self.ranking = rank(selector, self.corpus, job.query, dedupe=not job.fits)

    def choose(self) -> Outcome:
        """The units to keep within the limit of the call."""
        # a limit above the input is none: what `min_score` leaves, with its titles and marks, stays below the input
        limit = self.job.tokens_before if self.job.limit is None else min(self.job.limit, self.job.tokens_before)
        wanted = self.ranking.wanted
        if self.alone:
            outcome = self._each(limit)
            if outcome.picks or outcome.cuts:
                if self.measure(outcome.picks, outcome.cuts) <= limit:
                    return outcome
                wanted = [unit for unit in wanted if unit in outcome.picks] or wanted
        return self._chosen(Choice(self.corpus, wanted, self._costs, self.selector.strict), limit)

    def _chosen(self, choice: Choice, limit: int, base: int = 0) -> Outcome:
        """What fits of a choice whose units are those from `base` on, by their numbers in the whole call."""

        def measure(units: Iterable[int], spans: Mapping[int, Span]) -> int:
            return self.measure([base + unit for unit in units], {base + unit: span for unit, span in spans.items()})

        found, spans = self.selector.chosen(choice, limit, measure)
        picks = {base + unit: wanted for unit, wanted in found.items()}
        if self.selector.cuts_last or not picks:
            return Outcome(picks, self._cut([base + unit for unit in choice.order], picks, limit))
        return Outcome(picks, skims={base + unit: span for unit, span in spans.items()})

    def _each(self, limit: int) -> Outcome:
        """What each passage keeps within a share of its own.

        With `keep` that is what it would keep without the others. Shares of a number of tokens can be so small that
        nothing but stumps of sentences fits into them: these are left out.
        """
        joiner = self.selector.count(JOINER)
        sizes = [self.selector.count(p.text) + p.overhead for p in self.job.passages]
        keep = self.job.budget.keep
        if self.job.limit != limit or self.job.budget.max_tokens == limit:
            keep = None
        outcome = Outcome()
        # joiners count only where the shares are filled so well that there is no room left for them
        for reserve in dict.fromkeys((0, joiner)):
            share = limit / max(1, sum(sizes) + joiner * (len(sizes) - 1)) if keep is None else keep
            shares = [max(0, int(share * (size + reserve) + 1e-9) - reserve) for size in sizes]
            each = [self._alone(passage, own) for passage, own in enumerate(shares)]
            picks = {unit: wanted for own in each for unit, wanted in own.picks.items()}
            cuts = {} if keep is None else {unit: span for own in each for unit, span in own.cuts.items()}
            outcome = Outcome(picks, cuts)
            if self.measure(picks, cuts) <= limit:
                break
        return outcome

    def _alone(self, passage: int, limit: int) -> Outcome:
        """What one passage keeps within `limit` tokens."""
        base, corpus, ranking = self.alone[passage]
        costs = self._costs
        own = Costs(self.tokens[base : base + len(corpus)], [costs.gap[passage]], [costs.passage[passage]])
        return self._chosen(Choice(corpus, ranking.wanted, own, self.selector.strict), limit, base)

    @cached_property
    def _costs(self) -> Costs:
        style, count = self.selector.style, self.selector.count
        mark = max(1, count(f" {style.gap} ")) if style.gap else 1
        joiner = count(JOINER)
        titles = [count(p.title + "\n") if style.titles and p.title.strip() else 0 for p in self.job.passages]
        return Costs(
            unit=self.tokens,
            gap=[0 if layout.gap == "none" else mark for layout in self.layouts],
            passage=[p.overhead + joiner + title for p, title in zip(self.job.passages, titles, strict=True)],
        )

    def measure(self, picks: Iterable[int], cuts: Mapping[int, Span] | None = None) -> int:
        """Tokens of the rendered result of these units, overheads included."""
        rendered = self._render(picks, cuts or {})
        text = "".join(part.lead + part.text for part in rendered)
        shown = {part.passage for part in rendered}
        return self.selector.count(text) + sum(self.job.passages[index].overhead for index in shown)

    def _render(self, picks: Iterable[int], cuts: Mapping[int, Span]) -> list[TextPart]:
        extra = {int(self.corpus.passage[unit]): span for unit, span in cuts.items()}
        return parts(self.job.passages, self.layouts, self._kept(picks), self.selector.style, extra)

    def _kept(self, picks: Iterable[int]) -> dict[int, list[int]]:
        """Ascending piece indices by passage index."""
        kept: dict[int, list[int]] = {}
        for unit in sorted(picks):
            kept.setdefault(int(self.corpus.passage[unit]), []).append(int(self.corpus.piece[unit]))
        return kept

    def parts(self, outcome: Outcome) -> list[TextPart]:
        """The rendered parts of an outcome."""
        return self._render(outcome.picks, {**outcome.cuts, **outcome.skims})

    def _cut(self, wanted: Sequence[int], picks: Picks, limit: int) -> dict[int, Span]:
        """A unit cut at a word, where nothing fits whole."""
        left = [unit for unit in wanted if unit not in picks]
        for unit in left[: 1 if self.selector.cuts_last else _CUT_TRIES]:
            layout = self.layouts[int(self.corpus.passage[unit])]
            piece = layout.pieces[int(self.corpus.piece[unit])]
            if not piece.prose:
                continue
            text = self.job.passages[int(self.corpus.passage[unit])].text
            query = None if self.selector.cuts_last else self.job.query

            def fits(span: Span, unit: int = unit) -> bool:
                return self.measure(picks, {unit: span}) <= limit

            found = cut(text, (piece.start, piece.end), fits, query)
            if found:
                return {unit: found}
        return {}

    def units(self, outcome: Outcome, everything: bool = False) -> tuple[Unit, ...]:
        """The account of every unit."""
        out = []
        pieces = [piece for layout in self.layouts for piece in layout.pieces]
        scores = self.ranking.scores.tolist()
        for index, (piece, passage) in enumerate(zip(pieces, self.corpus.passage.tolist(), strict=True)):
            kept, reason = (True, "all") if everything else self._reason(index, outcome)
            out.append(Unit(passage, piece.start, piece.end, self.tokens[index], scores[index], kept, reason))
        return tuple(out)

    def _reason(self, unit: int, outcome: Outcome) -> tuple[bool, str]:
        known = self.ranking
        if unit in outcome.cuts or unit in outcome.skims:
            return True, "cut"
        wanted = outcome.picks.get(unit)
        if wanted is not None:
            forced = unit in known.forced and known.scores[unit] < self.selector.options.min_score
            return True, ("min_keep" if forced else "score") if wanted else "needed"
        if known.repeated[unit]:
            return False, "duplicate"
        return False, "below_min_score" if known.low[unit] and not known.blank[unit] else "budget"

    def notices(self, outcome: Outcome) -> list[Notice]:
        """What the caller may not expect."""
        out = []
        known = self.ranking
        some = bool((~known.blank).any())
        if not known.overlap and some:
            kept = "; units were kept by salience" if outcome.picks or outcome.cuts else ""
            out.append(Notice("no_overlap", f"the query shares no word with the passages{kept}"))
        if some and known.low[~known.blank].all():
            out.append(Notice("below_min_score", f"no unit reached min_score {self.selector.options.min_score}"))
        elif some and not outcome.picks and not outcome.cuts and self.job.limit is not None:
            out.append(Notice("nothing_fits", f"the limit is {self.job.limit} tokens{self._least()}"))
        else:
            out += self._best_left_out(outcome)
        for unit in () if self.selector.cuts_last else sorted(outcome.cuts):
            passage = int(self.corpus.passage[unit])
            limit = "its share" if self.alone else f"{self.job.limit} tokens"
            message = f"no unit fits into {limit}; one of {self.tokens[unit]} was cut at a word"
            out.append(Notice("unit_cut", message, passage))
        return out + self._removals(outcome)

    def _least(self) -> str:
        """What the unit that is kept most cheaply would take, for the message that nothing fits."""
        choice = Choice(self.corpus, self.ranking.wanted, self._costs)
        none = np.zeros(len(self.corpus), dtype=bool)
        least: list[int] = []
        room: int | None = None
        for unit in choice.order[:1] if self.selector.strict else choice.order:
            group = choice.closure(unit, none, room)
            if group:
                least, room = group, sum(self.tokens[member] for member in group) - 1
        needs = self.measure(least) if least else 0
        if needs <= (self.job.limit or 0):  # a method may arrange that less than the limit is taken
            return ""
        with_others = " with what it cannot stand without" if len(least) > 1 else ""
        return f"; the {'first' if self.selector.strict else 'shortest'} unit needs {needs}{with_others}"

    def _best_left_out(self, outcome: Outcome) -> list[Notice]:
        """Whether the best unit for the query is missing because it alone, with what it needs, is over the limit."""
        known, limit = self.ranking, self.job.limit
        shown = [*outcome.picks, *outcome.cuts, *outcome.skims]
        if self.job.query is None or not known.overlap or limit is None or self.job.fits or not known.wanted:
            return []
        best = known.wanted[0]
        if best in shown or any(known.keys[unit] >= known.keys[best] for unit in shown):
            return []
        choice = Choice(self.corpus, known.wanted, self._costs)
        needs = self.measure(choice.closure(best, np.zeros(len(self.corpus), dtype=bool)))
        if needs <= limit:
            return []
        message = f"the unit that scores best needs {needs} tokens, the limit is {limit}"
        return [Notice("best_left_out", message, int(self.corpus.passage[best]))]

    def _removals(self, outcome: Outcome) -> list[Notice]:
        """What the layouts of the passages shown say about what is not shown of them."""
        kept = self._kept(outcome.picks)
        said = [(passage, self.layouts[passage].notice(pieces)) for passage, pieces in kept.items()]
        return [Notice("records_removed", message, passage) for passage, message in said if message]
