"""One selection of units: what is wanted, what fits, what is said about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from squeeze.base.compressor import Job
from squeeze.cutting import cut
from squeeze.dedupe import duplicates
from squeeze.render import JOINER, parts
from squeeze.score.base import Corpus, Scores
from squeeze.score.salience import salience
from squeeze.segment.layout import Layout, Piece
from squeeze.select import Choice, Costs, Picks, within
from squeeze.templates import weights
from squeeze.tokens import count_many
from squeeze.types import Notice, Span, TextPart, Unit

if TYPE_CHECKING:
    from squeeze.base.selector import Selector

Score = Callable[[Corpus, str | None], Scores]

_LONE = {"heading", "header", "open", "close"}
"""Kinds that say little by themselves: headings, table headers, and what opens and closes a container."""

_CUT_TRIES = 8
"""How many of the best units are tried for a cut when nothing fits whole."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was chosen for some passages.

    Attributes:
        picks: the chosen units.
        cut: a unit and the span of its passage that is kept of it, where nothing fitted whole.
    """

    picks: Picks
    cut: tuple[int, Span] | None = None


class Selection:
    """One selection: the state that the steps of `Selector._compress` share."""

    def __init__(self, selector: Selector, job: Job, layouts: tuple[Layout, ...], score: Score) -> None:
        self.selector, self.job, self.layouts = selector, job, layouts
        self.corpus = Corpus.of(job.passages, self.layouts)
        self.blank = np.array([not text for text in self.corpus.texts], dtype=bool)
        self.tokens = count_many(selector.tokenizer, self.corpus.texts)
        self.scores = self._by_group(lambda corpus: score(corpus, job.query))
        self.repeated = (
            np.zeros(len(self.corpus), dtype=bool) if job.fits else self._by_group(duplicates).astype(bool)
        )  # fmt: skip
        best = self._ranking(~(self.blank | self.repeated))
        self.low = self.scores < selector.options.min_score
        self.low[best[: selector.options.min_keep]] = False
        self.forced = set(best[: selector.options.min_keep])
        self.overlap = job.query is None or bool((self.scores > 0).any()) or not self.corpus.texts

    def _by_group(self, function: Any) -> NDArray[Any]:
        """Values of all units, computed over all passages, or over each alone with `per_passage`."""
        if not self.selector.options.per_passage:
            values: NDArray[Any] = function(self.corpus)
            return values
        pairs = zip(self.job.passages, self.layouts, strict=True)
        alone = [function(Corpus.of([passage], [layout])) for passage, layout in pairs]
        return np.concatenate(alone) if alone else np.zeros(0)

    def _ranking(self, allowed: NDArray[np.bool_]) -> list[int]:
        """The allowed units, the most wanted first; ties go to the earlier one."""
        order = np.argsort(-self.scores, kind="stable")
        return [int(unit) for unit in order if allowed[unit]]

    def choose(self) -> Outcome:
        """The units to keep within the limit of the call."""
        limit = self.job.tokens_before if self.job.limit is None else self.job.limit
        wanted = self._wanted()
        if self.selector.options.per_passage:
            shares = self._shares(limit)
            picks = Picks()
            for passage, share in enumerate(shares):
                own = [unit for unit in wanted if self.corpus.passage[unit] == passage]
                picks |= self._within(own, share)
            if self.measure(picks) > limit:
                picks = self._within([unit for unit in wanted if unit in picks], limit)
        else:
            picks = self._within(wanted, limit)
        if self.selector.cuts_last or not picks:
            return Outcome(picks, self._cut(wanted, picks, limit))
        return Outcome(picks)

    def _wanted(self) -> list[int]:
        """Units by score, the most wanted first, what no reader sees (scripts) last.

        Left out are those that only announce others, which bring them along.
        """
        scores = self.scores if self.overlap else np.round(salience(self.corpus), 9)
        out = self.blank | self.repeated | self.low
        if not self.selector.strict:
            out |= self._announcing()
            scores = np.round(scores * weights(self.corpus, scores), 9)
        hidden = np.array([kind == "hidden" for kind in self.corpus.kinds], dtype=bool)
        return [int(unit) for unit in np.lexsort((-scores, hidden)) if not out[unit]]

    def _announcing(self) -> NDArray[np.bool_]:
        """Which units say little by themselves: headings, table headers and lead-ins that other units need."""
        needed = {base + need for base, piece in self._placed() for need in piece.needs}
        pairs = enumerate(zip(self.corpus.kinds, self.corpus.texts, strict=True))
        prose = [piece.prose for _, piece in self._placed()]
        lone = [i in needed and (kind in _LONE or (prose[i] and text[-1:] in (":", "："))) for i, (kind, text) in pairs]
        return np.array(lone, dtype=bool)

    def _placed(self) -> Iterator[tuple[int, Piece]]:
        """Every piece with the index of the first unit of its passage."""
        base = 0
        for layout in self.layouts:
            yield from ((base, piece) for piece in layout.pieces)
            base += len(layout.pieces)

    def _within(self, wanted: list[int], limit: int) -> Picks:
        return within(Choice(self.corpus, wanted, self._costs, self.selector.strict), limit, self.measure)

    @property
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

    def _shares(self, limit: int) -> list[int]:
        """Each passage's share of the limit. With `keep` it depends on nothing but the passage itself."""
        joiner = self.selector.count(JOINER)
        sizes = [self.selector.count(p.text) + p.overhead + joiner for p in self.job.passages]
        keep = self.job.budget.keep
        if (
            keep is None
            or self.job.budget.limit(self.job.tokens_before) != limit
            or self.job.budget.max_tokens == limit
        ):
            keep = limit / max(1, sum(sizes))
        return [max(0, int(keep * size + 1e-9) - joiner) for size in sizes]

    def measure(self, picks: Iterable[int], cut_part: tuple[int, Span] | None = None) -> int:
        """Tokens of the rendered result of these units, overheads included."""
        rendered = self._render(picks, cut_part)
        text = "".join(part.lead + part.text for part in rendered)
        shown = {part.passage for part in rendered}
        return self.selector.count(text) + sum(self.job.passages[index].overhead for index in shown)

    def _render(self, picks: Iterable[int], cut_part: tuple[int, Span] | None) -> list[TextPart]:
        kept: dict[int, list[int]] = {}
        for unit in sorted(picks):
            kept.setdefault(int(self.corpus.passage[unit]), []).append(int(self.corpus.piece[unit]))
        extra = (int(self.corpus.passage[cut_part[0]]), cut_part[1]) if cut_part else None
        return parts(self.job.passages, self.layouts, kept, self.selector.style, extra)

    def parts(self, outcome: Outcome) -> list[TextPart]:
        """The rendered parts of an outcome."""
        return self._render(outcome.picks, outcome.cut)

    def _cut(self, wanted: list[int], picks: Picks, limit: int) -> tuple[int, Span] | None:
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
                return self.measure(picks, (unit, span)) <= limit

            found = cut(text, (piece.start, piece.end), fits, query)
            if found:
                return unit, found
        return None

    def units(self, outcome: Outcome, everything: bool = False) -> tuple[Unit, ...]:
        """The account of every unit."""
        out = []
        pieces = [piece for layout in self.layouts for piece in layout.pieces]
        scores = self.scores.tolist()
        for index, (piece, passage) in enumerate(zip(pieces, self.corpus.passage.tolist(), strict=True)):
            kept, reason = (True, "all") if everything else self._reason(index, outcome)
            out.append(Unit(passage, piece.start, piece.end, self.tokens[index], scores[index], kept, reason))
        return tuple(out)

    def _reason(self, unit: int, outcome: Outcome) -> tuple[bool, str]:
        if outcome.cut and outcome.cut[0] == unit:
            return True, "cut"
        wanted = outcome.picks.get(unit)
        if wanted is not None:
            forced = unit in self.forced and self.scores[unit] < self.selector.options.min_score
            return True, ("min_keep" if forced else "score") if wanted else "needed"
        if self.repeated[unit]:
            return False, "duplicate"
        return False, "below_min_score" if self.low[unit] and not self.blank[unit] else "budget"

    def notices(self, outcome: Outcome) -> list[Notice]:
        """What the caller may not expect."""
        out = []
        some = bool((~self.blank).any())
        if not self.overlap and some:
            out.append(Notice("no_overlap", "the query shares no word with the passages; units were kept by salience"))
        if some and self.low[~self.blank].all():
            out.append(Notice("below_min_score", f"no unit reached min_score {self.selector.options.min_score}"))
        elif some and not outcome.picks and not outcome.cut and self.job.limit:
            least = min(size for size, blank in zip(self.tokens, self.blank, strict=True) if not blank)
            out.append(Notice("nothing_fits", f"the limit is {self.job.limit} tokens; the shortest unit has {least}"))
        if outcome.cut and not self.selector.cuts_last:
            unit = outcome.cut[0]
            message = f"no unit fits into {self.job.limit} tokens; one of {self.tokens[unit]} was cut at a word"
            out.append(Notice("unit_cut", message, int(self.corpus.passage[unit])))
        return out + self._removals(outcome)

    def _removals(self, outcome: Outcome) -> list[Notice]:
        """What the layouts of the passages shown say about what is not shown of them."""
        kept: dict[int, list[int]] = {}
        for unit in sorted(outcome.picks):
            kept.setdefault(int(self.corpus.passage[unit]), []).append(int(self.corpus.piece[unit]))
        said = [(passage, self.layouts[passage].notice(pieces)) for passage, pieces in kept.items()]
        return [Notice("records_removed", message, passage) for passage, message in said if message]
