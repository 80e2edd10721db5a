"""Repeated token sequences said once: ids to ids, for a model that was tuned to read the form.

The form is the paper's (lossless token sequence compression with meta-tokens, arXiv 2506.00307):

    <Dict> m1 s1 m2 s2 … </Dict> body

where every m is a meta-token, a reserved id drawn at random, and the ids s behind it are what it stands for in the
body. The choice of the phrases is not the paper's longest-first but `squeeze.coding.select`, which saves more.

Two forms that the paper does not have carry inputs that hold reserved ids themselves:

    <Dict> </Dict> ids                       the ids as they are, nothing coded
    <Dict> <Dict> m1 s1 … </Dict> body       coded; a reserved id that is no key of the dictionary stands for itself
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Self

import numpy as np

from squeeze.base import Coded, Lossless
from squeeze.coding.ids import ALLOWED, TOP, among, bounds, draw, plain_ids
from squeeze.coding.select import select
from squeeze.coding.swap import by_first_use, expand, swap
from squeeze.coding.tagged import WithMarkers, code, entries, restore
from squeeze.errors import ConfigError, CorruptError, InputError
from squeeze.registry import register

_SHORTEST = 2  # ids of the shortest phrase
_FEWEST = 2  # uses of the rarest one


@register("meta_tokens")
class MetaTokens(Lossless):
    """Repeated phrases said once in a dictionary of meta-tokens, for a model that was tuned to read it.

    The text form of the same coding: meta-tokens are strings that the model's tokenizer knows as special tokens, and
    each counts as one token. A model that was not tuned should get `lossless` instead, which explains itself.
    """

    def __init__(self, *, tokenizer: Any = "estimate", markers: Sequence[str] | None = None, seed: int = 0) -> None:
        """Takes the special tokens of the tuned model.

        Args:
            tokenizer: what counts the text between meta-tokens.
            markers: special tokens of the form `<…>`: the one that opens the dictionary, the one that closes it, the
                meta-tokens; None: `<Dict>`, `</Dict>`, `<M0>` to `<M999>`.
            seed: which meta-tokens are drawn.
        """
        super().__init__(tokenizer=tokenizer)
        self.markers = ("<Dict>", "</Dict>", *(f"<M{at}>" for at in range(1000))) if markers is None else tuple(markers)
        self.seed = seed
        self.tokenizer = self._counter = WithMarkers(self.tokenizer, self.markers)

    @classmethod
    def example(cls) -> Self:
        """An instance with its defaults."""
        return cls()

    def encode(self, texts: Sequence[str]) -> Coded:
        """The dictionary as header, the texts with meta-tokens in them as bodies."""
        header, bodies, used = code(texts, self._counter, self.markers, self.seed)
        return Coded(header, bodies, {"markers": used} if used else {})

    @classmethod
    def decode(cls, coded: Coded) -> tuple[str, ...]:
        """The texts that `encode` was given.

        Raises:
            CorruptError: it does not decode.
        """
        return restore(coded.header, coded.bodies, coded.data.get("markers", []))

    @classmethod
    def entries(cls, coded: Coded) -> dict[str, str]:
        """What each meta-token stands for.

        Raises:
            CorruptError: the dictionary does not fit its markers.
        """
        return entries(coded.header, coded.data.get("markers", []))


def encode(ids: Iterable[int], *, reserved: Sequence[int], seed: int = 0) -> list[int]:
    """The coded ids: shorter where repeats pay, else the ids themselves.

    An entry is made only where it saves tokens (with K uses of N ids: N·K > 1 + N + K), the dictionary only where its
    entries together save more than its two delimiters. An input that holds reserved ids and cannot be shortened comes
    back 2 tokens longer; nothing else ever gets longer.

    Args:
        ids: token ids from 0 to 2**63 - 1.
        reserved: ids that the model sees in coded text only: `reserved[0]` opens the dictionary, `reserved[1]` closes
            it, the rest are meta-tokens. The fewer there are, the fewer phrases are coded.
        seed: which meta-tokens are drawn; the same seed draws the same ones on every machine.

    Raises:
        InputError: an id is not a whole number in the allowed range.
        ConfigError: fewer than two reserved ids, or one of them twice.
    """
    tokens = plain_ids(ids, "id")
    values = np.array(tokens, dtype=np.int64)
    opening, closing, pool = _roles(reserved)
    foreign = among(values, reserved)
    if foreign.any():
        taken = set(values[foreign].tolist())
        values[foreign] = -1 - np.arange(int(foreign.sum()))  # no id is negative: these never repeat
        head, frame = [opening, opening], 3
        plain = [opening, closing, *tokens]
    else:
        taken, head, frame, plain = set(), [opening], 2, tokens
    phrases = by_first_use(select(values, limit=len(pool) - len(taken - {opening, closing})))
    if len(tokens) - sum(phrase.saving for phrase in phrases) + frame >= len(plain):
        return plain
    markers = [int(marker) for marker in draw(pool, len(phrases), taken, seed)]
    for marker, phrase in zip(markers, phrases, strict=True):
        head.append(marker)
        head.extend(tokens[phrase.starts[0] : phrase.starts[0] + phrase.length])
    return [*head, closing, *swap(tokens, phrases, markers)]


def decode(ids: Iterable[int], *, reserved: Sequence[int]) -> list[int]:
    """The ids that `encode` was given.

    Args:
        ids: coded ids.
        reserved: the reserved ids that they were coded with.

    Raises:
        CorruptError: the ids are not the output of `encode`: a meta-token without an entry, a dictionary that does
            not end, an entry that is empty, doubled or not used.
        InputError: an id is not a whole number in the allowed range.
        ConfigError: fewer than two reserved ids, or one of them twice.
    """
    tokens = plain_ids(ids, "coded id")
    opening, closing, _ = _roles(reserved)
    if tokens[:1] != [opening]:
        _no_strangers(tokens, 0, reserved, ())
        return tokens
    if tokens[1:2] == [closing]:
        return tokens[2:]
    literal = tokens[1:2] == [opening]
    try:
        end = tokens.index(closing)
    except ValueError:
        raise CorruptError(f"the dictionary does not end: {closing} is missing after {opening}") from None
    entries = _entries(tokens[2 if literal else 1 : end], reserved)
    body = tokens[end + 1 :]
    uses = Counter(token for token in body if token in entries)
    for marker in entries:
        if uses[marker] < _FEWEST:
            raise CorruptError(f"meta-token {marker} is used {uses[marker]} times; coded text uses each at least twice")
    if not literal:
        _no_strangers(body, end + 1, reserved, entries)
    return expand(body, entries)


def _entries(dictionary: list[int], reserved: Sequence[int]) -> dict[int, list[int]]:
    """Meta-token -> ids, of what stands between the delimiters."""
    heads = np.flatnonzero(among(np.array(dictionary, dtype=np.int64), reserved)).tolist()
    if heads[:1] != [0]:
        raise CorruptError("the dictionary does not begin with a meta-token")
    entries: dict[int, list[int]] = {}
    for start, stop in zip(heads, [*heads[1:], len(dictionary)], strict=True):
        marker, phrase = dictionary[start], dictionary[start + 1 : stop]
        if marker == reserved[0] or marker in entries:
            raise CorruptError(f"meta-token {marker} opens two entries or is a delimiter")
        if len(phrase) < _SHORTEST:
            raise CorruptError(f"the entry of meta-token {marker} has {len(phrase)} ids; a phrase has at least two")
        entries[marker] = phrase
    return entries


def _no_strangers(tokens: list[int], offset: int, reserved: Sequence[int], known: Collection[int]) -> None:
    """Nothing, if every reserved id among the tokens is known."""
    for at in np.flatnonzero(among(np.array(tokens, dtype=np.int64), reserved)).tolist():
        if tokens[at] not in known:
            raise CorruptError(f"reserved id {tokens[at]} at position {offset + at} has no entry in the dictionary")


def _roles(reserved: Sequence[int]) -> tuple[int, int, Sequence[int]]:
    """The opening delimiter, the closing one, the pool of meta-tokens."""
    if not isinstance(reserved, range):
        members = plain_ids(reserved, "reserved id")
        if len(set(members)) < len(members):
            double = next(member for member, count in Counter(members).items() if count > 1)
            raise ConfigError(f"reserved id {double} is given twice; allowed: different ids")
    elif reserved and not 0 <= bounds(reserved)[0] <= bounds(reserved)[1] <= TOP:
        raise InputError(f"reserved is {reserved!r}; {ALLOWED}")
    if len(reserved) < 2:
        raise ConfigError(f"reserved holds {len(reserved)} ids; allowed: two delimiters and any number of meta-tokens")
    return int(reserved[0]), int(reserved[1]), reserved[2:]
