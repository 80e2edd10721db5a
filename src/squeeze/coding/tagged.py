"""The text form of meta-tokens: a dictionary of marked phrases in front, markers in the texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from squeeze.coding.ids import draw
from squeeze.coding.select import Costs, select
from squeeze.coding.swap import by_first_use, swap
from squeeze.errors import ConfigError, CorruptError
from squeeze.tokens import Tokenizer, count_many

_TAG = re.compile(r"<[^<>]+>")
_FEWEST = 2  # uses of the rarest marker
# a word or a run of punctuation with the space before it, one character of a script without spaces, white space
_PIECE = re.compile(
    r" ?[^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]+| ?[^\w\s]+|\w|\s+(?!\S)|\s"
)


class WithMarkers:
    """A tokenizer to which each marker is one token.

    Args:
        inner: counts the text between markers.
        markers: strings of the form `<…>`, so that no two can overlap in a text.

    Raises:
        ConfigError: fewer than two markers, one twice, or one of another form.
    """

    def __init__(self, inner: Tokenizer, markers: Sequence[str]) -> None:
        odd = [marker for marker in markers if not (isinstance(marker, str) and _TAG.fullmatch(marker))]
        if odd or len(markers) < 2 or len(set(markers)) < len(markers):
            raise ConfigError(
                f"markers hold {odd[0]!r}; allowed: strings such as <M1>, with < and > at their ends only"
                if odd
                else f"{len(markers)} markers, {len(set(markers))} of them different; allowed: two delimiters and any "
                "number of meta-tokens, all different"
            )
        self.inner, self.markers = inner, frozenset(markers)

    @property
    def name(self) -> str:
        """The inner name, and that markers are tokens of their own."""
        return f"{self.inner.name} with markers"

    def count(self, text: str) -> int:
        """Tokens of the text."""
        total = done = 0
        for tag in _TAG.finditer(text):
            if tag.group() in self.markers:
                total += 1 + (self.inner.count(text[done : tag.start()]) if tag.start() > done else 0)
                done = tag.end()
        return total + (self.inner.count(text[done:]) if done < len(text) else 0)

    def encode(self, text: str) -> list[int]:
        """The inner ids; they know nothing of markers."""
        return self.inner.encode(text)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of inner ids."""
        return self.inner.decode(ids)


def code(
    texts: Sequence[str], tokenizer: WithMarkers, markers: Sequence[str], seed: int
) -> tuple[str, tuple[str, ...], list[str]]:
    """The dictionary, the coded texts, and the delimiters and markers used; ("", texts, []) where nothing pays.

    Markers that occur in the texts are not used; texts with a delimiter in them are not coded.
    """
    taken = {tag for text in texts for tag in _TAG.findall(text)} & tokenizer.markers
    opening, closing, pool = markers[0], markers[1], markers[2:]
    if taken & {opening, closing}:
        return "", tuple(texts), []
    symbols: list[str] = []
    for text in texts:
        symbols += [*_PIECE.findall(text), ""]  # the empty piece ends a text
    ids, weights = _numbered(symbols, tokenizer.inner)
    phrases = by_first_use(select(ids, Costs(weights=weights), limit=len(pool) - len(taken)))
    if sum(phrase.saving for phrase in phrases) <= 2:
        return "", tuple(texts), []
    names = draw(pool, len(phrases), taken, seed)
    header = opening
    for name, phrase in zip(names, phrases, strict=True):
        header += name + "".join(symbols[phrase.starts[0] : phrase.starts[0] + phrase.length])
    bodies: list[str] = []
    pieces: list[str] = []
    for symbol in swap(symbols, phrases, names):
        if symbol:
            pieces.append(symbol)
        else:
            bodies.append("".join(pieces))
            pieces = []
    return header + closing, tuple(bodies), [opening, closing, *names]


def _numbered(symbols: list[str], tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    """An id for each symbol (the ends of texts all different, so that no phrase spans two) and its tokens."""
    known = list(dict.fromkeys(symbols))
    numbers = {symbol: at for at, symbol in enumerate(known)}
    tokens = dict(zip(known, count_many(tokenizer, known), strict=True))
    ids = [numbers[symbol] if symbol else -1 - at for at, symbol in enumerate(symbols)]
    return ids, [max(tokens[symbol], 1) for symbol in symbols]


def restore(header: str, bodies: Sequence[str], used: Any) -> tuple[str, ...]:
    """The texts that `code` was given.

    Args:
        header: the dictionary.
        bodies: the coded texts.
        used: the delimiters and markers that `code` used, in the order of the dictionary.

    Raises:
        CorruptError: the dictionary does not fit the markers, or a marker is used less than twice.
    """
    listed = entries(header, used)
    if not listed:
        return tuple(bodies)
    tag = _any_of(listed)
    uses = Counter(name for body in bodies for name in tag.findall(body))
    for name in listed:
        if uses[name] < _FEWEST:
            raise CorruptError(f"meta-token {name} is used {uses[name]} times; coded text uses each at least twice")
    return tuple(tag.sub(lambda match: listed[match.group()], body) for body in bodies)


def entries(header: str, used: Any) -> dict[str, str]:
    """What each meta-token stands for; see `restore`.

    Raises:
        CorruptError: the dictionary does not fit the markers.
    """
    if not header and not used:
        return {}
    if not isinstance(used, list) or len(used) < 3 or not all(isinstance(name, str) for name in used):
        raise CorruptError(f"the markers of a coded text are {used!r}; expected two delimiters and the meta-tokens")
    opening, closing, *names = used
    if not (header.startswith(opening) and header.endswith(closing)):
        raise CorruptError(f"the dictionary does not begin with {opening} and end with {closing}")
    before, *rest = _any_of(names).split(header[len(opening) : len(header) - len(closing)])
    if before or rest[::2] != names or not all(rest[1::2]):
        raise CorruptError("the entries of the dictionary are not those of its markers")
    return dict(zip(rest[::2], rest[1::2], strict=True))


def _any_of(names: Iterable[str]) -> re.Pattern[str]:
    return re.compile("(" + "|".join(map(re.escape, names)) + ")")
