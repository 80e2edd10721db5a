"""What `beaver` keeps of long contexts, beside the beginning of the input and plain BM25 over sentences.

    python -m squeeze.bench.long --data nq.dev.jsonl.gz [--table FOLDER] [--json FILE]

Passages of consecutive question-answering rows are put together until a context has the wanted length; each row then
asks its question about the whole of it. `gold` is the share of questions of which an answer lies inside a kept span of
a passage that answers them. Last, one context of `--long` tokens is compressed several times, and the processor time of
the fastest run counts.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from rank_bm25 import BM25Okapi

import squeeze
from squeeze.bench.machine import write_report
from squeeze.bench.rows import read_rows, row_passages
from squeeze.bench.speed import fastest, take
from squeeze.bench.survival import answers, fold
from squeeze.segment.sentences import sentence_spans
from squeeze.tokens import load_tokenizer
from squeeze.types import Passage

_WORD = re.compile(r"\w+")
Kept = list[tuple[int, str]]
Count = Callable[[str], int]


class Asked(NamedTuple):
    """A question about a long context: its text, answers folded, and the passages that hold them."""

    query: str
    answers: list[str]
    gold: set[int]


class Context(NamedTuple):
    """Passages of several rows, and what is asked about them."""

    passages: list[Passage]
    questions: list[Asked]


def contexts(rows: Iterable[dict[str, Any]], tokens: int, count: Count) -> Iterator[Context]:
    """Contexts of at least that many tokens; rows that cannot be judged lend their passages only."""
    passages, questions, total = list[Passage](), list[Asked](), 0
    for row in rows:
        wanted = answers(row)
        if wanted:
            gold = {len(passages) + at for at, document in enumerate(row["documents"]) if document.get("is_gold")}
            questions.append(Asked(row["question"], wanted, gold))
        own = row_passages(row)
        passages += own
        total += sum(count(passage.text) for passage in own)
        if total >= tokens:
            if questions:
                yield Context(passages, questions)
            passages, questions, total = [], [], 0


def plain_bm25(passages: list[Passage], query: str, budget: int, count: Count) -> Kept:
    """Sentences by BM25, the best that fit."""
    units = [(at, p.text[start:end]) for at, p in enumerate(passages) for start, end in sentence_spans(p.text)]
    if not units:
        return []
    corpus = [_WORD.findall(text.lower()) or ["_"] for _, text in units]
    scores, kept = BM25Okapi(corpus).get_scores(_WORD.findall(query.lower())), []
    for unit in np.argsort(-scores, kind="stable").tolist():
        size = count(units[unit][1]) + 1
        if size <= budget:
            kept.append(unit)
            budget -= size
    return [units[unit] for unit in sorted(kept)]


def kept_by(name: str, options: dict[str, Any], tokenizer: str) -> Callable[[list[Passage], str, int, Count], Kept]:
    """The kept spans of a method by name; `bm25` is the plain one."""
    if name == "bm25":
        return plain_bm25
    compressor = squeeze.load(name, tokenizer=tokenizer, **options)

    def run(passages: list[Passage], query: str, budget: int, _: Count) -> Kept:
        result = compressor.compress(passages, query, budget=budget)
        return [(at, p.text[start:end]) for at, p in enumerate(passages) for start, end in result.spans(at)]

    return run


def survived(kept: Kept, asked: Asked) -> bool:
    """Whether an answer lies inside a kept span of a gold passage."""
    return any(at in asked.gold and any(answer in fold(text) for answer in asked.answers) for at, text in kept)


def measure(found: list[Context], args: argparse.Namespace, count: Count) -> dict[str, list[bool]]:
    """For each method and question whether the answer is kept."""
    own = {"table": args.table} if args.table else {}
    out: dict[str, list[bool]] = {}
    for name in args.methods.split(","):
        run, out[name] = kept_by(name, own if name == "beaver" else {}, args.tokenizer), []
        for passages, questions in found:
            budget = int(args.keep * count("\n\n".join(passage.text for passage in passages)))
            out[name] += [survived(run(passages, asked.query, budget, count), asked) for asked in questions]
    return out


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, nargs="+", help="question-answering rows, jsonl or jsonl.gz")
    parser.add_argument("--table", default="", help="static embeddings: a model's folder, or .npy")
    parser.add_argument("--methods", default="beaver,truncate,bm25")
    parser.add_argument("--tokenizer", default="estimate")
    parser.add_argument("--keep", type=float, default=0.25)
    parser.add_argument("--tokens", type=int, default=8000, help="tokens of a context, at least")
    parser.add_argument("--contexts", type=int, default=0, help="contexts of each file; 0 for all")
    parser.add_argument("--long", type=int, default=128_000, help="tokens of the text that is timed; 0 for none")
    parser.add_argument("--json", default="")
    args = parser.parse_args()
    count = load_tokenizer(args.tokenizer).count
    table: list[dict[str, Any]] = []
    for path in args.data:
        found = list(contexts(read_rows(path), args.tokens, count))[: args.contexts or None]
        for name, kept in measure(found, args, count).items():
            line = {"data": path.rsplit("/", 1)[-1], "method": name, "contexts": len(found), "questions": len(kept)}
            table.append(line | {"gold": round(float(np.mean(kept)), 4) if kept else None})
            print("  ".join(f"{key} {value}" for key, value in table[-1].items()), flush=True)
    if args.long:
        rows = list(read_rows(args.data[0]))
        passages = take((passage for row in rows for passage in row_passages(row)), args.long)
        compressor = squeeze.load("beaver", tokenizer=args.tokenizer, **({"table": args.table} if args.table else {}))
        seconds = fastest(lambda: compressor.compress(passages, rows[0]["question"], budget=args.long // 4), 3)
        tokens = sum(count(passage.text) for passage in passages)
        table.append({"method": "beaver", "tokens": tokens, "processor_seconds": round(seconds, 3)})
        print("  ".join(f"{key} {value}" for key, value in table[-1].items()))
    if args.json:
        settings = {key: value for key, value in vars(args).items() if key not in ("json", "data", "table")}
        write_report(args.json, "squeeze.bench.long", table, table=bool(args.table), **settings)


if __name__ == "__main__":
    main()
