"""Features of titles, of the place and the look of a unit, and of the kind of answer that a query asks for."""

from __future__ import annotations

import numpy as np

from squeeze.score.asking import asks_for
from squeeze.score.base import Scores
from squeeze.score.matching import Matches
from squeeze.score.postings import CAPITAL, DIGIT, YEAR
from squeeze.score.scaling import centred

_PROSE = frozenset({"sentence", "edu", "heading", "item"})


def titles(m: Matches) -> dict[str, Scores]:
    """How far the query names the title, and the title the query, beside the other titles."""
    p = m.postings
    passages = len(p.corpus.passages)
    terms, owners = p.title.values, p.title.owners
    whole = np.bincount(owners, p.rarity[terms], minlength=passages)
    named = np.bincount(owners, p.rarity[terms] * p.asked[terms], minlength=passages) / np.where(whole > 0, whole, 1)
    return {
        "title_named": centred(named)[m.own],
        "title_named_whole": centred((named > 0.99).astype(np.float64))[m.own],
        "title_covers": centred(m.covered(m.titles))[m.own],
    }


def places(m: Matches) -> dict[str, Scores]:
    """Where the unit stands in its passage, and how long both are."""
    piece = m.postings.corpus.piece.astype(np.float64)
    size = m.by_passage(np.ones(len(piece)))[m.own]
    length = m.postings.lengths
    mean = max(float(length.mean()) if len(length) else 0.0, 1.0)
    mean_passage = max(float(m.lengths.mean()) if len(m.lengths) else 0.0, 1.0)
    return {
        "first": (piece == 0).astype(np.float64),
        "early": 1 / (1 + piece),
        "place": piece / size,
        "alone": (size == 1).astype(np.float64),
        "length": np.log1p(length) / 4,
        "length_relative": np.minimum(length / mean, 4),
        "short": (length < 4).astype(np.float64),
        "passage_length": np.minimum(m.lengths / mean_passage, 4)[m.own],
    }


def shapes(m: Matches) -> dict[str, Scores]:
    """What the unit looks like: numbers, years, capitals, structure."""
    p = m.postings
    kinds = p.corpus.kinds
    return {
        "digits": np.minimum(p.number_of(DIGIT), 1),
        "year": np.minimum(p.number_of(YEAR), 1),
        "capitals": p.number_of(CAPITAL) / np.maximum(p.lengths, 1),
        "new_names": _new_names(m),
        "heading": np.array([kind == "heading" for kind in kinds], dtype=np.float64),
        "structure": np.array([kind not in _PROSE for kind in kinds], dtype=np.float64),
    }


def answers(m: Matches, query: str) -> dict[str, Scores]:
    """Whether the unit has what the query asks for, beside the others; 0 where it asks for something else."""
    p = m.postings
    time, number, name = asks_for(query)
    digits, year = centred(np.minimum(p.number_of(DIGIT), 1)), centred(np.minimum(p.number_of(YEAR), 1))
    return {
        "asked_year": time * year,
        "asked_date": time * digits,
        "asked_number": number * digits,
        "asked_name": name * centred(_new_names(m)),
    }


def _new_names(m: Matches) -> Scores:
    """How many capitalised words that the query lacks the unit has, as a logarithm."""
    p = m.postings
    key = p.keys[p.words.values]
    new = ((p.looks[p.words.values] & CAPITAL) > 0) & ~p.asked[key] & ~p.function[key]
    return np.log1p(np.bincount(p.words.owners[new], minlength=len(p.corpus)).astype(np.float64))
