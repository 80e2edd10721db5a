"""Does the answer survive? Methods and plain baselines on question-answering rows, compared row by row.

    python -m squeeze.bench.questions DATA.jsonl.gz ... [--keep 0.25] [--methods edu,bm25_title] [--json FILE]

A row is `{question, answers, documents: [{id, title, text, is_gold}], extra}`. Counted are rows whose answer is in a
gold document and in no other; where most rows of a set name strings that must be kept (`extra.must_keep`), these are
what counts. The first method named that is a baseline is the one that others are compared with.
"""

from __future__ import annotations

import argparse
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import squeeze
from squeeze.bench.baselines import BASELINES, Kept
from squeeze.bench.machine import write_report
from squeeze.bench.rows import read_rows, row_passages
from squeeze.bench.survival import Row, answer_kept, answers, difference, kept_spans, must_keep
from squeeze.render import JOINER
from squeeze.tokens import load_tokenizer
from squeeze.types import Budget, Passage

Run = Callable[[Sequence[Passage], str, int], tuple[Kept, int]]
"""Kept spans and tokens of the result, for passages, a question and a limit."""


def runner(name: str, tokenizer: str) -> Run:
    """A method or a baseline by name."""
    count = load_tokenizer(tokenizer).count
    if name in BASELINES:
        baseline = BASELINES[name]

        def plain(passages: Sequence[Passage], question: str, limit: int) -> tuple[Kept, int]:
            kept = baseline(passages, question, limit, count)
            return kept, count("\n".join(passages[i].text[s:e].strip() for i, (s, e) in kept)) if kept else 0

        return plain
    compressor = squeeze.load(name, tokenizer=tokenizer)

    def method(passages: Sequence[Passage], question: str, limit: int) -> tuple[Kept, int]:
        result = compressor.compress(passages, question, budget=Budget(limit))
        return kept_spans(result), result.tokens_after

    return method


def measure(rows: Sequence[Row], run: Run, keep: float, tokenizer: str, by_must: bool) -> tuple[list[bool], int]:
    """For each row whether its evidence is kept; and how many results are over the budget."""
    count, kept, over = load_tokenizer(tokenizer).count, list[bool](), 0
    for row in rows:
        passages = row_passages(row)
        limit = int(keep * count(JOINER.join(passage.text for passage in passages)))
        spans, tokens = run(passages, row["question"], limit)
        over += tokens > limit
        kept.append(bool(must_keep(row, spans)) if by_must else answer_kept(row, spans))
    return kept, over


def chosen(path: str, most: int) -> tuple[list[Row], bool]:
    """The rows of a file that count, and whether it is by `must_keep`."""
    rows = list(read_rows(path))
    fair = [row for row in rows if answers(row)]
    must = [row for row in rows if row.get("extra", {}).get("must_keep")]
    by_must = len(must) > 2.5 * len(fair)
    found = must if by_must else fair
    return (found[:most] if most else found), by_must


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+")
    parser.add_argument("-n", type=int, default=0, help="rows of each file, all when 0")
    parser.add_argument("--keep", default="0.25", help="one or more shares of the tokens")
    parser.add_argument("--methods", default="edu,passages,truncate,bm25_title,bm25,random")
    parser.add_argument("--tokenizer", default="estimate")
    parser.add_argument("--json", default="")
    args = parser.parse_args(arguments)
    names = args.methods.split(",")
    reference = next((name for name in names if name in BASELINES), names[0])
    names = [reference, *(name for name in names if name != reference)]
    runs = {name: runner(name, args.tokenizer) for name in names}
    table: list[dict[str, Any]] = []
    for path in args.data:
        rows, by_must = chosen(path, args.n)
        for keep in map(float, args.keep.split(",")):
            first: list[bool] = []
            for name in names if rows else ():
                kept, over = measure(rows, runs[name], keep, args.tokenizer, by_must)
                first = first or kept
                apart = difference(kept, first)
                line: dict[str, Any] = {"data": pathlib.Path(path).name.split(".")[0], "method": name, "keep": keep}
                line |= {"measure": "must_keep" if by_must else "answer", "rows": len(rows)}
                line |= {"kept": float(np.mean(kept)), "over": over, "won": apart.won, "lost": apart.lost}
                line |= {"low": apart.low, "high": apart.high}
                table.append(line)
                shown = (f"{value:.3f}" if isinstance(value, float) else str(value) for value in line.values())
                print("  ".join(shown), flush=True)
    for keep in dict.fromkeys(line["keep"] for line in table):
        for name in names:
            values = [line["kept"] for line in table if line["method"] == name and line["keep"] == keep]
            print(f"keep {keep}, {name}: mean over {len(values)} sets {np.mean(values):.3f}")
    if args.json:
        write_report(args.json, "squeeze.bench.questions", table, tokenizer=args.tokenizer, rows=args.n)


if __name__ == "__main__":
    main()
