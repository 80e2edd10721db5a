"""Back from a result to the source: what a part stands for, with what was left out around it."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

from squeeze.errors import ConfigError, InputError
from squeeze.types import Compressed, SoftPart, TextPart, Unit


class Stretch(NamedTuple):
    """A stretch of a passage.

    Attributes:
        passage: index of the passage.
        start: first character.
        end: character after the last.
    """

    passage: int
    start: int
    end: int


def stretches(result: Compressed) -> list[Stretch]:
    """For each part the stretch of its passage that it stands for.

    That is the part and what was left out behind it, up to the next part or the end of the passage; the first part of a
    passage also stands for what was left out before it. So the stretches of a passage tile it.
    """
    parts, out = result.parts, list[Stretch]()
    for index, part in enumerate(parts):
        first = index == 0 or parts[index - 1].passage != part.passage
        last = index + 1 == len(parts) or parts[index + 1].passage != part.passage
        start = 0 if first else part.start
        end = len(result.passages[part.passage].text) if last else parts[index + 1].start
        out.append(Stretch(part.passage, start, end))
    return out


def stretch_of(result: Compressed, piece: Any) -> Stretch:
    """The stretch of source that a unit, a part or the index of a part stands for.

    Raises:
        ConfigError: the result has no part of that index, or no such part or unit.
        InputError: it is something else.
    """
    if isinstance(piece, Unit):
        passages = result.passages
        if not (0 <= piece.passage < len(passages) and piece.end <= len(passages[piece.passage].text)):
            raise ConfigError(f"no unit of this result: {piece!r}; allowed: one of result.units()")
        return Stretch(piece.passage, piece.start, piece.end)
    if isinstance(piece, TextPart | SoftPart):
        place = next((at for at, part in enumerate(result.parts) if part is piece or _same(part, piece)), -1)
        if place < 0:
            raise ConfigError("no part of this result; allowed: one of result.parts")
        return stretches(result)[place]
    try:
        if isinstance(piece, bool):
            raise TypeError
        index = operator.index(piece)
    except TypeError:
        kind = type(piece).__name__
        raise InputError(f"piece is {kind}; allowed: a Unit, a part, or the index of a part") from None
    if not 0 <= index < len(result.parts):
        raise ConfigError(f"no part {index}; the result has {len(result.parts)}, numbered from 0")
    return stretches(result)[index]


def reopen(result: Compressed, piece: Any) -> str:
    """The source text of a piece (see `Compressed.reopen`)."""
    passage, start, end = stretch_of(result, piece)
    return result.passages[passage].text[start:end]


def _same(part: TextPart | SoftPart, piece: TextPart | SoftPart) -> bool:
    return isinstance(part, TextPart) and isinstance(piece, TextPart) and part == piece
