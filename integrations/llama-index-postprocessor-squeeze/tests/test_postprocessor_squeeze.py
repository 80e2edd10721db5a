from __future__ import annotations

import asyncio
import copy
import json
import pickle
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.callbacks import CallbackManager, CBEventType, EventPayload
from llama_index.core.callbacks.base_handler import BaseCallbackHandler
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.span_handlers import SimpleSpanHandler
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
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)

import squeeze
from llama_index.postprocessor.squeeze import SqueezePostprocessor
from squeeze import SqueezeError
from squeeze.errors import ConfigError, InputError, UnknownMethodError

TEXTS = [
    "The valve opens at 40 degrees. Paint is blue. The crate weighs 9 kg. Lunch is at noon.",
    "The pump needs oil every week. The hall is swept on Fridays. A second pump stands in the yard.",
    "Nobody has seen the key of the boiler room. It hung beside the valve.",
]
QUERY = "When does the valve open?"


def nodes(texts: list[str] = TEXTS, **fields: Any) -> list[NodeWithScore]:
    return [
        NodeWithScore(node=TextNode(text=text, id_=f"n{index}", **copy.deepcopy(fields)), score=0.9 - index / 10)
        for index, text in enumerate(texts)
    ]


def failing(texts: list[str], query: str) -> list[float]:
    raise RuntimeError("the scorer fell over")


def slow(texts: list[str], query: str) -> list[float]:
    time.sleep(0.3)
    return [1.0 if "leaks" in text else 0.1 for text in texts]


class Events(BaseEventHandler):
    seen: list[Any] = []  # noqa: RUF012

    @classmethod
    def class_name(cls) -> str:
        return "Events"

    def handle(self, event: Any, **kwargs: Any) -> None:
        self.seen.append(event)

    def names(self) -> list[str]:
        return [type(event).__name__ for event in self.seen]


@contextmanager
def listening() -> Iterator[tuple[Events, SimpleSpanHandler]]:
    root = get_dispatcher()
    before = list(root.event_handlers), list(root.span_handlers)
    events, spans = Events(seen=[]), SimpleSpanHandler()
    root.add_event_handler(events)
    root.add_span_handler(spans)
    try:
        yield events, spans
    finally:
        root.event_handlers, root.span_handlers = before


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


def rendered(items: list[NodeWithScore]) -> int:
    text = "\n\n".join(item.node.get_content(metadata_mode=MetadataMode.LLM) for item in items)
    return squeeze.load("edu").count(text)


@pytest.mark.parametrize("limits", [{"max_tokens": limit} for limit in (0, 5, 20, 33, 47, 60, 90)] + [{"keep": 0.5}])
def test_the_budget_holds_on_the_rendered_nodes_when_asked(limits: dict[str, Any]) -> None:
    given = nodes(metadata={"file_path": "manuals/2024/valves-and-pumps.md", "page": 12})
    given.append(NodeWithScore(node=Document(text="A valve has a stem. " * 4, metadata={"author": "unknown"})))
    asked = SqueezePostprocessor(budget_includes_metadata=True, **limits)
    limit = limits.get("max_tokens", int(0.5 * rendered(given)) + 1)
    out = asked.postprocess_nodes(given, query_str=QUERY)
    assert rendered(out) <= limit
    if limit > 40:
        assert len(out) > 0 and all(item.node.get_content() for item in out)


def test_the_rendered_budget_counts_nodes_that_pass_through() -> None:
    given = [*nodes(), NodeWithScore(node=ImageNode(image_url="https://example.org/a.png", text="A caption of words."))]
    out = SqueezePostprocessor(max_tokens=20, budget_includes_metadata=True).postprocess_nodes(given, query_str=QUERY)
    assert rendered(out) <= 20 and any(isinstance(item.node, ImageNode) for item in out)


@pytest.mark.parametrize(
    ("settings", "kind", "words"),
    [
        ({"method": "edo"}, UnknownMethodError, "Did you mean 'edu'"),
        ({"method": 5}, ConfigError, "method is 5"),
        ({"keep": 1.5}, ConfigError, "keep is 1.5"),
        ({"max_tokens": -1}, ConfigError, "max_tokens is -1"),
        ({"max_tokens": "many"}, ConfigError, "max_tokens is 'many'"),
        ({"max_token": 5}, ConfigError, "Did you mean 'max_tokens'"),
        ({"options": {"unitt": "edu"}}, ConfigError, "Did you mean 'unit'"),
        ({"options": {"unit": "word"}}, ConfigError, "unit is 'word'"),
        ({"options": 3}, ConfigError, "options is 3"),
        ({"on_error": "ignore"}, ConfigError, "on_error is 'ignore'"),
        ({"title_key": 3}, ConfigError, "title_key is 3"),
        ({"drop_empty": "no"}, ConfigError, "drop_empty is 'no'"),
        ({"tokenizer": "cl200k"}, ConfigError, "unknown tokenizer 'cl200k'"),
        ({"budget_includes_metadata": True, "drop_empty": False}, ConfigError, "drop_empty=False"),
    ],
)
def test_wrong_settings_are_refused_at_construction(
    settings: dict[str, Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words) as caught:
        SqueezePostprocessor(**settings)
    assert isinstance(caught.value, SqueezeError)


def test_a_method_whose_result_is_not_text_is_refused_at_construction(monkeypatch: pytest.MonkeyPatch) -> None:
    from squeeze.compressors.edu import Edu

    monkeypatch.setattr(Edu, "output", "soft")
    with pytest.raises(ConfigError, match="no text to put into a prompt"):
        SqueezePostprocessor()


def test_bad_nodes_raise_a_clear_error_and_are_not_touched() -> None:
    stage = SqueezePostprocessor(keep=0.5)
    with pytest.raises(InputError, match="node 1 is str; allowed: NodeWithScore"):
        stage.postprocess_nodes([*nodes(TEXTS[:1]), "text"], query_str=QUERY)  # type: ignore[list-item]
    empty = Document(id_="void")
    with pytest.raises(InputError, match=r"'void'.*without text"):
        stage.postprocess_nodes([NodeWithScore(node=empty)], query_str=QUERY)
    wrong = nodes(["a"])[0].node.model_copy(update={"text": 5, "id_": "w"})
    given = [*nodes(), NodeWithScore(node=wrong)]
    before = [item.node.metadata for item in given]
    with pytest.raises(InputError, match=r"'w'.*int; allowed: str"):
        stage.postprocess_nodes(given, query_str=QUERY)
    assert [item.node.metadata for item in given] == before and wrong.text == 5
    with pytest.raises(ValueError, match="both"):
        stage.postprocess_nodes(nodes(), query_bundle=QueryBundle(QUERY), query_str=QUERY)


def test_passing_through_tells_the_error_in_metadata_and_event() -> None:
    given = nodes(metadata={"source": "a.md"})
    stage = SqueezePostprocessor(keep=0.3, on_error="passthrough", options={"scorer": failing})
    with listening() as (events, _):
        out = stage.postprocess_nodes(given, query_str=QUERY)
    assert [item.node.text for item in out] == TEXTS and [item.score for item in out] == [i.score for i in given]
    note = {"method": "edu", "error": "RuntimeError: the scorer fell over"}
    assert all(item.node.metadata == {"source": "a.md", "squeeze": note} for item in out)
    assert all("squeeze" not in item.node.metadata for item in given)
    assert events.names() == ["CompressStartEvent", "CompressEndEvent"]
    assert events.seen[1].account["error"] == note["error"]
    bad = stage.postprocess_nodes([NodeWithScore(node=Document(id_="void"))], query_str=QUERY)
    assert "without text" in bad[0].node.metadata["squeeze"]["error"]


def test_one_start_and_one_end_event_inside_the_span() -> None:
    with listening() as (events, spans):
        SqueezePostprocessor(keep=0.3).postprocess_nodes(nodes(), query_str=QUERY)
    assert events.names() == ["CompressStartEvent", "CompressEndEvent"]
    start, end = events.seen
    (span,) = spans.completed_spans
    assert span.id_.startswith("SqueezePostprocessor._postprocess_nodes-")
    assert start.span_id == end.span_id == span.id_
    assert start.query == QUERY and start.method == "edu" and len(start.nodes) == 3
    assert end.account["tokens_after"] < end.account["tokens_before"] and end.account["error"] is None
    json.dumps(end.account)


def test_a_failure_is_visible_and_closes_its_span() -> None:
    stage = SqueezePostprocessor(keep=0.3, options={"scorer": failing})
    for call in (stage.postprocess_nodes, lambda *a, **k: asyncio.run(stage.apostprocess_nodes(*a, **k))):
        with listening() as (events, spans), pytest.raises(RuntimeError, match="fell over"):
            call(nodes(), query_str=QUERY)
        assert events.names() == ["CompressStartEvent", "CompressErrorEvent", "SpanDropEvent"]
        assert events.seen[1].error == "RuntimeError: the scorer fell over"
        assert not spans.completed_spans and len(spans.dropped_spans) == 1


def test_the_asynchronous_call_has_one_span_with_its_events() -> None:
    with listening() as (events, spans):
        asyncio.run(SqueezePostprocessor(keep=0.3).apostprocess_nodes(nodes(), query_str=QUERY))
    (span,) = spans.completed_spans
    assert span.id_.startswith("SqueezePostprocessor._apostprocess_nodes-")
    assert [event.span_id for event in events.seen] == [span.id_, span.id_]


class Legacy(BaseCallbackHandler):
    def __init__(self) -> None:
        super().__init__([], [])
        self.seen: list[tuple[str, CBEventType, dict[str, Any]]] = []

    def on_event_start(self, event_type: CBEventType, payload: Any = None, event_id: str = "", **kw: Any) -> str:
        self.seen.append(("start", event_type, payload))
        return event_id

    def on_event_end(self, event_type: CBEventType, payload: Any = None, event_id: str = "", **kw: Any) -> None:
        self.seen.append(("end", event_type, payload))

    def start_trace(self, trace_id: str | None = None) -> None: ...

    def end_trace(self, trace_id: str | None = None, trace_map: Any = None) -> None: ...


def test_legacy_callbacks_see_a_reranking() -> None:
    handler = Legacy()
    stage = SqueezePostprocessor(keep=0.3)
    stage.callback_manager = CallbackManager([handler])
    out = stage.postprocess_nodes(nodes(), query_str=QUERY)
    (first, kind, before), (last, _, after) = handler.seen
    assert (first, last, kind) == ("start", "end", CBEventType.RERANKING)
    assert before[EventPayload.QUERY_STR] == QUERY and len(before[EventPayload.NODES]) == 3
    assert after[EventPayload.NODES] == out and after[EventPayload.ADDITIONAL_KWARGS]["passages_kept"] == len(out)
    handler.seen.clear()
    broken = SqueezePostprocessor(keep=0.3, options={"scorer": failing}, callback_manager=stage.callback_manager)
    with pytest.raises(RuntimeError):
        broken.postprocess_nodes(nodes(), query_str=QUERY)
    assert [which for which, _, _ in handler.seen] == ["start", "end"]
    assert isinstance(handler.seen[1][2][EventPayload.EXCEPTION], RuntimeError)


def test_saved_forms_give_the_same_stage() -> None:
    stage = SqueezePostprocessor(
        method="passages", max_tokens=20, keep=0.8, on_error="passthrough", title_key="name", options={"gap": "[..]"}
    )
    expected = [item.node.text for item in stage.postprocess_nodes(nodes(), query_str=QUERY)]
    saved = json.loads(json.dumps(stage.to_dict()))
    assert saved["class_name"] == "SqueezePostprocessor"
    twins = [
        SqueezePostprocessor.from_dict(saved),
        SqueezePostprocessor.from_json(stage.to_json()),
        pickle.loads(pickle.dumps(stage)),
        copy.deepcopy(stage),
        stage.model_copy(),
    ]
    for twin in twins:
        assert twin.to_dict() == stage.to_dict()
        assert [item.node.text for item in twin.postprocess_nodes(nodes(), query_str=QUERY)] == expected
    tighter = stage.model_copy(update={"max_tokens": 0})
    assert tighter.postprocess_nodes(nodes(), query_str=QUERY) == []


def test_a_setting_that_cannot_be_pickled_is_not_dropped_silently() -> None:
    with pytest.raises(ConfigError, match="options cannot be pickled"):
        pickle.dumps(SqueezePostprocessor(options={"scorer": lambda texts, query: [0.5] * len(texts)}))


def test_a_lossless_dictionary_reaches_the_prompt() -> None:
    if "lossless" not in squeeze.available():
        pytest.skip("no lossless method")
    line = "INFO station Skerryvore lens rotates at nine revolutions per minute on mercury bath number "
    texts = ["\n".join(line + str(i) for i in range(9)), "\n".join(line + str(i) for i in range(9, 15)), "Short."]
    result = squeeze.compress(texts, method="lossless")
    assert result.tokens_after < result.tokens_before
    out = SqueezePostprocessor(method="lossless").postprocess_nodes(nodes(texts))
    assert "\n\n".join(item.node.text for item in out) == result.text


def test_overlapping_asynchronous_calls_give_the_same_and_leave_the_loop_alive() -> None:
    stage = SqueezePostprocessor(keep=0.5, options={"scorer": slow})
    batches = [nodes([f"Unit {i} is red. Unit {i} is hot. Unit {i} leaks."]) for i in range(4)]

    async def main() -> tuple[list[list[NodeWithScore]], int]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.01)

        task = asyncio.create_task(tick())
        out = await asyncio.gather(*(stage.apostprocess_nodes(batch, query_str="leaks") for batch in batches))
        task.cancel()
        return list(out), ticks

    out, ticks = asyncio.run(main())
    alone = [stage.postprocess_nodes(batch, query_str="leaks") for batch in batches]
    assert [[i.node.text for i in items] for items in out] == [[i.node.text for i in items] for items in alone]
    assert all("leaks" in items[0].node.text for items in out)
    assert ticks >= 15


def test_thirty_two_asynchronous_calls_give_the_sequential_results() -> None:
    stage = SqueezePostprocessor(keep=0.4)
    queries = [f"{word} {number}?" for number in range(8) for word in ("valve", "pump", "boiler", "oil")]

    async def main() -> list[list[NodeWithScore]]:
        return list(await asyncio.gather(*(stage.apostprocess_nodes(nodes(), query_str=query) for query in queries)))

    sequential = [stage.postprocess_nodes(nodes(), query_str=query) for query in queries]
    for one, other in zip(asyncio.run(main()), sequential, strict=True):
        assert [item.to_dict() for item in one] == [item.to_dict() for item in other]
