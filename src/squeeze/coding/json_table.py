"""JSON texts in a shorter form that is JSON too: without white space, and lists of alike objects as tables.

A table is a list whose first item is `{"columns": [keys]}` and whose other items are lists of the values. How the
original was laid out is kept beside it, so that it comes back byte for byte; where that does not work out (numbers or
escapes that are written in an unusual way, keys given twice), there is no short form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from squeeze.errors import CorruptError

_COLUMNS = "columns"
_INDENT = re.compile(r"[\[{]\n([ \t]+)")
_LONE = re.compile("[\ud800-\udfff]")
_FEWEST = 2  # rows of a table
_FRAME = 16  # characters that a table has beside its keys and values
_TOO_DEEP = "the JSON is nested too deeply"

Layout = dict[str, Any]
"""How a JSON text is laid out: JSON-ready values, so that they can be kept with a result."""


def shorten(text: str) -> tuple[str, Layout] | None:
    """The short form and the layout of the original; None where the text is no JSON or would not come back exactly."""
    core = text.strip(" \t\r\n")
    if core[:1] not in ("{", "["):
        return None
    lead = text[: len(text) - len(text.lstrip(" \t\r\n"))]
    around = {"lead": lead, "tail": text[len(lead) + len(core) :]}
    try:
        return _document(text, core, around) or _lines(text, core, around)
    except (ValueError, RecursionError):
        return None


def lengthen(text: str, layout: Mapping[str, Any]) -> str:
    """The original of a short form.

    Raises:
        CorruptError: the text is no JSON, or the layout is none that `shorten` gives.
    """
    try:
        value = _open(json.loads(text))
        style = {"ensure_ascii": layout["ascii"], "separators": tuple(layout["separators"]), "indent": layout["indent"]}
        rows = value if layout["lines"] else [value]
        return str(layout["lead"] + "\n".join(json.dumps(row, **style) for row in rows) + layout["tail"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CorruptError(f"a JSON text in its short form does not decode: {error or _TOO_DEEP}") from None


def _document(text: str, core: str, around: Layout) -> tuple[str, Layout] | None:
    """One JSON value."""
    try:
        value = json.loads(core)
    except ValueError:
        return None
    indent = _INDENT.match(core)
    return _checked(text, value, {**around, "lines": False, "indent": indent.group(1) if indent else None})


def _lines(text: str, core: str, around: Layout) -> tuple[str, Layout] | None:
    """A JSON object on each line."""
    lines = core.split("\n")
    if len(lines) < _FEWEST or not all(line.startswith("{") for line in lines):
        return None
    return _checked(text, [json.loads(line) for line in lines], {**around, "lines": True, "indent": None})


def _checked(text: str, value: Any, layout: Layout) -> tuple[str, Layout] | None:
    """The short form with the first layout that gives the text back."""
    shapes = [(",", ": ")] if layout["indent"] is not None else [(", ", ": "), (",", ":"), (",", ": ")]
    packed = _pack(value)
    short = json.dumps(packed, ensure_ascii=False, separators=(",", ":"))
    if _LONE.search(short):
        short = json.dumps(packed, separators=(",", ":"))
    for separators in shapes:
        for ascii_only in (False, True) if text.isascii() else (False,):
            full = {**layout, "separators": list(separators), "ascii": ascii_only}
            if lengthen(short, full) == text:
                return short, full
    return None


def _pack(value: Any) -> Any:
    """The value with lists of objects that have the same keys in the same order as tables."""
    if isinstance(value, dict):
        return {key: _pack(item) for key, item in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) >= _FEWEST and all(isinstance(row, dict) for row in value):
        keys = list(value[0])
        repeated = (len(value) - 1) * sum(len(key) + 3 for key in keys)  # quotes and colon
        if repeated > _FRAME and all(list(row) == keys for row in value[1:]):
            return [{_COLUMNS: keys}, *([_pack(item) for item in row.values()] for row in value)]
    return [_pack(item) for item in value]


def _open(value: Any) -> Any:
    """The value with its tables as lists of objects."""
    if isinstance(value, dict):
        return {key: _open(item) for key, item in value.items()}
    if not isinstance(value, list):
        return value
    head = value[0] if len(value) > _FEWEST else None
    if isinstance(head, dict) and list(head) == [_COLUMNS] and isinstance(head[_COLUMNS], list):
        return [dict(zip(head[_COLUMNS], map(_open, row), strict=True)) for row in value[1:]]
    return [_open(item) for item in value]
