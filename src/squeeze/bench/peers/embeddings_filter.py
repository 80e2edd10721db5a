"""LangChain's EmbeddingsFilter: whole documents by the similarity of their embedding to that of the question."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from . import _embed

DISTRIBUTIONS = ("langchain-classic", "langchain-community", "langchain-core", "sentence-transformers")
_NEEDS = ("langchain_classic", "langchain_community", "sentence_transformers")


def runner(tokenizer: str, options: dict[str, Any]) -> Any:
    """It, run in the environment `embeddings`."""
    from ._process import Peer, Setting

    return Peer(__file__, tokenizer, _embed.with_model(options), Setting("embeddings", _NEEDS, most=10, seconds=300.0))


def start(options: dict[str, Any]) -> Callable[[list[str], str, int, float], str]:
    """The filter with the largest `k` whose documents fit, or with 1 where not even one does.

    Args:
        options: `model`, a folder for sentence-transformers.
    """
    core = importlib.import_module("langchain_core.documents")
    base: Any = importlib.import_module("langchain_core.embeddings").Embeddings
    made: Any = importlib.import_module("langchain_classic.retrievers.document_compressors").EmbeddingsFilter
    count = _embed.counter()
    encode = _embed.encoder(options["model"])

    class MiniLM(base):  # type: ignore[misc]
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return encode(texts)

        def embed_query(self, text: str) -> list[float]:
            return encode([text])[0]

    def shorten(texts: list[str], question: str, limit: int, share: float) -> str:
        documents = [core.Document(page_content=text) for text in texts if text.strip()]
        ranked = made(embeddings=MiniLM(), k=len(documents)).compress_documents(documents, question)
        best = ""
        for k in range(1, len(ranked) + 1):
            text = "\n\n".join(document.page_content for document in ranked[:k])
            if k > 1 and count(text) > limit:
                break
            best = text
        return best

    return shorten
