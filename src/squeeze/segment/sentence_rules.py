"""Whether a stop ends its sentence: abbreviations, initials, numbers, ordinals, and what follows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import sentencex

from squeeze.segment.sentence_words import (
    BEFORE_NUMBER,
    MAYBE,
    MONTHS,
    NEVER,
    ORDINAL_BEFORE,
    STARTERS,
)

_WORD_BEFORE = re.compile(r"[^\s(\[{\"'“„«‘—–/]*+\Z")
_WORD_AFTER = re.compile(r"[\"'“„«»‹‘(\[¿¡*_]*+([^\W\d_]+(?:['’][^\W\d_]+)?)")
_ENUMERATION = re.compile(r"[(\[]?(?:\d{1,3}|[ivxIVX]{1,4}|[a-zA-Z])(?:\.\d{1,3})*\Z")
_NO_START = ",;:%)]}”’»、，"
_LOWER = "a-zß-öø-ÿа-яё"
_ASIDE = re.compile(rf"\((?!https?:)[a-z]|[(\[][^()\[\]\n]{{1,80}}[)\]]\s?[,;:{_LOWER}]|[-–—]\s?[{_LOWER}]")
_LABEL = re.compile(r"\W*(\w+)\s(?:\d{1,3}|\d+(?:\.\d+){1,2})\Z")  # Figure 1, Table 2.3
_LONGEST_LABEL = 40  # characters
_TIME = re.compile(r"[A-Z]{2,4}\b|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b")  # after a.m. and p.m.
_SAYS = re.compile(
    r"[^，。！？：、“”「」『』\s]{0,8}?(?:说|說|问|問|答|喊|叫|道|言った|言う|叫んだ|尋ねた|答えた)(?![：:，,]?[“「『])|\s?(?:하고|라고|라는)"
)
_FIRST_WIDE = "\u3040"  # Kana, Han and Hangul begin here
_QUOTES = tuple("\"'”’」』")
_APOSTROPHE = re.compile("['’]")
_SHORT = re.compile(r"[^\W\d_]\.")
_INDIC = re.compile(r"[\u0620-\u06d3\u0900-\u0dff]{2}")
_ODD = re.compile(r"[\s\ud800-\udfff\x00()\[\]{}<>\"“”„«»「」『』‘‹›]")  # the library fails on it or skips what follows
_MARKS_ONLY = 4  # characters before a stop that may all be marks; more are a line of their own
_WINDOW = 80  # characters before a stop that the library sees
_REACH = 40  # characters before a stop that its word may have


@dataclass
class Context:
    """What the rules know about the text beyond the place they look at."""

    text: str
    language: str
    starters: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.starters = STARTERS.get(self.language or "en", frozenset())


def ends(context: Context, start: int, stop: int, offset: int) -> bool:
    """Whether the stop at `stop` ends the sentence that began at `start`, if the next one would begin at `offset`."""
    text = context.text
    mark = text[stop]
    after = text[offset]
    if stop - start < _MARKS_ONLY and not any(map(str.isalnum, text[start:stop])):
        return False
    if mark not in ".!?…":
        return _wide_ends(text, start, offset, mark)
    if after in _NO_START or _ASIDE.match(text, offset) or _is_told(text, offset):
        return False
    if after.islower():
        return _identifier(text, offset)
    if mark != "." or text.startswith("..", stop):
        return True
    return _full_stop_ends(context, start, stop, offset)


def _wide_ends(text: str, start: int, offset: int, mark: str) -> bool:
    """The same for stops of scripts without case, and for the places where a space or a bullet is the stop."""
    after = text[offset]
    if mark in "。！？｡．" and text[offset - 1] in "」』”’》）":
        if _is_told(text, offset):
            return False
        return not ("\u3041" <= after <= "\u309f" or after in "、，；：,。！？")
    return after not in "。！？、，」』”’）》"


def _is_told(text: str, offset: int) -> bool:
    """Whether a quotation ends here and what follows says whose it is, in a script without case."""
    return (
        text[offset] >= _FIRST_WIDE
        and text[max(0, offset - 3) : offset].rstrip()[-1:] in _QUOTES
        and _SAYS.match(text, offset) is not None
    )


def _identifier(text: str, offset: int) -> bool:
    """Whether a word in lower case is a name with a capital inside (iPhone), which may open a sentence."""
    match = _WORD_AFTER.match(text, offset)
    return match is not None and len(match.group(1)) > 2 and not match.group(1)[1:].islower()


def _full_stop_ends(context: Context, start: int, stop: int, offset: int) -> bool:
    """The same for a single full stop before something other than a lower-case word."""
    text = context.text
    match = _WORD_BEFORE.search(text, max(start, stop - _REACH), stop)
    word = match.group() if match else ""
    begin = stop - len(word)
    if not word:
        return True
    if _numbers_item(text, start, begin, word):
        return False
    lower = word.lower()
    if lower in NEVER or (_counts(lower) and (text[offset].isdigit() or text[offset] in "([")):
        return False
    following = _WORD_AFTER.match(text, offset)
    after = following.group(1) if following else ""
    if word[-1].isdigit() and word.replace(".", "").isdigit():
        return not _is_label(context, start, stop) and _number_ends(context, start, begin, after)
    opener = _APOSTROPHE.split(after.lower(), maxsplit=1)[0] in context.starters
    if offset == stop + 1:  # no space between: only a word that surely opens a sentence is taken for one
        return opener or not after.isascii()
    if _is_initial(word) or _is_acronym(word) or lower in MAYBE:
        return _abbreviation_ends(text, offset, lower, opener)
    known = opener or len(word) > 5 or not word.isalpha() or not after or lower in context.starters
    return known or _library_ends(context, start, stop, after)


def _abbreviation_ends(text: str, offset: int, word: str, opener: bool) -> bool:
    """Whether a sentence ends with an initial or with an abbreviation that may stand anywhere."""
    if _SHORT.match(text, offset):
        return False  # the next initial
    if word in ("a.m", "p.m"):
        return not _TIME.match(text, offset)
    return opener or (word in ("etc", "usw") and text[offset].isalpha())


def _counts(word: str) -> bool:
    """Whether a number after this abbreviation belongs to it."""
    return word in BEFORE_NUMBER or word.endswith("str")


def _is_label(context: Context, start: int, stop: int) -> bool:
    """Whether the sentence so far is a line that only names and numbers something (Figure 1, Table 2.3)."""
    if stop - start > _LONGEST_LABEL or (start and context.text[start - 1] not in "\n\r"):
        return False
    match = _LABEL.match(context.text[start:stop])
    return match is not None and match.group(1).lower() not in context.starters


def _numbers_item(text: str, start: int, begin: int, word: str) -> bool:
    """Whether the word is the number of a list item, the first thing in its sentence."""
    return begin <= start + 2 and not text[start:begin].strip("([ \t") and _ENUMERATION.match(word) is not None


def _is_acronym(word: str) -> bool:
    """Whether a word is made of short parts with stops between them and has no figures (U.S, e.V, Ph.D)."""
    return "." in word and all(len(part) <= 2 for part in word.split(".")) and not any(map(str.isdigit, word))


def _is_initial(word: str) -> bool:
    """Whether a word is a single capital letter, or one or two letters of an alphabet without case."""
    if len(word) == 1:
        return word.isalpha() and not word.islower() and word < "\u3000"
    return len(word) == 2 and _INDIC.match(word) is not None


def _number_ends(context: Context, start: int, begin: int, following: str) -> bool:
    """Whether a number before a stop ends a sentence; in some languages the stop marks an ordinal."""
    if context.language != "de":
        return True
    text = context.text
    number = text[begin : begin + 3]
    before = text[max(start, begin - _REACH) : begin].split()
    if following.lower() in MONTHS:
        return False
    return not (before and before[-1].lower() in ORDINAL_BEFORE and len(number.rstrip(".")) <= 2)


def _library_ends(context: Context, start: int, stop: int, after: str) -> bool:
    """What the library, which knows abbreviations of hundreds of languages, says about a short word before a stop."""
    before = _ODD.sub(" ", context.text[max(start, stop - _WINDOW) : stop])
    window = f"{before}. {after} x"
    try:
        found = sentencex.get_sentence_boundaries(context.language or "en", window)
    except BaseException as error:  # a panic of the extension is no Exception
        if type(error).__name__ != "PanicException":
            raise
        return True
    return any(len(before) < boundary["end_index"] <= len(before) + 2 for boundary in found)
