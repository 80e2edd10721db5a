"""Chunk windows that overlap, joined: what the next window repeats is said once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from squeeze.coding.suffixes import Ints
from squeeze.errors import CorruptError

LEAST = 24
"""Characters below which an overlap may be chance."""

_TRIES = 8  # places of a window's first characters in another window that are looked at, the first ones
_FACTOR = np.uint64(0x9E3779B97F4A7C15)

Window = tuple[tuple[int, ...], int, int]
"""Numbers of the pieces that a text is in, and where in their join it begins and ends."""


@dataclass(frozen=True, slots=True)
class Joined:
    """Texts of which some are windows of one longer text.

    Attributes:
        texts: for each input text what is said in its place: all of it, what its predecessor in the chain does not
            say, or nothing.
        windows: one for each input text; none where nothing overlaps.
    """

    texts: tuple[str, ...]
    windows: tuple[Window, ...] = ()


def join(texts: Sequence[str]) -> Joined:
    """The texts with what they share at their ends said once.

    A chain of windows that stand one behind the other goes on in each of them; windows in another order, and texts
    that stand inside of another one, are said at the first of their chain.
    """
    links = _links(texts)
    if not links:
        return Joined(tuple(texts))
    said = list(texts)
    windows: list[Window] = [((at,), 0, len(text)) for at, text in enumerate(texts)]
    for chain in _chains(links, len(texts)):
        _tell(chain, texts, said, windows)
    return Joined(tuple(said), tuple(windows))


def part(texts: Sequence[str], windows: object) -> tuple[str, ...]:
    """The texts that `join` was given.

    Raises:
        CorruptError: a window is not one of these texts.
    """
    if not windows:
        return tuple(texts)
    try:
        return tuple(_window(texts, *window) for window in windows)  # type: ignore[attr-defined]
    except (TypeError, IndexError) as error:
        raise CorruptError(f"the account of overlapping passages does not fit the text: {error}") from None


def _window(texts: Sequence[str], pieces: Sequence[int], start: int, end: int) -> str:
    whole = "".join([texts[at] for at in pieces])
    if not 0 <= start <= end <= len(whole):
        raise CorruptError(f"a passage reaches from {start} to {end} in {len(whole)} characters")
    return whole[start:end]


@dataclass(frozen=True, slots=True)
class _Link:
    """That a text begins inside of another one: at `at`, and goes `beyond` its end (0: it ends inside of it)."""

    before: int
    after: int
    at: int
    beyond: int


def _links(texts: Sequence[str]) -> list[_Link]:
    """At most one for each text: the one with the longest overlap, and without circles."""
    found: list[_Link] = []
    for after, places in _seeds(texts).items():
        text = texts[after]
        for before, at in places:
            shared = min(len(texts[before]) - at, len(text))
            if texts[before].startswith(text[:shared], at):
                found.append(_Link(before, after, at, len(text) - shared))
    found.sort(key=lambda link: (link.beyond - len(texts[link.after]), link.after, link.before))
    parent, next_of = list(range(len(texts))), set[int]()
    linked: dict[int, _Link] = {}
    for link in found:
        if link.after in linked or _root(parent, link) == link.after:
            continue
        inside = link.before in linked and not linked[link.before].beyond
        if (inside or link.before in next_of) if link.beyond else link.after in next_of:
            continue  # one text goes on after another one's end; one that stands inside of another has no next
        linked[link.after] = link
        parent[link.after] = link.before
        if link.beyond:
            next_of.add(link.before)
    return list(linked.values())


def _root(parent: list[int], link: _Link) -> int:
    at = link.before
    while parent[at] != at:
        at = parent[at]
    return at


def _seeds(texts: Sequence[str]) -> dict[int, list[tuple[int, int]]]:
    """Where the first characters of each text stand in other texts: (text, place), a few for each text."""
    heads: dict[str, list[int]] = defaultdict(list)
    for index, text in enumerate(texts):
        if len(text) >= LEAST:
            heads[text[:LEAST]].append(index)
    wanted = np.array([_hashes(head)[0] for head in heads], dtype=np.uint64)
    places: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for index, text in enumerate(texts):
        tries: dict[str, int] = defaultdict(int)
        for at in np.flatnonzero(np.isin(_hashes(text), wanted)).tolist():
            head = text[at : at + LEAST]
            if head not in heads or tries[head] == _TRIES:
                continue
            tries[head] += 1
            for other in heads[head][: _TRIES * _TRIES]:
                if other != index and (at or len(texts[other]) <= len(text)):
                    places[other].append((index, at))
    return places


def _hashes(text: str) -> Ints:
    """A hash of the `LEAST` characters from each place on."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint64)
    size = len(codes) - LEAST + 1
    sums = np.zeros(max(size, 0), dtype=np.uint64)
    for step in range(LEAST if size > 0 else 0):
        sums = sums * _FACTOR + codes[step : step + size]
    return sums  # type: ignore[return-value]


def _chains(links: Sequence[_Link], count: int) -> list[list[tuple[int, int, int]]]:
    """For each group of linked texts, in chain order: (text, where it begins in the whole, characters it adds)."""
    after: dict[int, list[_Link]] = defaultdict(list)
    for link in links:
        after[link.before].append(link)
    heads = sorted(set(range(count)) & set(after) - {link.after for link in links})
    chains = []
    for head in heads:
        chain, waiting = [(head, 0, -1)], [(head, 0)]
        while waiting:
            text, begin = waiting.pop()
            for link in sorted(after[text], key=lambda link: link.beyond):  # texts inside first, then the next window
                chain.append((link.after, begin + link.at, link.beyond))
                waiting.append((link.after, begin + link.at))
        chains.append(chain)
    return chains


def _tell(
    chain: list[tuple[int, int, int]],
    texts: Sequence[str],
    said: list[str],
    windows: list[Window],
) -> None:
    """Writes what is said at each text of a chain, and the windows."""
    new = {text: texts[text] if beyond < 0 else texts[text][len(texts[text]) - beyond :] for text, _, beyond in chain}
    order = [text for text, _, _ in sorted(chain, key=lambda one: one[1] + len(texts[one[0]])) if new[text]]
    if order != list(range(order[0], order[0] + len(order))):
        whole = "".join(new[text] for text in order)
        first = min(text for text, _, _ in chain)
        new = {text: whole if text == first else "" for text in new}
        order = [first]
    for text, begin, _ in chain:
        said[text] = new[text]
        windows[text] = (tuple(order), begin, begin + len(texts[text]))
