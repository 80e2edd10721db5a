"""Nodes, scorers and listeners that several test files use."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.span_handlers import SimpleSpanHandler
from llama_index.core.schema import (
    NodeWithScore,
    TextNode,
)

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
