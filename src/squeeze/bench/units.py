"""Sentences or clauses, with or without what a unit needs: how often the answer survives.

    python -m squeeze.bench.units DATA.jsonl.gz ... [-n ROWS] [--keep 0.125,0.25] [--tokenizer NAME] [--json FILE]

Units without their needs keep more answers in fewer tokens and leave rows without a header and items without what
introduces them; the table shows what that care costs.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from squeeze.base import Job
from squeeze.bench.machine import write_report
from squeeze.bench.rows import row_passages
from squeeze.bench.sets import read_sets
from squeeze.bench.survival import answer_kept, answers, difference, kept_spans
from squeeze.compressors.edu import Edu
from squeeze.segment.layout import Layout
from squeeze.types import Budget


class Lone(Edu):
    """`edu` without what a unit needs."""

    def _layouts(self, job: Job) -> tuple[Layout, ...]:
        return tuple(
            Layout(layout.format, layout.nodes, tuple(p._replace(needs=()) for p in layout.pieces), layout.gap)
            for layout in super()._layouts(job)
        )


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+")
    parser.add_argument("-n", type=int, default=0, help="fair rows of each file, all when 0")
    parser.add_argument("--keep", default="0.125,0.25")
    parser.add_argument("--tokenizer", default="estimate")
    parser.add_argument("--json", default="")
    args = parser.parse_args()
    rows = {one.name: [r for r in one.rows if answers(r)][: args.n or None] for one in read_sets(args.data)}
    variants = {
        "sentence": Edu(tokenizer=args.tokenizer, unit="sentence"),
        "sentence, no needs": Lone(tokenizer=args.tokenizer, unit="sentence"),
        "edu": Edu(tokenizer=args.tokenizer, unit="edu"),
        "edu, no needs": Lone(tokenizer=args.tokenizer, unit="edu"),
    }
    table: list[dict[str, Any]] = []
    for keep in map(float, args.keep.split(",")):
        for data, given in rows.items():
            reference: list[bool] = []
            for name, compressor in variants.items():
                results = [compressor.compress(row_passages(r), r["question"], budget=Budget(keep=keep)) for r in given]
                kept = [answer_kept(row, kept_spans(result)) for row, result in zip(given, results, strict=True)]
                reference = reference or kept
                apart = difference(kept, reference)
                line = {"data": data, "keep": keep, "units": name, "rows": len(given), "kept": float(np.mean(kept))}
                line |= {"won": apart.won, "lost": apart.lost, "low": apart.low, "high": apart.high}
                table.append(line)
                print("  ".join(f"{v:.3f}" if isinstance(v, float) else str(v) for v in line.values()), flush=True)
        for name in variants:
            values = [line["kept"] for line in table if line["units"] == name and line["keep"] == keep]
            print(f"keep {keep}, {name}: mean over {len(values)} sets {np.mean(values):.3f}", flush=True)
    if args.json:
        write_report(args.json, "squeeze.bench.units", table, tokenizer=args.tokenizer, rows=args.n)


if __name__ == "__main__":
    main()
