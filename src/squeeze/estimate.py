"""The `"estimate"` counter: about as many tokens as cl100k_base would give, without a vocabulary.

A byte-pair vocabulary starts a token at a character for reasons that are nearly local: what stands around it,
and whether the word is a frequent one. So every character gets an expected number of token starts from a table keyed by
the classes of the two characters before it, itself and the one after it (a coarser table of two classes where that
context was never seen), and a word that is known to be one token costs one. Words that are not known cost more where
their neighbours are not known either (another language than English), less among known ones.

The tables are in `data/estimate.npz` and come from `python -m squeeze.train.estimate`. All sums are integers, so the
result is the same on every machine. Texts are counted side by side in numpy, `BATCH` characters at a time: time and
memory are linear.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from squeeze.errors import ConfigError

Ints = NDArray[np.int64]

BATCH = 1 << 16
UNIT = 64  # table values are 64ths of a token; factors are 64ths again
NEIGHBOURS = 4  # runs on each side that tell whether an unknown word stands among unknown words
MAX_WORD = 20
PAD = 10  # what stands around a text: line feeds
SPACE = 32
DIGIT = 48  # the class of all digits
DIGITS = UNIT * UNIT * 17 // 16  # what up to three digits cost
_SLOT_BITS = 16
WORD_SHIFT = np.uint32(14)
BASE = UNIT * UNIT // 2  # what a word of prose costs whatever its letters are (then `factors` are smaller)
_NO_IDS = 'the "estimate" counter has no token ids; use a tiktoken encoding name, "hf:" with a folder, or a tokenizer'
_ODD = np.uint32(0x9E3779B1)


def _random_words() -> NDArray[np.uint32]:
    """65,536 fixed pseudo-random values, one per pair of classes, whose sum identifies a word (splitmix64)."""
    x = np.arange(1 << 16, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x1234567)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((x ^ (x >> np.uint64(31))) >> np.uint64(32)).astype(np.uint32)


@dataclass(frozen=True)
class Tables:
    """What was fitted.

    Attributes:
        classes: class of each code point, (1114112,) uint8.
        joined: whether a class can continue a word, (256,) bool; a run of ASCII letters beside it is not a word.
        pairs: 64ths of a token for (class before, class), (65536,) uint8.
        contexts: tag in the high byte, 64ths of a token in the low one, per slot of a hashed context, (65536,) uint16.
        words: hash of a word that is one token in the slot of its high bits, else 0, (262144,) uint32.
        factors: 64ths by which an unknown word counts, per `kind` and eighths of its neighbours that are unknown,
            (3, 9) int64.
        mix: pseudo-random value of each pair of classes, (65536,) uint32.
    """

    classes: NDArray[np.uint8]
    joined: NDArray[np.bool_]
    pairs: NDArray[np.uint8]
    contexts: NDArray[np.uint16]
    words: NDArray[np.uint32]
    factors: Ints
    mix: NDArray[np.uint32]


def unpack(arrays: Any) -> Tables:
    """The tables of a mapping of arrays as the file holds them (classes up to U+20000)."""
    classes = np.full(0x110000, arrays["classes"][-1], np.uint8)
    classes[: len(arrays["classes"])] = arrays["classes"]
    classes[0xD800:0xE000] = classes[0xFFFD]
    words = np.zeros(1 << (32 - int(WORD_SHIFT)), np.uint32)
    words[arrays["words"] >> WORD_SHIFT] = arrays["words"]
    joined = np.asarray(arrays["joined"], np.bool_)
    factors = np.asarray(arrays["factors"], np.int64)
    return Tables(classes, joined, arrays["pairs"], arrays["contexts"], words, factors, _random_words())


@cache
def _load() -> Tables:
    path = resources.files("squeeze") / "data" / "estimate.npz"
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        return unpack(dict(arrays))


_LOCK = threading.Lock()


def tables() -> Tables:
    """The shipped tables, read once."""
    with _LOCK:
        return _load()


def code_points(text: str) -> NDArray[np.uint32]:
    """The code points of a text, lone surrogates as themselves."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.dtype("<u4"))


def running(values: NDArray[Any]) -> Ints:
    """Sums of the values before each position, one longer than the values."""
    sums = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=sums[1:])
    return sums


def contexts(kinds: NDArray[np.uint8]) -> tuple[NDArray[np.uint16], NDArray[np.uint32]]:
    """Per character the pair (class before, class) and the hash of the four classes around it."""
    padded = np.empty(len(kinds) + 3, np.uint32)
    padded[:2] = padded[-1] = PAD
    padded[2:-1] = kinds
    two = (padded[:-1] << np.uint32(8)) | padded[1:]
    return two[1:-1].astype(np.uint16), ((two[:-2] << np.uint32(16)) | two[2:]) * _ODD


def runs(
    kinds: NDArray[np.uint8], two: NDArray[np.uint16], t: Tables
) -> tuple[Ints, Ints, NDArray[np.uint32], NDArray[np.bool_]]:
    """Start (its leading space included), end, hash of each run of ASCII letters, and whether it can be a word."""
    lower = kinds | np.uint8(32)
    edges = np.zeros(len(kinds) + 2, np.int8)
    edges[1:-1] = (lower >= 97) & (lower <= 122) & (kinds < 128)
    change = np.flatnonzero(np.diff(edges))
    start, end = change[::2], change[1::2]
    around = np.full(len(kinds) + 2, PAD, np.uint8)
    around[1:-1] = kinds
    before = around[start]
    spaced = before == SPACE
    first = (np.where(spaced, SPACE, 0).astype(np.int64) << 8) | kinds[start]
    mixed = t.mix[two]
    sums = running(mixed)
    code = (sums[end] - sums[start] - mixed[start] + t.mix[first]).astype(np.uint32)
    whole = (end - start <= MAX_WORD) & ~t.joined[before] & ~t.joined[around[end + 1]]
    return start - spaced, end, code, whole


def charge_digits(kinds: NDArray[np.uint8], value: Ints) -> None:
    """Sets what digits cost in `value`: vocabularies of this kind cut a number into groups of three from its left."""
    at = np.flatnonzero(kinds == DIGIT)
    if len(at):
        order = np.arange(len(at))
        first = np.where(np.diff(at, prepend=-2) != 1, order, 0)
        value[at] = np.where((order - np.maximum.accumulate(first)) % 3 == 0, DIGITS, 0)


def is_known(code: NDArray[np.uint32], whole: NDArray[np.bool_], t: Tables) -> NDArray[np.bool_]:
    """Whether each run is a word that is one token."""
    known: NDArray[np.bool_] = whole & (t.words[code >> WORD_SHIFT] == code)
    return known


def kind(kinds: NDArray[np.uint8], start: Ints, whole: NDArray[np.bool_]) -> Ints:
    """0 for a run inside of markup or an identifier, 1 for one after a space, 2 for a piece of a longer word."""
    return np.where(whole, (kinds[start] == SPACE).astype(np.int64), 2)


def character_units(two: NDArray[np.uint16], hashed: NDArray[np.uint32], t: Tables) -> Ints:
    """Expected token starts at each character in 64ths."""
    entry = t.contexts[hashed >> np.uint32(32 - _SLOT_BITS)]
    tag = (hashed >> np.uint32(24 - _SLOT_BITS)) & np.uint32(255)
    return np.where((entry >> np.uint16(8)) == tag, entry & np.uint16(255), t.pairs[two]).astype(np.int64)


def neighbour_share(unknown: NDArray[np.bool_], owner: Ints, edge: Ints) -> Ints:
    """Eighths of the runs near each run, in the same text, that are unknown (4 where there is none).

    Args:
        unknown: per run.
        owner: index of its text, per run, ascending.
        edge: first run of each text, and the number of runs.
    """
    here = np.arange(len(unknown))
    low = np.maximum(here - NEIGHBOURS, edge[owner])
    high = np.minimum(here + NEIGHBOURS + 1, edge[owner + 1])
    near = high - low - 1
    sums = running(unknown)
    bad = sums[high] - sums[low] - unknown
    return np.where(near > 0, (16 * bad + near) // np.maximum(2 * near, 1), 4)


def units(texts: Sequence[str], t: Tables) -> Ints:
    """Estimated tokens of each text in 4096ths (UNIT squared), counted side by side."""
    kinds = t.classes[code_points("\n\n".join(texts))]
    two, hashed = contexts(kinds)
    value = character_units(two, hashed, t) * UNIT
    charge_digits(kinds, value)
    sums = running(value)
    ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)) + 2) - 2
    begins = np.concatenate([[0], ends[:-1] + 2])
    total = sums[ends] - sums[begins]
    start, end, code, whole = runs(kinds, two, t)
    if not len(start):
        return np.asarray(total, np.int64)
    known = is_known(code, whole, t)
    owner = np.searchsorted(ends, start, side="right")
    edge = np.searchsorted(owner, np.arange(len(texts) + 1))
    cost = sums[end] - sums[start]
    which = kind(kinds, start, whole)
    scaled = cost // UNIT * t.factors[which, neighbour_share(~known, owner, edge)] + (which > 0) * BASE
    change = running(np.where(known, UNIT * UNIT, scaled) - cost)
    return np.asarray(total + change[edge[1:]] - change[edge[:-1]], np.int64)


def _batches(texts: Sequence[str]) -> Iterator[tuple[list[int], list[str]]]:
    """Lists of at most about `BATCH` characters with the index of the text that each piece comes from."""
    owners: list[int] = []
    pieces: list[str] = []
    size = 0
    for index, text in enumerate(texts):
        for at in range(0, len(text), BATCH):
            piece = text[at : at + BATCH]
            if pieces and size + len(piece) > BATCH:
                yield owners, pieces
                owners, pieces, size = [], [], 0
            owners.append(index)
            pieces.append(piece)
            size += len(piece) + 2
    if pieces:
        yield owners, pieces


class Estimate:
    """The counter behind `tokenizer="estimate"`."""

    name = "estimate"

    def count(self, text: str) -> int:
        """Estimated tokens; 0 for the empty text alone."""
        return self.count_many((text,))[0]

    def encode(self, text: str) -> list[int]:
        """Raises `ConfigError`: an estimate has no ids."""
        raise ConfigError(_NO_IDS)

    def decode(self, ids: Sequence[int]) -> str:
        """Raises `ConfigError`: an estimate has no ids."""
        raise ConfigError(_NO_IDS)

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """What `count` gives for each text, in a fraction of the time that as many calls take."""
        loaded = tables()
        total = np.zeros(len(texts), np.int64)
        for owners, pieces in _batches(texts):
            np.add.at(total, owners, units(pieces, loaded))
        tokens = (total + UNIT * UNIT // 2) // (UNIT * UNIT)
        return [max(int(n), 1) if text else 0 for n, text in zip(tokens, texts, strict=True)]
