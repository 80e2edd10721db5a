"""LlamaIndex's SentenceEmbeddingOptimizer: sentences by the similarity of their embedding to that of the question."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from . import _embed

DISTRIBUTIONS = ("llama-index-core", "sentence-transformers")


def runner(tokenizer: str, options: dict[str, Any]) -> Any:
    """It, run in the environment `embeddings`."""
    from ._process import Peer, Setting

    needs = ("llama_index.core", "sentence_transformers")
    return Peer(__file__, tokenizer, _embed.with_model(options), Setting("embeddings", needs, most=10, seconds=300.0))


def start(options: dict[str, Any]) -> Callable[[list[str], str, int, float], str]:
    """The optimizer with the lowest threshold whose sentences fit.

    A `percentile_cutoff` keeps everything of a document of few sentences, and without `context_before=0` and
    `context_after=0` sentences come back several times, so neither default is what fits a limit best. A document
    of which no sentence reaches the threshold makes it raise; such a document is left out.

    Args:
        options: `model`, a folder for sentence-transformers.
    """
    schema = importlib.import_module("llama_index.core.schema")
    base: Any = importlib.import_module("llama_index.core.embeddings").BaseEmbedding
    optimizer: Any = importlib.import_module("llama_index.core.postprocessor").SentenceEmbeddingOptimizer
    count = _embed.counter()
    encode = _embed.encoder(options["model"])

    class MiniLM(base):  # type: ignore[misc]
        def _get_text_embedding(self, text: str) -> list[float]:
            return encode([text])[0]

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return encode(texts)

        def _get_query_embedding(self, query: str) -> list[float]:
            return encode([query])[0]

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return encode([query])[0]

    model = MiniLM()

    def kept(texts: list[str], bundle: Any, threshold: float) -> str:
        one = optimizer(embed_model=model, threshold_cutoff=threshold, context_before=0, context_after=0)
        parts = []
        for text in texts:
            nodes = [schema.NodeWithScore(node=schema.TextNode(text=text))]
            try:
                parts.append(one.postprocess_nodes(nodes, bundle)[0].node.get_content())
            except ValueError as error:
                if "zero sentences" not in str(error):
                    raise
        return "\n\n".join(parts)

    def shorten(texts: list[str], question: str, limit: int, share: float) -> str:
        texts = [text for text in texts if text.strip()]
        bundle = schema.QueryBundle(question, embedding=encode([question])[0])
        low, high, best = -1.0, 1.0, ""
        for _ in range(10):
            middle = (low + high) / 2
            text = kept(texts, bundle, middle)
            if count(text) > limit:
                low = middle
            else:
                high, best = middle, text
        return best

    return shorten
