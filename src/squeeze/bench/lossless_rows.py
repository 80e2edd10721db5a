"""What `lossless` saves on whole rows, the documents of a row as passages, everything that it adds counted."""

from __future__ import annotations

import gzip
import itertools
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from squeeze.base import Compressor
from squeeze.compressors.meta_tokens import encode
from squeeze.registry import load
from squeeze.tokens import load_tokenizer

_RESERVED = range(1 << 30, (1 << 30) + (1 << 20))


def documents(folder: Path, name: str) -> Iterator[list[str]]:
    """The texts of the documents of each row of a set."""
    paths = [folder / "dev" / f"{name}.dev.jsonl.gz", folder / f"{name}.dev.jsonl.gz"]
    path = next((path for path in paths if path.exists()), None)
    if path is None:
        raise SystemExit(f"no set {name!r}: neither {paths[0]} nor {paths[1]} exists")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield [document["text"] for document in json.loads(line)["documents"]]


def measure_row(compressor: Compressor, texts: Sequence[str]) -> dict[str, float]:
    """Tokens before and after, those of `meta_tokens`, and CPU seconds; the round trip checked."""
    started = time.process_time()
    result = compressor.compress(texts)
    seconds = time.process_time() - started
    if result.restore() != tuple(texts):
        raise AssertionError("lossless does not restore its input")
    ids = compressor.tokenizer.encode("\n\n".join(texts))
    return {
        "before": result.tokens_before,
        "after": result.tokens_after,
        "meta": len(encode(ids, reserved=_RESERVED)),
        "seconds": seconds,
        "entries": len((result.coding or {}).get("marks", ())),
    }


def measure_set(folder: Path, name: str, count: int, tokenizer: str) -> dict[str, Any]:
    """Mean shares saved by `lossless` and by `meta_tokens` on the first rows of a set."""
    compressor = load("lossless", tokenizer=tokenizer)
    compressor.compress(["The price of markers is found once for each tokenizer. " * 9])
    rows = [measure_row(compressor, texts) for texts in itertools.islice(documents(folder, name), count)]
    saved = [1 - row["after"] / row["before"] for row in rows]
    meta = [1 - row["meta"] / row["before"] for row in rows]
    tokens, seconds = sum(row["before"] for row in rows), sum(row["seconds"] for row in rows)
    return {
        "set": name,
        "tokenizer": tokenizer,
        "rows": len(rows),
        "tokens_per_row": round(tokens / len(rows)),
        "lossless": round(sum(saved) / len(rows), 4),
        "meta_tokens": round(sum(meta) / len(rows), 4),
        "least": round(min(saved), 4),
        "entries_per_row": round(sum(row["entries"] for row in rows) / len(rows), 1),
        "tokens_per_cpu_second": round(tokens / seconds),
    }


def line(found: dict[str, Any]) -> str:
    """The figures of a set on one line."""
    return (
        f"{found['tokenizer']}  {found['set']}  whole rows x{found['rows']} of {found['tokens_per_row']:,} tokens  "
        f"lossless {found['lossless']:.3f} (least {found['least']:.3f}, {found['tokens_per_cpu_second']:,}/s)  "
        f"meta_tokens {found['meta_tokens']:.3f}"
    )


def growth(source: str, tokenizer: str, sizes: Sequence[int] = (100_000, 1_000_000)) -> list[dict[str, Any]]:
    """CPU seconds of one call on Python source, a run and a period, by tokens."""
    counter = load_tokenizer(tokenizer)
    compressor = load("lossless", tokenizer=tokenizer)
    compressor.compress([source[:500_000]])
    ids = counter.encode(source)
    found = []
    for size in sizes:
        text = counter.decode((ids * (size // len(ids) + 1))[:size])
        period = "".join(f"Entry {at} is one of a hundred. " for at in range(100))
        cases = {"python source": text, "run": " word" * size, "period": period * (size // counter.count(period))}
        for name, given in cases.items():
            started = time.process_time()
            result = compressor.compress([given])
            seconds = time.process_time() - started
            found.append(
                {
                    "input": name,
                    "tokens": result.tokens_before,
                    "cpu_seconds": round(seconds, 3),
                    "tokens_per_cpu_second": round(result.tokens_before / seconds),
                    "kept": round(result.kept, 4),
                }
            )
            print(json.dumps({"lossless": found[-1]}), flush=True)
    return found
