"""Whether a cut between two characters keeps every grapheme cluster whole."""

from __future__ import annotations

import regex

_CLUSTER = regex.compile(r"\X")
_FIRST_EXTENDER = "\u0300"  # below it only LF after CR joins the character before


def is_break(text: str, offset: int) -> bool:
    """Whether the text may be cut before `offset` without cutting a grapheme cluster or CR LF.

    Looks one character back, which decides for cuts behind white space and punctuation, the only ones made here.
    """
    if not 0 < offset < len(text):
        return True
    after = text[offset]
    if after < _FIRST_EXTENDER:
        return after != "\n" or text[offset - 1] != "\r"
    match = _CLUSTER.match(text, offset - 1, min(len(text), offset + 2))
    return match is None or match.end() == offset
