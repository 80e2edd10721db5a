"""Classes of English words that stand in like surroundings, from plain text."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from squeeze.errors import need
from squeeze.segment.edu_features import LETTERS, MARK, SPACE, UPPER, WORD, CharTable, Lexicon, read_words

CLASSES = (32, 128, 512)
KNOWN = 20_000  # words with classes
CONTEXT = 1_200  # words that surroundings are made of
WIDTH = 64
CHARACTERS = {"novels": 12e6, "openstax": 5e6, "wikipedia": 5e6, "software_docs": 6e6}  # read of each file
_CODE_POINTS = 0x2100
_SLOT_SHIFT = np.uint32(14)

Array = NDArray[Any]


def char_table() -> CharTable:
    """What the running Python knows of the characters below U+2100; the last entry stands for all beyond."""
    fold = np.arange(_CODE_POINTS, dtype=np.uint32)
    kind = np.zeros(_CODE_POINTS, np.uint8)
    for code in range(_CODE_POINTS):
        char = chr(code)
        lower = char.lower()
        fold[code] = 48 if char in "0123456789" else ord(lower) if len(lower) == 1 else code
        word = char.isalnum() or char == "_"
        kind[code] = SPACE if char.isspace() else LETTERS + (UPPER if char.isupper() else 0) if word else MARK
    fold[[0x2018, 0x2019]] = ord("'")
    fold[[0x201C, 0x201D]] = ord('"')
    kind[-1] = LETTERS
    return CharTable(fold, kind)


def empty_lexicon() -> Lexicon:
    """A lexicon in which no word is known."""
    none = np.zeros(1, np.uint32)
    return Lexicon(np.zeros(1 << 18, np.uint16), none, (none, none, none))


def read_texts(folder: Path) -> tuple[list[str], list[dict[str, str]]]:
    """English texts of a folder of `NAME.text.jsonl.gz`, and what each file's rows say of source and licence."""
    texts: list[str] = []
    sources: list[dict[str, str]] = []
    for name, wanted in CHARACTERS.items():
        size, said = 0.0, set()
        with gzip.open(folder / f"{name}.text.jsonl.gz", "rt", encoding="utf-8") as file:
            for line in file:
                row = json.loads(line)
                if row["lang"] != "en":
                    continue
                texts.append(row["text"])
                said.add((row["source"], row["license"]))
                size += len(row["text"])
                if size > wanted:
                    break
        sources += [{"file": name, "source": source, "license": license_} for source, license_ in sorted(said)]
    return texts, sources


def word_classes(texts: Iterable[str], chars: CharTable, seed: int) -> tuple[Array, Array]:
    """Hashes (words,) and classes (3, words) of the most frequent words; number 0 is the unknown word.

    Positive pointwise mutual information with the words one and two places before and behind, reduced by a singular
    value decomposition to 64 dimensions, rows of unit length, k-means.
    """
    sparse = need("scipy.sparse", extra="train")
    decomposition = need("sklearn.decomposition", extra="train")
    cluster = need("sklearn.cluster", extra="train")
    lexicon = empty_lexicon()
    hashes = np.concatenate([read_words(text, [(0, len(text))], chars, lexicon).kinds[WORD] for text in texts])
    unique, inverse, count = np.unique(hashes, return_inverse=True, return_counts=True)
    order = np.argsort(-count, kind="stable")[:KNOWN]
    rank = np.full(len(unique), KNOWN)
    rank[order] = np.arange(len(order))
    word = rank[inverse]
    blocks = []
    for offset in (-2, -1, 1, 2):
        center = word[max(0, -offset) : len(word) - max(0, offset)]
        beside = np.minimum(word[max(0, offset) : len(word) - max(0, -offset)], CONTEXT)
        known = center < KNOWN
        ones = np.ones(int(known.sum()), np.float32)
        blocks.append(sparse.coo_matrix((ones, (center[known], beside[known])), (KNOWN, CONTEXT + 1)).tocsr())
    counts = sparse.hstack(blocks).tocoo()
    rows, columns = np.asarray(counts.sum(1)).ravel(), np.asarray(counts.sum(0)).ravel()
    expected = rows[counts.row] * np.maximum(columns, 50)[counts.col]
    information = np.maximum(np.log(counts.data * counts.sum() / expected), 0)
    table = sparse.csr_matrix((information, (counts.row, counts.col)), shape=counts.shape)
    reduced = decomposition.TruncatedSVD(WIDTH, random_state=seed, n_iter=4).fit(table)
    vectors = reduced.transform(table) / np.sqrt(reduced.singular_values_)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9
    classes = [cluster.KMeans(k, n_init=1, random_state=seed, max_iter=30).fit_predict(vectors) + 1 for k in CLASSES]
    return _one_per_slot(unique[order].astype(np.uint32), np.stack(classes).astype(np.uint16))


def _one_per_slot(hashes: Array, classes: Array) -> tuple[Array, Array]:
    """Leaves out words whose slot a more frequent word has, and puts the unknown word first."""
    _, kept = np.unique(hashes >> _SLOT_SHIFT, return_index=True)
    kept = np.sort(kept[hashes[kept] >> _SLOT_SHIFT > 0])
    unknown = np.zeros((len(classes), 1), np.uint16)
    return np.append(np.zeros(1, np.uint32), hashes[kept]), np.concatenate([unknown, classes[:, kept]], axis=1)
