"""Characters that stand for phrases: cheap in the tokenizer that counts, and never part of the texts."""

from __future__ import annotations

import threading
import unicodedata
from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

from squeeze.coding.pieces import per_call
from squeeze.counters import FunctionCounter
from squeeze.tokens import Tokenizer, count_many

# Signs that mean nothing beside words, letters that are not easily taken for Latin ones, and last what has a meaning in
# everyday text. The price comes before this order.
_SIGNS = (
    "§¶¤†‡※◆◇■□▲△▼▽★☆●○◎►◄♦♠♣♥♪♀♂☀☁☎✓✔✗✦✧❖❤→←↑↓↔⇒⇔⇐⇑⇓∀∂∃∅∆∇∈∉∋∏∑∗∘√∝∞∠∥∧∨∩∪∫∴∵∼≈≅≡≪≫⊂⊃⊆⊇⊕⊗⊥⋅⌘⌂¬¦•‰¿¡"
    "░▒▓█▀▄▌▐─│┌┐└┘├┤┬┴┼═║╔╗╚╝╠╣╦╩╬"
)
_GREEK = "αβγδεζηθκλμξπρςστφχψωΓΔΘΛΞΠΣΦΨΩ"
_CYRILLIC = "БГДЖЗИЛПФЦЧШЩЭЮЯбвгджзийклмнптфцчшщъыьэюя"
_KANA = "".join(map(chr, chain(range(0x3041, 0x3097), range(0x30A1, 0x30FB))))
_EVERYDAY = '«»‹›©®~^@#|&¢£¥€°±×÷≠≤≥%*=+\\<>{}[]_`$!?;"'
_FIXED = _SIGNS + _GREEK + _CYRILLIC + _KANA + _EVERYDAY
_BLOCKS = ((0x4E00, 0xA000), (0xAC00, 0xD7A4), (0x0250, 0x02B0), (0x0904, 0x0E5A), (0x2500, 0x2800), (0xE000, 0xF8FF))
"""Where further characters are looked for: CJK, Hangul, phonetic letters, scripts of India and Thailand, signs, and
the private use area, which no text should hold."""

_SPOTS = ("word{}word", " of{} the", "end.{}\n", '": "{}A', "({})", "0{} 1", "\n{}    ", "{}, ")
"""What stands around a marker when it is tried."""

_SAME_SCRIPT = {"HIRAGANA": "CJK", "KATAKANA": "CJK"}  # Japanese mixes the three

_MOST = 4.25  # tokens of a marker beyond which none is tried
_SLACK = 0.25  # of a token, on the mean of the spots
_KEPT = 16


class Priced(NamedTuple):
    """A character, the tokens that one use of it costs, and the script it belongs to if it is a letter."""

    character: str
    price: int
    script: str | None


@dataclass(frozen=True, slots=True)
class Marks:
    """Markers for a set of texts.

    Attributes:
        single: characters, the cheapest first.
        leads: characters that open a marker of two characters; empty where `single` is enough.
        price: tokens of the first marker.
    """

    single: tuple[str, ...]
    leads: str
    price: int

    def first(self, count: int) -> list[str]:
        """The first `count` markers, or as many as there are; none is the beginning of another."""
        out = list(self.single[:count])
        for lead in self.leads:
            out += [lead + second for second in self.single[: max(count - len(out), 0)]]
        return out


def marks(tokenizer: Tokenizer, avoid: Collection[str], count: int) -> Marks | None:
    """Markers for up to `count` phrases in texts whose characters are `avoid`; None where every character is taken.

    Args:
        tokenizer: what prices them: in the places where markers stand, and not alone.
        avoid: characters of the texts and of all that stands around them.
        count: phrases that there may be.
    """
    free: list[Priced] = []
    for block in _priced(tokenizer):
        free += [one for one in block if one.character not in avoid]
        least = min((one.price for one in free), default=0)
        if sum(one.price <= 2 * least for one in free) >= count:
            break
    if not free:
        return None
    scripts = {_script(character) for character in avoid} - {None}  # a letter among its like is no symbol to a reader
    ranks = [one.price + (one.script in scripts) / 2 for one in free]
    order = sorted((at for at, one in enumerate(free) if one.price <= 2 * least), key=ranks.__getitem__)
    single = [free[at] for at in order]
    cheap = sum(one.price == least for one in single)
    if len(single) >= count or cheap == 1:
        return Marks(tuple(one.character for one in single[:count]), "", least)
    most = max(cheap // 2, 1)
    leads = min(-(-(count - len(single)) // (len(single) - most)), most)
    letters = [one.character for one in single]
    return Marks(tuple(letters[: cheap - leads] + letters[cheap:]), "".join(letters[cheap - leads : cheap]), least)


def _script(character: str) -> str | None:
    """The script of a letter, as the beginning of its name; None for signs and marks."""
    name = unicodedata.name(character, "") if character.isalpha() else ""
    return _SAME_SCRIPT.get(word := name.partition(" ")[0], word) or None


class _Prices:
    """The priced characters of one tokenizer, block by block, each priced when it is first asked for."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.lock = threading.Lock()
        self.known: list[tuple[Priced, ...]] = []
        few = isinstance(tokenizer, FunctionCounter)  # each call may be slow
        self.waiting: list[Sequence[str]] = [_FIXED] if few else [_FIXED, *(_block(*edges) for edges in _BLOCKS)]

    def block(self, index: int) -> tuple[Priced, ...] | None:
        with self.lock:
            while len(self.known) <= index and self.waiting:
                self.known.append(_price(self.tokenizer, self.waiting.pop(0)))
        return self.known[index] if index < len(self.known) else None


_prices: OrderedDict[int, _Prices] = OrderedDict()
_guard = threading.Lock()


def _priced(tokenizer: Tokenizer) -> Iterator[tuple[Priced, ...]]:
    with _guard:
        if id(tokenizer) not in _prices:  # holding the tokenizer keeps its id from being used again
            _prices[id(tokenizer)] = _Prices(tokenizer)
            while len(_prices) > _KEPT:
                _prices.popitem(last=False)
        prices = _prices[id(tokenizer)]
    index = 0
    while (block := prices.block(index)) is not None:
        yield block
        index += 1


def _price(tokenizer: Tokenizer, characters: Sequence[str]) -> tuple[Priced, ...]:
    """The characters that a marker may be, each with the tokens that it adds where it stands, at least 1."""
    fixed = per_call(tokenizer)
    around = [side for spot in _SPOTS for side in spot.split("{}") if side]
    without = sum(max(n - fixed, 0) for n in count_many(tokenizer, around))
    samples = ["".join(spot.replace("{}", character) for spot in _SPOTS) for character in characters]
    out = []
    for character, tokens in zip(characters, count_many(tokenizer, samples), strict=True):
        mean = (tokens - fixed - without) / len(_SPOTS)
        if mean <= _MOST:
            out.append(Priced(character, max(int(mean + 1 - _SLACK), 1), _script(character)))
    return tuple(out)


def _block(first: int, last: int) -> list[str]:
    """Letters and signs of a range of code points that normalisation leaves alone."""
    kinds: Any = ("Lo", "Lu", "Ll", "So", "Sm", "Co")
    return [
        character
        for character in map(chr, range(first, last))
        if unicodedata.category(character) in kinds
        and unicodedata.is_normalized("NFKC", character)
        and character not in _FIXED
    ]
