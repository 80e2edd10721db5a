from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from by_hand import result_of
from squeeze.errors import CorruptError, InputError
from squeeze.serial import from_dict, to_dict
from squeeze.types import Compressed, Notice, Passage, SoftPart, TextPart

LAMP = Passage("The lamp burned oil. It was cleaned daily.", "Lamps", "a/1", {"page": 3, "tags": ["x", None]}, 4)


def small(**changes: Any) -> Compressed:
    return result_of(
        [LAMP, "Fog hid it."], [(0, 0, 21, 0.75, True), (0, 21, 42, 0.1, False), (1, 0, 11, 0.5, True)], **changes
    )


def through_json(result: Compressed) -> Compressed:
    return from_dict(json.loads(json.dumps(to_dict(result), allow_nan=False)))


def fields(result: Compressed) -> tuple[Any, ...]:
    return tuple(getattr(result, name) for name in Compressed.__slots__)


def test_everything_comes_back() -> None:
    notices = (Notice("no_overlap", "nothing shared"), Notice("unit_cut", "cut", 1))
    result = small(query="what burned?", warnings=notices, coding={"words": ["a", "b"], "n": 2})
    assert fields(through_json(result)) == fields(result)
    assert fields(Compressed.from_dict(result.to_dict())) == fields(result)
    assert through_json(result).text == result.text


def test_coded_parts_come_back() -> None:
    part = TextPart(0, 0, 42, "@1 burned oil", "@1=The lamp\n", ((0, 21), (21, 42)))
    assert through_json(small(parts=(part,))).parts == (part,)


@given(
    st.text(st.characters(), max_size=30), st.text(st.characters(), max_size=5), st.none() | st.text(st.characters())
)
def test_any_text_comes_back(text: str, title: str, query: str | None) -> None:
    result = result_of([Passage(text, title)], [(0, 0, len(text), 0.5, True)], query=query)
    back = through_json(result)
    assert fields(back) == fields(result)


def test_surrogates_come_back() -> None:
    for text in ("a\ud800b", "\ud83d\ude00", "\x00\r\n\ufeff\u200d"):
        result = result_of([text], [(0, 0, len(text), 1.0, True)], query=text)
        assert fields(through_json(result)) == fields(result)


def test_numpy_scalars_become_plain_numbers() -> None:
    unit = small().all_units[0]
    unit = type(unit)(0, np.int64(0), np.int64(21), np.int64(4), np.float32(0.5), np.bool_(True), "score")  # type: ignore[arg-type]
    back = through_json(small(all_units=(unit,), tokens_before=np.int64(9)))
    assert back.all_units[0].score == 0.5
    assert type(back.all_units[0].start) is int


@pytest.mark.parametrize("value", [object(), {1: "x"}, float("nan"), b"bytes", {1, 2}])
def test_metadata_that_json_cannot_hold_is_named(value: Any) -> None:
    with pytest.raises(InputError, match=r"passages\[0\]\.metadata\['deep'\]\[0\]"):
        to_dict(result_of([Passage("x", metadata={"deep": [value]})], []))


def damaged(path: list[Any], value: Any) -> dict[str, Any]:
    data = copy.deepcopy(json.loads(json.dumps(to_dict(small(query="q", warnings=(Notice("unit_cut", "cut", 1),))))))
    place: Any = data
    for step in path[:-1]:
        place = place[step]
    if value is KeyError:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        (["format"], "other", "format"),
        (["version"], 99, "version"),
        (["version"], None, "version"),
        (["method"], KeyError, "method is missing"),
        (["method"], 3, "method"),
        (["query"], 3, "query"),
        (["tokens_before"], -1, "tokens_before"),
        (["tokens_after"], 1.5, "tokens_after"),
        (["tokens_after"], True, "tokens_after"),
        (["seconds"], float("inf"), "seconds"),
        (["passages"], {}, "passages"),
        (["passages", 0], "text", r"passages\[0\]"),
        (["passages", 0, "text"], None, r"passages\[0\]\.text"),
        (["passages", 0, "text"], {"utf8": "!"}, r"passages\[0\]\.text is not base64"),
        (["passages", 0, "text"], {"utf8": "/w=="}, r"passages\[0\]\.text\.utf8 is not UTF-8"),
        (["passages", 0, "text"], {"other": "x"}, r"passages\[0\]\.text"),
        (["passages", 0, "overhead"], -2, r"passages\[0\]\.overhead"),
        (["passages", 0, "metadata"], [], r"passages\[0\]\.metadata"),
        (["parts", 0, "type"], "sound", r"parts\[0\]\.type"),
        (["parts", 0, "passage"], 2, r"parts\[0\]\.passage"),
        (["parts", 0, "end"], 400, r"parts\[0\]\.end"),
        (["parts", 0, "start"], 30, r"parts\[0\]\.start"),
        (["parts", 0, "text"], "The lamp burned gas. ", r"parts\[0\]\.text differs"),
        (["parts", 0, "lead"], None, r"parts\[0\]\.lead"),
        (["parts", 0, "sources"], [[0]], r"parts\[0\]\.sources\[0\]"),
        (["parts", 0, "sources"], [[0, 9], [5, 12]], r"parts\[0\]\.sources\[1\]"),
        (["parts", 0, "sources"], [[0, 43]], r"parts\[0\]\.sources\[0\]"),
        (["units", 0], [0, 1], r"units\[0\]"),
        (["units", 2, 0], 5, r"units\[2\]\.passage"),
        (["units", 0, 2], 43, r"units\[0\]\.end"),
        (["units", 0, 4], 1.5, r"units\[0\]\.score"),
        (["units", 0, 5], 1, r"units\[0\]\.kept"),
        (["warnings", 0, "code"], "odd", r"warnings\[0\]\.code"),
        (["warnings", 0, "passage"], 7, r"warnings\[0\]\.passage"),
        (["coding"], [1], "coding"),
        (["coding"], {"a": float("nan")}, r"coding\['a'\]"),
    ],
)
def test_a_damaged_field_is_named(path: list[Any], value: Any, named: str) -> None:
    with pytest.raises(CorruptError, match=f"^{named}"):
        from_dict(damaged(path, value))


@pytest.mark.parametrize("data", [None, [], "x", {}])
def test_what_is_no_result_is_refused(data: Any) -> None:
    with pytest.raises(CorruptError):
        from_dict(data)


class TestVectors:
    def soft(self, vectors: Any) -> Compressed:
        return small(parts=(SoftPart(0, 0, 21, vectors, "model@1", "\n\n"),))

    def test_arrays_come_back(self) -> None:
        pytest.importorskip("safetensors")
        for array in (
            np.arange(6, dtype=np.float32).reshape(2, 3),
            np.arange(6, dtype=np.float32).reshape(3, 2).T,
            np.arange(6, dtype=">f4").reshape(2, 3),
            np.zeros((0, 4), np.float16),
        ):
            part = through_json(self.soft(array)).parts[0]
            assert isinstance(part, SoftPart)
            assert (part.fingerprint, part.lead, part.spans) == ("model@1", "\n\n", ((0, 21),))
            assert part.vectors.dtype == array.dtype.newbyteorder("=")
            np.testing.assert_array_equal(part.vectors, array)

    def test_tensors_come_back(self) -> None:
        pytest.importorskip("safetensors")
        torch = pytest.importorskip("torch")
        tensor = torch.arange(6, dtype=torch.bfloat16).reshape(2, 3).T.requires_grad_()
        part = through_json(self.soft(tensor)).parts[0]
        assert part.vectors.dtype == torch.bfloat16  # type: ignore[union-attr]
        assert torch.equal(part.vectors, tensor)  # type: ignore[union-attr]

    @pytest.mark.parametrize(
        ("key", "value", "named"),
        [
            ("library", "jax", r"parts\[0\]\.vectors\.library"),
            ("safetensors", "????", r"parts\[0\]\.vectors\.safetensors is not base64"),
            ("safetensors", "AAAA", r"parts\[0\]\.vectors\.safetensors does not decode"),
        ],
    )
    def test_damaged_vectors_are_named(self, key: str, value: str, named: str) -> None:
        pytest.importorskip("safetensors")
        data = to_dict(self.soft(np.ones((2, 3), np.float32)))
        data["parts"][0]["vectors"][key] = value
        with pytest.raises(CorruptError, match=named):
            from_dict(data)

    def test_other_shapes_are_refused(self) -> None:
        pytest.importorskip("safetensors")
        with pytest.raises(CorruptError, match="has 1 axes"):
            from_dict(to_dict(self.soft(np.ones(3, np.float32))))
