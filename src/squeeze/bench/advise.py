"""Is `squeeze.advise` right? Its predictions beside the measured time of whole calls, with SmolLM2 on this machine.

    python -m squeeze.bench.advise [--model FOLDER] [--json FILE]

The model is profiled first, at other lengths than those that are judged. Then, for each length and share to keep, a
call is made with the whole text and with the compressed one: compress, read the prompt, write an answer. A prediction
is wrong when it names the slower of the two although they are more than a tenth apart. Seconds are those of the
processor, since others may share the machine.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import squeeze
from squeeze.bench.machine import write_report
from squeeze.bench.smollm2 import ensure
from squeeze.bench.soft import context_of
from squeeze.profiling import measure, run
from squeeze.soft.models import load_hf_tokenizer, load_model

QUESTION = "At what pressure does the valve open?"


def called(model: Any, prompt: int, answer: int) -> float:
    """Processor seconds to read a prompt and write an answer."""
    read, write = run(model, prompt, answer, time.process_time)
    return read + answer * write


def compared(model: Any, text: str, keep: float, profile: Any, args: argparse.Namespace) -> dict[str, Any]:
    """One line of the table; the two ways take turns, and the fastest run of each counts."""
    call = {"method": args.method, "keep": keep, "tokenizer": f"hf:{args.model}"}
    advice = squeeze.advise(text, QUESTION, profile=profile, answer_tokens=args.answer, **call)

    def shorter() -> float:
        started = time.process_time()
        result = squeeze.compress(text, QUESTION, **call)
        return time.process_time() - started + called(model, max(1, result.tokens_after), args.answer)

    runs = [(called(model, advice.tokens_without, args.answer), shorter()) for _ in range(args.repeat)]
    without, compressed = (min(times) for times in zip(*runs, strict=True))
    close = abs(compressed - without) <= 0.1 * without
    return {
        "tokens": advice.tokens_without,
        "kept": advice.tokens_with,
        "compressing": round(advice.compressor_seconds, 4),
        "predicted": (round(advice.seconds_without or 0, 3), round(advice.seconds_with or 0, 3)),
        "measured": (round(without, 3), round(compressed, 3)),
        "pays": advice.pays,
        "verdict": "right" if advice.pays == (compressed < without) else "close" if close else "wrong",
    }


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="", help="a model's folder; SmolLM2 when empty")
    parser.add_argument("--method", default="edu")
    parser.add_argument("--keep", default="0.25,0.9", help="shares to keep")
    parser.add_argument("--lengths", default="24,64,160,320,640,1200", help="tokens that are judged")
    parser.add_argument("--profiled", default="16,128,512,1024", help="tokens that are profiled")
    parser.add_argument("--answer", type=int, default=4, help="tokens of an answer")
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--json", default="")
    args = parser.parse_args()
    args.model = args.model or str(ensure())
    lengths = [int(length) for length in args.profiled.split(",")]
    profile = measure(args.model, lengths=lengths, new_tokens=4, repeats=args.repeat, clock=time.process_time)
    print("profile", profile)
    model, tokenizer, table = load_model(args.model), load_hf_tokenizer(args.model), []
    for tokens in map(int, args.lengths.split(",")):
        words = context_of(tokens, tokenizer, seed=tokens).split()
        text = " ".join(word + "." * (place % 12 == 11) for place, word in enumerate(words))
        for keep in map(float, args.keep.split(",")):
            table.append(compared(model, text, keep, profile, args))
            print("  ".join(f"{key} {value}" for key, value in table[-1].items()), flush=True)
    wrong = sum(line["verdict"] == "wrong" for line in table)
    print(f"{len(table)} predictions, {wrong} wrong")
    if args.json:
        write_report(args.json, "squeeze.bench.advise", table, method=args.method, answer=args.answer)


if __name__ == "__main__":
    main()
