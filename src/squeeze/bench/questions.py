"""Does the answer survive? The table of the README: methods beside one baseline, the answer or what must be kept.

    python -m squeeze.bench.questions DATA.jsonl.gz ... [--keep 0.25] [--methods edu,bm25_title] [--json FILE]

`squeeze bench` measures more; this program takes of each set only the rows that its own measure can judge, so that all
sets have as many. The first method named that is a baseline is the one that others are compared with.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from squeeze.bench.machine import write_report
from squeeze.bench.runners import Making, specs_of
from squeeze.bench.sets import Set, read_sets
from squeeze.bench.summary import MEAN, summaries
from squeeze.bench.survival import answers
from squeeze.bench.work import Plan, run

NAMES = {"gold": "answer", "must": "must_keep"}


def judged(one: Set, most: int) -> Set:
    """The set with the rows that its measure can judge; a set of long answers has none."""
    rows = [row for row in one.rows if (row["extra"]["must_keep"] if one.measure == "must" else answers(row))]
    measure = "must" if one.measure == "must" else "gold"
    return Set(one.name, rows[:most] if most else rows, one.skipped, measure)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+")
    parser.add_argument("-n", type=int, default=0, help="rows of each file, all when 0")
    parser.add_argument("--keep", default="0.25", help="one or more shares of the tokens")
    parser.add_argument("--methods", default="edu,passages,truncate,bm25_title,bm25,random")
    parser.add_argument("--tokenizer", default="estimate")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--json", default="")
    args = parser.parse_args(arguments)
    specs = specs_of(args.methods.split(","), always=())
    first = next((spec for spec in specs if spec.kind == "baseline"), specs[0])
    specs = (first, *(spec for spec in specs if spec is not first))
    plan = Plan(Making(args.tokenizer, 0, specs), tuple(map(float, args.keep.split(","))))
    table: list[dict[str, Any]] = []
    sets = [judged(one, args.n) for one in read_sets(args.data)]
    for row in summaries(sets, run(sets, plan, workers=args.workers).lines, first.label):
        if row["data"] == MEAN:
            continue
        line = {"data": row["data"], "method": row["method"], "keep": row["keep"], "measure": NAMES[row["measure"]]}
        line |= {"rows": row["rows"], "kept": row["value"], "over": row["over"]}
        line |= {"won": row["won"] or 0, "lost": row["lost"] or 0}
        line |= {"low": row["difference_low"] or 0.0, "high": row["difference_high"] or 0.0}
        table.append(line)
        print("  ".join(f"{v:.3f}" if isinstance(v, float) else str(v) for v in line.values()), flush=True)
    for name, keep in dict.fromkeys((line["method"], line["keep"]) for line in table):
        values = [line["kept"] for line in table if (line["method"], line["keep"]) == (name, keep)]
        print(f"keep {keep}, {name}: mean over {len(values)} sets {sum(values) / len(values):.3f}")
    if args.json:
        write_report(args.json, "squeeze.bench.questions", table, tokenizer=args.tokenizer, rows=args.n)


if __name__ == "__main__":
    main()
