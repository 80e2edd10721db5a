"""From text to units: format, blocks, sentences, elementary discourse units, all with exact offsets."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from squeeze.errors import ConfigError, UnknownMethodError, nearest
from squeeze.segment import formats as _formats
from squeeze.segment.blocks import Block, Format, UnitKind
from squeeze.segment.layout import Gap, Layout, Node, Piece

__all__ = [
    "Block",
    "Format",
    "Gap",
    "Layout",
    "Node",
    "Piece",
    "UnitKind",
    "check_format",
    "detect",
    "formats",
    "parse",
    "split",
]

_PLAIN = "plain"
_SURE = 0.5  # a format must be this sure to be chosen over plain text


def split(text: str) -> list[tuple[int, int]]:
    """The sentence-level units of the text as spans that tile it, in the format it appears to have."""
    return [(piece.start, piece.end) for piece in parse(text).pieces]


def parse(text: str, *, format: str = "auto", unit: UnitKind = "sentence") -> Layout:
    """The tree of the text and its units.

    Args:
        text: any text; the empty one has no units.
        format: one of `formats()`, or "auto" for what `detect` says.
        unit: what prose is cut into, "sentence" or "edu".

    Raises:
        ConfigError: an unknown format or unit.
    """
    if unit not in ("sentence", "edu"):
        raise ConfigError(f"unit is {unit!r}; allowed: 'sentence' or 'edu'")
    name = detect(text) if check_format(format) == "auto" else format
    if not text:
        return Layout(name, (Node(0, 0, "document", -1, 0),), (), _load(name).gap)
    return _load(name).layout(text, name, unit)


def check_format(name: str) -> str:
    """The name, when it is "auto" or a format's.

    Raises:
        UnknownMethodError: it is neither.
    """
    if name != "auto" and name not in _names():
        raise UnknownMethodError(f"format is {name!r}; {nearest(str(name), ['auto', *_names()])}")
    return name


def detect(text: str) -> str:
    """The name of the format that the text has, "plain" when in doubt."""
    best, confidence = _PLAIN, _SURE
    for name in _names():
        sure = _load(name).detect(text)
        if sure > confidence or (sure == confidence and best == _PLAIN):
            best, confidence = name, sure
    return best


def formats() -> list[str]:
    """The names of all formats, sorted."""
    return list(_names())


@cache
def _names() -> tuple[str, ...]:
    return tuple(sorted(module.name for module in pkgutil.iter_modules(_formats.__path__) if module.name[0] != "_"))


@cache
def _load(name: str) -> Format:
    """The format of that name."""
    module = import_module(f"{_formats.__name__}.{name}")
    found = module.FORMAT
    if not isinstance(found, Format):
        raise TypeError(f"FORMAT of {module.__name__} is {type(found).__name__}, not a Format")
    return found
