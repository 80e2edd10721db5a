"""What the tests of formats share."""

from __future__ import annotations

from squeeze.render import merge
from squeeze.segment import Layout, parse


def shown(text: str, layout: Layout, kept: list[int]) -> str:
    """What is shown of a text when these pieces are kept, without gap marks."""
    return "".join(text[start:end] for start, end in merge(text, layout, kept))


def with_needs(layout: Layout, wanted: set[int]) -> list[int]:
    """The pieces and all that they need, ascending."""
    found, waiting = set(wanted), list(wanted)
    while waiting:
        for need in layout.pieces[waiting.pop()].needs:
            if need not in found:
                found.add(need)
                waiting.append(need)
    return sorted(found)


def texts(text: str, format: str = "auto") -> list[str]:
    """The units of the text, white space at their ends left out."""
    return [text[piece.start : piece.end].strip() for piece in parse(text, format=format).pieces]


def needed(text: str, start: str, format: str = "auto") -> list[str]:
    """What comes with the unit that begins with these words, itself included."""
    layout = parse(text, format=format)
    units = [text[piece.start : piece.end].strip() for piece in layout.pieces]
    index = next(i for i, unit in enumerate(units) if unit.startswith(start))
    return [units[i] for i in with_needs(layout, {index})]
