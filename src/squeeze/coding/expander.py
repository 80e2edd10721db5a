"""Markers in a stream of text replaced by what they stand for."""

from __future__ import annotations

import re
from collections.abc import Mapping

from squeeze.errors import InputError


class Expander:
    """Replaces markers in a text that arrives piece by piece. One serves one stream.

    Args of the constructor:
        entries: what each marker stands for. No marker is the beginning of another one.
    """

    def __init__(self, entries: Mapping[str, str]) -> None:
        self._entries = dict(entries)
        names = sorted(entries, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, names))) if names else None
        self._openings = {name[:size] for name in names for size in range(1, len(name))}
        self._longest = max(map(len, self._openings), default=0)
        self._held = ""

    def feed(self, piece: str) -> str:
        """What is certain so far and was not given yet; the beginning of a marker is held back."""
        if not isinstance(piece, str):
            raise InputError(f"a piece of text is {type(piece).__name__}; allowed: str")
        text = self._held + piece
        if self._pattern is None:
            return text
        done, out = 0, []
        for match in self._pattern.finditer(text):
            out += [text[done : match.start()], self._entries[match.group()]]
            done = match.end()
        rest = text[done:]
        sizes = range(min(self._longest, len(rest)), 0, -1)
        keep = next((size for size in sizes if rest[-size:] in self._openings), 0)
        self._held = rest[len(rest) - keep :]
        return "".join([*out, rest[: len(rest) - keep]])

    def flush(self) -> str:
        """What was held back: at the end of the text it is no marker."""
        held, self._held = self._held, ""
        return held
