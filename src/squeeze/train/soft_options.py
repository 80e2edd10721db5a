"""The options of `squeeze.train.soft`."""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from squeeze.errors import ConfigError
from squeeze.train.soft_method import METHODS
from squeeze.train.soft_state import STATE, read_state

_FREE: tuple[str, ...] = (
    "model",
    "text",
    "data",
    "rows",
    "ids",
    "prepare",
    "out",
    "resume",
    "start",
    "steps",
    "minutes",
    "every",
)
_FREE += ("threads", "device", "curve", "method")


def parse(arguments: Sequence[str] | None) -> Namespace:
    """The options, checked.

    Raises:
        ConfigError: an option outside of what is allowed.
    """
    from squeeze.train import soft

    parser = argparse.ArgumentParser(description=soft.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--method", default="arc", help=f"what to train: {', '.join(METHODS)}")
    add("--model", required=True, help="folder or hub name of the language model")
    add("--out", type=Path, metavar="FOLDER", help="what the run writes")
    add("--text", nargs="*", default=[], metavar="FILE", help="rows {text, title}: to repeat and to go on from")
    add("--data", nargs="*", default=[], metavar="FILE", help="rows {question, answers, documents}")
    add("--ids", type=Path, metavar="FOLDER", help="what --prepare wrote, in place of --text and --data")
    add("--prepare", type=Path, metavar="FOLDER", help="write the ids of --text and --data there, and stop")
    add("--rows", type=int, default=0, help="most rows of each file; 0 for all")
    add("--resume", action="store_true", help="go on with the run in OUT")
    add("--start", metavar="FOLDER", help="checkpoint to begin from, in place of a fresh encoder")
    add("--decoder", help="which decoder of --start is trained, where it has several")
    shape = parser.add_argument_group("shape of a fresh encoder")
    add = shape.add_argument
    add("--layers", type=int, default=8, help="layers of the model that the encoder keeps (arc)")
    add("--lora", type=int, default=0, help="rank of adapters; 0 trains the layers themselves (compllm: 16)")
    add("--factors", type=int, nargs="+", default=[], help="tokens per vector (arc: 2 4 8; compllm: 2)")
    add("--set", nargs="*", default=[], metavar="NAME=VALUE", help="further settings of the encoder, residual=mean say")
    what = parser.add_argument_group("what a step is made of")
    add = what.add_argument
    add("--reconstruction", type=float, default=0.2, help="share of text steps that repeat the passage")
    add("--recall", type=float, default=0.0, help="share of text steps that end a sentence of the passage (arc)")
    add("--qa-share", type=float, default=0.3, help="share of steps that answer questions, where there are any")
    add("--qa-from", type=int, default=0, help="step from which questions are asked")
    add("--distil", type=float, default=0.0, help="share of the loss that is divergence from the full text")
    add("--distil-question", action="store_true", help="take the divergence at the question's tokens, too")
    add("--shots", type=int, default=0, help="questions with contexts and answers before each one (arc)")
    add("--end", action="store_true", help="train the mark that ends an answer, too (arc)")
    add("--context", type=int, default=600, help="most tokens of a question's context")
    add("--passage", type=int, default=256, help="most tokens of a text that are compressed")
    add("--following", type=int, default=256, help="most tokens predicted after them")
    add("--shortest", type=int, default=64, help="least tokens of a context or passage, where it has as many")
    add("--answer", type=int, default=32, help="most tokens of an answer")
    add("--batch", type=int, default=8, help="rows side by side")
    add("--accumulate", type=int, default=1, help="batches of one step, drawn apart")
    mixed = parser.add_argument_group("what ram does besides")
    add = mixed.add_argument
    add("--keep-least", type=float, default=0.05, help="least share of segments that stays text; drawn at each step")
    add("--keep-most", type=float, default=0.5, help="most of it")
    add("--contrast", type=float, default=1.0, help="weight of the contrastive loss")
    add("--temperature", type=float, default=0.1, help="of the contrastive loss")
    add("--segment-tokens", type=int, default=48, help="tokens of a segment")
    add("--reader-lora", type=int, default=0, help="rank of adapters that the reader learns; 0 leaves it as it is")
    how = parser.add_argument_group("how it learns")
    add = how.add_argument
    add("--steps", type=int, default=2000)
    add("--minutes", type=float, default=float("inf"), help="of this call; what is left is done with --resume")
    add("--warm-up", type=int, default=100, help="steps")
    add("--floor", type=float, default=0.1, help="share of the rates that is left at the end")
    add("--rate-layers", type=float, default=1e-4, help="of layers or adapters")
    add("--rate-heads", type=float, default=5e-4, help="of projectors")
    add("--rate-ranking", type=float, default=1e-4, help="of the contrastive head (ram)")
    add("--rate-other", type=float, default=1e-3, help="of special vectors and the rest")
    add("--heads-first", type=int, default=0, help="steps in which layers stay as they are")
    add("--decay", type=float, default=0.01, help="weight decay")
    add("--clip", type=float, default=1.0, help="most length of the gradient")
    add("--seed", type=int, default=0)
    run = parser.add_argument_group("how it runs")
    add = run.add_argument
    add("--every", type=int, default=200, help="steps between measures and saves")
    add("--held", type=int, default=32, help="questions, and texts, that are kept out and measured on")
    add("--device", default="auto", help="auto, cpu, cuda or mps")
    add("--dtype", choices=("fp32", "bf16"), default="fp32", help="of matrix products")
    add("--threads", type=int, default=1)
    add("--no-curve", dest="curve", action="store_false", help="draw no picture (needs no matplotlib)")
    options = parser.parse_args(arguments)
    if options.resume and options.out is not None:  # what is not given again is as it was
        parser.set_defaults(**read_state(options.out / STATE).get("options", {}))
        options = parser.parse_args(arguments)
    return _checked(options)


def remembered(options: Namespace) -> dict[str, Any]:
    """The options that a resumed run finds again."""
    ids = None if options.ids is None else str(options.ids)
    return {**shaping(options), **{name: getattr(options, name) for name in ("method", "start", "steps")}, "ids": ids}


def shaping(options: Namespace) -> dict[str, Any]:
    """The options that decide what is learned: those that a resumed run has to share."""
    return {name: value for name, value in vars(options).items() if name not in _FREE}


def _checked(options: Namespace) -> Namespace:
    if options.out is None and options.prepare is None:
        raise ConfigError("give --out, or --prepare to write ids alone")
    for name in ("reconstruction", "recall", "qa_share", "distil", "floor"):
        if not 0 <= getattr(options, name) <= 1:
            raise ConfigError(f"{name} is {getattr(options, name)}; allowed: 0 to 1")
    least = {
        "batch": 1,
        "accumulate": 1,
        "steps": 1,
        "every": 1,
        "threads": 1,
        "held": 0,
        "shortest": 16,
        "context": 16,
    }
    least |= {"passage": 16, "following": 1, "answer": 1, "rows": 0, "shots": 0, "segment_tokens": 1, "reader_lora": 0}
    for name, low in least.items():
        if getattr(options, name) < low:
            raise ConfigError(f"{name} is {getattr(options, name)}; allowed: {low} and more")
    for name in ("rate_layers", "rate_heads", "rate_ranking", "rate_other", "decay", "clip", "minutes", "contrast"):
        if not getattr(options, name) >= 0:
            raise ConfigError(f"{name} is {getattr(options, name)}; allowed: 0 and more")
    if options.device == "auto":
        found = "mps" if torch.backends.mps.is_available() else "cpu"
        options.device = "cuda" if torch.cuda.is_available() else found
    return options
