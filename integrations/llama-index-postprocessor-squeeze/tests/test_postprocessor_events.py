from __future__ import annotations

import asyncio
import copy
import json
import pickle
from typing import Any

import pytest
from llama_helpers import QUERY, TEXTS, failing, listening, nodes, slow
from llama_index.core.callbacks import CallbackManager, CBEventType, EventPayload
from llama_index.core.callbacks.base_handler import BaseCallbackHandler
from llama_index.core.schema import (
    Document,
    NodeWithScore,
)

import squeeze
from llama_index.postprocessor.squeeze import SqueezePostprocessor
from squeeze.errors import ConfigError


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
