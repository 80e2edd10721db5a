"""A middleware for `langchain.agents` that shortens what tools found; needs the extra `agents`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.documents import Document
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.types import Command

from langchain_squeeze.compressor import SqueezeCompressor
from squeeze.adapting import KEY
from squeeze.errors import ConfigError, nearest


class SqueezeMiddleware(AgentMiddleware[Any, Any]):
    """Shortens the text of tool messages for the latest message of the user, before the model reads it.

    A message keeps its id, its artifact and its other content; the note of what was kept goes into its
    `response_metadata` under `squeeze`. Messages that report an error, and `Command`s, pass through.

    Args of the constructor:
        compressor: does the work; without one, it is made of the other settings.
        only: names of the tools whose output is shortened; None for all of them.
        settings: the fields of `SqueezeCompressor`, when none is given.

    Raises:
        SqueezeError: when it is made, if a setting is unknown or not allowed.
    """

    def __init__(
        self, compressor: SqueezeCompressor | None = None, *, only: Collection[str] | None = None, **settings: Any
    ) -> None:
        super().__init__()
        if isinstance(only, str) or not all(isinstance(name, str) for name in only or ()):
            raise ConfigError(f"only is {only!r}; allowed: a list of names of tools, or None for all tools")
        if compressor is not None and settings:
            known = nearest(next(iter(settings)), ("compressor", "only"))
            raise ConfigError(f"compressor and {', '.join(settings)} are both given; {known}")
        made = SqueezeCompressor(**settings) if compressor is None else compressor
        self.compressor = made.model_copy(update={"drop_empty": False})  # results must match the blocks one by one
        self.only = None if only is None else frozenset(only)

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """What the tool gave, shortened."""
        message = handler(request)
        documents = self._documents(request, message)
        if not documents or not isinstance(message, ToolMessage):
            return message
        return _filled(message, self.compressor.compress_documents(documents, _question(request.state)))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """What the tool gave, shortened in squeeze's thread pool."""
        message = await handler(request)
        documents = self._documents(request, message)
        if not documents or not isinstance(message, ToolMessage):
            return message
        return _filled(message, await self.compressor.acompress_documents(documents, _question(request.state)))

    def _documents(self, request: ToolCallRequest, message: ToolMessage | Command[Any]) -> list[Document]:
        """The texts of a message that is to be shortened; none for one that is not."""
        if not isinstance(message, ToolMessage) or message.status == "error":
            return []
        if self.only is not None and request.tool_call["name"] not in self.only:
            return []
        return [Document(page_content=text) for block in _blocks(message) if (text := _text(block)) is not None]


def _blocks(message: ToolMessage) -> list[Any]:
    return [message.content] if isinstance(message.content, str) else list(message.content)


def _text(block: Any) -> str | None:
    """The text of a content block, None for a block that holds none."""
    if isinstance(block, dict) and block.get("type") == "text":
        block = block.get("text")
    return block if isinstance(block, str) else None


def _filled(message: ToolMessage, documents: list[Document]) -> ToolMessage:
    """A copy of a message with these texts in place of its own, in the same order."""
    texts = iter(documents)
    blocks = []
    for block in _blocks(message):
        if _text(block) is None:
            blocks.append(block)
            continue
        text = next(texts).page_content
        blocks.append({**block, "text": text} if isinstance(block, dict) else text)
    content = blocks[0] if isinstance(message.content, str) else blocks
    notes = [document.metadata[KEY] for document in documents]
    metadata = {**message.response_metadata, KEY: notes}
    return message.model_copy(update={"content": content, "response_metadata": metadata})


def _question(state: Any) -> str | None:
    """The latest message of the user, None when there is none."""
    messages = state if isinstance(state, list) else _field(state, "messages")
    for message in reversed(messages or []):
        if isinstance(message, HumanMessage):
            return str(message.text)
    return None


def _field(state: Any, name: str) -> Any:
    return state.get(name) if isinstance(state, dict) else getattr(state, name, None)
