"""Which units name the title of another passage."""

from __future__ import annotations

import numpy as np

from squeeze.score.base import Scores
from squeeze.score.postings import Ints, Lists, Postings

_LEAST = 0.6
"""Share of a title (by the rarity of its words) that a unit must have to name it."""

_SHARED = 8
"""Titles that may have the same rarest word; of more, none is looked for, as they would name one another."""


def mentions(p: Postings) -> tuple[Ints, Ints, Scores]:
    """Units, the passages whose titles they name, and how fully (0.6 to 1), each (mentions,); own titles left out.

    A title is looked for through its rarest word, so that the time grows with the number of words.
    """
    keys = _keys(p)
    whole = np.bincount(keys.owners, p.rarity[keys.values], minlength=len(keys.starts) - 1).astype(np.float64)
    anchors, titles = _anchors(p, keys, whole)
    holder, anchor = p.holders(p.mask(anchors))
    low, high = np.searchsorted(anchors, anchor), np.searchsorted(anchors, anchor, side="right")
    unit = np.repeat(holder, high - low)
    passage = titles[_ranges(low, high)]
    other = p.corpus.passage[unit] != passage
    unit, passage = unit[other], passage[other]
    strength = _strength(p, keys, unit, passage) / whole[passage]
    named = strength >= _LEAST
    return unit[named], passage[named], strength[named]


def _keys(p: Postings) -> Lists:
    """The distinct keys of each title's words."""
    passages = len(p.corpus.passages)
    pairs = np.unique(p.titles.owners * p.size + p.keys[p.titles.values])
    owners = pairs // max(p.size, 1)
    return Lists(pairs % max(p.size, 1), np.searchsorted(owners, np.arange(passages + 1)))


def _anchors(p: Postings, keys: Lists, whole: Scores) -> tuple[Ints, Ints]:
    """The rarest key of each title that can be looked for, ascending, and the passage of that title."""
    owners = keys.owners
    order = np.lexsort((keys.values, -p.rarity[keys.values], owners))
    first = np.flatnonzero(np.diff(owners[order], prepend=-1))
    anchors, titles = keys.values[order[first]], owners[order[first]]
    shared = np.bincount(anchors, minlength=p.size)[anchors]
    usable = (shared <= _SHARED) & (whole[titles] > 0)
    anchors, titles = anchors[usable], titles[usable]
    ascending = np.argsort(anchors, kind="stable")
    return anchors[ascending], titles[ascending]


def _strength(p: Postings, keys: Lists, unit: Ints, passage: Ints) -> Scores:
    """For each pair of unit and passage the rarity of the title's keys that the unit has, (pairs,)."""
    size = keys.sizes[passage]
    pair = np.repeat(np.arange(len(unit)), size)
    key = keys.gather(passage)
    holder, term = p.holders(p.mask(keys.values))
    present = holder * p.size + term
    wanted = unit[pair] * p.size + key
    place = np.minimum(np.searchsorted(present, wanted), max(len(present) - 1, 0))
    has = present[place] == wanted if len(present) else np.zeros(0, np.bool_)
    return np.bincount(pair, p.rarity[key] * has, minlength=len(unit)).astype(np.float64)


def _ranges(low: Ints, high: Ints) -> Ints:
    """All numbers from each low up to its high, one range after the other."""
    sizes = high - low
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    ranges: Ints = np.arange(total) + np.repeat(low - (ends - sizes), sizes)
    return ranges
