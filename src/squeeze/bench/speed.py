"""How fast `edu` compresses prose, and how its time grows.

    python -m squeeze.bench.speed --data nq.dev.jsonl.gz [--json FILE]

Passages of question-answering rows are put together until the wanted length is reached. Every size is compressed
several times, and the processor time of the fastest run counts, since others may share the machine. A plain scan of
the same text (a word count) stands beside each figure: the ratio of the two says more than seconds do.
"""

from __future__ import annotations

import argparse
import itertools
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import squeeze
from squeeze.bench.machine import write_report
from squeeze.bench.rows import read_rows, row_passages
from squeeze.tokens import load_tokenizer
from squeeze.types import Budget, Passage


def take(passages: Iterator[Passage], tokens: int) -> list[Passage]:
    """Passages of about that many tokens in all."""
    count, out, total = load_tokenizer("estimate").count, list[Passage](), 0
    for passage in passages:
        out.append(passage)
        total += count(passage.text)
        if total >= tokens:
            break
    return out


def fastest(function: Callable[[], Any], repeat: int) -> float:
    """Processor seconds of the fastest of several runs: others may share the machine."""
    times = []
    for _ in range(repeat):
        started = time.process_time()
        function()
        times.append(time.process_time() - started)
    return min(times)


def measure(name: str, passages: list[Passage], query: str, args: argparse.Namespace) -> dict[str, Any]:
    """One line of the table."""
    compressor = squeeze.load(args.method, **({"scorer": args.scorer} if args.scorer else {}))
    compressor.compress(["Warm up. The word is query."], "query", budget=3)
    result = compressor.compress(passages, query, budget=Budget(keep=args.keep))
    seconds = fastest(lambda: compressor.compress(passages, query, budget=Budget(keep=args.keep)), args.repeat)
    text = "\n\n".join(passage.text for passage in passages)
    scan = fastest(lambda: len(re.findall(r"\w+", text)), args.repeat)
    return {
        "input": name,
        "passages": len(passages),
        "tokens": result.tokens_before,
        "seconds": round(seconds, 4),
        "tokens_per_s": round(result.tokens_before / seconds),
        "times_a_word_count": round(seconds / scan, 1),
    }


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="question-answering rows, jsonl or jsonl.gz")
    parser.add_argument("--method", default="edu")
    parser.add_argument("--scorer", default="", help="the method's own scorer when empty")
    parser.add_argument("--keep", type=float, default=0.25)
    parser.add_argument("--sizes", default="10000,100000,400000", help="lengths in estimated tokens")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", default="")
    args = parser.parse_args()
    rows = list(read_rows(args.data))
    query = rows[0]["question"]
    table = []
    for size in map(int, args.sizes.split(",")):
        passages = take((passage for row in rows for passage in row_passages(row)), size)
        joined = [Passage("\n\n".join(passage.text for passage in passages))]
        for name, given in (("passages", passages), ("one text", joined)):
            line = measure(name, given, query, args)
            table.append(line)
            print("  ".join(f"{key} {value}" for key, value in line.items()), flush=True)
    for name in ("passages", "one text"):
        own = [line for line in table if line["input"] == name]
        for small, large in itertools.pairwise(own):
            growth = large["seconds"] / small["seconds"]
            print(f"{name}: {large['tokens'] / small['tokens']:.2f} x tokens, {growth:.2f} x time")
    if args.json:
        write_report(args.json, "squeeze.bench.speed", table, method=args.method, scorer=args.scorer, keep=args.keep)


if __name__ == "__main__":
    main()
