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


class Once:
    """A condition that several others stand on, made once for a row and a share."""

    def __init__(self, made: Made) -> None:
        self.made = made
        self.last: dict[float, tuple[Any, Any]] = {}

    def __call__(self, passages: Sequence[Passage], question: str, keep: float) -> Any:
        """The result, that of before where the passages are the same list."""
        if keep not in self.last or self.last[keep][0] is not passages:
            self.last[keep] = passages, self.made(passages, question, keep)
        return self.last[keep][1]


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
        return Once(partial(made, mixed))

    tokenizer = own["tokenizer"]
    found: dict[str, Made] = {
        "full": lambda passages, question, keep: JOINER.join(p.text for p in passages),
        "none": lambda passages, question, keep: None,
        "edu": Once(partial(made, load("edu", tokenizer=tokenizer))),
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


def readers(reader: Any, given: argparse.Namespace) -> tuple[Any, Any]:
    """Who reads, in the dtype of `--dtype`: the plain model, and that which learned with the checkpoint of `--taught`.

    Adapters are put on a model of its own; encoders stand on the plain one, in its own dtype.
    """
    models, files = need("squeeze.soft.models", extra="bench"), need("squeeze.soft.ram_files", extra="bench")
    kind = need("squeeze.soft", extra="bench").Reader

    def loaded() -> Any:
        model = models.load_model(ensure())
        return model.bfloat16() if given.dtype == "bf16" else model

    plain = reader if given.dtype == "fp32" else kind(loaded(), reader.tokenizer)
    if not given.taught:
        return plain, plain
    return plain, kind(files.adapt_reader(loaded(), Path(given.taught) / "reader"), reader.tokenizer)
