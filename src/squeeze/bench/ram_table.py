"""The tables of `ram` in the guide, from the reports of `squeeze.bench.ram`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from squeeze.bench.ram_conditions import TAUGHT

LIKELIHOOD = Path("reports/ram_likelihood.json")
RECALL = Path("reports/ram_recall.json")

_VECTORS = ("ram", f"{TAUGHT}ram")
_OTHERS = {"text": "the same text without vectors", "another": "the vectors of another question's segments"}


def _lines(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["results"]
    return found


def _columns(lines: list[dict[str, Any]]) -> list[tuple[str, float]]:
    """Sets and shares, in the order of the report; those of the full text and of no context are in all."""
    return list(dict.fromkeys((line["data"], line["keep"]) for line in lines if line["keep"] < 1))


def _table(lines: list[dict[str, Any]], name: str, title: str, digits: int) -> list[str]:
    """Means with intervals, a row for each value of `name`, a column for each set and share."""
    columns = _columns(lines)
    rows = {(line[name], line["data"], line["keep"]): line for line in lines}
    count = {line["data"]: line["rows"] for line in lines}
    heads = [f"{data}, {share * 100:g} %" for data, share in columns]
    out = [f"| {title} | {' | '.join(heads)} |", "| --- |" + " --- |" * len(columns)]
    for value in dict.fromkeys(line[name] for line in lines):
        cells = []
        for data, share in columns:
            own = rows.get((value, data, share)) or rows.get((value, data, 1.0))
            cell = "" if own is None else "{mean:.{d}f} [{low:.{d}f}, {high:.{d}f}]".format(d=digits, **own)
            cells.append(cell)
        out.append(f"| {value} | {' | '.join(cells)} |")
    return [*out, "", f"n = {', '.join(f'{rows} ({data})' for data, rows in count.items())}."]


def _verdict(lines: list[dict[str, Any]]) -> list[str]:
    """What vectors are worth, where the interval of the difference tells."""
    out = []
    for name in _VECTORS:
        for title, other in _OTHERS.items():
            words = []
            for line in lines:
                if line["condition"] == name and f"over_{title}_low" in line:
                    low, high = line[f"over_{title}_low"], line[f"over_{title}_high"]
                    said = "better" if low > 0 else "worse" if high < 0 else "no difference to be told"
                    words.append(f"{said} on {line['data']} at {line['keep'] * 100:g} % [{low:.2f}, {high:.2f}]")
            if words:
                out.append(f"- {name} against {other}: {'; '.join(words)}.")
    return ["With the 95 % interval of the difference:", "", *out] if out else []


def table(likelihood: Path = LIKELIHOOD, recall: Path = RECALL) -> str:
    """What a model makes of `ram` beside other contexts, and what its ranking finds."""
    likely, ranked = _lines(likelihood), _lines(recall)
    first = _table(likely, "condition", "context, nats a token of the answer", 2)
    return "\n".join(
        [*first, "", *_verdict(likely), "", *_table(ranked, "ranking", "ranking, share of answers found", 2)]
    )
