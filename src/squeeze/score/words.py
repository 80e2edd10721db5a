"""Words of a text as scorers compare them: case, accents and inflection folded, in every script."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import chain

import regex

# Words with what joins them into one name (paths, versions, dates, addresses, hyphens). Plain ASCII goes through `re`,
# which is several times faster; other text needs `regex`, whose \p{M} keeps the vowel signs of Indic scripts in a word.
_ASCII_WORDS = re.compile(r"\w+(?:[-./:@']\w+)*")
_WORDS = regex.compile(r"[\w\p{M}]+(?:[-./:@'’][\w\p{M}]+)*")
_PIECES = regex.compile(r"[\w\p{M}]+")
_CAMEL = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")

# Scripts written without spaces between words, and Hangul, whose words carry particles.
_RUNS = regex.compile(
    r"(?P<dense>[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー々]+)"
    r"|(?P<hangul>\p{Hangul}+)|(?P<other>[^\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Hangul}ー々]+)"
)
_HAS_RUNS = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Hangul}]")

# Accents of Latin, Greek and Cyrillic, vowel points of Hebrew and Arabic, and the Arabic stretching stroke. Marks of
# other scripts are letters in all but name, so they stay.
_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]+")
_LETTERS = str.maketrans(
    {"ı": "i", "ø": "o", "đ": "d", "ł": "l", "æ": "ae", "œ": "oe", "أ": "ا", "إ": "ا", "آ": "ا", "ى": "ي", "ة": "ه"}
)

STEM = 6


def fold(text: str) -> str:
    """The text in lower case without accents, its compatibility forms (full width, ligatures) made plain."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFKC", _ACCENTS.sub("", plain)).translate(_LETTERS)


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)] if len(run) > 1 else [run]


def stem(word: str) -> str:
    """What inflected forms of a word share."""
    return word[:STEM]


def _plain(word: str) -> list[str]:
    """Terms of one folded piece of a word."""
    if word.isascii() or not _HAS_RUNS.search(word):
        return [word] if len(word) < 4 or not word.isalpha() else [word, stem(word) + "*"]
    terms: list[str] = []
    for run in _RUNS.finditer(word):
        text = run.group()
        if run.lastgroup == "dense":
            terms += _pairs(text)
        elif run.lastgroup == "hangul":
            terms += [text, *_pairs(text)] if len(text) > 2 else [text]
        else:
            terms += _plain(text)
    return terms


def terms_of(word: str) -> tuple[str, ...]:
    """The terms that one word counts as."""
    if word.isalpha() and word.isascii() and (word.islower() or word.istitle() or word.isupper()):
        return tuple(_plain(word.lower()))
    pieces = _PIECES.findall(word)
    terms: list[str] = [fold(word)] if len(pieces) > 1 else []
    for piece in pieces:
        terms += _plain(fold(piece))
        parts = _CAMEL.findall(piece) if piece.isascii() else []
        if len(parts) > 1:
            terms += chain.from_iterable(_plain(part.lower()) for part in parts)
    return tuple(terms)


class Terms(dict[str, tuple[str, ...]]):
    """Terms of words, worked out once per word: one per call, so that nothing grows without bound."""

    def __missing__(self, word: str) -> tuple[str, ...]:
        terms = self[word] = terms_of(word)
        return terms

    def of(self, text: str) -> list[str]:
        """The terms of a text, in order."""
        found: Iterable[str] = (_ASCII_WORDS if text.isascii() else _WORDS).findall(text)
        return list(chain.from_iterable(map(self.__getitem__, found)))
