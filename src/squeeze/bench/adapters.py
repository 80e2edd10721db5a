"""What the adapters cost over the core, and how long an event loop waits while they work.

    python -m squeeze.bench.adapters [--json reports/adapters.json]

Cost: the same 20 passages of 200 tokens go through `Compressor.compress`, the LlamaIndex postprocessor and the
LangChain compressor in turn, many times over; medians of the processor time of one run are compared. Loop:
32 asynchronous calls at once beside a task that asks to be woken every two milliseconds; a stall is how much later
it was woken. The same calls in threads of their own (`asyncio.to_thread`) stand beside it, for comparison. What the
imported frameworks hold is frozen out of the garbage collector first, as servers do: one full collection of it takes
hundreds of milliseconds, whoever triggers it.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import random
import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import squeeze
from squeeze.bench.machine import write_report
from squeeze.errors import need
from squeeze.types import Budget

DOCUMENTS = Path(__file__).parents[3] / "examples" / "data" / "lighthouses"
QUERY = "Who invented the sun valve, and what did it replace?"
TICK = 0.002


def passages(folder: Path, number: int, tokens: int, seed: int) -> list[str]:
    """Passages of about that many tokens, whole sentences of the Markdown files of a folder in another order."""
    sentences = [
        line for file in sorted(folder.glob("*.md")) for line in file.read_text(encoding="utf-8").split("\n") if line
    ]
    if not sentences:
        raise SystemExit(f"{folder} holds no Markdown files; give a folder with --documents")
    count, draw = squeeze.load("edu").count, random.Random(seed)
    out = []
    for _ in range(number):
        text = ""
        while count(text) < tokens:
            text = f"{text}\n\n{draw.choice(sentences)}".strip()
        words = text.split(" ")
        while count(text) > tokens:
            words.pop()
            text = " ".join(words)
        out.append(text)
    return out


def calls(keep: float) -> dict[str, tuple[Callable[[list[str]], Any], Callable[[list[str]], Awaitable[Any]]]]:
    """Name -> the synchronous and the asynchronous call of the core and of each adapter."""
    schema = need("llama_index.core.schema", extra="bench")
    documents = need("langchain_core.documents", extra="bench")
    core = squeeze.load("edu")
    llama = need("llama_index.postprocessor.squeeze", extra="bench").SqueezePostprocessor(keep=keep)
    chain = need("langchain_squeeze", extra="bench").SqueezeCompressor(keep=keep)

    def nodes(texts: list[str]) -> list[Any]:
        return [
            schema.NodeWithScore(node=schema.TextNode(text=t, metadata={"file_name": f"{i}.md"}), score=1 / (i + 1))
            for i, t in enumerate(texts)
        ]

    def found(texts: list[str]) -> list[Any]:
        return [documents.Document(page_content=t, metadata={"source": f"{i}.md"}) for i, t in enumerate(texts)]

    budget = Budget(keep=keep)
    given: dict[int, tuple[list[Any], list[Any]]] = {}

    def ready(texts: list[str]) -> tuple[list[Any], list[Any]]:
        """Nodes and documents, made once: an application has them from its retriever."""
        if id(texts) not in given:
            given[id(texts)] = nodes(texts), found(texts)
        return given[id(texts)]

    return {
        "core": (
            lambda texts: core.compress(texts, QUERY, budget=budget),
            lambda texts: core.acompress(texts, QUERY, budget=budget),
        ),
        "llama-index": (
            lambda texts: llama.postprocess_nodes(ready(texts)[0], query_str=QUERY),
            lambda texts: llama.apostprocess_nodes(ready(texts)[0], query_str=QUERY),
        ),
        "langchain": (
            lambda texts: chain.compress_documents(ready(texts)[1], QUERY),
            lambda texts: chain.acompress_documents(ready(texts)[1], QUERY),
        ),
    }


def texts_of(result: Any) -> list[str]:
    """The kept texts of what a call of either kind gave."""
    if isinstance(result, squeeze.Compressed):
        return list(result.texts().values())
    return [getattr(item, "page_content", None) or item.node.get_content() for item in result]


def cost(table: dict[str, Any], texts: list[str], rounds: int) -> dict[str, Any]:
    """Median milliseconds of each call, and its cost over the core in percent: the median over the rounds."""
    times: dict[str, list[float]] = {name: [] for name in table}
    wanted = texts_of(table["core"][0](texts))
    for name, (call, _) in table.items():
        if texts_of(call(texts)) != wanted:
            raise SystemExit(f"{name} keeps other text than the core")
    for _ in range(rounds):
        for name, (call, _) in table.items():
            started = time.thread_time()
            call(texts)
            times[name].append(time.thread_time() - started)
    return {
        name: {
            "ms": round(1000 * statistics.median(own), 3),
            "over_core_percent": round(100 * (statistics.median(own) / statistics.median(times["core"]) - 1), 1),
        }
        for name, own in times.items()
    }


async def stalls(work: Callable[[list[str]], Awaitable[Any]], batches: list[list[str]]) -> tuple[list[float], Any]:
    """How late the event loop woke a task, in seconds, while all batches were worked on; and their results."""
    late: list[float] = []

    async def tick() -> None:
        while True:
            started = time.perf_counter()
            await asyncio.sleep(TICK)
            late.append(time.perf_counter() - started - TICK)

    task = asyncio.create_task(tick())
    results = await asyncio.gather(*(work(batch) for batch in batches))
    task.cancel()
    return late, results


def loop(call: Any, work: Callable[[list[str]], Awaitable[Any]], batches: list[list[str]], rounds: int) -> Any:
    """The stalls of some rounds, in milliseconds; the results are checked against calls one after the other."""
    wanted = [texts_of(call(batch)) for batch in batches]
    late: list[float] = []
    longest: list[float] = []
    for _ in range(rounds):
        own, results = asyncio.run(stalls(work, batches))
        if [texts_of(result) for result in results] != wanted:
            raise SystemExit("asynchronous calls give other results than calls in a row")
        late += own
        longest.append(max(own))
    late.sort()
    return {
        "median_ms": round(1000 * statistics.median(late), 1),
        "p99_ms": round(1000 * late[int(0.99 * (len(late) - 1))], 1),
        "longest_ms_median": round(1000 * statistics.median(longest), 1),
        "longest_ms": round(1000 * max(longest), 1),
    }


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=Path, default=DOCUMENTS, help="folder of Markdown files to draw from")
    parser.add_argument("--passages", type=int, default=20)
    parser.add_argument("--tokens", type=int, default=200, help="of each passage")
    parser.add_argument("--keep", type=float, default=0.25)
    parser.add_argument("--rounds", type=int, default=60, help="calls of each kind for the cost")
    parser.add_argument("--calls", type=int, default=32, help="asynchronous calls at once")
    parser.add_argument("--repeat", type=int, default=5, help="rounds of the asynchronous calls")
    parser.add_argument("--json", default="")
    args = parser.parse_args()

    table = calls(args.keep)
    batches = [passages(args.documents, args.passages, args.tokens, seed) for seed in range(args.calls)]
    prices = cost(table, batches[0], args.rounds)
    for name, line in prices.items():
        print(f"{name:12} {line['ms']:8.2f} ms  {line['over_core_percent']:+.1f} % over the core")
    gc.collect()
    gc.freeze()
    waits = {name: loop(call, work, batches, args.repeat) for name, (call, work) in table.items()}

    async def threads(texts: list[str]) -> Any:
        return await asyncio.to_thread(table["core"][0], texts)

    waits["core in threads of its own"] = loop(table["core"][0], threads, batches, 1)
    for name, line in waits.items():
        print(f"{name:28} stalls: p99 {line['p99_ms']} ms, longest {line['longest_ms']} ms")
    if args.json:
        settings = {name: str(value) if isinstance(value, Path) else value for name, value in vars(args).items()}
        settings["documents"] = args.documents.name
        settings.pop("json")
        write_report(args.json, "squeeze.bench.adapters", {"cost": prices, "event_loop": waits}, **settings)


if __name__ == "__main__":
    main()
