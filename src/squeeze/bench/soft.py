"""What soft tokens cost and save on a CPU with SmolLM2: time to the first token, KV cache, memory.

    python -m squeeze.bench.soft --json reports/soft.json

For every context length and pooling factor: the full text; encoding on the fly and reading; reading vectors that are at
hand. Times are the fastest of the repeats, as whatever else runs on the machine can only add to them. The encoder is
untrained: these figures are about cost, and say nothing about answers.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

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


def timed(work: Callable[[], Any]) -> tuple[float, int, Any]:
    """Seconds, peak resident bytes while it ran (0 where the system does not tell), and what it returned."""
    told = _reset_peak()
    started = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - started
    return seconds, _peak() if told else 0, result


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


def measure(reader: Any, arc: Any, tokens: int, factors: Sequence[int], repeats: int, seed: int) -> dict[str, Any]:
    """The figures of one context length."""
    text = context_of(tokens, reader.tokenizer, seed)
    budgets = {factor: Budget(max_tokens=arc.count_vectors(tokens, factor)) for factor in factors}

    def read(context: str | Compressed) -> list[int]:
        row = reader.rows(context, QUESTION)
        return reader.generate_ids(row, max_new_tokens=1)[0]  # type: ignore[no-any-return]

    def anew(budget: Budget) -> list[int]:
        return read(arc.compress(text, budget=budget))

    full: list[tuple[float, int, Any]] = []
    hand: dict[int, list[tuple[float, int, Any]]] = {factor: [] for factor in factors}
    fly: dict[int, list[tuple[float, int, Any]]] = {factor: [] for factor in factors}
    encoding: dict[int, list[float]] = {factor: [] for factor in factors}
    results = {factor: arc.compress(text, budget=budget) for factor, budget in budgets.items()}
    for _ in range(repeats):  # the conditions take turns, so that a busy moment hits no single one
        full.append(timed(partial(read, text)))
        for factor, budget in budgets.items():
            fly[factor].append(timed(partial(anew, budget)))
            hand[factor].append(timed(partial(read, results[factor])))
            encoding[factor].append(timed(partial(arc.compress, text, budget=budget))[0])
    base = min(seconds for seconds, _, _ in full)
    full_kv = kv_bytes(reader.model, reader.inputs_embeds(text, QUESTION))
    rows = []
    for factor in factors:
        on_the_fly, at_hand = min(s for s, _, _ in fly[factor]), min(s for s, _, _ in hand[factor])
        kv = kv_bytes(reader.model, reader.inputs_embeds(results[factor], QUESTION))
        rows.append(
            {
                "factor": factor,
                "vectors": results[factor].tokens_after,
                "encode_seconds": round(min(encoding[factor]), 3),
                "on_the_fly_seconds": round(on_the_fly, 3),
                "at_hand_seconds": round(at_hand, 3),
                "on_the_fly_times_shorter": round(base / on_the_fly, 2),
                "at_hand_times_shorter": round(base / at_hand, 2),
                "kv_bytes": kv,
                "kv_times_smaller": round(full_kv / kv, 2),
                "on_the_fly_peak_bytes": int(statistics.median(peak for _, peak, _ in fly[factor])),
                "at_hand_peak_bytes": int(statistics.median(peak for _, peak, _ in hand[factor])),
            }
        )
    return {
        "tokens": tokens,
        "full_seconds": round(base, 3),
        "full_kv_bytes": full_kv,
        "full_peak_bytes": int(statistics.median(peak for _, peak, _ in full)),
        "factors": rows,
    }


def line(found: dict[str, Any]) -> str:
    """One context length as a few lines of a table."""
    head = (
        f"{found['tokens']:6} tokens: full text {found['full_seconds']:7.2f} s, "
        f"KV {found['full_kv_bytes'] / 2**20:6.1f} MiB, peak {found['full_peak_bytes'] / 2**20:6.0f} MiB"
    )
    rows = [
        f"   {row['factor']}x: encoding {row['encode_seconds']:6.2f} s, on the fly {row['on_the_fly_seconds']:6.2f} s "
        f"({row['on_the_fly_times_shorter']:.2f} times shorter), at hand {row['at_hand_seconds']:6.2f} s "
        f"({row['at_hand_times_shorter']:.2f} times), KV {row['kv_bytes'] / 2**20:5.1f} MiB "
        f"({row['kv_times_smaller']:.2f} times smaller), peak {row['at_hand_peak_bytes'] / 2**20:.0f} MiB"
        for row in found["factors"]
    ]
    return "\n".join([head, *rows])


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--contexts", type=int, nargs="+", default=[1000, 2000, 4000, 7500])
    parser.add_argument("--factors", type=int, nargs="+", default=[2, 4, 8])
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
    settings = soft.ArcSettings(layers=given.layers, factors=tuple(sorted(given.factors)))
    encoder = soft.ArcEncoder.from_model(model, settings, seed=given.seed)
    arc = load("arc", model=model, tokenizer=tokenizer, checkpoint=encoder)
    reader = soft.Reader(model, tokenizer)
    reader.generate("warm", "up", max_new_tokens=1)
    results = []
    for tokens in given.contexts:
        results.append(measure(reader, arc, tokens, given.factors, given.repeats, given.seed))
        print(line(results[-1]), flush=True)
    seconds = {found["tokens"]: found["factors"] for found in results}
    if 4000 in seconds and 7500 in seconds:
        longer = [b["encode_seconds"] / a["encode_seconds"] for a, b in zip(seconds[4000], seconds[7500], strict=True)]
        print("encoding 7,500 tokens against 4,000:", ", ".join(f"{ratio:.2f} times" for ratio in longer))
    if given.json:
        write_report(given.json, "squeeze.bench.soft", results, model="SmolLM2-135M-Instruct", **vars(given))


if __name__ == "__main__":
    main()
