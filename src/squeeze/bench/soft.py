"""What soft tokens cost and save on a CPU with SmolLM2: time to the first token, KV cache, memory.

    python -m squeeze.bench.soft --json reports/soft.json

For every context length, method and factor: the full text; encoding on the fly and reading; reading vectors that are at
hand; fetching vectors from a cache on disk instead of encoding. Times are the fastest of the repeats, as whatever else
runs on the machine can only add to them; beside the time on the clock stands the processor time, which is the same on
an idle machine and steadier on a busy one. The encoders are untrained: these figures are about cost, and say nothing
about answers.

Where a figure of "times shorter" is below 1, encoding on the fly costs more than it saves: `compllm` runs the whole
model over one and a half times the tokens before anything is read, and pays off where its vectors are read again.
"""

from __future__ import annotations

import argparse
import copy
import os
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from squeeze import Budget, Compressed, load
from squeeze.bench.machine import write_report
from squeeze.bench.smollm2 import ensure
from squeeze.errors import need

WORDS = (
    "the pump was checked in spring and its valve opens at forty bar because a worn spring gives way before the seal "
    "does while the keeper of the lighthouse wrote down each ship that passed and what the weather had been like"
)
QUESTION = "At what pressure does the valve open?"


def context_of(tokens: int, tokenizer: Any, seed: int) -> str:
    """Words whose ids are exactly that many tokens."""
    chance = random.Random(seed)
    known = WORDS.split()
    words = [chance.choice(known) for _ in range(2 * tokens)]
    ids = tokenizer.encode(" ".join(words), add_special_tokens=False)[:tokens]
    text: str = tokenizer.decode(ids)
    assert len(tokenizer.encode(text, add_special_tokens=False)) == tokens
    return text


class Run(NamedTuple):
    """Seconds on the clock, processor seconds, peak resident bytes (0 where the system does not tell)."""

    seconds: float
    cpu: float
    peak: int


def timed(work: Callable[[], Any]) -> Run:
    """What a piece of work took."""
    told = _reset_peak()
    started, used = time.perf_counter(), time.process_time()
    work()
    return Run(time.perf_counter() - started, time.process_time() - used, _peak() if told else 0)


def _reset_peak() -> bool:
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return True


def _peak() -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def kv_bytes(model: Any, inputs: Any) -> int:
    """Bytes of the KV cache after reading the inputs."""
    with need("torch", extra="soft").no_grad():
        out = model(
            inputs_embeds=inputs.inputs_embeds,
            attention_mask=inputs.attention_mask,
            position_ids=inputs.position_ids,
            use_cache=True,
            logits_to_keep=1,
        )
    cache = out.get("cache") or out.get("past_key_values")
    return sum(int(layer.keys.nbytes + layer.values.nbytes) for layer in cache.layers)


class Case(NamedTuple):
    """A method at a factor, with the tokens of its vectors as budget."""

    method: str
    factor: int
    compressor: Any
    budget: Budget


def cases_of(compressors: Sequence[Any], tokens: int) -> list[Case]:
    """Every compressor at every factor of its own, for a context of so many tokens."""
    return [
        Case(own.name, factor, own, Budget(max_tokens=own.count_vectors(tokens, factor)))
        for own in compressors
        for factor in own.factors
    ]


def measure(reader: Any, compressors: Sequence[Any], tokens: int, repeats: int, seed: int) -> dict[str, Any]:
    """The figures of one context length."""
    text = context_of(tokens, reader.tokenizer, seed)
    cases = cases_of(compressors, tokens)

    def read(context: str | Compressed) -> list[int]:
        row = reader.rows(context, QUESTION)
        return reader.generate_ids(row, max_new_tokens=1)[0]  # type: ignore[no-any-return]

    def anew(case: Case) -> list[int]:
        return read(case.compressor.compress(text, budget=case.budget))

    full: list[Run] = []
    runs: list[dict[str, list[Run]]] = [{"fly": [], "hand": [], "encode": [], "cached": []} for _ in cases]
    results = []
    with tempfile.TemporaryDirectory() as folder:
        keeping = []
        for number, case in enumerate(cases):
            keeping.append(copy.copy(case.compressor))
            keeping[-1].use_cache(os.path.join(folder, str(number)))
            results.append(keeping[-1].compress(text, budget=case.budget))
        for _ in range(repeats):  # the conditions take turns, so that a busy moment hits no single one
            full.append(timed(partial(read, text)))
            for case, found, own, kept in zip(cases, results, runs, keeping, strict=True):
                own["fly"].append(timed(partial(anew, case)))
                own["hand"].append(timed(partial(read, found)))
                own["encode"].append(timed(partial(case.compressor.compress, text, budget=case.budget)))
                own["cached"].append(timed(partial(kept.compress, text, budget=case.budget)))
    base = fastest(full)
    full_kv = kv_bytes(reader.model, reader.inputs_embeds(text, QUESTION))
    rows = []
    for case, found, own in zip(cases, results, runs, strict=True):
        kv = kv_bytes(reader.model, reader.inputs_embeds(found, QUESTION))
        rows.append({"method": case.method, "factor": case.factor, **compared(base, found, own), "kv_bytes": kv})
        rows[-1]["kv_times_smaller"] = round(full_kv / kv, 2)
    return {
        "tokens": tokens,
        "full": base._asdict(),
        "full_kv_bytes": full_kv,
        "factors": rows,
    }


def compared(base: Run, found: Compressed, runs: dict[str, list[Run]]) -> dict[str, Any]:
    """The figures of one case beside those of the full text."""
    fly, hand, encode, cached = (fastest(runs[name]) for name in ("fly", "hand", "encode", "cached"))
    return {
        "vectors": found.tokens_after,
        "encode": encode._asdict(),
        "cached": cached._asdict(),
        "cached_share_of_encode": round(cached.cpu / max(encode.cpu, 1e-3), 4),
        "on_the_fly": fly._asdict(),
        "at_hand": hand._asdict(),
        "on_the_fly_times_shorter": round(base.seconds / fly.seconds, 2),
        "on_the_fly_times_less_cpu": round(base.cpu / fly.cpu, 2),
        "at_hand_times_shorter": round(base.seconds / hand.seconds, 2),
        "at_hand_times_less_cpu": round(base.cpu / hand.cpu, 2),
    }


def compressors_of(model: Any, tokenizer: Any, given: argparse.Namespace) -> list[Any]:
    """`arc` with all its factors and `compllm` once for each of its own, untrained."""
    soft, found = need("squeeze.soft", extra="bench"), []
    if given.factors:
        shape = soft.ArcSettings(layers=given.layers, factors=tuple(sorted(given.factors)))
        encoder = soft.ArcEncoder.from_model(model, shape, seed=given.seed)
        found.append(load("arc", model=model, tokenizer=tokenizer, checkpoint=encoder))
    for factor in given.compllm:
        encoder = soft.CompEncoder(model, soft.CompSettings(factor=factor), seed=given.seed)
        found.append(load("compllm", model=model, tokenizer=tokenizer, checkpoint=encoder))
    return found


def fastest(runs: Sequence[Run]) -> Run:
    """The least of each figure, to the millisecond."""
    return Run(
        round(min(run.seconds for run in runs), 3),
        round(min(run.cpu for run in runs), 3),
        min(run.peak for run in runs),
    )


def line(found: dict[str, Any]) -> str:
    """One context length as a few lines of a table."""
    head = (
        f"{found['tokens']:6} tokens: full text {_spent(found['full'])}, KV {found['full_kv_bytes'] / 2**20:.1f} MiB, "
        f"peak {found['full']['peak'] / 2**20:.0f} MiB"
    )
    rows = [
        f"   {row['method']} {row['factor']}x: encoding {_spent(row['encode'])}, from cache {_spent(row['cached'])} "
        f"({row['cached_share_of_encode']:.1%} of it); on the fly {_spent(row['on_the_fly'])}, "
        f"{row['on_the_fly_times_shorter']:.2f} times shorter ({row['on_the_fly_times_less_cpu']:.2f}); "
        f"at hand {_spent(row['at_hand'])}, {row['at_hand_times_shorter']:.2f} times "
        f"({row['at_hand_times_less_cpu']:.2f}); KV {row['kv_bytes'] / 2**20:.1f} MiB, "
        f"{row['kv_times_smaller']:.2f} times smaller; peak {row['at_hand']['peak'] / 2**20:.0f} MiB"
        for row in found["factors"]
    ]
    return "\n".join([head, *rows])


def _spent(run: dict[str, Any]) -> str:
    return f"{run['seconds']:.2f} s (processor {run['cpu']:.2f} s)"


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--contexts", type=int, nargs="+", default=[1000, 2000, 4000, 7500])
    parser.add_argument("--factors", type=int, nargs="*", default=[2, 4, 8], help="of arc; none leaves it out")
    parser.add_argument("--compllm", type=int, nargs="*", default=[2], help="factors of compllm; none leaves it out")
    parser.add_argument("--layers", type=int, default=8, help="layers of the encoder")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", default="", help="where to write the figures")
    given = parser.parse_args(arguments)
    need("torch", extra="bench").set_num_threads(given.threads)
    soft, models = need("squeeze.soft", extra="bench"), need("squeeze.soft.models", extra="bench")
    folder = ensure()
    model, tokenizer = models.load_model(folder), models.load_hf_tokenizer(folder)
    compressors = compressors_of(model, tokenizer, given)
    reader = soft.Reader(model, tokenizer)
    reader.generate("warm", "up", max_new_tokens=1)
    results = []
    for tokens in given.contexts:
        results.append(measure(reader, compressors, tokens, given.repeats, given.seed))
        print(line(results[-1]), flush=True)
    lengths = {found["tokens"]: found["factors"] for found in results}
    if 4000 in lengths and 7500 in lengths:
        pairs = list(zip(lengths[4000], lengths[7500], strict=True))
        for clock in ("seconds", "cpu"):
            longer = [long["encode"][clock] / short["encode"][clock] for short, long in pairs]
            print(
                f"encoding 7,500 tokens against 4,000 ({clock}):", ", ".join(f"{ratio:.2f} times" for ratio in longer)
            )
    if given.json:
        busy = [round(value, 1) for value in os.getloadavg()]  # of the last 1, 5 and 15 minutes: how busy it was
        settings = {"model": "SmolLM2-135M-Instruct", "load_average": busy, **vars(given)}
        write_report(given.json, "squeeze.bench.soft", results, **settings)


if __name__ == "__main__":
    main()
