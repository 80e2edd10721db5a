"""What an application sees of a call: one event at its start, one at its end or failure, and the legacy callback."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from llama_index.core.callbacks import CallbackManager, CBEventType, EventPayload
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.schema import NodeWithScore

from squeeze.adapting import Outcome

dispatcher = get_dispatcher(__name__)


class CompressStartEvent(BaseEvent):
    """A call has begun.

    Attributes:
        query: the question, or None.
        nodes: the nodes as they came from the retriever.
        method: name of the method.
    """

    query: str | None
    nodes: list[NodeWithScore]
    method: str

    @classmethod
    def class_name(cls) -> str:
        """The name that handlers and traces know the event by."""
        return "CompressStartEvent"


class CompressEndEvent(BaseEvent):
    """A call has ended and gave nodes.

    Attributes:
        nodes: the nodes that go on.
        account: method, tokens before and after, passages kept, seconds, warnings; under `error` what went wrong
            where the nodes were passed through because of it, else None.
    """

    nodes: list[NodeWithScore]
    account: dict[str, Any]

    @classmethod
    def class_name(cls) -> str:
        """The name that handlers and traces know the event by."""
        return "CompressEndEvent"


class CompressErrorEvent(BaseEvent):
    """A call has raised.

    Attributes:
        error: kind of the exception and what it says.
        account: method and error policy.
    """

    error: str
    account: dict[str, Any]

    @classmethod
    def class_name(cls) -> str:
        """The name that handlers and traces know the event by."""
        return "CompressErrorEvent"


class Call:
    """The call that `announced` has announced."""

    def __init__(self) -> None:
        self.payload: dict[str, Any] = {}

    def end(self, outcome: Outcome, nodes: list[NodeWithScore]) -> list[NodeWithScore]:
        """The nodes, with the end told; or the error raised, with the failure told."""
        account = outcome.account()
        if outcome.raises:
            dispatcher.event(CompressErrorEvent(error=str(account["error"]), account=account))
            outcome.settle()
        dispatcher.event(CompressEndEvent(nodes=nodes, account=account))
        self.payload = {EventPayload.NODES: nodes, EventPayload.ADDITIONAL_KWARGS: account}
        return nodes


@contextmanager
def announced(
    manager: CallbackManager, nodes: Sequence[NodeWithScore], query: str | None, method: str
) -> Iterator[Call]:
    """Tells that a call begins; the `Call` tells how it ended. Handlers of the legacy manager see a reranking.

    That manager knows no event for compressing, and what listens to it treats postprocessors as rerankers.
    """
    shown = [node for node in nodes if isinstance(node, NodeWithScore)]  # others are an error that is yet to be raised
    dispatcher.event(CompressStartEvent(query=query, nodes=shown, method=method))
    call = Call()
    with ExitStack() as stack:
        if manager.handlers:  # without one the manager would only pile up ids of events
            payload = {
                EventPayload.NODES: shown,
                EventPayload.MODEL_NAME: f"squeeze/{method}",
                EventPayload.QUERY_STR: query,
                EventPayload.TOP_K: len(shown),
            }
            legacy = stack.enter_context(manager.event(CBEventType.RERANKING, payload=payload))
            yield call
            legacy.on_end(payload=call.payload)
        else:
            yield call
