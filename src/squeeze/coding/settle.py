"""Chosen phrases made better where that costs nothing: longer, or cut where a reader finds a line or a word."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from squeeze.coding.pieces import Cut
from squeeze.coding.select import Costs, Phrase
from squeeze.coding.suffixes import Ints

Flags = npt.NDArray[np.bool_]

_BEST = 2
_DEAR = 0.01
_UNSPACED = "\u0e00"  # from here on most scripts do not set words apart
_TURNS = 256  # the most places that a phrase is turned by


def grown(whole: Cut, phrases: Sequence[Phrase]) -> list[Phrase]:
    """The phrases, each longer by the free pieces that stand beside all of its occurrences."""
    used = _used(whole, phrases)
    numbers = np.append(whole.numbers, -1 - len(whole.numbers))
    out = []
    for phrase in phrases:
        starts, length = np.array(phrase.starts), phrase.length
        while (beside := _same(numbers, used, starts + length)) is not None:
            used[beside] = True
            length += 1
        while (beside := _same(numbers, used, starts - 1)) is not None:
            used[beside] = True
            starts, length = beside, length + 1
        out.append(Phrase(length, tuple(starts.tolist()), phrase.saving))
    return out


def turned(whole: Cut, phrases: Sequence[Phrase]) -> list[Phrase]:
    """The phrases, each begun at the start of a line, else of a word, where its occurrences can all be moved there.

    A phrase whose first piece also follows each of its occurrences can be read from its second piece on, at no cost:
    so it is with records that stand one behind the other.
    """
    used = _used(whole, phrases)
    numbers = np.append(whole.numbers, -1 - len(whole.numbers))
    out = []
    for phrase in phrases:
        starts, length = np.array(phrase.starts), phrase.length
        best, most = 0, _rank(whole.pieces, phrase.starts[0])
        for step in range(min(length, _TURNS)) if most < _BEST else ():
            after = starts + step + length
            if (numbers[after] != numbers[starts + step]).any():
                break
            if (used[after] & ~np.isin(after, starts + step)).any():
                break
            rank = _rank(whole.pieces, phrase.starts[0] + step + 1)
            if rank > most:
                best, most = step + 1, rank
        if best:
            _move(used, starts, length, best)
            phrase = Phrase(length, tuple((starts + best).tolist()), phrase.saving)
        out.append(phrase)
    return out


def whole_words(whole: Cut, phrases: Sequence[Phrase], costs: Costs) -> list[Phrase]:
    """The phrases without what they begin or end with inside of a word or a number, those that pay then.

    Where that costs more than `_DEAR` of the tokens (keys and numbers that share their parts and little else), the
    phrases as they are.
    """
    inside = _inside_words(whole)
    sums = np.concatenate(([0], np.cumsum(whole.weights)))
    before = after = 0
    out = []
    for phrase in phrases:
        starts, length = np.array(phrase.starts), phrase.length
        before += _saving(sums, phrase, costs)
        while length and inside[starts].any():
            starts, length = starts + 1, length - 1
        while length and inside[starts + length].any():
            length -= 1
        cut = Phrase(length, tuple(starts.tolist()), phrase.saving)
        saving = _saving(sums, cut, costs) if length else 0
        if saving >= costs.least:
            after += saving
            out.append(cut)
    return out if before - after <= _DEAR * int(sums[-1]) else list(phrases)


def _inside_words(whole: Cut) -> Flags:
    """Whether a word or a number goes on from the piece before into each piece, with a last flag for the end."""
    opens = np.array([piece[:1].isalnum() and piece[:1] < _UNSPACED for piece in whole.known], dtype=np.bool_)
    closes = np.array([piece[-1:].isalnum() for piece in whole.known], dtype=np.bool_)
    numbers = np.maximum(whole.numbers, 0)  # the ends of texts, negative, are set apart below
    flags = np.zeros(len(numbers) + 1, dtype=np.bool_)
    flags[1:-1] = closes[numbers[:-1]] & opens[numbers[1:]] & (whole.numbers[:-1] >= 0) & (whole.numbers[1:] >= 0)
    return flags


def _saving(sums: Ints, phrase: Phrase, costs: Costs) -> int:
    weight = int(sums[phrase.starts[0] + phrase.length] - sums[phrase.starts[0]])
    return len(phrase.starts) * (weight - costs.marker) - costs.entry - weight


def _move(used: Flags, starts: Ints, length: int, by: int) -> None:
    places = (starts[:, None] + np.arange(length)).reshape(-1)
    used[places] = False
    used[places + by] = True


def _used(whole: Cut, phrases: Sequence[Phrase]) -> Flags:
    """Which pieces stand in a phrase; one flag more, set, for what is before the first and after the last."""
    used = np.zeros(len(whole.numbers) + 1, dtype=np.bool_)
    used[-1] = True
    for phrase in phrases:
        for start in phrase.starts:
            used[start : start + phrase.length] = True
    return used


def _same(numbers: Ints, used: Flags, beside: Ints) -> Ints | None:
    """The places themselves if they are free and hold equal pieces."""
    free = not used[beside].any() and bool((numbers[beside] == numbers[beside[0]]).all())
    return beside if free else None


def _rank(pieces: Sequence[str], at: int) -> int:
    """`_BEST` at the start of a line or a text, 1 at the start of a word, 0 inside of one."""
    before, here = pieces[at - 1] if at else "", pieces[at]
    if not before or before.endswith("\n"):
        return _BEST
    return 0 if before[-1:].isalnum() and here[:1].isalnum() else 1
