"""Measures choosing by marginal gain against choosing by score alone, on top of the ranker.

    python -m squeeze.train.evidence --dev FOLDER --report FOLDER [--rows 60]

FOLDER of `--dev` holds `NAME.dev.jsonl.gz` (see `squeeze.train.ranker`). Three ways to value a unit by what is kept
already are tried, each at several strengths, none of which is used by `edu` (see the report):

    cost      score / tokens ** strength
    repeat    score * (1 - strength * share of the unit's terms that kept units have)
    passage   score * strength ** (units kept of its passage)
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import squeeze
from squeeze.bench.rows import read_rows
from squeeze.score.base import Scores
from squeeze.score.ranker import network
from squeeze.score.words import FUNCTION_WORDS, Terms
from squeeze.train.ranker_rows import Example, example

SETS = (
    *("nq", "hotpotqa", "hotpotqa_fullwiki", "musique", "2wikimultihopqa", "squad", "popqa", "tydiqa"),
    *("wikitablequestions", "tatqa", "docs_rst", "code_repo"),
)
WAYS = [
    ("score", 0.0),
    ("cost", 0.1),
    ("cost", 0.2),
    ("cost", 0.35),
    ("repeat", 0.15),
    ("repeat", 0.3),
    ("repeat", 0.6),
]
WAYS += [("passage", 0.95), ("passage", 0.85)]
KEEPS = (0.125, 0.25, 0.5)
_PICKS = 80  # units chosen one by one; behind them the order of the values they have then


def valued(one: Example, way: str, strength: float) -> Scores:
    """The units' scores, changed so that their order is the order of choice, (units,)."""
    score = 1 / (1 + np.exp(-network()(one.rows.astype(np.float64))))
    if way == "cost":
        changed: Scores = score / np.maximum(one.tokens, 1) ** strength
        return changed
    if way == "score":
        return score
    order = np.zeros(len(score))
    value, open_units = score.copy(), np.ones(len(score), np.bool_)
    table = _terms(one)
    kept, picked = np.zeros(table.shape[1], np.bool_), np.zeros(len(one.corpus.passages))
    for rank in range(min(len(score), _PICKS)):
        best = int(np.argmax(np.where(open_units, value, -1)))
        open_units[best] = False
        order[best] = _PICKS + 1 - rank
        kept |= table[best]
        picked[one.corpus.passage[best]] += 1
        if way == "repeat":
            value = score * (1 - strength * (table & kept).sum(axis=1) / np.maximum(table.sum(axis=1), 1))
        else:
            value = score * strength ** picked[one.corpus.passage]
    return np.where(open_units, value, order)


def _terms(one: Example) -> NDArray[np.bool_]:
    """Which unit has which term, function words left out, (units, terms)."""
    terms, numbers = Terms(), dict[str, int]()
    units = [
        [numbers.setdefault(term, len(numbers)) for term in terms.of(text) if term.rstrip("*") not in FUNCTION_WORDS]
        for text in one.corpus.texts
    ]
    table = np.zeros((len(units), len(numbers)), np.bool_)
    for unit, own in enumerate(units):
        table[unit, own] = True
    return table


def supported(one: Example, scores: Scores, keep: float) -> float | None:
    """The share of the units that support the answer that is kept; None where the row names none."""
    if not one.support.any():
        return None
    return float(one.positive[one.kept(scores, keep)].sum() / one.positive.sum())


def measure(examples: Sequence[Example], way: str, strength: float, keep: float) -> tuple[float, float]:
    """Shares of rows whose evidence survives, and of supporting units kept (NaN without any)."""
    scores = [np.round(valued(one, way, strength), 9) for one in examples]
    alive = [one.survives(score, keep) for one, score in zip(examples, scores, strict=True)]
    support = [supported(one, score, keep) for one, score in zip(examples, scores, strict=True)]
    known = [value for value in support if value is not None]
    return float(np.mean([value for value in alive if value is not None])), float(np.mean(known)) if known else np.nan


def main() -> None:
    """Writes `evidence.json` and `evidence.txt`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dev", type=Path, required=True, help="folder of NAME.dev.jsonl.gz")
    parser.add_argument("--report", type=Path, required=True, help="folder for evidence.json and evidence.txt")
    parser.add_argument("--rows", type=int, default=60, help="rows of each set")
    args = parser.parse_args()
    sets: dict[str, list[Example]] = {}
    for name in SETS:
        examples = (example(row) for row in read_rows(args.dev / f"{name}.dev.jsonl.gz"))
        usable = (one for one in examples if one.fair or one.must.size)
        sets[name] = [one for one, _ in zip(usable, range(args.rows), strict=False)]
        print(f"{name}: {len(sets[name])} rows", flush=True)
    table: list[dict[str, Any]] = []
    for keep in KEEPS:
        for way, strength in WAYS:
            values = {name: measure(examples, way, strength, keep) for name, examples in sets.items()}
            row: dict[str, Any] = {"keep": keep, "way": way, "strength": strength}
            row |= {"survival": float(np.mean([alive for alive, _ in values.values()]))}
            row |= {"support": float(np.nanmean([support for _, support in values.values()]))}
            row["sets"] = {name: alive for name, (alive, _) in values.items()}
            table.append(row)
            print(_line(row), flush=True)
    versions = {"squeeze": squeeze.__version__, "numpy": np.__version__, "python": platform.python_version()}
    report = {"versions": versions, "rows": {name: len(examples) for name, examples in sets.items()}, "table": table}
    args.report.mkdir(parents=True, exist_ok=True)
    (args.report / "evidence.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    head = (
        f"Mean over {len(sets)} sets, up to {args.rows} rows each; numpy {np.__version__}.\n"
        "survival: rows whose evidence is kept. support: share of the supporting units kept, on sets that name them.\n"
        "`edu` chooses by score alone: a way is taken up only if it is better on both at every budget.\n\n"
    )
    (args.report / "evidence.txt").write_text(head + "\n".join(map(_line, table)) + "\n", encoding="utf-8")


def _line(row: dict[str, Any]) -> str:
    return (
        f"keep {row['keep']:<6} {row['way']:8s} {row['strength']:<5} survival {row['survival']:.3f}  "
        f"support {row['support']:.3f}"
    )


if __name__ == "__main__":
    main()
