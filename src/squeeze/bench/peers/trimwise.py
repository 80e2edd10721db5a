"""trimwise: sentences and passages by lexical match with the question, under one limit over all documents."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

DISTRIBUTIONS = ("trimwise",)


def runner(tokenizer: str, options: dict[str, Any]) -> Any:
    """It, run in the environment `light`."""
    from ._process import Peer, Setting

    return Peer(__file__, tokenizer, options, Setting("light", ("trimwise",)))


def start(options: dict[str, Any]) -> Callable[[list[str], str, int, float], str]:
    """Its `Trimmer` as it comes, told which tokens count.

    Args:
        options: `strategy`, `"auto"` unless given, which is `"lexical"` for a question.
    """
    package = importlib.import_module("trimwise")
    trimmer = package.Trimmer(package.TrimConfig(token_encoding="cl100k_base"))
    strategy = options.get("strategy", "auto")

    def shorten(texts: list[str], question: str, limit: int, share: float) -> str:
        made = trimmer.trim_context(texts, limit, query=question, strategy=strategy, separator="\n\n")
        return str(made.text or "")

    return shorten
