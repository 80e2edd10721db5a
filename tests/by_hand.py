"""Results made by hand, for tests of what comes after compression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from squeeze.types import Compressed, Passage, TextPart, Unit


def words(text: str) -> int:
    return len(text.split())


def result_of(
    passages: Sequence[Passage | str],
    units: Sequence[tuple[int, int, int, float, bool]],
    **changes: Any,
) -> Compressed:
    """A result whose units are (passage, start, end, score, kept); a token is a word, each kept unit is one part."""
    given = tuple(Passage(p) if isinstance(p, str) else p for p in passages)
    rows = tuple(
        Unit(p, start, end, words(given[p].text[start:end]), score, kept, "score" if kept else "budget")
        for p, start, end, score, kept in units
    )
    parts: list[TextPart] = []
    for row in rows:
        if not row.kept:
            continue
        before = parts[-1] if parts else None
        lead = "" if before is None else "\n\n" if before.passage != row.passage else ""
        if before is not None and before.passage == row.passage and before.end != row.start:
            lead = " … "
        text = given[row.passage].text[row.start : row.end]
        if before is not None and not lead and before.passage == row.passage:
            parts[-1] = TextPart(row.passage, before.start, row.end, before.text + text, before.lead)
        else:
            parts.append(TextPart(row.passage, row.start, row.end, text, lead))
    made: dict[str, Any] = {
        "passages": given,
        "query": None,
        "parts": tuple(parts),
        "all_units": rows,
        "tokens_before": sum(words(p.text) for p in given),
        "tokens_after": sum(words(part.lead + part.text) for part in parts),
        "seconds": 0.0123,
        "tokenizer": "estimate",
        "method": "edu",
    }
    return Compressed(**{**made, **changes})


def sentences(text: str, size: int = 40) -> list[tuple[int, int]]:
    """Spans of at most `size` characters that tile the text."""
    return [(start, min(start + size, len(text))) for start in range(0, len(text), size)]
