"""Which EDU hangs on which of its neighbours: what a clause cannot do without when it is kept.

A relative clause needs what it describes, a condition and its consequence need each other, so do a claim and whose
claim it is, and the halves of a clause that another one interrupts. English is decided by a small model fitted on
rhetorical trees, other languages by the words that a clause opens with and what it ends with.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from squeeze.segment.edu_features import COARSE, END3, FINE, MIDDLE, SHAPE, U32, WORD, Words, distance, mix, read_words
from squeeze.segment.edu_model import Model, shipped
from squeeze.segment.edu_rules import hanging_patterns, language_of

Span = tuple[int, int]
Ints = NDArray[np.int64]

OFFSETS = (-1, 1, -2, 2)  # the neighbours that the model speaks of, in the order of its rows
_STOP = re.compile(r"[.!?…。！？।؟॥][\"'”’»)\]）」』]*\s*\Z")
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
    words = read_words(text, spans, model.chars, model.lexicon)
    slots = edu_slots(words, np.array(numbers, np.int64), model.need.shape[1])
    found: list[list[int]] = [[] for _ in spans]
    for row, offset in enumerate(OFFSETS):
        score = model.need[row][slots].sum(axis=0)
        for index in np.flatnonzero(score > model.need_limit[row]).tolist():
            other = index + offset
            if 0 <= other < len(spans) and numbers[other] == numbers[index]:
                found[index].append(other)
    return [tuple(sorted(others)) for others in found]


def edu_slots(words: Words, numbers: Ints, size: int) -> U32:
    """(features, EDUs) slots in a weight table of `size`, a power of two.

    Args:
        words: read with each EDU as a sentence.
        numbers: number of the sentence of each EDU.
        size: of the table.
    """
    atoms = _atoms(words, numbers)
    value = np.repeat(
        (np.arange(len(_PARTS), dtype=np.uint32) * np.uint32(40503) + np.uint32(91))[:, None], len(numbers), 1
    )
    for column in _COLUMNS:
        mix(value[: len(column)], atoms[column])
    value &= np.uint32(size - 1)
    return value


def _atoms(words: Words, numbers: Ints) -> U32:
    """(atoms, EDUs) what is known of each EDU and its neighbours, in the order of `_NAMES`."""
    count, total = len(numbers), len(words.start)
    indices = np.arange(count)
    first = np.searchsorted(words.sentence, indices)
    last = np.searchsorted(words.sentence, indices, "right") - 1
    kinds = np.concatenate([words.kinds, np.full((7, 1), _BESIDE, np.uint32)], axis=1)
    opens = np.searchsorted(numbers, numbers)
    closes = np.searchsorted(numbers, numbers, "right") - 1
    length = distance(last - first + 1)
    rows: list[U32] = []
    for edu, word, row in _LOOKS:
        neighbour = indices + edu
        inside = (neighbour >= opens) & (neighbour <= closes)
        neighbour = np.where(inside, neighbour, 0)
        if row < 0:
            rows.append(np.where(inside, length[neighbour], _BESIDE))
            continue
        at = first[neighbour] + word if word >= 0 else last[neighbour] + 1 + word
        inside &= (at >= first[neighbour]) & (at <= last[neighbour])
        rows.append(kinds[row, np.where(inside, at, total)])
    rows.append(np.minimum(indices - opens, 3).astype(np.uint32))
    rows.append(np.minimum(closes - indices, 3).astype(np.uint32))
    return np.stack(rows)


_LENGTH = -1
_SEEN = (WORD, MIDDLE, COARSE)
# (EDU, word of it: from its start at 0 up, from its end at -1 down, row of `Words.kinds` or _LENGTH)
_LOOKS: list[tuple[int, int, int]] = [
    *((0, word, row) for word in (0, 1, 2, -1, -2) for row in (*_SEEN, FINE)),
    *((0, word, row) for word in (0, 1) for row in (SHAPE, END3)),
    *((edu, word, row) for edu in (-1, 1) for word in (0, 1, -1, -2) for row in _SEEN),
    *((edu, word, row) for edu in (-2, 2) for word in (0, -1) for row in _SEEN),
    *((edu, 0, _LENGTH) for edu in (-1, 0, 1)),
]
_PLACE, _LEFT = len(_LOOKS), len(_LOOKS) + 1


def _parts() -> list[tuple[int, ...]]:
    """The features as tuples of atom numbers, the longest first."""
    at = {look: index for index, look in enumerate(_LOOKS)}
    edges = [(0, 0), (0, -1), (-1, 0), (-1, -1), (1, 0), (1, -1)]
    pairs = [(a, b) for a in edges for b in edges if a < b]
    parts: list[tuple[int, ...]] = [(index,) for index in range(len(_LOOKS) + 2)]
    parts += [(at[(*a, row)], at[(*b, row)]) for a, b in pairs for row in _SEEN]
    parts += [(at[(*edge, row)], other) for edge in edges for row in _SEEN for other in (_PLACE, _LEFT)]
    parts += [(at[0, 0, row], at[0, 1, row], at[-1, -1, row]) for row in _SEEN]
    parts += [(at[0, 0, row], at[-1, -1, WORD], _PLACE) for row in _SEEN]
    parts += [(at[0, 0, row], at[1, 0, row], at[0, -1, WORD]) for row in _SEEN]
    parts += [(at[0, 0, row], at[0, 1, row], _PLACE) for row in _SEEN]
    parts += [(at[0, 0, row], at[-1, 0, row], at[-2, 0, row]) for row in _SEEN]
    parts += [(_PLACE, _LEFT), (_PLACE, at[0, 0, _LENGTH]), (_LEFT, at[0, 0, _LENGTH])]
    return sorted(parts, key=len, reverse=True)


_PARTS = _parts()
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
