"""What `ram` is compared with: ways to make a context, and who reads them."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from squeeze import Budget, Compressed, Passage, load
from squeeze.bench.smollm2 import ensure
from squeeze.errors import need
from squeeze.render import JOINER
from squeeze.types import SoftPart

Made = Callable[[Sequence[Passage], str, float], Compressed | str | None]
"""The context that a condition makes of passages, a question and a share to keep."""

TAUGHT = "taught reader: "
"""What the names of conditions start with that are read by the reader of `--taught`."""


class Others:
    """`ram` with the vectors of the row before: those of the first row are its own."""

    def __init__(self, made: Made) -> None:
        self.made = made
        self.before: dict[float, list[Any]] = {}

    def __call__(self, passages: Sequence[Passage], question: str, keep: float) -> Compressed:
        """The result, each vector another's."""
        result: Any = self.made(passages, question, keep)
        own = [part.vectors for part in result.parts if isinstance(part, SoftPart)]
        others = itertools.cycle(self.before.get(keep) or own)
        parts = [replace(part, vectors=next(others)) if isinstance(part, SoftPart) else part for part in result.parts]
        if own:
            self.before[keep] = own
        return replace(result, parts=tuple(parts))  # type: ignore[no-any-return]


def conditions(own: dict[str, Any], given: argparse.Namespace) -> dict[str, Made]:
    """What is compared, by name.

    Args:
        own: the model and its tokenizer.
        given: options of the program.
    """

    def made(compressor: Any, passages: Sequence[Passage], question: str, keep: float) -> Compressed:
        return compressor.compress(passages, question, budget=Budget(keep=keep))  # type: ignore[no-any-return]

    def ram(checkpoint: Any, **options: Any) -> Made:
        mixed = load("ram", checkpoint=checkpoint, allocation=given.allocation, **{"vectors": 0.5, **options}, **own)
        return partial(made, mixed)

    tokenizer = own["tokenizer"]
    found: dict[str, Made] = {
        "full": lambda passages, question, keep: JOINER.join(p.text for p in passages),
        "none": lambda passages, question, keep: None,
        "edu": partial(made, load("edu", tokenizer=tokenizer)),
        "ram_text": partial(made, load("ram_text", tokenizer=tokenizer)),
    }
    if given.arc:
        found["arc"] = partial(made, load("arc", checkpoint=given.arc, **own))
    found["ram"] = ram(given.checkpoint)
    found["ram, no vectors"] = ram(given.checkpoint, vectors=0)
    found["ram, another's vectors"] = Others(found["ram"])
    found["ram, ranker"] = ram(given.checkpoint, scorer="ranker")
    if given.taught:
        found |= {TAUGHT + name: found[name] for name in ("full", "none", "edu")}
        found[f"{TAUGHT}ram"] = ram(given.taught)
        found[f"{TAUGHT}ram, no vectors"] = ram(given.taught, vectors=0)
        found[f"{TAUGHT}ram, another's vectors"] = Others(found[f"{TAUGHT}ram"])
    return found


def taught(reader: Any, given: argparse.Namespace) -> Any:
    """The reader that learned with the checkpoint of `--taught`: adapters on a model of its own."""
    models, files = need("squeeze.soft.models", extra="bench"), need("squeeze.soft.ram_files", extra="bench")
    model = files.adapt_reader(models.load_model(ensure()), Path(given.taught) / "reader")
    return need("squeeze.soft", extra="bench").Reader(model, reader.tokenizer)
