"""JSON and JSON Lines: whatever is kept parses, and what is left out is said."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import squeeze
from format_tools import shown
from squeeze.segment import detect, parse
from squeeze.segment.formats._json_scan import is_json

ORDER = {
    "order_id": "#W1",
    "address": {"street": "3 Mill Lane", "city": "Austin", "zip": "78712"},
    "items": [
        {"name": f"Item {i}", "item_id": 1000 + i, "price": 10.5 + i, "options": {"size": "M", "colour": "green"}}
        for i in range(8)
    ],
    "payments": [{"type": "payment", "amount": 7.25, "method": "paypal_1"}],
    "notes": "none so far, but there may be some later on, as the order is still open and may be changed by the buyer",
}
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=90),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=30), inner, max_size=8),
    max_leaves=40,
)


@given(VALUES, st.sampled_from([None, 1, "\t"]), st.booleans(), st.data())
def test_any_subset_parses(value: object, indent: object, ascii: bool, data: st.DataObject) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii)  # type: ignore[arg-type]
    layout = parse(text, format="json")
    assert "".join(text[piece.start : piece.end] for piece in layout.pieces) == text
    kept = sorted(data.draw(st.sets(st.integers(0, len(layout.pieces) - 1), min_size=1)))
    found = json.loads(shown(text, layout, kept))
    assert type(found) is type(value)
    assert_part(found, value)
    everything = list(range(len(layout.pieces)))
    assert json.loads(shown(text, layout, everything)) == value
    assert layout.notice(everything) is None


def assert_part(found: object, value: object) -> None:
    """Every member and item of `found` stands in `value`, in the same order."""
    if isinstance(found, dict):
        assert isinstance(value, dict) and list(found) == [key for key in value if key in found]
        for key, inner in found.items():
            assert_part(inner, value[key])
    elif isinstance(found, list):
        assert isinstance(value, list) and len(found) <= len(value)
    else:
        assert found == value


@pytest.mark.parametrize("indent", [None, 2])
def test_a_record_keeps_its_name_and_its_place(indent: int | None) -> None:
    text = json.dumps(ORDER, indent=indent)
    result = squeeze.compress([text], query="what is the price of item 5?", keep=0.3)
    found = json.loads(result.text)
    assert found["order_id"] == "#W1"
    assert any(item["name"] == "Item 5" and item["price"] == 15.5 for item in found["items"])
    assert [(warning.code, warning.passage) for warning in result.warnings] == [("records_removed", 0)]
    assert "members" in result.warnings[0].message


def test_small_values_stay_whole_and_large_ones_are_opened() -> None:
    layout = parse(json.dumps(ORDER))
    kinds = [piece.kind for piece in layout.pieces]
    assert kinds.count("item") == 8
    assert kinds.count("open") == kinds.count("close") == 2
    assert not any(piece.prose for piece in layout.pieces)
    assert parse('{"a": [1, 2], "b": {"c": null}}').pieces[0].kind == "record"


def test_short_items_stand_together() -> None:
    text = json.dumps(list(range(500)))
    assert 15 < len(parse(text).pieces) < 60


def test_a_string_is_never_cut() -> None:
    text = json.dumps({"long": 'word \\ " \n ' * 200, "other": 1})
    result = squeeze.compress([text], query="word", max_tokens=20)
    assert result.text == "" or json.loads(result.text)
    assert {warning.code for warning in result.warnings} <= {"nothing_fits", "records_removed", "no_overlap"}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(ORDER, indent=1)[:-40],
        json.dumps(ORDER, indent=1)[60:],
        json.dumps(ORDER)[:-30],
        json.dumps([ORDER] * 3)[200:],
        "[" * 5000,
        '{"a": 1,}' * 40,
    ],
)
def test_torn_json_falls_back_to_lines_without_loss(text: str) -> None:
    layout = parse(text, format="json")
    assert "".join(text[piece.start : piece.end] for piece in layout.pieces) == text
    assert {piece.kind for piece in layout.pieces} == {"line"}
    assert max(piece.end - piece.start for piece in layout.pieces) <= 600


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (json.dumps(ORDER), "json"),
        ("\n  " + json.dumps(ORDER, indent=4) + "\n", "json"),
        (json.dumps(ORDER, indent=1)[100:700], "json"),
        ('{"a": 1}\n{"a": 2}\n{"a": 3}\n', "jsonl"),
        ("[1] A reference. [2]", "plain"),
        ("[citation needed]", "plain"),
        ("{curly} words and more words.", "plain"),
        ('"Quoted": that is what she said.', "plain"),
    ],
)
def test_detection(text: str, name: str) -> None:
    assert detect(text) == name


def test_numbers_of_any_length_and_nan_are_json() -> None:
    assert is_json("[" + "9" * 10_000 + ", NaN]")
    assert not is_json("[1,]") and not is_json("")


def test_json_lines_stay_whole_and_parse() -> None:
    text = "\n".join(json.dumps({"id": i, "level": "INFO", "message": f"step {i} is done"}) for i in range(40))
    result = squeeze.compress([text], query="step 31", keep=0.2)
    records = [json.loads(line) for line in result.text.splitlines()]
    assert {"id": 31, "level": "INFO", "message": "step 31 is done"} in records
    assert [warning.code for warning in result.warnings] == ["records_removed"]
    assert result.warnings[0].message.startswith(f"{40 - len(records)} of 40 ")
