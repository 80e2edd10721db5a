from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_helpers import QUERY, TEXTS, nodes
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import (
    BaseNode,
    Document,
    ImageNode,
    IndexNode,
    MediaResource,
    MetadataMode,
    NodeRelationship,
    NodeWithScore,
    RelatedNodeInfo,
    TextNode,
)

import squeeze
from llama_index.postprocessor.squeeze import SqueezePostprocessor


def test_it_is_a_postprocessor_with_a_name_of_its_own() -> None:
    assert BaseNodePostprocessor in SqueezePostprocessor.__mro__
    assert SqueezePostprocessor.class_name() == "SqueezePostprocessor"
    assert SqueezePostprocessor.model_json_schema()["properties"]["class_name"]["default"] == "SqueezePostprocessor"


@pytest.mark.parametrize("method", ["edu", "passages", "truncate"])
@pytest.mark.parametrize("limits", [{"keep": 0.4}, {"max_tokens": 18}, {"max_tokens": 30, "keep": 0.9}, {}])
def test_the_same_text_is_kept_as_by_squeeze_itself(method: str, limits: dict[str, Any]) -> None:
    result = squeeze.compress(TEXTS, QUERY, method=method, **limits)
    out = SqueezePostprocessor(method=method, **limits).postprocess_nodes(nodes(), query_str=QUERY)
    assert "\n\n".join(item.node.text for item in out) == result.text
    for item in out:
        index = int(item.node.node_id[1:])
        assert item.node.metadata["squeeze"]["spans"] == [list(span) for span in result.spans(index)]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(alphabet=st.sampled_from("abc. \n|#-é"), max_size=60), max_size=5), st.integers(0, 40))
def test_budget_and_text_on_any_text(texts: list[str], limit: int) -> None:
    result = squeeze.compress(texts, "abc", max_tokens=limit)
    out = SqueezePostprocessor(max_tokens=limit).postprocess_nodes(nodes(texts), query_str="abc")
    assert [item.node.text for item in out] == list(result.texts().values())


def test_options_of_the_method_are_handed_on() -> None:
    options = {"unit": "edu", "gap": "", "min_score": 0.2}
    result = squeeze.compress(TEXTS, QUERY, keep=0.4, **options)
    out = SqueezePostprocessor(keep=0.4, options=options).postprocess_nodes(nodes(), query_str=QUERY)
    assert [item.node.text for item in out] == list(result.texts().values())


def test_nodes_keep_what_is_theirs_and_the_index_keeps_its_nodes() -> None:
    given = nodes(metadata={"source": "guide.md", "deep": {"list": [1]}}, start_char_idx=5, end_char_idx=80)
    given[0].node.embedding = [0.1, 0.2]
    given[0].node.relationships = {
        NodeRelationship.SOURCE: RelatedNodeInfo(node_id="doc", metadata={"a": [1]}),
        NodeRelationship.CHILD: [RelatedNodeInfo(node_id="child")],
    }
    given[0].node.excluded_llm_metadata_keys = ["deep"]
    before = [item.model_dump() for item in given]
    hashes = [item.node.hash for item in given]
    first = SqueezePostprocessor(keep=0.3).postprocess_nodes(given, query_str=QUERY)[0]
    assert first.node.node_id == "n0" and first.score == 0.9 and first.node.text != TEXTS[0]
    assert first.node.ref_doc_id == "doc" and first.node.relationships[NodeRelationship.CHILD][0].node_id == "child"
    assert first.node.embedding is None and first.node.start_char_idx is None and first.node.end_char_idx is None
    first.node.metadata["deep"]["list"].append(2)
    first.node.excluded_llm_metadata_keys.append("source")
    first.node.relationships[NodeRelationship.SOURCE].metadata["a"].append(2)
    first.node.relationships[NodeRelationship.CHILD].clear()
    assert [item.model_dump() for item in given] == before
    assert [item.node.hash for item in given] == hashes


def test_a_node_that_is_kept_whole_keeps_its_offsets_and_embedding() -> None:
    given = nodes(start_char_idx=5, end_char_idx=90, embedding=[0.5])
    for item in SqueezePostprocessor().postprocess_nodes(given, query_str=QUERY):
        assert (item.node.start_char_idx, item.node.end_char_idx, item.node.embedding) == (5, 90, [0.5])
        assert item.node is not given[0].node and item.node.metadata["squeeze"]["kept"] == 1.0


def test_provenance_is_json_ready_and_hidden_from_both_models() -> None:
    given = nodes(metadata={"source": "guide.md"}, excluded_embed_metadata_keys=["source"])
    item = SqueezePostprocessor(keep=0.3).postprocess_nodes(given, query_str=QUERY)[0]
    note = json.loads(json.dumps(item.node.metadata["squeeze"]))
    text = given[0].node.text
    assert [text[start:end] for start, end in note["spans"]] == ["The valve opens at 40 degrees."]
    assert note["method"] == "edu" and note["kept"] == round(30 / len(text), 4)
    assert item.node.get_content(metadata_mode=MetadataMode.LLM) == f"source: guide.md\n\n{item.node.text}"
    assert item.node.get_content(metadata_mode=MetadataMode.EMBED) == item.node.text
    assert item.node.excluded_embed_metadata_keys == ["source", "squeeze"]


def test_a_second_stage_keeps_the_note_of_the_first() -> None:
    stage = SqueezePostprocessor(keep=0.7)
    once = stage.postprocess_nodes(nodes(), query_str=QUERY)
    twice = stage.postprocess_nodes(once, query_str=QUERY)
    assert twice[0].node.metadata["squeeze"]["earlier"] == once[0].node.metadata["squeeze"]
    assert twice[0].node.excluded_llm_metadata_keys.count("squeeze") == 1


def test_scores_of_none_and_order_stay() -> None:
    pairs = list(zip(TEXTS, [0.3, None, 0.1], strict=True))
    given = [NodeWithScore(node=TextNode(text=text), score=score) for text, score in pairs]
    out = SqueezePostprocessor(keep=1.0).postprocess_nodes(given, query_str=QUERY)
    assert [(item.node.text, item.score) for item in out] == pairs


def test_all_kinds_of_nodes() -> None:
    target = object()
    picture = ImageNode(image_url="https://example.org/a.png", text="A caption about the valve. Another sentence.")
    media = Document(image_resource=MediaResource(url="https://example.org/b.png"))
    resource = MediaResource(text=TEXTS[0], data=b"stale", mimetype="text/markdown", embeddings={"dense": [0.1]})
    both = Document(
        text_resource=resource, image_resource=MediaResource(url="https://example.org/c.png"), metadata={"source": "a"}
    )
    index = IndexNode(text=TEXTS[2], index_id="table", obj=target)
    kinds: list[BaseNode] = [picture, both, index, media, Document(text=TEXTS[1])]
    before = both.model_dump()
    out = SqueezePostprocessor(keep=0.5).postprocess_nodes(
        [NodeWithScore(node=node) for node in kinds], query_str=QUERY
    )
    found = {item.node.node_id: item.node for item in out}
    assert found[picture.node_id] is picture and found[media.node_id] is media
    shown = found[both.node_id]
    assert isinstance(shown, Document) and "40 degrees" in shown.text and len(shown.text) < len(TEXTS[0])
    assert shown.image_resource == both.image_resource and shown.text_resource is not None
    assert shown.text_resource.mimetype == "text/markdown"
    assert shown.text_resource.data is None and shown.text_resource.embeddings is None
    assert both.model_dump() == before and both.text == TEXTS[0]
    if index.node_id in found:
        assert isinstance(found[index.node_id], IndexNode) and found[index.node_id].obj is target


class Titles:
    """A scorer that notes the titles it was shown."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def score(self, corpus: Any, query: str | None) -> Any:
        self.seen = [passage.title for passage in corpus.passages]
        return [0.5] * len(corpus)


def test_titles_come_from_the_key_then_the_usual_ones() -> None:
    kinds: list[dict[str, Any]] = [
        {"name": "Whistle", "title": "Sheet"},
        {"title": "Valve"},
        {"document_title": "Handbook", "file_name": "a.pdf"},
        {"title": " ", "name": 7},
        {},
    ]
    given = [NodeWithScore(node=TextNode(text="One. Two.", metadata=metadata)) for metadata in kinds]
    scorer = Titles()
    SqueezePostprocessor(title_key="name", options={"scorer": scorer}).postprocess_nodes(given, query_str=QUERY)
    assert scorer.seen == ["Whistle", "Valve", "Handbook", "", ""]
    SqueezePostprocessor(options={"scorer": scorer}).postprocess_nodes(given, query_str=QUERY)
    assert scorer.seen == ["Sheet", "Valve", "Handbook", "", ""]


def test_emptied_nodes_go_or_stay() -> None:
    query = "The valve opens at 40 degrees"
    gone = SqueezePostprocessor(max_tokens=10).postprocess_nodes(nodes(), query_str=query)
    assert [item.node.node_id for item in gone] == ["n0"]
    kept = SqueezePostprocessor(max_tokens=10, drop_empty=False).postprocess_nodes(nodes(), query_str=query)
    assert [item.node.text for item in kept] == [gone[0].node.text, "", ""]
    assert kept[1].node.metadata["squeeze"] == {"method": "edu", "spans": [], "kept": 0.0}
    assert SqueezePostprocessor(max_tokens=0).postprocess_nodes(nodes(), query_str=query) == []
    assert SqueezePostprocessor(max_tokens=9).postprocess_nodes([], query_str=query) == []


class OwnNode(TextNode):
    body: str = ""


class ForeignNode(BaseNode):
    """A node kind that the framework does not ship."""

    body: str = ""

    @classmethod
    def get_type(cls) -> str:
        return "foreign"

    def get_content(self, metadata_mode: MetadataMode = MetadataMode.NONE) -> str:
        return self.body

    def get_content_blocks(self, metadata_mode: MetadataMode = MetadataMode.ALL) -> list[Any]:
        return []

    def set_content(self, value: str) -> None:
        self.body = value

    @property
    def hash(self) -> str:
        return self.body


def test_kinds_of_nodes_that_an_application_brings() -> None:
    own, foreign = OwnNode(text=TEXTS[0], body="x"), ForeignNode(body=TEXTS[0])
    for node in (own, foreign):
        (item,) = SqueezePostprocessor(keep=0.5).postprocess_nodes([NodeWithScore(node=node)], query_str=QUERY)
        assert type(item.node) is type(node) and "40 degrees" in item.node.get_content() != TEXTS[0]
        assert node.get_content() == TEXTS[0]


def test_without_a_query_what_says_most_is_kept() -> None:
    result = squeeze.compress(TEXTS, None, keep=0.4)
    out = SqueezePostprocessor(keep=0.4).postprocess_nodes(nodes())
    assert [item.node.text for item in out] == list(result.texts().values()) and out
