"""Terms: the words of a text as scorers compare them, with case, accents and endings folded, in every script."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import chain

import regex

# A word with what joins it into one name: paths, versions, dates, addresses, hyphens, grouped digits. Plain ASCII goes
# through `re`, which is several times faster; other text needs `regex`, whose \p{M} keeps Indic vowel signs in a word.
_ASCII_WORDS = re.compile(r"\w+(?:(?:[-./:@]|,(?=\d\d\d))\w+)*")
_WORDS = regex.compile(r"[\w\p{M}]+(?:(?:[-./:@]|,(?=\d\d\d))[\w\p{M}]+)*")
_PIECES = regex.compile(r"[\w\p{M}]+")
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")

_DENSE = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー々〆"
_UNSPACED = regex.compile(rf"[{_DENSE}\p{{Hangul}}]")
_RUNS = regex.compile(rf"(?P<dense>[{_DENSE}]+)|(?P<hangul>\p{{Hangul}}+)|(?P<other>[^{_DENSE}\p{{Hangul}}]+)")

# Accents of Latin, Greek and Cyrillic, vowel points of Hebrew and Arabic, and the Arabic stretching stroke. The marks
# of other scripts are letters in all but name, so they stay.
_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]+")
_LETTERS = str.maketrans(
    {"ı": "i", "ø": "o", "đ": "d", "ł": "l", "æ": "ae", "œ": "oe", "أ": "ا", "إ": "ا", "آ": "ا", "ى": "ي", "ة": "ه"}
)

_STEM = 6
"""Letters that stand for a word beside the word itself: endings differ, beginnings rarely. Of 4, 5 and 6 none was
clearly better on questions in nine languages; the longest mistakes the fewest words for one another."""

_ENGLISH = """
a an the this that these those some any each of in on at to for from by with about into over between during as
than and or but if so not no it its he she they his her their him them we us you i my your our is are was were
be been being am do does did has have had can could will would shall should may might must there here also who
whom whose which what when where why how much many s t
"""
FUNCTION_WORDS = frozenset(_ENGLISH.split())
"""English words, folded, that say what a question asks rather than what it is about. Lists for thirteen further
languages changed nothing in measurements, as rarity already does their work, so there are none."""


def fold(text: str) -> str:
    """The text in lower case without accents, its compatibility forms (full width, ligatures) made plain."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFKC", _ACCENTS.sub("", plain)).translate(_LETTERS)


def terms_of(word: str) -> tuple[str, ...]:
    """The terms that a word counts as.

    A plain word counts as itself and as its first letters (`running`, `runnin*`), which its inflected forms share; a
    number as itself; a name with joints (`src/app.py`, `maxTokens`, `10.0.0.1`) as it stands and by its pieces; a
    run of a script without spaces as its pairs of characters; a Korean word as itself and its pairs.
    """
    if word.isascii() and word.isalpha() and (word.islower() or word.istitle()):
        plain = word.lower()
        return (plain, plain[:_STEM] + "*") if len(plain) > 3 else (plain,)
    if not word.isascii():
        word = unicodedata.normalize("NFKC", word)
    if _NUMBER.fullmatch(word):
        return (_digits(word.replace(",", "")),)
    pieces = _PIECES.findall(word)
    terms: list[str] = ["".join(fold(word).split())] if len(pieces) > 1 else []
    for piece in pieces:
        terms += _runs(fold(piece))
        parts = _PARTS.findall(piece) if piece.isascii() else [piece]
        if parts != [piece]:
            terms += chain.from_iterable(_spelled(part.lower()) for part in parts)
    return tuple(filter(None, terms))  # a lone accent folds to nothing


def _digits(number: str) -> str:
    """The number in ASCII digits, whatever digits of the world it has."""
    return number if number.isascii() else "".join(str(unicodedata.decimal(char, char)) for char in number)


def _runs(piece: str) -> Iterable[str]:
    """Terms of a folded piece, which may mix scripts."""
    if piece.isascii() or not _UNSPACED.search(piece):
        return _spelled(piece)
    terms: list[str] = []
    for run in _RUNS.finditer(piece):
        text = run.group()
        if run.lastgroup == "other":
            terms += _spelled(text)
        elif run.lastgroup == "dense" or len(text) > 2:
            pairs = [text[at : at + 2] for at in range(max(len(text) - 1, 1))]
            terms += pairs if run.lastgroup == "dense" else [text, *pairs]
        else:
            terms.append(text)
    return terms


def _spelled(word: str) -> tuple[str, ...]:
    """A folded word of one script, and its beginning unless it is short or has digits."""
    return (word, word[:_STEM] + "*") if len(word) > 3 and not any(map(str.isdigit, word)) else (word,)


class Terms(dict[str, tuple[str, ...]]):
    """Terms of words, worked out once per word. Make one per call, so that none grows without bound.

    Args:
        wanted: when given, only these terms count and all others are passed over.
    """

    def __init__(self, wanted: frozenset[str] | None = None) -> None:
        super().__init__()
        self._wanted = wanted

    def __missing__(self, word: str) -> tuple[str, ...]:
        terms = terms_of(word)
        if self._wanted is not None:
            terms = tuple(filter(self._wanted.__contains__, terms))
        self[word] = terms
        return terms

    def of(self, text: str) -> list[str]:
        """The terms of a text, in order."""
        found: Iterable[str] = (_ASCII_WORDS if text.isascii() else _WORDS).findall(text)
        return list(chain.from_iterable(map(self.__getitem__, found)))
