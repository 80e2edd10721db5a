"""Texts with repeated phrases said once: a list of markers in front, markers in the texts, and back."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from squeeze.coding.markers import Marks, marks
from squeeze.coding.pieces import Cut, cut, token_starts
from squeeze.coding.select import Costs, Phrase, select
from squeeze.coding.settle import grown, turned, whole_words
from squeeze.coding.suffixes import Ints
from squeeze.coding.swap import by_first_use, swap
from squeeze.errors import CorruptError
from squeeze.render import JOINER
from squeeze.tokens import Tokenizer, count_many

INTRO = "Each symbol in this list stands for the text after it, up to the next symbol:\n"
"""The line that explains the coded text to its reader."""

CLOSE = "\n---\n"
"""The line between the list and the texts."""

_SHORT = 20_000  # pieces beyond which entries that save a single token are not looked at, for speed
_LINE = 16
"""Pieces of a line, on the mean, below which phrases hold so many line breaks that one behind each sets none apart; it
is a small model's reading that gains by them elsewhere."""
_COUNTS = 2  # how often the coded text is counted and entries that do not pay are dropped
_FEW = 0.03  # share of the entries that may be dropped without counting again


@dataclass(frozen=True, slots=True)
class Listed:
    """Coded texts.

    Attributes:
        header: the list of markers, with the line that explains it; empty where nothing is coded.
        bodies: the texts with markers in them.
        marks: the markers in the order of the list.
        sizes: characters of their phrases.
    """

    header: str
    bodies: tuple[str, ...]
    marks: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()


def list_phrases(texts: Sequence[str], tokenizer: Tokenizer) -> Listed:
    """The texts with the phrases that pay listed once; no phrase spans two texts.

    What an entry saves is first added up from pieces, then counted in the coded text as it stands, where tokens may
    merge or break at a marker; entries that do not pay after all are dropped.
    """
    plain = Listed("", tuple(texts))
    if sum(map(len, texts)) < len(INTRO):
        return plain
    avoid = set().union(INTRO, CLOSE, JOINER, *texts)
    some = marks(tokenizer, avoid, 1)
    if some is None:
        return plain
    whole = cut(texts, tokenizer)
    shortest = 1 if len(whole.weights) and int(whole.weights.max()) > some.price + 1 else 2
    least = 1 if len(whole.pieces) <= _SHORT else 2
    lines = sum(text.count("\n") for text in texts) * _LINE < len(whole.pieces)
    costs = Costs(marker=some.price, entry=some.price + lines, weights=whole.weights, least=least)
    phrases = grown(whole, select(whole.numbers, costs, min_length=shortest))
    phrases = by_first_use(turned(whole, whole_words(whole, phrases, costs)))
    found = marks(tokenizer, avoid, len(phrases)) if phrases else None
    breaks = _breaks(whole, phrases, tokenizer, lines)
    for _ in range(_COUNTS):
        if not phrases or found is None:
            return plain
        written = _Written(whole, phrases, found, breaks)
        phrases = written.paying(tokenizer)
        lost = len(written.phrases) - len(phrases)
        if not lost:
            return written.listed
        if lost < _FEW * len(phrases):  # what is left was counted; without those few it hardly changes
            break
    return _Written(whole, phrases, found, breaks).listed if phrases and found is not None else plain


def entries(header: str, marks: Sequence[str], sizes: Sequence[int]) -> dict[str, str]:
    """What each marker stands for.

    Args:
        header: the list, with the lines around it.
        marks: the markers in the order of the list.
        sizes: characters of their phrases; a line break may follow each.

    Raises:
        CorruptError: the list does not have an entry for each marker in this order.
    """
    if not marks:
        return {}
    head, *rest = _pattern(marks).split(header)
    found, texts = rest[::2], rest[1::2]
    missing = next((at for at, (a, b) in enumerate(zip(marks, found, strict=False)) if a != b), len(found))
    if found != list(marks):
        name = marks[missing] if missing < len(marks) else found[missing]
        raise CorruptError(f"the list of symbols does not fit its text: entry {missing}, of {name!r}, is not in place")
    if not head.endswith("\n") or not texts[-1].endswith(CLOSE):
        raise CorruptError("the list of symbols is cut short: its first or last line is missing")
    texts[-1] = texts[-1].removesuffix(CLOSE)
    if len(sizes) != len(marks):
        raise CorruptError(f"{len(sizes)} sizes are given for {len(marks)} symbols")
    for name, text, size in zip(found, texts, sizes, strict=True):
        if size < 1 or len(text) < size or text[size:] not in ("", "\n"):
            raise CorruptError(f"the entry of {name!r} in the list of symbols does not have its {size} characters")
    return {name: text[:size] for name, text, size in zip(found, texts, sizes, strict=True)}


def spell_out(bodies: Sequence[str], listed: Mapping[str, str]) -> tuple[str, ...]:
    """The texts that `list_phrases` was given.

    Raises:
        CorruptError: a marker of two characters stands in them that the list does not have.
    """
    if not listed:
        return tuple(bodies)
    leads = {name[0] for name in listed if len(name) > 1}
    pattern = _pattern(listed, leads)

    def phrase(match: re.Match[str]) -> str:
        name = match.group()
        if name not in listed:
            raise CorruptError(f"the symbol {name!r} in the coded text has no entry in its list")
        return listed[name]

    return tuple(pattern.sub(phrase, body) for body in bodies)


def _pattern(names: Mapping[str, str] | Sequence[str], leads: set[str] | None = None) -> re.Pattern[str]:
    """Matches each name (longer ones first) and any two characters whose first one opens names."""
    double = {name[0] for name in names if len(name) > 1} if leads is None else leads
    single = "".join(re.escape(name) for name in names if len(name) == 1)
    kinds = ([f"[{re.escape(''.join(sorted(double)))}](?s:.)?"] if double else []) + ([f"[{single}]"] if single else [])
    return re.compile("(" + "|".join(kinds) + ")")


def _breaks(whole: Cut, phrases: Sequence[Phrase], tokenizer: Tokenizer, lines: bool) -> dict[int, str]:
    """What follows a phrase in the list, by the number of its last piece: a line break, always or where it is free."""
    numbers = list(dict.fromkeys(int(whole.numbers[phrase.starts[0] + phrase.length - 1]) for phrase in phrases))
    if lines:
        return dict.fromkeys(numbers, "\n")
    ends = [whole.known[number] for number in numbers]
    plain, broken = count_many(tokenizer, ends), count_many(tokenizer, [end + "\n" for end in ends])
    return {n: "\n" * (after <= before) for n, before, after in zip(numbers, plain, broken, strict=True)}


class _Written:
    """A choice of phrases written down: markers given out, list and bodies made."""

    def __init__(self, whole: Cut, phrases: list[Phrase], found: Marks, breaks: Mapping[int, str]) -> None:
        names = found.first(len(phrases))
        often = sorted(range(len(phrases)), key=lambda at: (-len(phrases[at].starts), at))[: len(names)]
        given = dict(zip(often, names, strict=True))  # the cheapest markers to the phrases used most
        self.phrases = [phrases[at] for at in sorted(given)]
        self.names = [given[at] for at in sorted(given)]
        self.price, self.weights = found.price, whole.weights
        texts = ["".join(whole.pieces[p.starts[0] : p.starts[0] + p.length]) for p in self.phrases]
        after = [breaks[int(whole.numbers[p.starts[0] + p.length - 1])] for p in self.phrases]
        after[-1:] = [""]  # a line break follows the last one anyway
        self.lines = [name + text + end for name, text, end in zip(self.names, texts, after, strict=True)]
        self.symbols = swap(whole.pieces, self.phrases, self.names)
        ends = [at for at, symbol in enumerate(self.symbols) if not symbol]
        begins = [0, *(end + 1 for end in ends[:-1])]
        self.listed = Listed(
            INTRO + "".join(self.lines) + CLOSE,
            tuple("".join(self.symbols[begin:end]) for begin, end in zip(begins, ends, strict=True)),
            tuple(self.names),
            tuple(map(len, texts)),
        )

    def paying(self, tokenizer: Tokenizer) -> list[Phrase]:
        """The phrases whose entries save tokens in the text as it is written."""
        text = self.listed.header + JOINER.join(self.listed.bodies)
        starts = token_starts(tokenizer, text)
        if starts is None:
            return self.phrases
        lines = np.fromiter(accumulate(map(len, self.lines), initial=len(INTRO)), np.int64, len(self.lines) + 1)
        entry = np.diff(np.searchsorted(starts, lines))
        owners, double = self._marker_costs(starts, len(text))
        used = np.bincount(owners, weights=double, minlength=len(self.phrases)).astype(np.int64)
        weight = np.array([int(self.weights[p.starts[0] : p.starts[0] + p.length].sum()) for p in self.phrases])
        uses = np.array([len(phrase.starts) for phrase in self.phrases])
        saving = 2 * (uses * weight - entry) - used
        return [phrase for phrase, saved in zip(self.phrases, saving.tolist(), strict=True) if saved > 0]

    def _marker_costs(self, starts: Ints, size: int) -> tuple[Ints, Ints]:
        """Phrase and twice the tokens of each marker in the bodies.

        The tokens from one marker to the next, beyond those of the pieces between and of the marker, are what the two
        markers cost their neighbours: half goes to each.
        """
        tokens = np.array(swap(self.weights.tolist(), self.phrases, [-1 - at for at in range(len(self.phrases))]))
        sizes = np.fromiter((len(symbol) or len(JOINER) for symbol in self.symbols), np.int64, len(self.symbols))
        at = np.flatnonzero(tokens < 0)
        owners = -1 - tokens[at]
        tokens[at] = 0
        tokens[np.flatnonzero(sizes == 0)] = 1
        begin = len(self.listed.header)
        places = np.concatenate(([begin], begin + (np.cumsum(sizes) - sizes)[at], [size]))
        before = np.concatenate(([0], (np.cumsum(tokens) - tokens)[at], [tokens.sum()]))
        extra = np.diff(np.searchsorted(starts, places)) - np.diff(before)
        extra[1:] -= self.price
        return owners, 2 * self.price + extra[1:] + extra[:-1]
