"""Words of English sentences as arrays, and the hashed features of the places where a clause may begin.

Everything is done for many words at once with integer arithmetic, so it is fast without a compiled part and gives the
same bits on every machine. The program that fits the weights uses the same code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

U32 = NDArray[np.uint32]
Ints = NDArray[np.int64]

SPACE, LETTERS, MARK, UPPER = 0, 1, 2, 4  # kinds of characters in `CharTable.kind`; UPPER is added to LETTERS
REACH = 5  # words on each side that features may look at
TABLE_BITS = 18
_MULTIPLY = np.uint32(0x9E3779B1)
_LONGEST = 24  # characters of a word that tell it from others
_POWERS = np.array([pow(0x9E3779B1, power, 1 << 32) for power in range(1, _LONGEST + 1)], np.uint32)
_DISTANCE = np.searchsorted([1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 30], np.arange(31), "right").astype(np.uint32)
_BESIDE = np.uint32(0xFFFF1)  # stands for a word beyond the sentence


class CharTable(NamedTuple):
    """What the model knows of single characters, up to the length of its arrays.

    Attributes:
        fold: lower-case code point, digits as 0, curly quotes straight.
        kind: SPACE, LETTERS (with UPPER or without) or MARK.
    """

    fold: U32
    kind: NDArray[np.uint8]


class Lexicon(NamedTuple):
    """Classes of words that occur in like surroundings, coarse to fine.

    Attributes:
        slots: word number by the upper 18 bits of the hash; 0 where there is none.
        hashes: hash of each word; number 0 stands for every unknown word.
        classes: three arrays, class of each word; 0 for an unknown word.
    """

    slots: NDArray[np.uint16]
    hashes: U32
    classes: tuple[U32, U32, U32]


class Words(NamedTuple):
    """The words and marks of some sentences.

    Attributes:
        start: offset of each in the text.
        spaced: whether white space stands before it.
        sentence: number of its sentence, ascending.
        kinds: (7, words) word, last two letters, last three, shape, coarse, middle and fine class.
    """

    start: Ints
    spaced: NDArray[np.bool_]
    sentence: Ints
    kinds: U32


WORD, END2, END3, SHAPE, COARSE, MIDDLE, FINE = range(7)


def read_words(text: str, spans: Sequence[tuple[int, int]], chars: CharTable, lexicon: Lexicon) -> Words:
    """The words of the sentences at `spans`; a mark is a word, so is an apostrophe with the letters behind it."""
    starts = np.array([span[0] for span in spans], np.int64)
    lengths = np.array([span[1] for span in spans], np.int64) - starts + 1
    locals_ = np.cumsum(lengths) - lengths
    code = np.frombuffer("\n".join([text[a:b] for a, b in spans]).encode("utf-32-le", "surrogatepass"), np.uint32)
    last = np.uint32(len(chars.kind) - 1)
    index = np.minimum(code, last)
    low = chars.fold[index]
    np.copyto(low, code, where=code >= last)
    full_kind = chars.kind[index]
    kind = full_kind & np.uint8(3)
    begins, ends = _edges(low, kind)
    start, end = np.flatnonzero(begins), np.flatnonzero(ends) + 1
    sentence = np.searchsorted(locals_, start, "right") - 1
    spaced = np.ones(len(start), np.bool_)
    np.equal(kind[start[1:] - 1], SPACE, out=spaced[1:])
    kinds = np.empty((7, len(start)), np.uint32)
    if len(start):
        _fill(kinds, (low, full_kind), (start, end))
        number = lexicon.slots[kinds[WORD] >> np.uint32(14)]
        number[lexicon.hashes[number] != kinds[WORD]] = 0
        for row, classes in zip((COARSE, MIDDLE, FINE), lexicon.classes, strict=True):
            kinds[row] = classes[number]
    return Words(start + (starts - locals_)[sentence], spaced, sentence, kinds)


def _edges(low: U32, kind: NDArray[np.uint8]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """For each character whether a word begins with it, and whether one ends with it."""
    letter = kind == LETTERS
    before = np.zeros_like(letter)
    before[1:] = letter[:-1]
    inner = (low == 39) & before  # an apostrophe between letters
    inner[:-1] &= letter[1:]
    inner[-1:] = False
    before[1:] |= inner[:-1]
    begins = (kind != SPACE) & (~letter | ~before)
    ends = kind != SPACE
    ends[:-1] &= begins[1:] | (kind[1:] == SPACE)
    return begins, ends


def _fill(kinds: U32, characters: tuple[U32, NDArray[np.uint8]], edges: tuple[Ints, Ints]) -> None:
    """Writes the hash, the endings and the shape of each word into the first rows of `kinds`."""
    low, kind = characters
    start, end = edges
    length = end - start
    place = np.arange(int(length.sum())) - np.repeat(np.cumsum(length) - length, length)
    at = np.repeat(start, length) + place
    mixed = (low[at] + np.uint32(7)) * _POWERS[np.minimum(place, _LONGEST - 1)]
    value = np.add.reduceat(mixed, np.cumsum(length) - length)
    value ^= value >> np.uint32(15)
    value *= np.uint32(0x85EBCA6B)
    value ^= value >> np.uint32(13)
    kinds[WORD] = value
    second = np.where(length > 1, low[np.maximum(end - 2, 0)], np.uint32(0))
    third = np.where(length > 2, low[np.maximum(end - 3, 0)], np.uint32(0))
    kinds[END2] = low[end - 1] * np.uint32(131) + second + np.uint32(1)
    kinds[END3] = kinds[END2] * np.uint32(8191) + third + np.uint32(3)
    first, follows = kind[start], kind[np.minimum(start + 1, len(kind) - 1)]
    upper = (first & UPPER) > 0
    shape = np.where(upper, np.where((length > 1) & ((follows & UPPER) > 0), 3, 2), 4)
    shape = np.where(low[start] == 48, 1, shape)
    kinds[SHAPE] = np.where((first & 3) == MARK, 0, shape)


class Places(NamedTuple):
    """Where a clause may begin, with the atoms that features are made of.

    Attributes:
        word: index of the word that would begin a clause.
        first: index of the first word of its sentence.
        last: index of the last.
        opener: index of the word that opens the stretch before it: behind the last mark, or the first of the sentence.
    """

    word: Ints
    first: Ints
    last: Ints
    opener: Ints


def find_places(words: Words) -> Places:
    """Every word behind white space that does not begin its sentence."""
    count = len(words.start)
    opens = np.ones(count, np.bool_)
    np.not_equal(words.sentence[1:], words.sentence[:-1], out=opens[1:])
    firsts = np.flatnonzero(opens)
    of = np.cumsum(opens) - 1
    word = np.flatnonzero(words.spaced & ~opens)
    lasts = np.append(firsts[1:], count) - 1
    plain = words.kinds[SHAPE] > 0
    stretch = opens.copy()
    stretch[1:] |= plain[1:] & ~plain[:-1]
    openers = np.flatnonzero(stretch)
    opener = openers[np.cumsum(stretch)[word - 1] - 1]
    return Places(word, firsts[of[word]], lasts[of[word]], opener)


DONE, AHEAD = (7, 0), (8, 0)  # words of the sentence before the place, and behind it
OPENER, OPENER_CLASS = (9, 0), (10, 0)  # the word that opens the stretch before the place, and its middle class
_CLASSES = (COARSE, MIDDLE, FINE)
_TRIPLES = ((-1, 0, 1), (0, 1, 2), (-2, -1, 0))

# Each feature is a tuple of atoms; an atom is a row of `Words.kinds` and an offset from the place.
_FEATURES: list[tuple[tuple[int, int], ...]] = [
    *(((WORD, offset),) for offset in range(-4, 5)),
    *(((WORD, offset), (WORD, offset + 1)) for offset in range(-3, 3)),
    *(tuple((WORD, offset) for offset in triple) for triple in _TRIPLES),
    ((WORD, -1), (WORD, 1)),
    ((WORD, 0), (WORD, 2)),
    *(((row, offset),) for row in (SHAPE, END2, END3) for offset in range(-2, 3)),
    ((SHAPE, -1), (SHAPE, 0), (SHAPE, 1)),
    *((DONE,), (AHEAD,), (DONE, (WORD, 0)), (DONE, (WORD, -1)), (AHEAD, (WORD, 0))),
    *(((row, offset),) for row in _CLASSES for offset in range(-4, 6)),
    *(((row, offset), (row, offset + 1)) for row in _CLASSES for offset in range(-3, 4)),
    *(tuple((row, offset) for offset in triple) for row in _CLASSES for triple in _TRIPLES),
    *(tuple((row, offset + step) for step in range(4)) for row in (COARSE, MIDDLE) for offset in (-2, 0)),
    *(((WORD, 0), (row, offset)) for row in (COARSE, MIDDLE) for offset in (-2, -1, 1, 2, 3)),
    *(((WORD, -1), (row, offset)) for row in (COARSE, MIDDLE) for offset in (-2, 0, 1, 2)),
    *(((WORD, 0), (row, -1), (row, 1)) for row in (COARSE, MIDDLE)),
    *(((WORD, -1), (row, 0), (row, 1)) for row in (COARSE, MIDDLE)),
    *(((WORD, 0), (row, 1), (row, 2)) for row in (COARSE, MIDDLE)),
    *(((row, offset), (row, offset + 2)) for row in (WORD, MIDDLE) for offset in (-2, 0) if (row, offset) != (WORD, 0)),
    *(((row, -1), (row, 1)) for row in (MIDDLE, FINE)),
    *(((row, -2), (row, -1), (WORD, 0), (row, 1)) for row in (COARSE, MIDDLE)),
    ((MIDDLE, -1), (WORD, 0), (MIDDLE, 1), (MIDDLE, 2)),
    ((WORD, -1), (WORD, 2)),
    ((WORD, -1), (MIDDLE, 0), (MIDDLE, 1), (MIDDLE, 2)),
    ((COARSE, -3), (COARSE, -2), (COARSE, -1), (COARSE, 0)),
    ((COARSE, 1), (COARSE, 2), (COARSE, 3)),
    ((FINE, -1), (WORD, 0), (FINE, 1)),
    *((OPENER,), (OPENER_CLASS,), (OPENER, (WORD, -1)), (OPENER, (WORD, -1), (COARSE, 0)), (OPENER, (WORD, 0))),
    *((OPENER_CLASS, (WORD, -1), (MIDDLE, 0)), (OPENER_CLASS, (WORD, 0)), (OPENER, (WORD, -1), (WORD, 0))),
    (OPENER, (MIDDLE, -1), (MIDDLE, 0)),
    *((one, other) for one, other in (((FINE, -1), (WORD, 0)), ((WORD, -1), (FINE, 0)), ((FINE, 1), (WORD, 0)))),
]
_FEATURES.sort(key=len, reverse=True)
_ATOMS = list(dict.fromkeys(atom for feature in _FEATURES for atom in feature))
_PLAIN = [number for number, atom in enumerate(_ATOMS) if atom[0] < DONE[0]]
_ROWS = np.array([_ATOMS[number][0] for number in _PLAIN], np.int64)[:, None]
_OFFSETS = np.array([_ATOMS[number][1] for number in _PLAIN], np.int64)[:, None]
_COLUMNS = [  # the atoms at each position, of the features that are long enough to have one
    np.array([_ATOMS.index(feature[position]) for feature in _FEATURES if len(feature) > position], np.int64)
    for position in range(4)
]
_SALTS = (np.arange(len(_FEATURES), dtype=np.uint32) * np.uint32(40503) + np.uint32(17))[:, None]
FEATURES = len(_FEATURES)


def mix(value: U32, other: U32) -> None:
    """Hashes `other` into `value` in place."""
    value ^= other
    value *= _MULTIPLY
    value ^= value >> np.uint32(15)


def distance(words: Ints) -> U32:
    """A step on a coarse scale for a number of words."""
    return _DISTANCE[np.minimum(words, len(_DISTANCE) - 1)]


class Surroundings:
    """Looks up the words around places of one set of sentences; a sentence's edge hides what is beyond."""

    def __init__(self, words: Words, places: Places) -> None:
        self.places = places
        self._kinds = words.kinds
        count = len(words.start)
        gap = REACH * (words.sentence + 1)
        self._width = count + (int(gap[-1]) if count else 0) + REACH
        padded = np.full((7, self._width), _BESIDE, np.uint32)
        padded[:, np.arange(count) + gap] = words.kinds
        self._flat = padded.ravel()
        self._at = places.word + gap[places.word]

    def features(self, begin: int, end: int) -> NDArray[np.uint32]:
        """(FEATURES, end - begin) slots in the weight table for the places in that range."""
        places = self.places
        word = places.word[begin:end]
        atoms = np.empty((len(_ATOMS), len(word)), np.uint32)
        atoms[_PLAIN] = self._flat[(_ROWS * self._width + _OFFSETS) + self._at[begin:end]]
        atoms[_ATOMS.index(DONE)] = distance(word - places.first[begin:end])
        atoms[_ATOMS.index(AHEAD)] = distance(places.last[begin:end] - word)
        atoms[_ATOMS.index(OPENER)] = self._kinds[WORD, places.opener[begin:end]]
        atoms[_ATOMS.index(OPENER_CLASS)] = self._kinds[MIDDLE, places.opener[begin:end]]
        value = np.repeat(_SALTS, len(word), axis=1)
        for column in _COLUMNS:
            mix(value[: len(column)], atoms[column])
        value &= np.uint32((1 << TABLE_BITS) - 1)
        return value
