"""The second hop: what the units that match the query best name, looked up in the other passages."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from squeeze.score.base import Scores
from squeeze.score.matching import Matches, best_of
from squeeze.score.mentions import mentions
from squeeze.score.postings import CAPITAL, YEAR, Ints, Postings
from squeeze.score.scaling import relative, saturated

_SOURCES, _PER_PASSAGE = 8, 3
"""How many units are searched again, and how many of one passage."""

_WEAKEST = 0.3
"""Share of the best unit's score below which a unit is no source."""

_TRIED = 64
_TOO_COMMON = 0.3
"""Share of the passages in which a term that leads from one to another may stand."""


def hops(m: Matches) -> dict[str, Scores]:
    """What the best units lead to.

    `bridge*`: capitalised words and years of the best units, `bridge_any`: all their words, searched in other passages.
    `title_hop*`: passages whose titles good units name. `names*`: units that name titles of good passages.
    """
    base = relative((relative(m.titled_share) + relative(m.passage_share)[m.own]) / 2 + relative(m.unit_share) / 4)
    return {**_bridges(m, base), **_title_hops(m, base)}


def _sources(m: Matches, base: Scores) -> list[int]:
    """The units to be searched again, best first."""
    order = np.argsort(-np.round(base, 9), kind="stable")[:_TRIED]
    taken = np.zeros(len(m.titles), np.int64)
    sources: list[int] = []
    for unit in order.tolist():
        if base[unit] <= _WEAKEST * base[order[0]] or len(sources) == _SOURCES:
            break
        passage = m.own[unit]
        if taken[passage] < _PER_PASSAGE:
            taken[passage] += 1
            sources.append(unit)
    return sources


def _bridges(m: Matches, base: Scores) -> dict[str, Scores]:
    p, units = m.postings, len(m.own)
    best: Scores = np.zeros(units)
    total = complement = anything = best
    useful = (p.spread > 1) & (p.spread <= max(2, len(m.titles) * _TOO_COMMON)) & ~p.asked & ~p.function
    have = m.titled > 0
    for source in _sources(m, base):
        words = np.unique(p.words.at(source))
        names = words[(p.looks[words] & (CAPITAL | YEAR)) > 0]
        strength = (m.own != m.own[source]) * base[source]
        anything = np.maximum(anything, _found(m, words, useful) * strength)
        named = _found(m, names, useful) * strength
        best = np.maximum(best, named)
        total = total + named
        left = m.weight * ~have[source]
        complement = np.maximum(complement, np.sqrt(named) * (have @ left) / m.total)
    scale = 2 * np.log1p(len(m.titles))
    return {
        "bridge": saturated(best / scale),
        "bridge_sum": saturated(total / scale),
        "bridge_complement": complement,
        "bridge_any": saturated(anything / scale),
    }


def _found(m: Matches, words: Ints, useful: NDArray[np.bool_]) -> Scores:
    """The rarity of the useful terms of these words that stand in each unit or its title, (units,)."""
    p: Postings = m.postings
    terms = p.terms.gather(words)
    wanted = p.mask(terms[useful[terms]])
    unit, term = p.holders(wanted)
    found: Scores = np.bincount(unit, p.rarity[term], minlength=len(m.own)).astype(np.float64)
    hit = wanted[p.title.values]
    pairs = np.unique(p.title.owners[hit] * p.size + p.title.values[hit])
    titled = np.bincount(pairs // max(p.size, 1), p.rarity[pairs % max(p.size, 1)], minlength=len(m.titles))
    return found + titled[m.own]


def _title_hops(m: Matches, base: Scores) -> dict[str, Scores]:
    unit, passage, strength = mentions(m.postings)
    passages = len(m.titles)
    start = relative(m.passage_share)
    covered = m.covered(m.titled)
    first = best_of(passage, base[unit] ** 2 * strength, passages)
    from_passage = best_of(passage, start[m.own[unit]] ** 2 * strength, passages)
    second = best_of(passage, from_passage[m.own[unit]] * strength, passages)
    onward = best_of(passage, base[unit] ** 2 * strength * (1 - covered[unit]), passages)
    return {
        "title_hop": first[m.own],
        "title_hop_passage": from_passage[m.own],
        "title_second_hop": second[m.own],
        "title_hop_covered": np.sqrt(onward[m.own]) * covered,
        "names": best_of(unit, start[passage] * strength, len(m.own)),
        "names_asked": best_of(unit, m.covered(m.titles)[passage] * strength, len(m.own)),
    }
