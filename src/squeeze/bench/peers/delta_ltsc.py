"""delta-ltsc: repeated runs of tokens said once in a dictionary. Nothing is lost; what it makes are ids, not text."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

DISTRIBUTIONS = ("delta-ltsc",)


def runner(tokenizer: str, options: dict[str, Any]) -> Any:
    """It, run in the environment `light`."""
    from ._process import Peer, Setting

    return Peer(__file__, tokenizer, options, Setting("light", ("delta",), limited=False))


def start(options: dict[str, Any]) -> Callable[[list[str], str, int, float], int]:
    """Its `compress` on the ids of cl100k_base, with the round trip checked.

    Args:
        options: of its `CompressionConfig`.
    """
    package = importlib.import_module("delta")
    encoding = importlib.import_module("tiktoken").get_encoding("cl100k_base")
    config = package.CompressionConfig(**{"verify": True, **options})

    def shorten(texts: list[str], question: str, limit: int, share: float) -> int:
        return int(package.compress(encoding.encode_ordinary("\n\n".join(texts)), config).compressed_length)

    return shorten
