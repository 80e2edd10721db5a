from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.types import Command

import squeeze
from langchain_squeeze import SqueezeCompressor, SqueezeMiddleware
from squeeze.errors import ConfigError

TEXT = (
    "The valve opens at 40 degrees. Paint is blue. The crate weighs 9 kg. Lunch is at noon. "
    "The hall is swept on Fridays. Nobody has seen the key of the boiler room."
)
QUERY = "When does the valve open?"


def request(name: str = "search", state: Any = None) -> ToolCallRequest:
    messages = [HumanMessage("hello"), AIMessage("yes?"), HumanMessage(QUERY), AIMessage("let me see")]
    call = {"name": name, "args": {}, "id": "c1", "type": "tool_call"}
    state = {"messages": messages} if state is None else state
    return ToolCallRequest(tool_call=call, tool=None, state=state, runtime=None)  # type: ignore[arg-type]


def wrap(middleware: SqueezeMiddleware, message: Any, asked: ToolCallRequest | None = None) -> Any:
    asked = asked or request()

    async def ahandler(_: ToolCallRequest) -> Any:
        return message

    out = middleware.wrap_tool_call(asked, lambda _: message)
    again = asyncio.run(middleware.awrap_tool_call(asked, ahandler))
    assert again == out
    return out


def test_the_output_is_shortened_for_the_latest_message_of_the_user() -> None:
    message = ToolMessage(TEXT, tool_call_id="c1", id="m1", name="search", artifact=[1])
    expected = squeeze.compress([TEXT], QUERY, max_tokens=12)
    states = [None, request().state["messages"], type("State", (), {"messages": request().state["messages"]})()]
    for state in states:
        out = wrap(SqueezeMiddleware(max_tokens=12), message, request(state=state))
        assert out.content == expected.text and (out.id, out.tool_call_id, out.artifact) == ("m1", "c1", [1])
        assert out.response_metadata["squeeze"][0]["spans"] == [list(span) for span in expected.spans(0)]
    assert message.content == TEXT and message.response_metadata == {}
    nobody = wrap(SqueezeMiddleware(max_tokens=12), message, request(state={"messages": []}))
    assert nobody.content == squeeze.compress([TEXT], None, max_tokens=12).text


def test_blocks_keep_their_places() -> None:
    image = {"type": "image", "url": "https://example.org/a.png"}
    message = ToolMessage(
        [{"type": "text", "text": "Lunch is at noon.", "id": "b"}, image, TEXT], tool_call_id="c1", name="search"
    )
    out = wrap(SqueezeMiddleware(SqueezeCompressor(max_tokens=12)), message)
    kept = squeeze.compress(["Lunch is at noon.", TEXT], QUERY, max_tokens=12).texts()
    assert out.content == [{"type": "text", "text": kept.get(0, ""), "id": "b"}, image, kept[1]]


def test_what_is_not_for_it_passes_through() -> None:
    only = SqueezeMiddleware(max_tokens=5, only=["search"])
    other = ToolMessage(TEXT, tool_call_id="c1", name="calculate")
    assert wrap(only, other, request("calculate")) is other
    failed = ToolMessage(TEXT, tool_call_id="c1", status="error")
    command: Command[Any] = Command(goto="end")
    picture = ToolMessage([{"type": "image", "url": "https://example.org/a.png"}], tool_call_id="c1")
    for message in (failed, command, picture):
        assert wrap(only, message) is message


def test_wrong_settings_are_refused_at_construction() -> None:
    with pytest.raises(ConfigError, match="there is no setting 'ratio'"):
        SqueezeMiddleware(ratio=0.5)
    with pytest.raises(ConfigError, match="only is 'search'"):
        SqueezeMiddleware(only="search")
    with pytest.raises(ConfigError, match="compressor and keep are both given"):
        SqueezeMiddleware(SqueezeCompressor(), keep=0.5)


def test_importing_the_package_does_not_import_agents() -> None:
    code = "import sys, langchain_squeeze; sys.exit('langchain' in sys.modules or 'langgraph' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_the_extra_the_error_is_the_line_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    import langchain_squeeze

    monkeypatch.delitem(sys.modules, "langchain_squeeze.middleware")
    monkeypatch.setitem(sys.modules, "langchain.agents.middleware", None)
    with pytest.raises(squeeze.errors.MissingDependencyError, match=r'pip install "langchain-squeeze\[agents\]"'):
        _ = langchain_squeeze.SqueezeMiddleware
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = langchain_squeeze.Nothing
