"""Whole applications over the shipped handbook, offline: real embeddings, real stores, and a model that records."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("langchain_classic")
sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

import langchain_lighthouses as application
from langchain.agents import create_agent
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import create_retriever_tool
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter

import squeeze
from langchain_squeeze import SqueezeCompressor, SqueezeMiddleware
from squeeze.errors import MissingDependencyError

QUESTION = application.QUESTION
count = squeeze.load("edu").count


@pytest.fixture(scope="module")
def store() -> InMemoryVectorStore:
    try:
        return application.build(application.MiniLMEmbeddings())
    except MissingDependencyError as error:
        pytest.skip(str(error))


class Listener(BaseCallbackHandler):
    def __init__(self) -> None:
        self.seen: list[Any] = []

    def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        self.seen.append((name, data))


def wrapped(store: InMemoryVectorStore, compressor: Any, k: int = 6) -> tuple[Any, ContextualCompressionRetriever]:
    base = store.as_retriever(search_kwargs={"k": k})
    return base, ContextualCompressionRetriever(base_compressor=compressor, base_retriever=base)


def test_a_chain_sends_a_shorter_prompt_with_the_answer(store: InMemoryVectorStore) -> None:
    base, squeezed = wrapped(store, SqueezeCompressor(max_tokens=250))
    prompts = []
    for retriever in (base, squeezed):
        model = application.RecordingChatModel()
        application.chain(retriever, model).invoke(QUESTION)
        prompts += model.prompts
    before, after = map(count, prompts)
    frame = count(application.PROMPT.format(context="", question=QUESTION))
    assert after <= 250 + frame < before
    assert "Gustaf Dalén" in prompts[1] and "black rod" in prompts[1]


def test_the_retriever_keeps_ids_and_metadata_and_the_store_its_documents(store: InMemoryVectorStore) -> None:
    before = {key: dict(value, metadata=dict(value["metadata"])) for key, value in store.store.items()}
    base, squeezed = wrapped(store, SqueezeCompressor(keep=0.3))
    listener = Listener()
    found = squeezed.invoke(QUESTION, config={"callbacks": [listener]})
    sources = {document.id: document for document in base.invoke(QUESTION)}
    for document in found:
        note = dict(document.metadata).pop("squeeze")
        source = sources[document.id]
        assert {key: value for key, value in document.metadata.items() if key != "squeeze"} == source.metadata
        assert all(source.page_content[start:end] in document.page_content for start, end in note["spans"])
    ((name, data),) = listener.seen
    assert name == "squeeze.compress" and data["passages"] == 6 and data["passages_kept"] == len(found)
    assert {key: dict(value, metadata=dict(value["metadata"])) for key, value in store.store.items()} == before
    assert asyncio.run(squeezed.ainvoke(QUESTION)) == found


def test_a_pipeline_of_transformers_hands_it_the_query(store: InMemoryVectorStore) -> None:
    splitter = RecursiveCharacterTextSplitter(chunk_size=400, chunk_overlap=0)
    pipeline = DocumentCompressorPipeline(transformers=[splitter, SqueezeCompressor(max_tokens=120)])
    _, squeezed = wrapped(store, pipeline)
    found = squeezed.invoke(QUESTION)
    assert count("\n\n".join(document.page_content for document in found)) <= 120
    assert any("Dalén" in document.page_content for document in found)
    assert asyncio.run(squeezed.ainvoke(QUESTION)) == found


def agent(store: InMemoryVectorStore, middleware: list[Any]) -> tuple[Any, application.RecordingChatModel]:
    retriever = store.as_retriever(search_kwargs={"k": 5})
    tool = create_retriever_tool(
        retriever, "handbook", "Finds passages of the handbook.", response_format="content_and_artifact"
    )
    call = {"name": "handbook", "args": {"query": "sun valve"}, "id": "c1", "type": "tool_call"}
    model = application.RecordingChatModel(prepared=[AIMessage("", tool_calls=[call]), AIMessage("Gustaf Dalén.")])
    return create_agent(model, tools=[tool], middleware=middleware), model


def test_an_agent_reads_what_the_tool_found_in_fewer_tokens(store: InMemoryVectorStore) -> None:
    given = {"messages": [{"role": "user", "content": QUESTION}]}
    plain, full = agent(store, [])
    plain.invoke(given)
    listener = Listener()
    shorter, model = agent(store, [SqueezeMiddleware(max_tokens=120, only=["handbook"])])
    state = shorter.invoke(given, config={"callbacks": [listener]})
    assert state["messages"][-1].text == "Gustaf Dalén."
    (tool,) = [message for message in state["messages"] if isinstance(message, ToolMessage)]
    assert count(tool.text) <= 120 and "Gustaf Dalén" in tool.text
    assert all(isinstance(document, Document) for document in tool.artifact)
    assert count(model.prompts[-1]) <= 120 + count(QUESTION) + 5 < count(full.prompts[-1])
    assert [name for name, _ in listener.seen] == ["squeeze.compress"]
    again, twin = agent(store, [SqueezeMiddleware(max_tokens=120)])
    asyncio.run(again.ainvoke(given))
    assert twin.prompts == model.prompts


def test_the_example_shows_the_tokens_before_and_after(
    store: InMemoryVectorStore, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(application, "build", lambda embeddings: store)
    monkeypatch.setattr(application, "MiniLMEmbeddings", lambda: None)
    monkeypatch.setattr(sys, "argv", ["langchain_lighthouses.py", "Who invented the screw pile?", "--max-tokens", "90"])
    application.main()
    out = capsys.readouterr().out
    assert "Alexander Mitchell" in out and "tokens before" in out and "% fewer" in out
