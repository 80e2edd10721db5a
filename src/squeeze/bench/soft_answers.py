"""Do soft tokens carry the answer? Log-likelihood and F1 of answers under a trained encoder and what it must beat.

    python -m squeeze.bench.soft_answers --checkpoint FOLDER --data squad.dev.jsonl.gz nq.dev.jsonl.gz --rows 60

Every condition gets the same questions and the same contexts: the gold passages of a row among its other documents, in
a seeded order, up to `--context` tokens. Beside the encoder at each of its factors stand the full text, no context, the
text cut to as many tokens as there are vectors, and the mean-pooled input embeddings of each group of tokens. Two more
say where a gain comes from: the vectors of another row's context (what they say of the task, not of the text), and an
encoder without training (`--untrained`). Rows must be such as were not trained on; `--seen` leaves out questions of
the files that were. Intervals are 95 % bootstrap intervals over rows.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from squeeze import load
from squeeze.bench.machine import write_report
from squeeze.bench.rows import read_rows
from squeeze.bench.smollm2 import ensure
from squeeze.bench.soft_judge import Item, Judge, contexts
from squeeze.bench.soft_rows import choose, usable
from squeeze.bench.soft_scores import f1, gap, mean, paired
from squeeze.errors import ConfigError, need
from squeeze.render import JOINER


def items_of(path: str, tokenizer: Any, options: argparse.Namespace, seen: set[str]) -> list[Item]:
    """The first usable rows of a file, with their contexts.

    Raises:
        ConfigError: there are none.
    """
    count = load_counter(tokenizer)
    found = list[Item]()
    for number, row in enumerate(read_rows(path)):
        if len(found) == options.rows:
            break
        if not usable(row) or row["question"] in seen:
            continue
        texts = [str(document.get("text") or "") for document in row["documents"]]
        gold = [bool(document.get("is_gold")) for document in row["documents"]]
        chance = random.Random(f"{options.seed} {number}")
        order = choose([count(text) for text in texts], gold, options.context, chance, count(JOINER))
        if order:
            found.append(Item(tuple(texts[at] for at in order), row["question"], tuple(row["answers"])))
    if not found:
        raise ConfigError(f"{path} has no row with an answer in gold documents of at most {options.context} tokens")
    return found


def load_counter(tokenizer: Any) -> Any:
    """What counts the tokens of a text."""
    return need("squeeze.tokens", extra="soft").load_tokenizer(tokenizer).count


def measure(judge: Judge, items: Sequence[Item], encoders: dict[str, Any], name: str) -> dict[str, dict[str, Any]]:
    """Per condition the values of every row: `tokens` (positions of the context), `answer`, `token`, `f1`."""
    values: dict[str, dict[str, Any]] = {}
    for number, item in enumerate(items):
        own = contexts(judge, item, items[(number + 1) % len(items)], encoders)
        rows = [judge.row(context, item.question) for context in own.values()]
        scores, said = judge.likelihoods(rows, item.answers[0]), judge.answers(rows)
        for (condition, context), (total, tokens), text in zip(own.items(), scores, said, strict=True):
            kept = values.setdefault(condition, {"tokens": [], "answer": [], "token": [], "f1": []})
            kept["tokens"].append(0 if context is None else len(context.embeds))
            kept["answer"].append(total)
            kept["token"].append(total / tokens)
            kept["f1"].append(f1(text, item.answers))
        if (number + 1) % 10 == 0:
            print(f"{name}: {number + 1} of {len(items)} rows", flush=True)
    return values


def summed(values: dict[str, dict[str, Any]], factors: Sequence[int]) -> dict[str, Any]:
    """Means, shares of the gap, and differences of the encoder to what it must beat."""
    none, full, found = values["none"], values["full"], dict[str, Any]()
    for name, own in values.items():
        found[name] = {
            "context_positions": round(sum(own["tokens"]) / len(own["tokens"]), 1),
            "log_likelihood_per_answer": mean(own["answer"]),
            "log_likelihood_per_token": mean(own["token"]),
            "f1": mean(own["f1"]),
            "gap_log_likelihood": gap(own["token"], none["token"], full["token"]),
            "gap_f1": gap(own["f1"], none["f1"], full["f1"]),
        }
    apart = {}
    for factor in factors:
        own = values[f"vectors {factor}x"]
        for rival in ("truncated", "pooled", "another's", "untrained"):
            if f"{rival} {factor}x" in values:
                other = values[f"{rival} {factor}x"]
                apart[f"{factor}x - {rival}"] = {kind: paired(own[kind], other[kind]) for kind in ("token", "f1")}
    return {"rows": len(none["token"]), "conditions": found, "differences": apart}


def table(results: dict[str, Any]) -> str:
    """The report as text: one table and one list of differences per file."""
    lines = []
    for name, found in results.items():
        head = f"{name}, {found['rows']} rows"
        lines += [f"{head:18} positions   log-likelihood a token        of the gap            F1        of the gap"]
        for condition, own in found["conditions"].items():
            cells = [_cell(own[key]) for key in ("log_likelihood_per_token", "gap_log_likelihood", "f1", "gap_f1")]
            lines.append(f"{condition:18} {own['context_positions']:9.1f}   " + "  ".join(cells))
        for pair, kinds in found["differences"].items():
            own = kinds["token"]
            lines.append(f"  {pair:16} {_cell(own)} nats a token, {own['won']} rows won, {own['lost']} lost")
    return "\n".join(lines)


def _cell(own: dict[str, float] | None) -> str:
    return f"{'no gap':22}" if own is None else f"{own['mean']:6.3f} [{own['low']:6.3f},{own['high']:6.3f}]"


def verdict(results: dict[str, Any], factor: int) -> dict[str, str]:
    """Whether the encoder beats truncated text and pooled embeddings at a factor, by file."""
    said = {}
    for name, found in results.items():
        pairs = {rival: found["differences"].get(f"{factor}x - {rival}") for rival in ("truncated", "pooled")}
        short = [rival for rival, own in pairs.items() if own is None or own["token"]["low"] <= 0]
        said[name] = f"not reached against {' and '.join(short)}" if short else "reached"
    return said


def compressors(options: argparse.Namespace, model: Any, tokenizer: Any) -> dict[str, Any]:
    """The trained compressor, and the untrained one of the same shape where wanted."""
    info = need("squeeze.soft.files", extra="soft").read_info(Path(options.checkpoint))
    method = str(info.get("format", "")).removeprefix("squeeze.")
    if method not in ("arc", "compllm"):
        raise ConfigError(f"{options.checkpoint} is a checkpoint of {info.get('format')!r}; allowed: arc or compllm")
    found: dict[str, Any] = {"vectors": load(method, model=model, tokenizer=tokenizer, checkpoint=options.checkpoint)}
    if options.untrained:
        soft, shape = need("squeeze.soft", extra="soft"), found["vectors"].encoder.settings
        kinds = {"arc": soft.ArcEncoder.from_model, "compllm": soft.CompEncoder}
        fresh = kinds[method](model, shape, seed=options.seed)
        found["untrained"] = load(method, model=model, tokenizer=tokenizer, checkpoint=fresh)
    return found


def measured(path: str, options: argparse.Namespace) -> tuple[str, dict[str, Any], str]:
    """The figures of one file, with its name and the shape of the encoder."""
    need("torch", extra="bench").set_num_threads(options.threads)
    models = need("squeeze.soft.models", extra="bench")
    model, tokenizer = models.load_model(options.model).to(options.device), models.load_hf_tokenizer(options.model)
    encoders = compressors(options, model, tokenizer)
    judge = Judge(model, tokenizer, options.new_tokens, options.batch)
    seen = {str(row.get("question")) for given in options.seen for row in read_rows(given)}
    name = Path(path).name.split(".")[0]
    values = measure(judge, items_of(path, tokenizer, options, seen), encoders, name)
    encoder = encoders["vectors"]
    return name, summed(values, encoder.factors), repr(encoder.encoder.settings)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures, prints, and writes the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", required=True, metavar="FOLDER")
    parser.add_argument("--data", nargs="+", required=True, metavar="FILE")
    parser.add_argument("--model", default="", metavar="FOLDER", help="the language model; SmolLM2 if left out")
    parser.add_argument("--seen", nargs="*", default=[], metavar="FILE", help="rows that were trained on")
    parser.add_argument("--rows", type=int, default=60, help="of each file")
    parser.add_argument("--context", type=int, default=600, help="most tokens of a context")
    parser.add_argument("--new-tokens", type=int, default=24, help="most tokens of an answer")
    parser.add_argument("--untrained", action="store_true", help="an encoder of the same shape without training, too")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--threads", type=int, default=1, help="of each process")
    parser.add_argument(
        "--workers", type=int, default=1, help="files that are measured at once, each with its own model"
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", default="", help="where to write the report")
    options = parser.parse_args(arguments)
    options.model = options.model or str(ensure())
    if options.workers > 1:
        with ProcessPoolExecutor(options.workers, multiprocessing.get_context("spawn")) as pool:
            found = list(pool.map(measured, options.data, [options] * len(options.data)))
    else:
        found = [measured(path, options) for path in options.data]
    results = {name: own for name, own, _ in found}
    print(table(results), flush=True)
    said = verdict(results, 4)
    print("\n".join(f"better than truncated and pooled at 4x on {name}: {words}" for name, words in said.items()))
    if options.json:
        log = Path(options.checkpoint) / "training.json"
        trained = json.loads(log.read_text(encoding="utf-8"))["results"] if log.is_file() else {}
        settings = {name: getattr(options, name) for name in ("rows", "context", "new_tokens", "untrained", "seed")}
        (*_, shape), *_ = found
        whole = {"sets": results, "needed_at_4x": said, "training": trained}
        write_report(
            options.json, "squeeze.bench.soft_answers", whole, model=Path(options.model).name, encoder=shape, **settings
        )


if __name__ == "__main__":
    main()
