"""LLMLingua: passages, then tokens, that a small language model finds surprising (arXiv 2310.05736)."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from . import _smollm2

DISTRIBUTIONS = ("llmlingua", "transformers", "torch")


def runner(tokenizer: str, options: dict[str, Any]) -> Any:
    """It, run in the environment `llmlingua`."""
    from ._process import Peer, Setting

    setting = Setting("llmlingua", ("llmlingua",), most=3, seconds=900.0)
    return Peer(__file__, tokenizer, _smollm2.with_model(options), setting)


def start(options: dict[str, Any]) -> Callable[[list[str], str, int, float], str]:
    """Its `PromptCompressor` with its defaults, asked for a rate; the question is given, but not printed.

    Args:
        options: `model`, the folder of the small model; others go to `compress_prompt`.
    """
    return compressor({"rank_method": "llmlingua"}, options)


def compressor(given: dict[str, Any], options: dict[str, Any]) -> Callable[[list[str], str, int, float], str]:
    """A function that calls `compress_prompt` with what is given."""
    folder = _smollm2.older(options.pop("model"))
    made = importlib.import_module("llmlingua").PromptCompressor(folder.name, device_map="cpu")
    given = {"concate_question": False, **given, **options}

    def shorten(texts: list[str], question: str, limit: int, share: float, folder: Any = folder) -> str:
        texts = [text for text in texts if text.strip()]
        return str(made.compress_prompt(texts, question=question, rate=share, **given)["compressed_prompt"])

    return shorten
