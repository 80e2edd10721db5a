"""Lines of source code in any language: how deep they stand, and what they may begin or end."""

from __future__ import annotations

import re
from typing import NamedTuple

from squeeze.segment.chunks import lines

_TAB = 4
_CLOSER = re.compile(
    r"[)\]}>]|\{$|(?:else|elif|elsif|except|catch|finally|rescue|ensure|end|then|do|done|fi|esac|endif|until)\b"
)
_PREFIX = re.compile(
    r"@\w|#(?!include|define|pragma|if|endif|else|elif|undef|error)|//|/\*|\*|--(?!-)|;;|%(?!\w)|template\s*<"
)
_OPENERS = re.compile(r"[(\[]")
_CLOSERS = re.compile(r"[)\]]")
_TRIPLE = re.compile(r'"""|\'\'\'')


class Line(NamedTuple):
    """A line of code, with the blank lines that follow it.

    Attributes:
        start: first character.
        end: character after the last.
        indent: columns of white space in front; -1 inside a string or comment that runs over several lines.
        closes: whether it ends or goes on with what a line before began (`}`, `else`).
        prefix: whether it announces the next one: a comment, a decorator, an attribute.
        depth: brackets that it opens and does not close.
        gap: whether a blank line follows.
    """

    start: int
    end: int
    indent: int
    closes: bool
    prefix: bool
    depth: int
    gap: bool


def code_lines(text: str) -> list[Line]:
    """The lines that hold something; blank ones belong to the line before, at the front to the first."""
    out: list[Line] = []
    inside, begin = "", -1
    for start, end in lines(text):
        source = text[start:end]
        bare = source.strip()
        if not bare:
            if out:
                out[-1] = out[-1]._replace(end=end, gap=True)
            elif begin < 0:
                begin = start
            continue
        start, begin = (begin, -1) if begin >= 0 else (start, -1)
        column = len(source.expandtabs(_TAB)) - len(source.expandtabs(_TAB).lstrip()) if not inside else -1
        begins = not inside
        inside = _state(source, inside)
        prefix = begins and _PREFIX.match(bare) is not None
        depth = len(_OPENERS.findall(bare)) - len(_CLOSERS.findall(bare)) if begins and not inside else 0
        out.append(Line(start, end, column, begins and _CLOSER.match(bare) is not None, prefix, depth, False))
    return out


def _state(source: str, inside: str) -> str:
    """The mark that ends the string or comment that is open behind this line; empty for none."""
    if inside == "*/":
        return "" if "*/" in source else inside
    for match in _TRIPLE.finditer(source):
        if not inside:
            inside = match.group()
        elif inside == match.group():
            inside = ""
    if not inside and source.lstrip().startswith("/*") and "*/" not in source:
        return "*/"
    return inside
