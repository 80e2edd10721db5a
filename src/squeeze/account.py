"""What became of every stretch of every passage of a result, and the tokens of each passage before and after."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeVar

from squeeze.types import Compressed, SoftPart, TextPart, Unit

State = Literal["kept", "coded", "soft", "out", "space"]

T = TypeVar("T")

BLOCK = 4_000
"""Characters after which a block may end; a browser lays out long paragraphs slowly, and only blocks that it shows."""


class Stretch(NamedTuple):
    """A stretch of a passage with one state; it lies in at most one unit. `part` is what it came out as."""

    start: int
    end: int
    state: State
    unit: Unit | None
    part: TextPart | SoftPart | None


class Row(NamedTuple):
    """What the report shows of one passage."""

    passage: int
    stretches: list[Stretch]
    before: float
    after: float


def vectors(part: SoftPart) -> int:
    """Number of vectors of a part."""
    return int(part.vectors.shape[0])


def rows_of(result: Compressed) -> list[Row]:
    """The account of each passage, in time linear in the input."""
    units: dict[int, list[Unit]] = defaultdict(list)
    for unit in result.all_units:
        units[unit.passage].append(unit)
    parts: dict[int, list[TextPart | SoftPart]] = defaultdict(list)
    for part in result.parts:
        parts[part.passage].append(part)
    chars = sum(len(passage.text) for passage in result.passages) or 1
    written = sum(len(part.lead + part.text) for part in result.parts if isinstance(part, TextPart)) or 1
    rows = []
    for index, passage in enumerate(result.passages):
        own = parts[index]
        found = list(_sweep(passage.text, sorted(units[index], key=lambda unit: unit.start), own))
        before = float(sum(unit.tokens for unit in units[index]))
        if not units[index]:
            before = result.tokens_before * len(passage.text) / chars
        after = float(sum(vectors(part) for part in own if isinstance(part, SoftPart)))
        if any(isinstance(part, TextPart) and part.coded for part in own) or not units[index]:
            share = sum(len(part.text) for part in own if isinstance(part, TextPart)) / written
            after += result.tokens_after * share
        else:
            after += _kept_tokens(passage.text, found)
        rows.append(Row(index, found, before, after))
    return rows


def _kept_tokens(text: str, stretches: Iterable[Stretch]) -> float:
    """Tokens of the units that are kept as text; of a unit that was cut, its share by length."""
    total = 0.0
    for stretch in stretches:
        if stretch.state == "kept" and stretch.unit is not None:
            whole = len(text[stretch.unit.start : stretch.unit.end].strip()) or 1
            total += stretch.unit.tokens * min(1.0, len(text[stretch.start : stretch.end].strip()) / whole)
    return total


def _sweep(text: str, units: Sequence[Unit], parts: Sequence[TextPart | SoftPart]) -> Iterator[Stretch]:
    """The whole passage in stretches, each of one state and within one unit."""
    spans = sorted(((start, end, part) for part in parts for start, end in part.spans), key=lambda span: span[:2])
    covers = list(_tile(len(text), [(unit.start, unit.end, unit) for unit in units]))
    kept = _tile(len(text), spans)
    _, end, part = next(kept, (0, 0, None))
    for first, last, unit in covers:
        while first < last:
            while end <= first:
                _, end, part = next(kept)
            stop = min(last, end)
            yield Stretch(first, stop, _state(text[first:stop], part), unit, part)
            first = stop


def _state(text: str, part: TextPart | SoftPart | None) -> State:
    if part is None:
        return "out" if text.strip() else "space"
    if isinstance(part, SoftPart):
        return "soft"
    return "coded" if part.coded else "kept"


def _tile(size: int, spans: Iterable[tuple[int, int, T]]) -> Iterator[tuple[int, int, T | None]]:
    """Ascending spans from 0 to `size` without holes and overlaps; None fills the holes."""
    done = 0
    for start, end, value in spans:
        if start > done:
            yield done, start, None
        if end > max(start, done):
            yield max(start, done), end, value
        done = max(done, end)
    if done < size:
        yield done, size, None


def blocks(text: str) -> Iterator[tuple[int, int]]:
    """Spans of some thousand characters that end at line breaks, which are left out; at a space in a very long line."""
    start = 0
    while len(text) - start > 2 * BLOCK:
        most = start + 4 * BLOCK
        line = text.find("\n", start + BLOCK, most)
        if line >= 0:
            yield start, line - (text[line - 1] == "\r")
            start = line + 1
        elif most < len(text):
            space = text.rfind(" ", start + BLOCK, most) + 1 or most
            yield start, space
            start = space
        else:
            break
    yield start, len(text)


def within(stretches: Sequence[Stretch], spans: Iterable[tuple[int, int]]) -> Iterator[list[Stretch]]:
    """The stretches inside of each span; both ascend, and a stretch that crosses an edge is cut there."""
    place = 0
    for start, end in spans:
        found = []
        while place < len(stretches) and stretches[place].start < end:
            one = stretches[place]
            if one.end > start:
                found.append(one._replace(start=max(one.start, start), end=min(one.end, end)))
            if one.end > end:
                break
            place += 1
        yield found
