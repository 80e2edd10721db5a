"""Clauses of English sentences by a learned linear model that runs on numpy alone.

Fitted by `python -m squeeze.train.edu`; its features and sources are described there and in `data/edu_en.sources.txt`.
"""

from __future__ import annotations

import io
import threading
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from squeeze.errors import CorruptError
from squeeze.segment.edu_features import (
    TABLE_BITS,
    CharTable,
    Lexicon,
    Surroundings,
    Words,
    find_places,
    read_words,
)
from squeeze.segment.graphemes import is_break

VERSION = 1
NAME = "edu_en.npz"
_BATCH = 100_000  # characters read at once: few enough to stay in the processor's cache
_BLOCK = 768  # places scored at once
_SLOT_BITS = 18

# name: (dtype, shape); None is any length
_ARRAYS: dict[str, tuple[str, tuple[int | None, ...]]] = {
    "version": ("int64", ()),
    "fold": ("uint16", (None,)),
    "kind": ("uint8", (None,)),
    "words": ("uint32", (None,)),
    "classes": ("uint16", (3, None)),
    "cut": ("int8", (1 << TABLE_BITS,)),
    "cut_limit": ("int64", ()),
    "need": ("int16", (4, None)),
    "need_limit": ("int64", (4,)),
}


class Model(NamedTuple):
    """The learned weights.

    Attributes:
        chars: what is known of characters.
        lexicon: classes of words.
        cut: (2 ** TABLE_BITS,) whole numbers; their sum over the features of a place is its score.
        cut_limit: a clause begins where the score is above it.
        need: (slots, 4) the same for whether an EDU needs the one before, behind, two before and two behind it.
        need_limit: (4,) their limits.
    """

    chars: CharTable
    lexicon: Lexicon
    cut: NDArray[np.float32]
    cut_limit: int
    need: NDArray[np.float32]
    need_limit: NDArray[np.int64]


_loaded: list[Model] = []
_lock = threading.Lock()


def shipped() -> Model:
    """The model that comes with the package, read once on first use.

    Raises:
        CorruptError: its file is missing or damaged.
    """
    if not _loaded:
        with _lock:
            if not _loaded:
                _loaded.append(read_model(_shipped_bytes(), NAME))
    return _loaded[0]


def _shipped_bytes() -> bytes:
    try:
        return resources.files("squeeze").joinpath("data", NAME).read_bytes()
    except OSError as error:
        raise CorruptError(
            f"the weights squeeze/data/{NAME} cannot be read ({error}); reinstall squeeze-rag"
        ) from error


def load_model(path: Path) -> Model:
    """The model in a file that `squeeze.train.edu` wrote.

    Raises:
        CorruptError: it is missing or damaged.
    """
    try:
        return read_model(path.read_bytes(), str(path))
    except OSError as error:
        raise CorruptError(f"the weights {path} cannot be read ({error}); give a file of squeeze.train.edu") from error


def read_model(content: bytes, name: str) -> Model:
    """The model in the bytes of an npz file; `name` is what errors call it.

    Raises:
        CorruptError: an array is missing, damaged or of another type or shape.
    """
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in _ARRAYS}
    except (OSError, ValueError, KeyError, EOFError, AttributeError, zipfile.BadZipFile, zlib.error) as error:
        raise CorruptError(f"the weights {name} do not decode ({error}); reinstall squeeze-rag") from error
    for key, (dtype, shape) in _ARRAYS.items():
        found = arrays[key]
        fits = len(found.shape) == len(shape) and all(
            b is None or a == b for a, b in zip(found.shape, shape, strict=True)
        )
        if found.dtype != dtype or not fits:
            raise CorruptError(
                f"the weights {name} hold {key!r} as {found.dtype}{found.shape}, allowed: {dtype}{shape}; "
                "reinstall squeeze-rag"
            )
    if int(arrays["version"]) != VERSION:
        raise CorruptError(f"the weights {name} are of version {int(arrays['version'])}, allowed: {VERSION}; reinstall")
    return _assemble(arrays, name)


def _assemble(arrays: dict[str, NDArray[Any]], name: str) -> Model:
    words, classes = arrays["words"], arrays["classes"].astype(np.uint32)
    need = np.ascontiguousarray(arrays["need"].T, np.float32)
    sound = len(arrays["fold"]) == len(arrays["kind"]) > 0 and len(words) == classes.shape[1] > 0
    if not sound or len(need) & (len(need) - 1) or len(need) == 0:
        raise CorruptError(f"the weights {name} hold arrays that do not fit together; reinstall squeeze-rag")
    return Model(
        CharTable(arrays["fold"].astype(np.uint32), arrays["kind"]),
        make_lexicon(words, classes),
        arrays["cut"].astype(np.float32),
        int(arrays["cut_limit"]),
        need,
        arrays["need_limit"],
    )


def make_lexicon(words: NDArray[np.uint32], classes: NDArray[np.uint32]) -> Lexicon:
    """The lexicon of words by hash, (words,) and (3, words); number 0 is the unknown word, of class 0."""
    slots = np.zeros(1 << _SLOT_BITS, np.uint16)
    slots[words[1:] >> np.uint32(32 - _SLOT_BITS)] = np.arange(1, len(words), dtype=np.uint16)
    return Lexicon(slots, words, (classes[0], classes[1], classes[2]))


def batches(spans: Sequence[tuple[int, int]]) -> Iterator[Sequence[tuple[int, int]]]:
    """The spans in runs of about a hundred thousand characters."""
    begin = size = 0
    for index, (start, end) in enumerate(spans):
        size += end - start
        if size >= _BATCH:
            yield spans[begin : index + 1]
            begin, size = index + 1, 0
    if begin < len(spans):
        yield spans[begin:]


class LearnedCutter:
    """Cuts English sentences where the learned model says that a clause begins."""

    def __init__(self, model: Model | None = None) -> None:
        self._model = model

    def cuts(self, text: str, spans: Sequence[tuple[int, int]]) -> list[list[int]]:
        """Ascending offsets strictly inside each span where a clause begins, always behind white space."""
        model = self._model if self._model is not None else shipped()
        found: list[list[int]] = []
        for batch in batches(spans):
            words = read_words(text, batch, model.chars, model.lexicon)
            places = find_places(words)
            chosen = places.word[score_places(model, words) > model.cut_limit]
            cuts: list[list[int]] = [[] for _ in batch]
            for offset, sentence in zip(words.start[chosen].tolist(), words.sentence[chosen].tolist(), strict=True):
                if is_break(text, offset) and not text[offset].isspace():
                    cuts[sentence].append(offset)
            found.extend(cuts)
        return found


def score_places(model: Model, words: Words) -> NDArray[np.float32]:
    """The score of each place where a clause may begin; whole numbers, so the same everywhere."""
    places = find_places(words)
    around = Surroundings(words, places)
    count = len(places.word)
    score = np.zeros(count, np.float32)
    for begin in range(0, count, _BLOCK):
        end = min(begin + _BLOCK, count)
        score[begin:end] = model.cut[around.features(begin, end)].sum(axis=0)
    return score
