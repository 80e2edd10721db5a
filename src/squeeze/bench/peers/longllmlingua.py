"""LongLLMLingua: as LLMLingua, with passages and tokens ranked by what they say of the question (arXiv 2310.06839)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _smollm2, llmlingua

DISTRIBUTIONS = llmlingua.DISTRIBUTIONS


def runner(tokenizer: str, options: dict[str, Any]) -> Any:
    """It, run in the environment `llmlingua`."""
    from ._process import Peer, Setting

    setting = Setting("llmlingua", ("llmlingua",), most=3, seconds=900.0)
    return Peer(__file__, tokenizer, _smollm2.with_model(options), setting)


def start(options: dict[str, Any]) -> Callable[[list[str], str, int, float], str]:
    """The `PromptCompressor` with the settings that its documentation gives for long contexts.

    Args:
        options: `model`, the folder of the small model; others go to `compress_prompt`.
    """
    given = {
        "rank_method": "longllmlingua",
        "condition_in_question": "after_condition",
        "condition_compare": True,
        "reorder_context": "sort",
        "dynamic_context_compression_ratio": 0.3,
        "context_budget": "+100",
    }
    return llmlingua.compressor(given, options)
