"""Whole applications over the shipped handbook, offline: real embeddings, real retrievers, and a model that records."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("llama_index.retrievers.bm25")
sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

import llama_lighthouses as application
from llama_index.core import VectorStoreIndex, get_response_synthesizer
from llama_index.core.chat_engine import CondensePlusContextChatEngine, ContextChatEngine
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import MetadataMode, NodeWithScore
from llama_index.retrievers.bm25 import BM25Retriever

import squeeze
from llama_index.postprocessor.squeeze import SqueezePostprocessor
from squeeze.errors import MissingDependencyError

QUESTION = application.QUESTION
count = squeeze.load("edu").count


@pytest.fixture(scope="module")
def index() -> VectorStoreIndex:
    try:
        return application.build(application.MiniLMEmbedding())
    except MissingDependencyError as error:
        pytest.skip(str(error))


def shown(nodes: list[NodeWithScore]) -> int:
    return count("\n\n".join(item.node.get_content(metadata_mode=MetadataMode.LLM) for item in nodes))


def dump(index: VectorStoreIndex) -> list[Any]:
    return [node.model_dump() for node in index.docstore.docs.values()]


def test_a_query_engine_sends_a_shorter_prompt_with_the_answer(index: VectorStoreIndex) -> None:
    before = dump(index)
    prompts, frames = [], []
    for stages in ([], [SqueezePostprocessor(max_tokens=250, budget_includes_metadata=True)]):
        llm = application.RecordingLLM()
        response = index.as_query_engine(llm=llm, similarity_top_k=6, node_postprocessors=stages).query(QUESTION)
        prompts += llm.prompts
        frames.append(count(llm.prompts[0]) - shown(response.source_nodes))
        assert all(item.score is not None and item.node.ref_doc_id for item in response.source_nodes)
    assert len(prompts) == 2
    full, short = map(count, prompts)
    assert short <= 250 + max(frames) + 3 < full
    assert "Gustaf Dalén" in prompts[1] and "squeeze" not in prompts[1] and "spans" not in prompts[1]
    assert dump(index) == before


def test_two_queries_in_a_row_both_see_the_whole_nodes(index: VectorStoreIndex) -> None:
    engine = index.as_query_engine(
        llm=application.RecordingLLM(), similarity_top_k=4, node_postprocessors=[SqueezePostprocessor(max_tokens=60)]
    )
    first = engine.query("What is the sun valve?").source_nodes
    engine.query("Who patented the burner that turns paraffin to vapour?")
    again = engine.query("What is the sun valve?").source_nodes
    assert [item.node.text for item in again] == [item.node.text for item in first]


def test_asynchronous_queries(index: VectorStoreIndex) -> None:
    llm = application.RecordingLLM()
    engine = index.as_query_engine(
        llm=llm, similarity_top_k=6, node_postprocessors=[SqueezePostprocessor(max_tokens=120)]
    )
    wanted = [item.node.text for item in engine.query(QUESTION).source_nodes]

    async def main() -> list[Any]:
        return list(await asyncio.gather(*(engine.aquery(QUESTION) for _ in range(4))))

    for response in asyncio.run(main()):
        assert [item.node.text for item in response.source_nodes] == wanted
    assert len(set(llm.prompts)) == 1


def test_streaming(index: VectorStoreIndex) -> None:
    llm = application.RecordingLLM(lambda prompt: "A black rod that grows warm")
    engine = index.as_query_engine(
        llm=llm, similarity_top_k=6, streaming=True, node_postprocessors=[SqueezePostprocessor(max_tokens=120)]
    )
    response = engine.query(QUESTION)
    assert "".join(response.response_gen).split() == ["A", "black", "rod", "that", "grows", "warm"]
    assert sum(count(item.node.text) for item in response.source_nodes) <= 120


@pytest.mark.parametrize("kind", ["context", "condense_plus_context"])
def test_chat_engines(index: VectorStoreIndex, kind: str) -> None:
    sizes = []
    for stages in ([], [SqueezePostprocessor(max_tokens=120)]):
        llm = application.RecordingLLM(lambda prompt: "A valve of Dalén's.")
        build = {"context": ContextChatEngine, "condense_plus_context": CondensePlusContextChatEngine}[kind]
        engine = build.from_defaults(
            retriever=index.as_retriever(similarity_top_k=6),
            llm=llm,
            memory=ChatMemoryBuffer.from_defaults(token_limit=3000),
            node_postprocessors=stages,
        )
        assert str(engine.chat(QUESTION)) == "A valve of Dalén's."
        answer = engine.stream_chat("And who invented it?")
        assert "Dalén" in "".join(answer.response_gen)
        assert "Dalén" in str(asyncio.run(engine.achat("When?")))
        sizes.append(sum(map(count, llm.prompts)))
    assert sizes[1] < 0.7 * sizes[0]


def test_a_retriever_pipeline_over_words_and_vectors(index: VectorStoreIndex) -> None:
    chunks = SentenceSplitter(chunk_size=256, chunk_overlap=0).get_nodes_from_documents(application.documents())
    words = BM25Retriever.from_defaults(nodes=chunks, similarity_top_k=5)
    fused = QueryFusionRetriever(
        [words, index.as_retriever(similarity_top_k=5)],
        llm=application.RecordingLLM(),
        num_queries=1,
        similarity_top_k=6,
        use_async=False,
    )
    stage = SqueezePostprocessor(max_tokens=200, budget_includes_metadata=True)
    for retriever in (words, fused):
        llm = application.RecordingLLM()
        engine = RetrieverQueryEngine(
            retriever=retriever,
            response_synthesizer=get_response_synthesizer(llm=llm),
            node_postprocessors=[SimilarityPostprocessor(similarity_cutoff=0.0), stage],
        )
        found = retriever.retrieve(QUESTION)
        response = engine.query(QUESTION)
        assert shown(response.source_nodes) <= 200 < shown(found)
        assert "Dalén" in llm.prompts[-1]
        scores = {item.node.node_id: item.score for item in found}
        assert all(scores[item.node.node_id] == item.score for item in response.source_nodes)


def test_the_example_shows_the_tokens_before_and_after(
    index: VectorStoreIndex, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(application, "build", lambda embedding: index)
    monkeypatch.setattr(application, "MiniLMEmbedding", lambda: None)
    monkeypatch.setattr(sys, "argv", ["llama_lighthouses.py", "Who invented the screw pile?", "--max-tokens", "120"])
    application.main()
    out = capsys.readouterr().out
    assert "Alexander Mitchell" in out and "tokens before" in out and "% fewer" in out
