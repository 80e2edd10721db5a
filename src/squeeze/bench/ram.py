"""What `ram` keeps, what it costs, and what a model makes of it, with SmolLM2 on a CPU.

    python -m squeeze.bench.ram DATA.jsonl.gz ... --checkpoint FOLDER [-n 60] [--arc FOLDER] [--taught FOLDER]
    python -m squeeze.bench.ram DATA.jsonl.gz ... --checkpoint FOLDER --recall [-n 200]
    python -m squeeze.bench.ram DATA.jsonl.gz ... --checkpoint FOLDER --speed

A row of DATA is `{question, answers, documents: [{title, text, is_gold}], extra}`. The first form gives the mean
log-probability of the answer's tokens after the full text, no context, and what `edu`, `ram_text`, `arc` (where
`--arc` names a checkpoint) and `ram` keep of it, with bootstrap intervals; a context is the gold passages among others.
`--recall`: the share of segments holding the answer that are among the best segments of a quarter of the tokens, by
the untrained encoder, by the checkpoint, and by the scorer `ranker` (a segment counts what its best sentence does).
`ram, ranker` is `ram` with that scorer in place of its own ranking, `ram, no vectors` text alone, and
`ram, another's vectors` has the vectors of the row before in place of its own: what is left is what they tell beyond
being there. `--taught` names the checkpoint of a run with `--reader-lora`. Its reader reads some conditions, too, those
without vectors among them: it has learned the form of the answers besides.
`--speed`: from the passages to the end of an answer of 32 tokens, in processor time, encoding included.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from squeeze import Budget, Compressed, Passage, load
from squeeze.bench.machine import write_report
from squeeze.bench.ram_conditions import TAUGHT, conditions, readers
from squeeze.bench.rows import read_rows, row_passages
from squeeze.bench.smollm2 import ensure
from squeeze.bench.soft import fastest, timed
from squeeze.bench.soft_rows import choose, prompt_of, usable
from squeeze.bench.survival import difference
from squeeze.errors import need
from squeeze.mixing import best_units
from squeeze.render import JOINER
from squeeze.score.base import Corpus, load_scorer
from squeeze.types import SoftPart

ANSWER = 32
"""Tokens of an answer whose time is taken."""

_WHOLE = ("full", "none")


def fair_rows(path: str) -> Iterator[dict[str, Any]]:
    """Rows with a short answer that stands in gold passages alone."""
    for row in read_rows(path):
        if usable(row) and not (row.get("extra") or {}).get("non_gold_with_answer"):
            yield row


def cut_rows(path: str, count: Callable[[str], int], most: int, seed: int) -> Iterator[tuple[dict[str, Any], Any]]:
    """Rows with passages of at most so many tokens: the gold ones among others, in an order that is drawn."""
    for number, row in enumerate(fair_rows(path)):
        passages = row_passages(row)
        gold = [bool(document.get("is_gold")) for document in row["documents"]]
        own = choose([count(p.text) for p in passages], gold, most, random.Random(f"{seed} {number}"))
        if own:
            yield row, [passages[at] for at in own]


def interval(values: Sequence[float]) -> dict[str, float]:
    """Mean and 95 % bootstrap interval."""
    found = difference(values, [0.0] * len(values))
    return {"mean": round(float(np.mean(values)), 4), "low": round(found.low, 4), "high": round(found.high, 4)}


def likelihood(reader: Any, given: argparse.Namespace) -> list[dict[str, Any]]:
    """Mean log-probability per token of the answers, by data, share and condition."""
    made = conditions({"model": reader.model, "tokenizer": reader.tokenizer}, given)
    plain, pupil = readers(reader, given)
    count = load("edu", tokenizer=reader.tokenizer).count
    lines = []
    for path in given.data:
        found: dict[tuple[str, float], list[float]] = {}
        shares: dict[tuple[str, float], list[float]] = {}
        for number, (row, passages) in enumerate(
            itertools.islice(cut_rows(path, count, given.context, given.seed), given.n)
        ):
            for name, make in made.items():
                reads = pupil if name.startswith(TAUGHT) else plain
                for keep in [1.0] if name.removeprefix(TAUGHT) in _WHOLE else given.keep:
                    context = make(passages, row["question"], keep)
                    prompt = prompt_of(reader.tokenizer, row["question"])
                    scores = reads.answer_logprobs(context, prompt, row["answers"][0])
                    found.setdefault((name, keep), []).append(float(np.mean(scores)))
                    share = context.kept if isinstance(context, Compressed) else float(context is not None)
                    shares.setdefault((name, keep), []).append(share)
            if number % 10 == 9:  # a long run shows where it is
                print(number + 1, {key: round(float(np.mean(own)), 3) for key, own in found.items()}, flush=True)
        lines += compared(Path(path).name.split(".")[0], found, shares)
    return lines


def compared(
    data: str, found: dict[tuple[str, float], list[float]], shares: dict[tuple[str, float], list[float]]
) -> list[dict[str, Any]]:
    """A line for each condition and share: mean, interval, and the interval of how far it is from others.

    Each is compared with `edu` as the plain model reads it, and what has vectors with the same text without them, and
    with another's, read by the same reader.
    """
    lines = []
    for (name, keep), values in found.items():
        line = {"data": data, "condition": name, "keep": keep, "rows": len(values), **interval(values)}
        line["kept"] = round(float(np.mean(shares[name, keep])), 4)
        others = {"edu": "edu", "text": f"{name}, no vectors", "another": f"{name}, another's vectors"}
        for title, other in others.items():
            if (other, keep) in found:
                apart = difference(values, found[other, keep])
                line |= {f"over_{title}_low": round(apart.low, 4), f"over_{title}_high": round(apart.high, 4)}
        lines.append(line)
        print(line, flush=True)
    return lines


def recalled(scores: Any, sizes: Sequence[int], positive: Any, keep: float) -> float:
    """The share of positive segments among the best that fit into a share of the tokens."""
    left, kept = int(keep * sum(sizes)), 0
    for at in np.argsort(-np.asarray(scores), kind="stable").tolist():
        if sizes[at] <= left:
            left -= sizes[at]
            kept += bool(positive[at])
    return kept / int(positive.sum())


def ranked(own: Any, question: str) -> Any:
    """Scores of segments by the scorer `ranker`: that of their best sentence."""
    corpus = Corpus.of(own.passages, own.layouts)
    scores = load_scorer("ranker").score(corpus, question)
    return best_units(own.found, corpus, scores)


def recall(reader: Any, given: argparse.Namespace) -> list[dict[str, Any]]:
    """Recall of the segments that hold an answer, by data and ranking."""
    torch, losses = need("torch", extra="bench"), need("squeeze.train.ram_losses", extra="bench")
    soft, files = need("squeeze.soft.ram", extra="bench"), need("squeeze.soft.ram_files", extra="bench")
    trained = files.load(given.checkpoint, reader.model)
    untrained = soft.RamEncoder(reader.model, trained.settings, seed=given.seed)
    spells, lines = load("edu", tokenizer=reader.tokenizer).tokenizer, []
    for path in given.data:
        found: dict[tuple[str, float], list[float]] = {}
        for row in fair_rows(path):
            gold = [bool(document.get("is_gold")) for document in row["documents"]]
            own = losses.lesson(spells, row["question"], row["answers"], row_passages(row), given.segment_tokens)
            positive = np.array([bool(own.positive[i]) and gold[s[0]] for i, s in enumerate(own.found.segments)])
            if not positive.any():
                continue
            means = trained.means([own.question, *(row.ids for row in own.rows)])  # the layers are the same in both
            with torch.no_grad():
                scores = {
                    name: (encoder.told(means[1:]) @ encoder.asked(means[0])).numpy()
                    for name, encoder in (("untrained", untrained), ("trained", trained))
                }
            scores["ranker"] = ranked(own, row["question"])
            for name, values in scores.items():
                for keep in given.keep:
                    found.setdefault((name, keep), []).append(recalled(values, own.found.sizes, positive, keep))
            if len(found["ranker", given.keep[0]]) == given.n:
                break
        data = Path(path).name.split(".")[0]
        for (name, keep), shares in found.items():
            apart = difference(shares, found["untrained", keep])
            line = {"data": data, "ranking": name, "keep": keep, "rows": len(shares), **interval(shares)}
            line |= {"over_untrained_low": round(apart.low, 4), "over_untrained_high": round(apart.high, 4)}
            lines.append(line)
            print(line, flush=True)
    return lines


def long_passages(path: str, count: Callable[[str], int], tokens: int) -> tuple[list[Passage], str]:
    """Passages of a file's rows, one after the other, of about so many tokens, and the question of the first row."""
    passages: list[Passage] = []
    question, left = "", tokens
    for row in fair_rows(path):
        question = question or row["question"]
        for passage in row_passages(row):
            size = count(passage.text) + 1
            if size <= left:
                passages.append(passage)
                left -= size
        if left < 100:
            break
    return passages, question


def speed(reader: Any, given: argparse.Namespace) -> list[dict[str, Any]]:
    """Times from the passages to the end of an answer: full text against `ram`."""
    own = {"model": reader.model, "tokenizer": reader.tokenizer}
    ram = load("ram", checkpoint=given.checkpoint, allocation=given.allocation, **own)
    lines = []
    for tokens in given.tokens:
        passages, question = long_passages(given.data[0], ram.count, tokens)
        prompt, full = prompt_of(reader.tokenizer, question), JOINER.join(p.text for p in passages)

        def read(context: Any, prompt: Any = prompt) -> None:
            row = reader.rows(context, prompt)
            reader.generate_ids(row, max_new_tokens=ANSWER, min_new_tokens=ANSWER)

        read(ram.compress(passages[:2], question, budget=60))  # the first call sets things up
        whole = [timed(partial(read, full)) for _ in range(given.repeats)]
        for keep in given.keep:
            shorten = partial(ram.compress, passages, question, budget=Budget(keep=keep))
            runs = [timed(lambda make=shorten: read(make())) for _ in range(given.repeats)]  # type: ignore[misc]
            encoding = [timed(shorten) for _ in range(given.repeats)]
            result = shorten()
            base, short = fastest(whole), fastest(runs)
            line = {
                "tokens": result.tokens_before,
                "keep": keep,
                "tokens_after": result.tokens_after,
                "vectors": sum(len(part.vectors) for part in result.parts if isinstance(part, SoftPart)),
                "full": base._asdict(),
                "ram": short._asdict(),
                "encoding": fastest(encoding)._asdict(),
                "times_shorter": round(base.seconds / short.seconds, 2),
                "times_less_cpu": round(base.cpu / short.cpu, 2),
            }
            lines.append(line)
            print(line, flush=True)
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--checkpoint", required=True, help="of ram: a folder, or the name of one that ships")
    parser.add_argument("--arc", default="", help="checkpoint of arc")
    parser.add_argument("--taught", default="", help="folder of a run of ram with --reader-lora")
    parser.add_argument("--dtype", choices=("fp32", "bf16"), default="fp32", help="of the model that reads answers")
    parser.add_argument("--allocation", default="top_k")
    parser.add_argument("-n", type=int, default=60, help="rows of each file")
    parser.add_argument("--keep", type=float, nargs="+", default=[0.25, 0.125])
    parser.add_argument("--context", type=int, default=1200, help="most tokens of a context whose answer is read")
    parser.add_argument("--tokens", type=int, nargs="+", default=[7500], help="of the context whose time is taken")
    parser.add_argument("--segment-tokens", type=int, default=48)
    parser.add_argument("--recall", action="store_true")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", default="", help="where to write the figures")
    given = parser.parse_args(arguments)
    need("torch", extra="bench").set_num_threads(given.threads)
    models, folder = need("squeeze.soft.models", extra="bench"), ensure()
    reader = need("squeeze.soft", extra="bench").Reader(models.load_model(folder), models.load_hf_tokenizer(folder))
    results = recall(reader, given) if given.recall else speed(reader, given) if given.speed else None
    results = likelihood(reader, given) if results is None else results
    if given.json:
        shown = {**vars(given), "data": [Path(path).name for path in given.data]}
        shown |= {name: Path(shown[name]).name for name in ("checkpoint", "arc", "taught") if shown[name]}
        busy = [round(value, 1) for value in os.getloadavg()]  # of the last 1, 5 and 15 minutes: how busy it was
        shown.pop("json")
        write_report(
            given.json, "squeeze.bench.ram", results, model="SmolLM2-135M-Instruct", load_average=busy, **shown
        )


if __name__ == "__main__":
    main()
