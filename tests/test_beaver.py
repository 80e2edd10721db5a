"""Pages, static tables and what is kept by them."""

from __future__ import annotations

import json
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import squeeze
from conftest import byte_tokenizer, words
from squeeze import Passage
from squeeze.errors import ConfigError, CorruptError
from squeeze.pages import inverse_frequency, lexical_scores, page_ends, paginate, spread
from squeeze.score.words import terms_of
from squeeze.static_table import StaticTable, token_starts
from squeeze.tokens import load_tokenizer

ESTIMATE = load_tokenizer("estimate")
TEXT = (
    "The harbour opened early. Ships came and went all day. "
    + "Nothing of note was written down on that long day. " * 12
    + "The boiler burst at nine bar. "
    + "Men carried coal and water to and fro. " * 12
    + "In the evening the gate was shut."
)


def floats(path: Path, rows: int = 280, width: int = 8) -> Path:
    """A `.npy` table of random rows."""
    np.save(path, np.random.default_rng(0).normal(size=(rows, width)).astype(np.float32))
    return path


def model_folder(folder: Path, kind: str = "F32", name: str = "model.embed_tokens.weight") -> Path:
    """A folder like a Hugging Face model's: tokenizer and weights, written byte by byte."""
    folder.mkdir(exist_ok=True)
    byte_tokenizer().save(str(folder / "tokenizer.json"))  # type: ignore[attr-defined]
    rows = np.random.default_rng(0).normal(size=(280, 8)).astype("<f4")
    data = rows.tobytes() if kind == "F32" else rows.astype("<f2").tobytes()
    if kind == "BF16":
        data = (rows.view("<u4") >> 16).astype("<u2").tobytes()
    other = b"\0" * 8
    header = {
        "__metadata__": {"format": "pt"},
        "lm_head.weight": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]},
        name: {"dtype": kind, "shape": [280, 8], "data_offsets": [8, 8 + len(data)]},
    }
    raw = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(raw)) + raw + other + data)
    return folder


class TestPages:
    @given(st.text(alphabet="ab \n", max_size=200), st.integers(1, 9))
    def test_pages_tile_the_tokens(self, text: str, size: int) -> None:
        starts = np.array([place for place, char in enumerate(text) if not char.isspace()], dtype=np.int64)
        ends = page_ends(text, starts, size)
        assert ends == sorted(set(ends)) and (not ends or ends[-1] == len(starts))
        assert all(0 < stop - start <= size for start, stop in zip([0, *ends], ends, strict=False))

    def test_lines_are_packed_and_long_ones_cut(self) -> None:
        text = "a b\nc d\ne f g h i j k l m\nn"
        starts = np.array([place for place, char in enumerate(text) if char not in " \n"], dtype=np.int64)
        # lines of 2, 2, 9 and 1 tokens: two fill a page; the long one gives two pages, and its rest takes in the last
        assert page_ends(text, starts, 4) == [4, 8, 12, 14]

    def test_no_page_spans_two_passages(self) -> None:
        pages = paginate((Passage("One two."), Passage(""), Passage("Three. " * 50)), 16, ESTIMATE, None)
        assert set(pages.passage.tolist()) == {0, 2} and pages.sizes.max() <= 16
        assert pages.start.tolist()[:2] == [0, 0] and pages.end.tolist()[-1] == len("Three. " * 50)

    @pytest.mark.parametrize("text", ["plain words", "装置は停止した。弁", "👩‍👩‍👧 ñ é\r\n", "a\ud83db", ""])
    def test_offsets_of_tokens(self, text: str) -> None:
        import tiktoken

        encoding = tiktoken.Encoding(
            "t", pat_str=r"\w+|\W+", mergeable_ranks={bytes([i]): i for i in range(256)}, special_tokens={}
        )
        for tokenizer in (encoding, byte_tokenizer()):
            counter = load_tokenizer(tokenizer)
            found = token_starts(counter, text)
            assert found is not None
            ids, starts = found
            assert ids.tolist() == counter.encode(text) and len(starts) == len(ids)
            assert (np.diff(starts) >= 0).all() and all(0 <= start < len(text) for start in starts)
        assert token_starts(ESTIMATE, text) is None

    def test_rare_words_weigh_more(self) -> None:
        weights = inverse_frequency(np.array([0, 1, 10, 100]), 1000)
        assert (np.diff(weights) < 0).all() and weights[-1] > 0 and weights[0] <= 1.00001

    def test_scores_that_are_all_equal_are_defined(self) -> None:
        assert spread(np.array([3.0, 3.0])).tolist() == [1.0, 1.0] and spread(np.zeros(2)).tolist() == [0.0, 0.0]
        assert spread(np.array([1.0, 3.0, 2.0])).tolist() == [0.0, 1.0, 0.5] and spread(np.zeros(0)).tolist() == []

    def test_a_word_counts_once_on_a_page_and_titles_count(self) -> None:
        passages = (Passage("oil oil oil oil"), Passage("oil lamp"), Passage("none", title="Lamp"))
        pages = paginate(passages, 16, ESTIMATE, None)
        scores, share = lexical_scores(pages, passages, "oil lamp")
        assert scores[1] > scores[0] > 0 and scores[2] > 0 and share == pytest.approx(1.0)
        assert terms_of("oil") == ("oil",)


class TestChoice:
    def test_the_page_with_the_words_is_kept_with_opening_and_close(self) -> None:
        result = squeeze.compress(TEXT, "when did the boiler burst?", method="beaver", max_tokens=90, page_tokens=16)
        assert "The boiler burst at nine bar." in result.text
        assert "The harbour opened early." in result.text and "gate was shut." in result.text

    def test_opening_and_close_take_a_tenth_each_at_most(self) -> None:
        compressor = squeeze.load("beaver", anchors=50, flow=50, tokenizer=words)
        texts = [f"Word {i} fills a line." for i in range(100)]
        result = compressor.compress([*texts[:50], "The boiler burst.", *texts[50:]], "boiler", budget=200)
        kept = sorted(result.texts())
        assert {0, 1, 2, 3, 97, 98, 99, 100, 50} <= set(kept)
        assert kept.index(50) - kept.index(3) < 40
        none = squeeze.load("beaver", anchors=0, flow=0, tokenizer=words)
        assert none.compress([*texts, "The boiler burst."], "boiler", budget=5).text == "The boiler burst."

    @pytest.mark.parametrize(
        ("text", "query"),
        [
            ("装置は停止した。弁は閉じている。圧力は四十バールです。灯台は古い。", "弁"),
            ("यह दीपक पुराना है। वाल्व बंद है। पानी ठंडा है।", "वाल्व"),
            ("المصباح قديم. الصمام مغلق؟ الماء بارد.", "الصمام"),
        ],
    )
    def test_pages_end_at_sentence_ends_of_other_scripts(self, text: str, query: str) -> None:
        result = squeeze.compress(text, query, method="beaver", keep=0.5, page_tokens=8)
        assert query in result.text
        assert all(text[end - 1] in "。।.؟" for _, end in result.spans(0))

    def test_without_a_query_and_without_a_match(self) -> None:
        assert squeeze.compress(TEXT, method="beaver", max_tokens=30).tokens_after <= 30
        result = squeeze.compress(TEXT, "zeppelin", method="beaver", max_tokens=30)
        assert [notice.code for notice in result.warnings] == ["no_overlap"]

    def test_a_query_longer_than_everything(self) -> None:
        result = squeeze.compress(TEXT, "boiler " + "and many further words " * 500, method="beaver", max_tokens=30)
        assert 0 < result.tokens_after <= 30

    @pytest.mark.parametrize("texts", [[], [""], ["   "], ["One is red."], ["same. " * 50] * 3])
    def test_small_and_equal_inputs(self, texts: list[str]) -> None:
        for limit in (0, 1, 5):
            assert squeeze.compress(texts, "red", method="beaver", max_tokens=limit).tokens_after <= limit

    @pytest.mark.parametrize(
        ("option", "value"),
        [
            ("page_tokens", 4),
            ("page_tokens", 64.0),
            ("anchors", -1),
            ("flow", True),
            ("gamma", 1.5),
            ("semantic", float("nan")),
            ("table", "/no/such/table.npy"),
        ],
    )
    def test_options_are_checked(self, option: str, value: Any) -> None:
        with pytest.raises(ConfigError, match=option):
            squeeze.load("beaver", **{option: value})


class TestTable:
    @pytest.mark.parametrize("kind", ["F32", "F16", "BF16"])
    @pytest.mark.parametrize("name", ["model.embed_tokens.weight", "transformer.wte.weight"])
    def test_a_folder_is_read_lazily(self, tmp_path: Path, kind: str, name: str) -> None:
        table = StaticTable(model_folder(tmp_path / "m", kind, name), ESTIMATE)
        expected = np.random.default_rng(0).normal(size=(280, 8))
        assert table.shape == (280, 8)
        assert np.allclose(table.rows([3, 279]), expected[[3, 279]], atol=0.02)
        assert np.array_equal(pickle.loads(pickle.dumps(table)).rows([7]), table.rows([7]))

    def test_several_files(self, tmp_path: Path) -> None:
        folder = model_folder(tmp_path / "m")
        (folder / "model.safetensors").rename(folder / "model-00002-of-00002.safetensors")
        index = {"weight_map": {"model.embed_tokens.weight": "model-00002-of-00002.safetensors", "x": "missing"}}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
        assert StaticTable(folder, ESTIMATE).shape == (280, 8)

    def test_embeddings_find_what_words_do_not(self, tmp_path: Path) -> None:
        rows = np.random.default_rng(1).normal(size=(280, 16)).astype(np.float32)
        tokenizer = byte_tokenizer()
        a, b = (load_tokenizer(tokenizer).encode(char)[0] for char in "qz")
        rows[b] = rows[a]  # the letters q and z mean the same
        np.save(tmp_path / "t.npy", rows)
        texts = ["aaaa bbbb aaaa cccc", "zzzz zzzz zzzz zzzz", "dddd eeee dddd eeee"]
        compressor = squeeze.load("beaver", tokenizer=tokenizer, table=str(tmp_path / "t.npy"), anchors=0, flow=0)
        result = compressor.compress(texts, "qqqqq", budget=20)
        assert result.text == "zzzz zzzz zzzz zzzz"
        again = pickle.loads(pickle.dumps(compressor)).compress(texts, "qqqqq", budget=20)
        assert again.parts == result.parts

    def test_a_short_query_is_one_vector(self, tmp_path: Path) -> None:
        compressor = squeeze.load("beaver", tokenizer=byte_tokenizer(), table=floats(tmp_path / "t.npy"))
        for query in ("a", "abc", "abcd", "\x00"):
            assert compressor.compress([TEXT], query, budget=60).tokens_after <= 60

    @pytest.mark.parametrize(
        "array", [np.zeros(280), np.zeros((280, 0)), np.zeros((280, 8), dtype=int), np.zeros((2, 280, 8))]
    )
    def test_a_table_of_the_wrong_width_is_named(self, tmp_path: Path, array: np.ndarray) -> None:
        np.save(tmp_path / "t.npy", array)
        with pytest.raises(CorruptError, match="tokens, width"):
            squeeze.load("beaver", tokenizer=byte_tokenizer(), table=tmp_path / "t.npy")

    def test_a_table_of_another_tokenizer_is_named(self, tmp_path: Path) -> None:
        compressor = squeeze.load("beaver", tokenizer=byte_tokenizer(), table=floats(tmp_path / "t.npy", rows=20))
        with pytest.raises(ConfigError, match="20 rows"):
            compressor.compress([TEXT], "boiler", budget=40)
        with pytest.raises(ConfigError, match="no token ids"):
            squeeze.load("beaver", table=floats(tmp_path / "t.npy"))
        with pytest.raises(ConfigError, match="no token ids"):
            squeeze.load("beaver", table=floats(tmp_path / "t.npy"), tokenizer=words)

    def test_damaged_files_are_named(self, tmp_path: Path) -> None:
        folder = model_folder(tmp_path / "m")
        file = folder / "model.safetensors"
        whole = file.read_bytes()
        for damaged in (b"", b"PK\x03\x04 a pickle", whole[:20], struct.pack("<Q", 2**60) + whole[8:], whole[:-4000]):
            file.write_bytes(damaged)
            with pytest.raises(CorruptError):
                StaticTable(folder, ESTIMATE)
        file.unlink()
        with pytest.raises(ConfigError, match="input embeddings"):
            StaticTable(folder, ESTIMATE)
        (tmp_path / "t.npy").write_bytes(b"\x93NUMPY nothing")
        with pytest.raises(CorruptError, match="does not read"):
            squeeze.load("beaver", tokenizer=byte_tokenizer(), table=tmp_path / "t.npy")

    def test_numbers_that_are_not_finite_are_named(self, tmp_path: Path) -> None:
        np.save(tmp_path / "t.npy", np.full((280, 4), np.nan, dtype=np.float32))
        compressor = squeeze.load("beaver", tokenizer=byte_tokenizer(), table=tmp_path / "t.npy")
        with pytest.raises(CorruptError, match="finite"):
            compressor.compress([TEXT], "boiler", budget=40)


def test_long_contexts_are_built_and_judged() -> None:
    from squeeze.bench.long import contexts, fold, plain_bm25, survived

    rows = [
        {
            "question": f"What colour is pump {i}?",
            "answers": [f"colour-{i}"],
            "documents": [
                {"id": f"{i}", "text": f"Pump {i} is colour-{i}. It runs.", "is_gold": True},
                {"id": "x", "text": "Paint dries slowly. " * 20, "is_gold": False},
            ],
            "extra": {"answer_in_gold": True, "non_gold_with_answer": int(i == 1)},
        }
        for i in range(6)
    ]
    found = list(contexts(rows, 180, words))
    assert [len(context.questions) for context in found] == [2, 3]  # the second row cannot be judged
    assert found[0].questions[1].gold == {4} and fold("Colour-1.") == "colour 1"
    for context in found:
        for asked in context.questions:
            assert survived(plain_bm25(context.passages, asked.query, 30, words), asked)
            assert not survived([(1, context.passages[1].text)], asked)
    assert plain_bm25([], "x", 5, words) == []
