"""What was left out comes back: reopening pieces, and the tool by which a model asks for them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import squeeze
from conftest import QUERY
from squeeze import Passage
from squeeze.errors import ConfigError, InputError, NotTextError, SqueezeError
from squeeze.reopening import stretches
from squeeze.tools import ExpandTool
from squeeze.types import Compressed, SoftPart, Unit


@pytest.fixture
def result(passages: list[Passage]) -> Compressed:
    return squeeze.compress(passages, QUERY, max_tokens=50)


def test_a_dropped_unit_comes_back(result: Compressed) -> None:
    dropped = [unit for unit in result.units() if not unit.kept]
    assert dropped
    for unit in dropped:
        assert result.reopen(unit) == result.passages[unit.passage].text[unit.start : unit.end]


def test_a_part_comes_back_with_what_was_left_out_around_it(result: Compressed) -> None:
    for index, part in enumerate(result.parts):
        assert result.reopen(part) == result.reopen(index)
        assert part.text in result.reopen(part)  # type: ignore[union-attr]
    lone = squeeze.compress(["The lamp is red. It burns oil. The keeper sleeps."], "oil", max_tokens=5)
    assert lone.text == "It burns oil." and lone.reopen(0) == "The lamp is red. It burns oil. The keeper sleeps."


@given(st.integers(0, 90))
def test_reopening_all_parts_gives_whole_passages(limit: int) -> None:
    texts = ["One is red. Two is blue. Three is hot. Four is cold.", "", "Five is red. Six is hot. Seven is old."]
    result = squeeze.compress(texts, "red hot", max_tokens=limit)
    for passage in result.texts():
        own = [index for index, part in enumerate(result.parts) if part.passage == passage]
        assert "".join(result.reopen(index) for index in own) == texts[passage]
    assert all(start <= end for _, start, end in stretches(result))


@pytest.mark.parametrize("wrong", [-1, 99, Unit(7, 0, 1, 1, 0.0, False, "budget"), squeeze.TextPart(0, 0, 1, "x")])
def test_pieces_that_are_not_there_are_named(result: Compressed, wrong: Any) -> None:
    with pytest.raises(ConfigError, match=r"no (part|unit)"):
        result.reopen(wrong)


@pytest.mark.parametrize("wrong", ["0", None, 1.0, True])
def test_pieces_of_a_wrong_type_are_named(result: Compressed, wrong: Any) -> None:
    with pytest.raises(InputError, match="piece is"):
        result.reopen(wrong)


def test_vectors_and_coded_parts_reopen() -> None:
    part = SoftPart(0, 0, 9, [[0.0]], "m")
    soft = Compressed((Passage("Pumps ran until noon."),), None, (part,), (), 5, 1, 0.0, "t", "m")
    assert soft.reopen(part) == soft.reopen(0) == "Pumps ran until noon."
    with pytest.raises(NotTextError):
        _ = ExpandTool(soft).text
    assert ExpandTool(soft)(0) == "Pumps ran until noon."


class TestExpandTool:
    def test_every_part_and_every_dropped_passage_has_a_number(self, result: Compressed) -> None:
        tool = ExpandTool(result)
        for number in range(len(result.parts)):
            assert f"[{number}] " in tool.text
        shown = {part.passage for part in result.parts}
        left_out = [p for at, p in enumerate(result.passages) if at not in shown and p.text]
        assert len(tool.pieces) == len(result.parts) + len(left_out)
        assert [p.title in tool.text for p in left_out] == [True] * len(left_out)
        assert tool(len(tool.pieces) - 1) == result.passages[tool.pieces[-1].passage].text

    def test_the_schema_is_plain_json(self, result: Compressed) -> None:
        schema = ExpandTool(result, name="reopen").schema
        assert json.loads(json.dumps(schema)) == schema and schema["name"] == "reopen"
        assert schema["parameters"]["properties"]["part"]["maximum"] == len(ExpandTool(result).pieces) - 1

    def test_rounds_end(self, result: Compressed) -> None:
        tool = ExpandTool(result, rounds=2)
        assert tool.call('{"part": 0}') == result.reopen(0)
        assert "reopened already" in tool.call({"part": "0"})
        assert "No rounds left" in tool(1) and tool.rounds_left == 0 and tool.opened == [0]

    @pytest.mark.parametrize("asked", ["not json", "[]", {}, {"part": -1}, {"part": 99}, {"part": True}, {"part": 0.5}])
    def test_wrong_questions_get_a_sentence(self, result: Compressed, asked: Any) -> None:
        tool = ExpandTool(result)
        assert "There is no part" in tool.call(asked) and tool.rounds_left == 4

    def test_reopened_text_has_a_limit(self, result: Compressed) -> None:
        tool = ExpandTool(result, max_tokens=3)
        assert "3 may still be reopened" in tool(0) and tool.opened == []

    def test_an_empty_result(self) -> None:
        tool = ExpandTool(squeeze.compress([]))
        assert tool.text == "" and "none" in tool(0)

    @pytest.mark.parametrize("wrong", [{"rounds": -1}, {"rounds": 1.5}, {"max_tokens": -2}, {"name": "a b"}])
    def test_wrong_settings_are_named(self, result: Compressed, wrong: dict[str, Any]) -> None:
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            ExpandTool(result, **wrong)
        with pytest.raises(ConfigError, match="result"):
            ExpandTool("text")  # type: ignore[arg-type]


def test_a_scripted_model_reopens_what_it_needs() -> None:
    texts = ["The tower was built in 1874. Its lamp burned colza oil until 1931.", "Lunch is at noon. Paint is blue."]
    result = squeeze.compress(texts, "when was the tower built?", max_tokens=9)
    assert "1931" not in result.text
    seen: list[int] = []

    def model(messages: list[dict[str, Any]], schema: dict[str, Any] | None) -> Any:
        seen.append(len(messages))
        if "1931" in messages[-1]["content"]:
            return "until 1931"
        assert schema is not None and "[0] " in messages[0]["content"]
        return {"part": 0}

    tool = ExpandTool(result, rounds=3)
    assert tool.run(model, "Until when did it burn oil?") == "until 1931"
    assert seen == [2, 4] and tool.opened == [0]


def test_a_model_that_never_answers_is_stopped() -> None:
    tool = ExpandTool(squeeze.compress(["One is red. Two is blue."], "red", max_tokens=4), rounds=2)
    asked: list[bool] = []

    def model(messages: list[dict[str, Any]], schema: dict[str, Any] | None) -> dict[str, int]:
        asked.append(schema is not None)
        return {"part": 0}

    with pytest.raises(SqueezeError, match="after its 2 rounds"):
        tool.run(model, "?")
    assert asked == [True, True, False]
