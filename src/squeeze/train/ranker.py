"""Fits the weights of the `"ranker"` scorer, and reports what answers survive.

    python -m squeeze.train.ranker --data FOLDER --report FOLDER [--dev FOLDER] [--seed 0] [--rows 400] [--weights FILE]

FOLDER of `--data` holds `NAME.train.jsonl.gz`, that of `--dev` `NAME.dev.jsonl.gz`, rows of
`{id, question, answers, documents: [{title, text, is_gold}], extra}`. Every set is also fitted without titles and in
lower case. The report compares the network with logistic regression, with the scorer `"bm25"` and, where scikit-learn
is installed, with boosted trees, each on a set that it was not fitted on.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import squeeze
from squeeze.bench.rows import read_rows
from squeeze.errors import ConfigError
from squeeze.score.base import Scores
from squeeze.score.ranker import WEIGHTS
from squeeze.train.ranker_fit import Recipe, Table, fit
from squeeze.train.ranker_rows import FITTED, VARIANTS, Example, example

SETS = ("2wikimultihopqa", "hotpotqa", "jaquad_ja", "musique", "nq", "popqa", "squad", "tydiqa", "wikitablequestions")
KEEP = 0.25

Model = Callable[[Example], Scores]
Sets = dict[str, dict[str, list[Example]]]
"""Name of a set -> variant -> examples."""


def read(folder: Path, part: str, names: Sequence[str], limit: int, variants: Sequence[str]) -> tuple[Sets, list[Any]]:
    """The examples of the sets in a folder, at most `limit` rows of each, and a line on the sources of each."""
    sets: Sets = {}
    sources = []
    for name in names:
        rows = telling(folder, part, name, limit)
        if not rows:
            continue
        sets[name] = {variant: [example(row, variant) for row in rows] for variant in variants}
        sources.append(source(name, rows))
        print(f"{name}: {len(rows)} rows", flush=True)
    return sets, sources


def telling(folder: Path, part: str, name: str, limit: int) -> list[dict[str, Any]]:
    """At most `limit` rows of a set that can show that evidence survives; those to fit on are drawn from all."""
    rows = [row for row in read_rows(folder / f"{name}.{part}.jsonl.gz") if _tells(row)]
    if part == "train":
        rows = [rows[index] for index in np.random.default_rng(0).permutation(len(rows))]
    return rows[:limit]


def source(name: str, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Where the rows of a set come from, and under which licences."""
    extras = [row.get("extra", {}) for row in rows]
    named = {key: sorted({str(extra.get(key)).split(":")[0] for extra in extras}) for key in ("source", "license")}
    return {"set": name, "rows": len(rows), **named}


def _tells(row: dict[str, Any]) -> bool:
    """Whether a row can show that evidence survives."""
    extra = row.get("extra", {})
    fair = row["answers"] and not extra.get("long_form") and extra.get("answer_in_gold", True)
    return bool(fair or extra.get("supporting_sentences") or extra.get("must_keep"))


def write_sources(weights: Path, scorer: str, sources: Sequence[dict[str, Any]]) -> None:
    """Writes beside weights what they were fitted on."""
    lines = [
        f"{one['set']}: {one['rows']} rows; {', '.join(one['license'])}; {', '.join(one['source'])}" for one in sources
    ]
    head = f"The weights of the {scorer} were fitted on questions, passages and answers of these sets:\n\n"
    weights.with_suffix(".sources.txt").write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


def survival(examples: Sequence[Example], model: Model, keep: float = KEEP) -> float:
    """The share of examples whose evidence is kept."""
    seen = [one.survives(np.round(model(one), 9), keep) for one in examples]
    return float(np.mean([float(value) for value in seen if value is not None] or [np.nan]))


def network(groups: Sequence[Sequence[Example]], seed: int, recipe: Recipe | None = None) -> Model:
    """A network fitted on these examples."""
    fitted = fit(Table.of(groups), recipe or Recipe(), seed)
    return lambda one: fitted(one.rows.astype(np.float64))


def trees(groups: Sequence[Sequence[Example]], seed: int) -> Model:
    """Boosted trees fitted on these examples with scikit-learn."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    table = Table.of(groups)
    fitted = HistGradientBoostingClassifier(
        max_iter=150,
        learning_rate=0.06,
        max_leaf_nodes=15,
        l2_regularization=5,
        random_state=seed,
        early_stopping=False,
    ).fit(table.rows, table.labels, table.weights)
    return lambda one: np.asarray(fitted.decision_function(one.rows), np.float64)


def left_out(sets: Sets, seed: int) -> list[dict[str, Any]]:
    """What survives on each set under models that were fitted on the other sets."""
    table = []
    for name in sets:
        rest = [examples for other in sets if other != name for examples in sets[other].values()]
        own = sets[name][VARIANTS[0]]
        row = {
            "set": name,
            "rows": len(own),
            "bm25": survival(own, lambda one: one.lexical),
            "regression": survival(own, network(rest, seed, Recipe(hidden=(), members=1))),
            "network": survival(own, network(rest, seed)),
        }
        if importlib.util.find_spec("sklearn"):
            row["trees"] = survival(own, trees(rest, seed))
        table.append(row)
        print(_line(row), flush=True)
    return table


def changed(sets: Sets, model: Model) -> list[dict[str, Any]]:
    """What survives of the same rows without titles, in lower case and with the passages in another order."""
    table = []
    for name, variants in sets.items():
        row: dict[str, Any] = {"set": name, "rows": len(variants[VARIANTS[0]])}
        for variant, examples in variants.items():
            row[variant] = survival(examples, model)
            row[f"{variant}, bm25"] = survival(examples, lambda one: one.lexical)
        table.append(row)
        print(_line(row), flush=True)
    return table


def _line(row: dict[str, Any]) -> str:
    return "  ".join(f"{key} {value:.3f}" if isinstance(value, float) else str(value) for key, value in row.items())


def _text(title: str, table: Sequence[dict[str, Any]]) -> str:
    """A table as text, with the mean of each column."""
    if not table:
        return ""
    numbers = [key for key, value in table[0].items() if isinstance(value, float)]
    mean = {"set": "mean", **{key: float(np.nanmean([row.get(key, np.nan) for row in table])) for key in numbers}}
    lines = [f"{'set':20s} {'rows':>5s} " + " ".join(f"{key:>16s}" for key in numbers)]
    for row in [*table, mean]:
        values = " ".join(f"{row.get(key, np.nan):16.3f}" for key in numbers)
        lines.append(f"{row['set']:20s} {row.get('rows', ''):>5} {values}")
    return f"{title}\n\n" + "\n".join(lines) + "\n"


def main() -> None:
    """Reads rows, fits, writes the weights, their sources and the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of NAME.train.jsonl.gz")
    parser.add_argument("--dev", type=Path, help="folder of NAME.dev.jsonl.gz, on which the result is measured")
    parser.add_argument("--report", type=Path, help="folder for ranker.json and ranker.txt")
    parser.add_argument("--weights", type=Path, default=WEIGHTS, help="file to write")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=400, help="rows of each set to fit on")
    parser.add_argument("--dev-rows", type=int, default=100, help="rows of each set to measure on")
    args = parser.parse_args()
    started = time.perf_counter()
    if args.rows < 1 or args.dev_rows < 1:
        raise ConfigError("--rows and --dev-rows must be at least 1")
    sets, sources = read(args.data, "train", SETS, args.rows, FITTED)
    fitted = fit(
        Table.of([examples for variants in sets.values() for examples in variants.values()]), Recipe(), args.seed
    )
    fitted.save(args.weights)
    write_sources(args.weights, "ranker", sources)
    print(f"wrote {args.weights}, {args.weights.stat().st_size:,} bytes, after {time.perf_counter() - started:.0f} s")
    if not args.report:
        return
    unseen = left_out(sets, args.seed)
    robust = []
    if args.dev:
        names = sorted(path.name.split(".")[0] for path in args.dev.glob("*.dev.jsonl.gz"))
        robust = changed(
            read(args.dev, "dev", names, args.dev_rows, VARIANTS)[0], lambda one: fitted(one.rows.astype(np.float64))
        )
    versions = {"squeeze": squeeze.__version__, "numpy": np.__version__, "python": platform.python_version()}
    report = {
        "seed": args.seed,
        "versions": versions,
        "recipe": vars(Recipe()),
        "fitted_on": sources,
        "keep": KEEP,
        "left_out": unseen,
        "changed": robust,
    }
    args.report.mkdir(parents=True, exist_ok=True)
    (args.report / "ranker.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    head = f"Share of rows whose evidence survives, keep {KEEP}, seed {args.seed}, " + ", ".join(
        f"{k} {v}" for k, v in versions.items()
    )
    tables = [
        _text("Each set under models fitted on the other sets", unseen),
        _text("The same dev rows, changed", robust),
    ]
    (args.report / "ranker.txt").write_text("\n\n".join([head, *filter(None, tables)]), encoding="utf-8")


if __name__ == "__main__":
    main()
