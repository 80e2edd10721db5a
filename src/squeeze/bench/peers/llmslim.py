"""llmslim: retrieved documents under one budget, which goes to those that match the question."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

DISTRIBUTIONS = ("llmslim",)


def runner(tokenizer: str, options: dict[str, Any]) -> Any:
    """It, run in the environment `light`."""
    from ._process import Peer, Setting

    return Peer(__file__, tokenizer, options, Setting("light", ("llmslim",)))


def start(options: dict[str, Any]) -> Callable[[list[str], str, int, float], str]:
    """Its `compress_documents`, asked for the share that the limit is of the input; it counts cl100k_base tokens.

    Args:
        options: given on to it.
    """
    package = importlib.import_module("llmslim")

    def shorten(texts: list[str], question: str, limit: int, share: float) -> str:
        made = package.compress_documents(texts, query=question, target_ratio=share, **options)
        return "\n\n".join(one.compressed_text for one in made if one.compressed_text)

    return shorten
