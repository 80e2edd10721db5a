"""What the ranker sees of each unit: numbers that mean the same for every text and every query."""

from __future__ import annotations

import numpy as np

from squeeze.score.base import Corpus, Scores
from squeeze.score.bridging import hops
from squeeze.score.matching import Matches
from squeeze.score.postings import Ints, Postings
from squeeze.score.scaling import nearness, relative, standard
from squeeze.score.traits import answers, places, shapes, titles

Columns = dict[str, Scores]

_NAMES = """
unit titled passage unit_relative titled_relative passage_relative unit_standard titled_standard
passage_standard unit_nearness titled_nearness passage_nearness covered covered_titled covered_passage
covered_relative covered_passage_relative rarest part passage_best of_best pairs pairs_apart before after
carried covered_near title_named title_named_whole title_covers first early place alone length length_relative
short passage_length digits year capitals new_names heading structure asked_year asked_date asked_number
asked_name bridge bridge_sum bridge_complement bridge_any title_hop title_hop_passage title_second_hop
title_hop_covered names names_asked
"""
FEATURES = tuple(_NAMES.split())
"""The features of the network, in the order of its inputs."""

_FADE, _REACH = 0.8, 6
"""How a good unit shines on those after it: by so much less per unit, over so many."""


def features(matches: Matches, query: str) -> Columns:
    """All features of all units by name, each (units,) and finite.

    None knows the order of the passages. Those of titles are relative to the titles of the other passages, so that they
    vanish where all are alike or there are none.
    """
    return {
        **wording(matches),
        **surroundings(matches),
        **titles(matches),
        **places(matches),
        **shapes(matches),
        **answers(matches, query),
        **hops(matches),
    }


def matches_of(corpus: Corpus, query: str) -> Matches:
    """How the query's words stand in the corpus."""
    return Matches.of(Postings.of(corpus, query))


def wording(m: Matches) -> Columns:
    """How much of the query the unit says itself, with its title, and as part of its passage."""
    own, unit, titled, passage = m.own, m.unit_share, m.titled_share, m.passage_share
    covered, whole = m.covered(m.units), m.covered(m.passages)[own]
    best = m.best_by_passage(unit)
    rarest = ((m.units > 0) * m.weight).max(axis=1, initial=0)
    return {
        "unit": unit,
        "titled": titled,
        "passage": passage[own],
        "unit_relative": relative(unit),
        "titled_relative": relative(titled),
        "passage_relative": relative(passage[own]),
        "unit_standard": standard(unit),
        "titled_standard": standard(titled),
        "passage_standard": standard(passage)[own],
        "unit_nearness": nearness(unit),
        "titled_nearness": nearness(titled),
        "passage_nearness": nearness(passage)[own],
        "covered": covered,
        "covered_titled": m.covered(m.titled),
        "covered_passage": whole,
        "covered_relative": relative(covered),
        "covered_passage_relative": relative(whole),
        "rarest": relative(rarest),
        "part": covered / np.where(whole > 0, whole, 1),
        "passage_best": relative(best)[own],
        "of_best": unit / np.where(best > 0, best, 1)[own],
        "pairs": _pairs(m, 1),
        "pairs_apart": _pairs(m, 2),
    }


def surroundings(m: Matches) -> Columns:
    """How much of the query the neighbours in the same passage say."""
    unit = m.unit_share
    fading = np.zeros(len(unit))
    for distance in range(1, _REACH + 1):
        fading = np.maximum(fading, _shifted(unit, m.own, distance) * _FADE**distance)
    near = (m.units > 0) | (_shifted(m.units, m.own, 1) > 0) | (_shifted(m.units, m.own, -1) > 0)
    return {
        "before": relative(_shifted(unit, m.own, 1)),
        "after": relative(_shifted(unit, m.own, -1)),
        "carried": relative(fading),
        "covered_near": m.covered(near),
    }


def _shifted(values: Scores, own: Ints, distance: int) -> Scores:
    """For each unit the values of the one `distance` before it in its passage, 0 where there is none."""
    shifted = np.zeros_like(values)
    size = abs(distance)
    late, early = slice(size, None), slice(None, -size)
    into, source = (late, early) if distance > 0 else (early, late)
    same = own[late] == own[early]
    shifted[into][same] = values[source][same]
    return shifted


def _pairs(m: Matches, distance: int) -> Scores:
    """The share of the query's pairs of terms that stand as far from each other in the unit as in the query."""
    p, size = m.postings, len(m.terms)
    asked = p.terms.gather(p.query)
    left, right = m.slot[asked[:-distance]], m.slot[asked[distance:]]
    # the first letters of a word always follow the word
    pair = (left >= 0) & (right >= 0) & (left != right) & ~(p.stems[asked[distance:]] & (distance == 1))
    wanted = np.zeros((size, size), np.bool_)
    wanted[left[pair], right[pair]] = True
    if not wanted.any():
        return np.zeros(len(p.corpus))
    left, right = m.slot[p.term[:-distance]], m.slot[p.term[distance:]]
    hit = np.flatnonzero((left >= 0) & (right >= 0) & (p.unit[:-distance] == p.unit[distance:]))
    hit = hit[wanted[left[hit], right[hit]]]
    found = np.unique((p.unit[hit] * size + left[hit]) * size + right[hit])
    weight = np.minimum(m.weight[:, None], m.weight)
    value = weight[found // size % size, found % size]
    share: Scores = np.bincount(found // size**2, value, minlength=len(p.corpus)) / max(weight[wanted].sum(), 1e-9)
    return share
