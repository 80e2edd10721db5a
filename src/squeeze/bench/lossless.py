"""What lossless methods save, and how fast: `python -m squeeze.bench.lossless --data FOLDER`.

Windows of two sizes over Python's standard library and over sets of retrieved documents, in the tokenizers that are
named; beside `meta_tokens` the paper's own algorithm, and delta-ltsc where it is installed. `lossless` on whole rows,
the documents of a row as passages. `--growth` measures how time and memory grow from 100,000 to 1,000,000 ids,
`--reader` how well a local model reads the text that `lossless` makes.

FOLDER holds `SET.dev.jsonl.gz` files (or a folder `dev` with them), one JSON object a line with the list `documents`,
each with a `text`.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import platform
import sysconfig
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from squeeze.bench import lossless_reader, lossless_rows
from squeeze.bench.longest_first import longest_first
from squeeze.compressors.meta_tokens import decode, encode
from squeeze.tokens import load_tokenizer

SETS = ("code_repo", "logs", "tool_json_orders", "factbook_json", "docs_rst", "qmsum", "kv_json", "nq")
SIZES = (8192, 32768)
SPECIAL = range(1 << 30, (1 << 30) + (1 << 20))
"""Reserved ids that no tokenizer has."""

Coder = Callable[[list[int]], int]


def meta_tokens(ids: list[int]) -> int:
    """Ids after coding with `meta_tokens`, the round trip checked."""
    coded = encode(ids, reserved=SPECIAL)
    if decode(coded, reserved=SPECIAL) != ids:
        raise AssertionError("meta_tokens does not restore its input")
    return len(coded)


def paper(ids: list[int], longest: int) -> int:
    """Ids after coding with the paper's algorithm, both delimiters counted."""
    saving = sum(phrase.saving for phrase in longest_first(ids, longest))
    return len(ids) - max(saving - 2, 0)


def coders() -> dict[str, Coder]:
    """The methods by name."""
    found: dict[str, Coder] = {"meta_tokens": meta_tokens}
    found |= {f"longest first, {longest}": partial(paper, longest=longest) for longest in (8, 16, 32)}
    try:
        import delta  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return found
    config = delta.CompressionConfig(metrics_enabled=False)
    found["delta-ltsc"] = lambda ids: len(delta.compress(ids, config).serialized_tokens)
    return found


def python_source() -> str:
    """The modules at the top of this Python's standard library, in order of their names."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    return "\n\n".join(path.read_text("utf-8", errors="replace") for path in sorted(folder.glob("*.py")))


def rows(folder: Path, name: str) -> Iterator[str]:
    """The documents of each row of a set, joined by blank lines."""
    return ("\n\n".join(texts) for texts in lossless_rows.documents(folder, name))


def windows(tokens: Sequence[int], size: int, count: int) -> list[list[int]]:
    """Up to `count` full windows that do not overlap, spread evenly."""
    full = len(tokens) // size
    picked = [at * full // min(count, full) for at in range(min(count, full))] if full else []
    return [list(tokens[at * size : (at + 1) * size]) for at in picked]


def set_windows(folder: Path, name: str, size: int, count: int, ids_of: Callable[[str], list[int]]) -> list[list[int]]:
    """At 8k the beginnings of the first rows (shorter rows whole); beyond, windows over rows joined by blank lines."""
    texts = rows(folder, name)
    if size <= SIZES[0]:
        return [ids_of(text)[:size] for text, _ in zip(texts, range(count), strict=False)]
    stream: list[int] = []
    for text in texts:
        stream += ids_of(text + "\n\n")
        if len(stream) >= size * count:
            break
    return windows(stream, size, count)


def measure(coder: Coder, inputs: list[list[int]]) -> dict[str, Any]:
    """Mean share saved, and tokens per CPU second; a window on which the coder gives up counts as nothing saved."""
    started = time.process_time()
    saved, failed = [], 0
    for ids in inputs:
        try:
            saved.append(1 - coder(ids) / len(ids))
        except ValueError:  # delta-ltsc raises it on a dictionary that it made itself
            saved.append(0.0)
            failed += 1
    seconds = time.process_time() - started
    total = sum(map(len, inputs))
    return {
        "saved": round(sum(saved) / len(saved), 4),
        "tokens_per_cpu_second": round(total / seconds),
        "windows": len(inputs),
        "failed": failed,
        "tokens": total,
    }


def grow(ids: list[int]) -> dict[str, Any]:
    """CPU seconds (best of three), coded share and peak bytes a token of one call of `encode`."""
    seconds = []
    for _ in range(3):
        started = time.process_time()
        coded = encode(ids, reserved=SPECIAL)
        seconds.append(time.process_time() - started)
    tracemalloc.start()
    encode(ids, reserved=SPECIAL)
    traced = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    with multiprocessing.get_context("spawn").Pool(1) as pool:  # a fresh process, so that its peak is that of the call
        resident = pool.apply(_resident, (ids,))
    return {
        "tokens": len(ids),
        "cpu_seconds": round(min(seconds), 3),
        "coded_share": round(len(coded) / len(ids), 4),
        "bytes_per_token_traced": round(traced / len(ids), 1),
        "bytes_per_token_resident": round(resident / len(ids), 1),
    }


def _resident(ids: list[int]) -> int:
    before = _peak()
    encode(ids, reserved=SPECIAL)
    return _peak() - before


def _peak() -> int:
    """The most bytes that this process held so far, where the system tells (Linux); `getrusage` keeps its parent's."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    line = next(line for line in status.read_text("ascii").splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def _failures(figures: dict[str, Any]) -> str:
    return f", {figures['failed']} failed" if figures["failed"] else ""


def growth(source: list[int]) -> list[dict[str, Any]]:
    """How time and memory grow on Python source, a run, and a period of 1,000."""
    found = []
    for size in (100_000, 1_000_000):
        text = (source * (size // len(source) + 1))[:size] if len(source) < size else source[:size]
        cases = {"python source": text, "run": [7] * size, "period 1000": list(range(1000)) * (size // 1000)}
        for name, ids in cases.items():
            found.append({"input": name, **grow(ids)})
            print(json.dumps(found[-1]), flush=True)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark and prints a table; with `--json` also writes the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--tokenizer", action="append", help="cl100k_base (default), hf:FOLDER, …; may be given again")
    parser.add_argument("--sets", default=",".join(("python_source", *SETS)), help="comma-separated")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="window sizes in tokens")
    parser.add_argument("-n", type=int, default=6, help="windows per set (python_source: 20 at the smallest size)")
    parser.add_argument("--rows", type=int, default=20, help="whole rows per set for lossless; 0: none")
    parser.add_argument("--reader", metavar="FOLDER", help="a Hugging Face model; also measure how well it reads")
    parser.add_argument("--reader-rows", type=int, default=20, help="rows per set for the reader")
    parser.add_argument("--reader-tokens", type=int, default=lossless_reader.MOST, help="longest context for it")
    parser.add_argument("--growth", action="store_true", help="also measure time and memory up to 1,000,000 ids")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    methods = coders()
    report: dict[str, Any] = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "runs": [],
        "rows": [],
    }
    for name in options.tokenizer or ["cl100k_base"]:
        ids_of = load_tokenizer(name).encode
        for set_name in options.sets.split(","):
            for size in map(int, options.sizes.split(",")):
                if set_name == "python_source":
                    inputs = windows(ids_of(python_source()), size, 20 if size <= SIZES[0] else options.n)
                else:
                    inputs = set_windows(options.data, set_name, size, options.n, ids_of)
                if not inputs:
                    continue
                results = {method: measure(coder, inputs) for method, coder in methods.items()}
                report["runs"].append({"tokenizer": name, "set": set_name, "size": size, "methods": results})
                cells = "  ".join(
                    f"{method} {figures['saved']:.3f} ({figures['tokens_per_cpu_second']:,}/s{_failures(figures)})"
                    for method, figures in results.items()
                )
                print(f"{name}  {set_name}  {size}  x{len(inputs)}  {cells}", flush=True)
            if options.rows and set_name != "python_source":
                whole = lossless_rows.measure_set(options.data, set_name, options.rows, name)
                report["rows"].append(whole)
                print(lossless_rows.line(whole), flush=True)
        if options.growth:
            report["growth"] = growth(list(ids_of(python_source())))
            report["lossless_growth"] = lossless_rows.growth(python_source(), name)
    if options.reader:
        report["reader"] = lossless_reader.read(
            options.reader, options.data, options.reader_rows, options.reader_tokens
        )
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
