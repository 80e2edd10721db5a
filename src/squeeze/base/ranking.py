"""What is known of the units that are chosen from together, before any is chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from squeeze.dedupe import duplicates
from squeeze.score.base import Corpus, Scores
from squeeze.score.salience import salience
from squeeze.segment.layout import Piece
from squeeze.templates import weights

if TYPE_CHECKING:
    from squeeze.base.selector import Selector

Score = Callable[[Corpus, str | None], Scores]

_LONE = {"heading", "header", "open", "close"}
"""Kinds that say little by themselves: headings, table headers, and what opens and closes a container."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Units in order of wanting.

    Attributes:
        scores: the method's scores, (units,).
        blank: units without text, (units,).
        repeated: units that repeat another, (units,).
        low: units below `min_score` that `min_keep` does not save, (units,).
        forced: the units that `min_keep` keeps whatever their score.
        keys: what `wanted` is sorted by, the highest first, (units,).
        wanted: indices of the units that may be chosen, the most wanted first; ties go to the earlier one.
        overlap: whether the query shares anything with the units; true without a query.
    """

    scores: Scores
    blank: NDArray[np.bool_]
    repeated: NDArray[np.bool_]
    low: NDArray[np.bool_]
    forced: frozenset[int]
    keys: Scores
    wanted: Sequence[int]
    overlap: bool


def rank(selector: Selector, corpus: Corpus, query: str | None, dedupe: bool) -> Ranking:
    """The ranking of all units of a corpus.

    Headings, table headers and lead-ins that other units need are not wanted by themselves: these bring them along.
    What no reader sees (scripts) comes last.

    Args:
        selector: gives scores and options.
        corpus: the units.
        query: the question, or None.
        dedupe: whether units that repeat others are left out.
    """
    options = selector.options
    scores = selector.checked_scores(corpus, query)
    blank = np.array([not text for text in corpus.texts], dtype=bool)
    repeated = duplicates(corpus, titled=options.titles) if dedupe else np.zeros(len(corpus), dtype=bool)
    if dedupe:
        scores = _lifted(corpus, scores, repeated)
    overlap = query is None or bool((scores > 0).any()) or not len(corpus)
    keys = scores if overlap else np.round(salience(corpus), 9)
    out = blank | repeated
    if not selector.strict:
        out |= _announcing(corpus)
        keys = np.round(keys * weights(corpus, keys), 9)
    keys = np.where([kind == "hidden" for kind in corpus.kinds], keys - 2, keys) if len(corpus) else keys
    wanted = [unit for unit in np.argsort(-keys, kind="stable").tolist() if not out[unit]]
    forced = wanted[: options.min_keep]
    low = scores < options.min_score
    low[forced] = False
    wanted = [unit for unit in wanted if not low[unit]]
    return Ranking(scores, blank, repeated, low, frozenset(forced), keys, wanted, overlap)


def joined(rankings: Sequence[Ranking]) -> Ranking:
    """The ranking of passages that were ranked each alone."""
    ends = np.cumsum([0, *(len(ranking.scores) for ranking in rankings)]).tolist()
    keys = np.concatenate([ranking.keys for ranking in rankings])
    members = [unit + base for base, ranking in zip(ends, rankings, strict=False) for unit in ranking.wanted]
    return Ranking(
        scores=np.concatenate([ranking.scores for ranking in rankings]),
        blank=np.concatenate([ranking.blank for ranking in rankings]),
        repeated=np.concatenate([ranking.repeated for ranking in rankings]),
        low=np.concatenate([ranking.low for ranking in rankings]),
        forced=frozenset(unit + base for base, one in zip(ends, rankings, strict=False) for unit in one.forced),
        keys=keys,
        wanted=sorted(members, key=lambda unit: (-float(keys[unit]), unit)),
        overlap=any(ranking.overlap for ranking in rankings),
    )


def _lifted(corpus: Corpus, scores: Scores, repeated: NDArray[np.bool_]) -> Scores:
    """The scores, where the copy that is kept has the best score of all copies (titles make them differ)."""
    if not repeated.any():
        return scores
    best: dict[str, float] = {}
    for text, score, again in zip(corpus.texts, scores.tolist(), repeated.tolist(), strict=True):
        if again:
            best[text] = max(score, best.get(text, 0.0))
    out = scores.copy()
    for unit, text in enumerate(corpus.texts):
        if not repeated[unit] and text in best:
            out[unit] = max(out[unit], best.pop(text))
    return out


def _announcing(corpus: Corpus) -> NDArray[np.bool_]:
    """Which units say little by themselves: headings, table headers and lead-ins that other units need."""
    needed = {base + need for base, piece in _placed(corpus) for need in piece.needs}
    pairs = enumerate(zip(corpus.kinds, corpus.texts, _placed(corpus), strict=True))
    lone = [
        i in needed and (kind in _LONE or (piece.prose and text[-1:] in (":", "：")))
        for i, (kind, text, (_, piece)) in pairs
    ]
    return np.array(lone, dtype=bool)


def _placed(corpus: Corpus) -> Iterator[tuple[int, Piece]]:
    """Every piece with the index of the first unit of its passage."""
    base = 0
    for layout in corpus.layouts:
        yield from ((base, piece) for piece in layout.pieces)
        base += len(layout.pieces)
