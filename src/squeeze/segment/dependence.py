"""Which EDU hangs on which of its neighbours: what a clause cannot do without when it is kept.

A relative clause needs what it describes, a condition and its consequence need each other, so do a claim and whose
claim it is, and the halves of a clause that another one interrupts. English is decided by a small model fitted on
rhetorical trees, other languages by the words that a clause opens with and what it ends with.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from squeeze.segment.edu_features import COARSE, END3, FINE, MIDDLE, SHAPE, U32, WORD, Words, distance, mix, read_words
from squeeze.segment.edu_model import Model, shipped
from squeeze.segment.edu_rules import hanging_patterns, language_of

Span = tuple[int, int]
Ints = NDArray[np.int64]

OFFSETS = (-1, 1, -2, 2)  # the neighbours that the model speaks of, in the order of its rows
_STOP = re.compile(r"[.!?…。！？।؟॥][\"'”’»)\]）」』]*\s*\Z")
_RUN = 500  # EDUs looked at at once: few enough to stay in the processor's cache
_TAIL = 8  # characters that show how an EDU ends
_BESIDE = np.uint32(0xFFFF1)


def needs(text: str, spans: Sequence[Span], *, model: Model | None = None) -> list[tuple[int, ...]]:
    """For each EDU the indices of the EDUs that it cannot do without, direct ones only, never of another sentence.

    Args:
        text: the whole text; it also decides the language.
        spans: its EDUs in ascending order, whole sentences.
        model: weights for English; those that come with the package by default.
    """
    if len(spans) < 2:
        return [()] * len(spans)
    numbers = sentence_numbers(text, spans)
    if numbers[-1] == len(spans) - 1:
        return [()] * len(spans)
    language = language_of(text)
    if language == "en":
        return _learned(text, spans, numbers, model or shipped())
    return _by_rules(text, spans, numbers, language)


def sentence_numbers(text: str, spans: Sequence[Span]) -> list[int]:
    """The number of the sentence of each EDU: a new one begins behind a stop, a line break or a gap."""
    numbers = [0] * len(spans)
    number, before = 0, spans[0]
    for index in range(1, len(spans)):
        start, end = spans[index]
        tail = text[max(before[0], before[1] - _TAIL) : before[1]]
        number += start != before[1] or "\n" in tail or _STOP.search(tail) is not None
        numbers[index] = number
        before = (start, end)
    return numbers


def _learned(text: str, spans: Sequence[Span], numbers: list[int], model: Model) -> list[tuple[int, ...]]:
    found: list[list[int]] = [[] for _ in spans]
    for begin, end in _runs(numbers):
        words = read_words(text, spans[begin:end], model.chars, model.lexicon)
        slots = edu_slots(words, np.array(numbers[begin:end], np.int64), len(model.need))
        scores = model.need[slots].sum(axis=0)
        for index, row in np.argwhere(scores > model.need_limit).tolist():
            other = begin + index + OFFSETS[row]
            if begin <= other < end and numbers[other] == numbers[begin + index]:
                found[begin + index].append(other)
    return [tuple(sorted(others)) for others in found]


def _runs(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """Ranges of whole sentences of some hundred EDUs; a sentence that is longer by far is broken."""
    begin = 0
    for index in range(1, len(numbers)):
        size = index - begin
        if size >= 4 * _RUN or (size >= _RUN and numbers[index] != numbers[index - 1]):
            yield begin, index
            begin = index
    yield begin, len(numbers)


def edu_slots(words: Words, numbers: Ints, size: int) -> U32:
    """(features, EDUs) slots in a weight table of `size`, a power of two.

    Args:
        words: read with each EDU as a sentence.
        numbers: number of the sentence of each EDU.
        size: of the table.
    """
    atoms = _atoms(words, numbers)
    value = np.repeat(_SALTS, len(numbers), axis=1)
    for column in _COLUMNS:
        mix(value[: len(column)], atoms[column])
    value &= np.uint32(size - 1)
    return value


def _atoms(words: Words, numbers: Ints) -> U32:
    """(atoms, EDUs) what is known of each EDU and its neighbours: `_LOOKS`, lengths, place in the sentence."""
    count, total = len(numbers), len(words.start)
    indices = np.arange(count)
    edges = np.searchsorted(words.sentence, np.arange(count + 1))
    first, beyond = edges[:-1], edges[1:]
    opens, closes = np.searchsorted(numbers, numbers), np.searchsorted(numbers, numbers, "right") - 1
    neighbour = indices + _EDU
    inside = (neighbour >= opens) & (neighbour <= closes)
    neighbour[~inside] = 0
    at = np.where(_WORD < 0, beyond[neighbour], first[neighbour]) + _WORD
    inside &= (at >= first[neighbour]) & (at < beyond[neighbour])
    at[~inside] = total
    kinds = np.full((7, total + 1), _BESIDE, np.uint32)
    kinds[:, :-1] = words.kinds
    atoms = np.empty((len(_LOOKS) + 5, count), np.uint32)
    atoms[: len(_LOOKS)] = kinds.ravel()[at[_SPOT] + _ROW * (total + 1)]
    length = np.full(count + 2, _BESIDE, np.uint32)
    length[1:-1] = distance(beyond - first)
    atoms[_LENGTH] = length[1:-1]
    atoms[_LENGTH + 1] = np.where(indices > opens, length[:-2], _BESIDE)
    atoms[_LENGTH + 2] = np.where(indices < closes, length[2:], _BESIDE)
    atoms[_PLACE] = np.minimum(indices - opens, 3)
    atoms[_LEFT] = np.minimum(closes - indices, 3)
    return atoms


_SEEN = (WORD, MIDDLE, COARSE)
# (EDU, word of it: from its start at 0 up, from its end at -1 down, row of `Words.kinds`)
_LOOKS: list[tuple[int, int, int]] = [
    *((0, word, row) for word in (0, 1, 2, -1, -2) for row in (*_SEEN, FINE)),
    *((0, word, row) for word in (0, 1) for row in (SHAPE, END3)),
    *((edu, word, row) for edu in (-1, 1) for word in (0, 1, -1, -2) for row in _SEEN),
    *((edu, word, row) for edu in (-2, 2) for word in (0, -1) for row in _SEEN),
]
_SPOTS = list(dict.fromkeys(look[:2] for look in _LOOKS))
_EDU, _WORD = (np.array([spot[side] for spot in _SPOTS], np.int64)[:, None] for side in (0, 1))
_SPOT = np.array([_SPOTS.index(look[:2]) for look in _LOOKS], np.int64)
_ROW = np.array([look[2] for look in _LOOKS], np.int64)[:, None]
_LENGTH = len(_LOOKS)  # of the EDU, of the one before, of the one behind
_PLACE, _LEFT = _LENGTH + 3, _LENGTH + 4


def _parts() -> list[tuple[int, ...]]:
    """The features as tuples of atom numbers, the longest first."""
    at = {look: index for index, look in enumerate(_LOOKS)}
    edges = [(0, 0), (0, -1), (-1, 0), (-1, -1), (1, 0), (1, -1)]
    pairs = [(a, b) for a in edges for b in edges if a < b]
    parts: list[tuple[int, ...]] = [(index,) for index in range(len(_LOOKS) + 5)]
    parts += [(at[(*a, row)], at[(*b, row)]) for a, b in pairs for row in _SEEN]
    parts += [(at[(*edge, row)], other) for edge in edges for row in _SEEN for other in (_PLACE, _LEFT)]
    parts += [(at[0, 0, row], at[0, 1, row], at[-1, -1, row]) for row in _SEEN]
    parts += [(at[0, 0, row], at[-1, -1, WORD], _PLACE) for row in _SEEN]
    parts += [(at[0, 0, row], at[1, 0, row], at[0, -1, WORD]) for row in _SEEN]
    parts += [(at[0, 0, row], at[0, 1, row], _PLACE) for row in _SEEN]
    parts += [(at[0, 0, row], at[-1, 0, row], at[-2, 0, row]) for row in _SEEN]
    parts += [(_PLACE, _LEFT), (_PLACE, _LENGTH), (_LEFT, _LENGTH)]
    return sorted(parts, key=len, reverse=True)


_PARTS = _parts()
_SALTS = (np.arange(len(_PARTS), dtype=np.uint32) * np.uint32(40503) + np.uint32(91))[:, None]
_COLUMNS = [np.array([part[i] for part in _PARTS if len(part) > i], np.int64) for i in range(3)]


def _by_rules(text: str, spans: Sequence[Span], numbers: list[int], language: str) -> list[tuple[int, ...]]:
    """An EDU hangs on the one before by what it opens with, on the next one by what it ends with or if it is first."""
    first, inside, leads = hanging_patterns(language)
    found: list[tuple[int, ...]] = []
    last = len(spans) - 1
    for index, (start, end) in enumerate(spans):
        before = index > 0 and numbers[index - 1] == numbers[index]
        behind = index < last and numbers[index + 1] == numbers[index]
        hangs = (inside if before else first).match(text, start, end) is not None
        led = leads is not None and leads.search(text[max(start, end - 2 * _TAIL) : end]) is not None
        if behind and (led or (hangs and not before)):
            found.append((index + 1,))
        elif before and hangs:
            found.append((index - 1,))
        else:
            found.append(())
    return found
