"""The readable lossless method: round trips, what pays, markers, JSON, windows, and what is refused."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import squeeze
from conftest import byte_tokenizer, overhead_words, words
from squeeze import Compressed, Passage, Pipeline
from squeeze.coding import json_table, overlap
from squeeze.coding.expander import Expander
from squeeze.coding.markers import marks
from squeeze.coding.phrases import CLOSE, INTRO, entries, spell_out
from squeeze.coding.pieces import Cut, cut, token_starts
from squeeze.coding.select import Costs, Phrase
from squeeze.coding.settle import whole_words
from squeeze.errors import BudgetError, ConfigError, CorruptError, InputError, SqueezeError
from squeeze.tokens import load_tokenizer

EXAMPLES = 20_000 if os.environ.get("SQUEEZE_MANY") else 2_000
LOG = "".join(
    f"2024-03-0{1 + i % 9} INFO server[{i}]: request to /api/v2/orders/{i * 37} took {i * 13 % 97} ms\n"
    for i in range(40)
)
ORDERS = [
    json.dumps(
        {
            "order": f"#W{i}",
            "items": [
                {"name": n, "product": f"{i}{k}", "price": k * 7.5} for k, n in enumerate(("lamp", "chair", "mug"))
            ],
            "paid": bool(i % 2),
        },
        indent=2,
    )
    for i in range(6)
]

look_alike = st.text(alphabet="§¶¤†‡※◆~^@#ab \n", max_size=60)
wild = st.one_of(
    st.text(st.characters(), max_size=60),
    look_alike,
    st.text(alphabet="ab \r\n\t\x00\x1b\u2028\ud83d\ude00é", max_size=80),
    st.sampled_from([INTRO, CLOSE, "<|endoftext|>", '{"a": [1, 2]}', "\r\n\r\n", "👩‍👩‍👧 ", LOG[:200], ORDERS[0]]),
)
repeated = st.builds(lambda text, times, between: between.join([text] * times), wild, st.integers(1, 9), look_alike)
passages = st.lists(st.one_of(wild, repeated), max_size=4)


@pytest.fixture(scope="module")
def bytewise() -> Any:
    return byte_tokenizer()


@settings(max_examples=EXAMPLES)
@given(passages)
def test_every_text_comes_back(texts: list[str]) -> None:
    result = squeeze.compress(texts, method="lossless")
    assert result.restore() == tuple(texts)
    assert result.tokens_after <= result.tokens_before


@given(texts=passages, merge=st.booleans())
@settings(max_examples=EXAMPLES // 4)
def test_every_text_comes_back_with_any_counter(bytewise: Any, texts: list[str], merge: bool) -> None:
    for counter in (words, overhead_words, bytewise):
        result = squeeze.compress(
            texts, method="lossless", tokenizer=counter, overlap="merge" if merge else "keep"
        )  # fmt: skip
        again = Compressed.from_dict(json.loads(json.dumps(result.to_dict())))
        assert result.restore() == again.restore() == tuple(texts)
        assert result.tokens_after == load_tokenizer(counter).count(result.text) if result.text else True


def test_repeats_are_said_once_and_markers_are_explained() -> None:
    result = squeeze.compress([LOG, LOG.upper()], method="lossless")
    assert result.kept < 0.6
    header = result.parts[0].lead
    assert header.startswith(INTRO) and header.endswith(CLOSE) and result.text.startswith(header)
    listed = entries(header, result.coding["marks"], result.coding["sizes"])
    for marker, phrase in listed.items():
        assert marker not in LOG + LOG.upper() and len(phrase) > 1
        assert result.text.count(marker) >= 3
    assert result.spans(0) == [(0, len(LOG))] and not result.warnings
    assert result.texts()[0] == result.parts[0].text


def test_phrases_begin_at_lines_where_that_costs_nothing() -> None:
    block = "alpha beta gamma delta\nepsilon zeta eta theta\niota kappa lambda mu\n"
    result = squeeze.compress(["omega\n" + block * 30 + "end"], method="lossless")
    (phrase,) = entries(result.parts[0].lead, result.coding["marks"], result.coding["sizes"]).values()
    assert phrase.startswith(("alpha", "epsilon", "iota")) and phrase.endswith("\n")


def test_phrases_keep_words_and_numbers_whole_where_that_is_cheap() -> None:
    pieces = ["12", "34", " is", " the", " pre", "fix", " of", ""]
    numbers = [*range(7), -1]
    other = [7, 1, 2, 3, 4, 8, 6, -2]
    whole = Cut(
        [*pieces, "56", *pieces[1:5], "cise", " of", ""] * 2,
        np.array([*numbers, *other, *numbers[:7], -3, *other[:7], -4]),
        np.array([1] * 7 + [0] + [1] * 7 + [0] + [1] * 7 + [0] + [1] * 7 + [0]),
        [*pieces[:7], "56", "cise"],
    )
    phrase = Phrase(4, (1, 9, 17, 25), 4 * 3 - 2 - 4)
    assert whole_words(whole, [phrase], Costs(entry=2)) == [phrase]  # here it would cost too much
    rest = Cut(
        whole.pieces + ["filler"] * 900,
        np.append(whole.numbers, np.arange(100, 1000)),
        np.append(whole.weights, [1] * 900),
        whole.known + ["filler"] * 1000,
    )
    (cut_down,) = whole_words(rest, [phrase], Costs(entry=2, marker=0))
    assert (cut_down.length, cut_down.starts) == (2, (2, 10, 18, 26))


def test_a_result_restores_without_the_passages() -> None:
    texts = [*ORDERS, LOG]
    result = squeeze.compress(texts, method="lossless")
    blank = replace(result, passages=tuple(Passage("") for _ in texts))
    assert blank.restore() == tuple(texts)
    data = json.loads(json.dumps(result.to_dict()))
    for passage in data["passages"]:
        passage["text"] = "?" * len(passage["text"])
    assert Compressed.from_dict(data).restore() == tuple(texts)
    assert not any(text[:80] in json.dumps(data) for text in texts)


def _edit(data: dict[str, Any], change: Callable[[dict[str, Any]], None]) -> Compressed:
    copy = json.loads(json.dumps(data))
    change(copy)
    return Compressed.from_dict(copy)


def _last_body(text: str) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        data["parts"][-1]["text"] = data["parts"][-1]["text"][:-1] + text

    return change


def _cut_lines(count: int) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        lines = data["parts"][0]["lead"].splitlines(keepends=True)
        data["parts"][0]["lead"] = "".join(lines[:-count])

    return change


def _coding(**values: Any) -> Callable[[dict[str, Any]], None]:
    return lambda data: data["coding"].update(values)


CHANGES = [
    _last_body("x"),
    _last_body(""),
    _last_body("☂"),
    _cut_lines(1),
    _cut_lines(2),
    _cut_lines(99),
    _coding(marks=[]),
    _coding(marks=["§"]),
    _coding(marks="§"),
    _coding(marks=[7]),
    _coding(sizes=[1]),
    _coding(sizes=7),
    _coding(sizes=["1"]),
    _coding(digest="0"),
    _coding(digest=None),
    _coding(json={"0": {}}),
    _coding(json={"99": {}}),
    _coding(json={"x": {}}),
    _coding(json=[1]),
    _coding(windows=[[[0], 0, 5]]),
    _coding(windows=[[[99], 0, 5]]),
    _coding(windows=7),
    _coding(windows=[7]),
    _coding(method="edu"),
    _coding(method=3),
    lambda data: data["coding"].pop("marks"),
    lambda data: data["parts"].pop(),
    lambda data: data["parts"][0].update(lead=data["parts"][0]["lead"].replace("INFO", "WARN")),
]


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_changed_is_refused(change: Callable[[dict[str, Any]], None]) -> None:
    data = squeeze.compress([LOG, *ORDERS], method="lossless").to_dict()
    with pytest.raises(CorruptError):
        _edit(data, change).restore()


def test_an_undefined_marker_and_a_missing_entry_are_named() -> None:
    header = INTRO + "§one two\n" + "¶athree four" + CLOSE
    listed = entries(header, ["§", "¶a"], [7, 10])
    assert spell_out(["§, ¶a", "", "a§"], listed) == ("one two, three four", "", "aone two")
    with pytest.raises(CorruptError, match="¶b"):
        spell_out(["§ ¶b"], listed)
    with pytest.raises(CorruptError, match="'¶'"):
        spell_out(["§ ¶"], listed)
    with pytest.raises(CorruptError, match="¶a"):
        entries(INTRO + "§one two" + CLOSE, ["§", "¶a"], [7, 10])
    with pytest.raises(CorruptError, match="cut short"):
        entries(header.removesuffix(CLOSE), ["§", "¶a"], [7, 10])
    with pytest.raises(CorruptError, match="entry of '¶a'"):
        entries(INTRO + "§\n¶aone" + CLOSE, ["§", "¶a"], [1, 4])


def test_without_gain_the_input_passes_through() -> None:
    """A note in which nothing occurs twice is what it was, in every number."""
    text = "No two words alike appear within this tiny note."
    for counter in (words, "estimate"):
        result = squeeze.compress([text], method="lossless", tokenizer=counter)
        assert result.text == text and result.restore() == (text,)
        assert result.tokens_before == result.tokens_after == load_tokenizer(counter).count(text)
        assert [notice.code for notice in result.warnings] == ["not_shorter"]
        assert result.decode_markers("§") == "§"


@pytest.mark.parametrize("unit", [" word", "7 ", "one two three four five six. "])
def test_long_runs_and_periods_nearly_vanish(unit: str) -> None:
    for count in (25_000, 50_000):
        result = squeeze.compress([unit * count], method="lossless")
        assert result.restore() == (unit * count,) and result.kept <= 0.1


@pytest.mark.parametrize(
    "text",
    ["<M0><M1> literal", "\u241e\u241f and \ue000 used by us?", INTRO + "§a\n" + CLOSE + "§", "§¶¤" * 40, "§ 1\n" * 50],
)
def test_texts_that_look_coded_come_back(text: str) -> None:
    for texts in ([text], [text, LOG], [LOG + text * 3]):
        assert squeeze.compress(texts, method="lossless").restore() == tuple(texts)


def test_where_every_marker_is_taken_nothing_is_coded() -> None:
    every = "".join(chr(c) for c in range(0x20, 0x3000)) + "".join(c for c, _ in _all_marks())
    result = squeeze.compress([(every + LOG) * 2], method="lossless", tokenizer=len)
    assert result.restore() == ((every + LOG) * 2,)


def _all_marks() -> list[tuple[str, int]]:
    found = marks(load_tokenizer(len), set(), 5_000)
    assert found is not None
    return [(mark, 1) for mark in [*found.single, *found.leads]]


def _lossy_tokenizers() -> list[Any]:
    """Tokenizers whose decoding loses spaces, line breaks, case and accents."""
    tokenizers = pytest.importorskip("tokenizers")
    models, trainers = tokenizers.models, tokenizers.trainers
    first = tokenizers.Tokenizer(models.BPE(unk_token="<unk>"))
    first.pre_tokenizer, first.decoder = tokenizers.pre_tokenizers.Metaspace(), tokenizers.decoders.Metaspace()
    source = ["two words here and there"] * 5
    first.train_from_iterator(
        source, trainers.BpeTrainer(vocab_size=120, special_tokens=["<unk>"], show_progress=False)
    )
    second = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    second.normalizer = tokenizers.normalizers.BertNormalizer()
    second.pre_tokenizer, second.decoder = tokenizers.pre_tokenizers.BertPreTokenizer(), tokenizers.decoders.WordPiece()
    second.train_from_iterator(
        source, trainers.WordPieceTrainer(vocab_size=120, special_tokens=["[UNK]"], show_progress=False)
    )
    return [first, second]


@pytest.mark.parametrize("text", ["  two lead", "x\n\ny", "Café Über", "日本 z", "a  b", "two words  here\n" * 30])
def test_a_tokenizer_that_cannot_decode_exactly_changes_nothing(text: str) -> None:
    for tokenizer in _lossy_tokenizers():
        result = squeeze.compress([text], method="lossless", tokenizer=tokenizer)
        assert result.restore() == (text,)


def test_a_counter_that_fails_is_named() -> None:
    with pytest.raises(ConfigError, match="returned"):
        squeeze.compress([LOG], method="lossless", tokenizer=lambda text: "many")


@pytest.mark.parametrize("counter", [words, overhead_words, len, "estimate", byte_tokenizer()])
def test_markers_are_cheap_free_and_never_the_beginning_of_another(counter: Any) -> None:
    avoid = set("abcdefghij ~§¶")
    for count in (1, 3, 40, 900):
        found = marks(load_tokenizer(counter), avoid, count)
        assert found is not None
        names = found.first(count)
        assert len(names) == len(set(names)) <= count and names
        assert not avoid & {name[0] for name in names}
        assert not any(b.startswith(a) for a, b in pairwise(sorted(names)))


def test_pieces_tile_the_texts_and_ends_never_repeat() -> None:
    texts = [LOG, "", "a\ud83d\ude00 é 日本", LOG]
    for counter in (words, len, "estimate", byte_tokenizer()):
        whole = cut(texts, load_tokenizer(counter))
        assert "".join(whole.pieces) == "".join(texts)
        assert len(whole.pieces) == len(whole.numbers) == len(whole.weights)
        ends = [at for at, piece in enumerate(whole.pieces) if not piece]
        assert len(ends) == len({int(whole.numbers[at]) for at in ends}) == len(texts)
    starts = token_starts(load_tokenizer(byte_tokenizer()), "aé b")
    assert starts is not None and starts.tolist() == [0, 1, 1, 2, 3]
    assert token_starts(load_tokenizer(len), "ab") is None


class TestAnswers:
    def test_markers_in_an_answer_are_spelled_out(self) -> None:
        result = squeeze.compress([LOG], method="lossless")
        listed = entries(result.parts[0].lead, result.coding["marks"], result.coding["sizes"])
        marker, phrase = next(iter(listed.items()))
        assert result.decode_markers(f"It says {marker}!") == f"It says {phrase}!"
        assert result.decode_markers(result.parts[0].text) == LOG
        assert result.decode_markers("nothing here") == "nothing here" and result.decode_markers("") == ""
        with pytest.raises(InputError, match="int"):
            result.decode_markers(7)  # type: ignore[arg-type]

    @given(st.lists(st.text(alphabet="¶§ab<M1> ", max_size=6), max_size=8))
    def test_a_stream_gives_what_the_whole_gives(self, pieces: list[str]) -> None:
        listed = {"§": "one", "¶a": "two", "¶§": "three", "<M1>": "four", "<M1a>": "five"}
        whole, stream = Expander(listed), Expander(listed)
        expected = whole.feed("".join(pieces)) + whole.flush()
        assert "".join([*map(stream.feed, pieces), stream.flush()]) == expected

    def test_a_stream_holds_back_only_what_may_be_a_marker(self) -> None:
        stream = Expander({"¶a": "two", "§": "one"})
        assert [stream.feed(piece) for piece in ("x¶", "a§", "¶", "b")] == ["x", "twoone", "", "¶b"]
        assert stream.flush() == "" and Expander({}).feed("§") == "§"

    def test_results_stream(self) -> None:
        result = squeeze.compress([LOG], method="lossless")
        assert "".join(result.decode_stream(iter(result.parts[0].text))) == LOG
        lossy = squeeze.compress([LOG], "request", max_tokens=50)
        assert "".join(lossy.decode_stream(["a", "§"])) == "a§"


class TestJson:
    @pytest.mark.parametrize(
        "text",
        [
            ORDERS[0],
            ORDERS[0] + "\n",
            "\r\n " + json.dumps([{"a": 1, "b": [1.5, None]}, {"a": 2, "b": []}]),
            json.dumps([{"é": "ü"}, {"é": "\ud83d"}], indent="\t"),
            json.dumps([{"é": "ü"}, {"é": "ö"}], ensure_ascii=False, separators=(",", ":")),
            '{"a": {"x": 1, "y": 2}}\n{"a": {"x": 3, "y": 4}}\n',
            "[]",
            "{}",
        ],
    )
    def test_layouts_come_back(self, text: str) -> None:
        found = json_table.shorten(text)
        assert found is not None
        short, layout = found
        assert json_table.lengthen(short, json.loads(json.dumps(layout))) == text
        assert len(short) <= len(text)

    def test_alike_objects_are_a_table(self) -> None:
        found = json_table.shorten('[{"name": 1, "b": "x"}, {"name": 2, "b": "y"}, {"name": 3, "b": []}]')
        assert found is not None and found[0] == '[{"columns":["name","b"]},[1,"x"],[2,"y"],[3,[]]]'

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "plain",
            "[1, 2",
            '{"a": 1, "a": 2}',
            '{"a":1, "b": 2}',
            "[1.50]",
            "[1E5]",
            '["\\/"]',
            '[{"columns": ["a"]}, [1], [2]]',
            "[" * 5000 + "]" * 5000,
            '{"a": 1}\nplain',
            "[1" + "0" * 5000 + "]",
        ],
    )
    def test_what_would_change_has_no_short_form(self, text: str) -> None:
        assert json_table.shorten(text) is None
        assert squeeze.compress([text, text], method="lossless").restore() == (text, text)

    values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=12,
    )

    @given(values, st.sampled_from([None, 1, 2, "\t"]), st.booleans())
    def test_any_json_comes_back(self, value: Any, indent: Any, ascii_only: bool) -> None:
        text = json.dumps([value, value], indent=indent, ensure_ascii=ascii_only)
        found = json_table.shorten(text)
        if found is not None:
            assert json_table.lengthen(*found) == text

    def test_records_get_shorter_and_come_back(self) -> None:
        result = squeeze.compress(ORDERS, method="lossless")
        assert set(result.coding["json"]) == set("012345") and '"columns"' in result.text
        assert result.restore() == tuple(ORDERS) and result.kept < 0.6


class TestWindows:
    source = " ".join(
        f"Sentence {chr(97 + i % 26)}{i * i} of the long report tells fact {i * 7919 % 1000}." for i in range(40)
    )

    def chunks(self, size: int = 300, step: int = 200) -> list[str]:
        return [self.source[at : at + size] for at in range(0, len(self.source) - size + step, step)]

    def test_windows_in_order_read_as_the_whole(self) -> None:
        chunks = self.chunks()
        joined = overlap.join(chunks)
        assert "".join(joined.texts) == self.source
        assert all(text and chunk.endswith(text) for text, chunk in zip(joined.texts, chunks, strict=True))
        result = squeeze.compress(chunks, method="lossless", overlap="merge")
        assert result.restore() == tuple(chunks)
        assert [result.spans(i) for i in range(len(chunks))] == [[(0, len(chunk))] for chunk in chunks]
        assert result.decode_markers("".join(part.text for part in result.parts)) == self.source
        assert all(part.lead == "" for part in result.parts[1:])

    def test_other_orders_copies_and_strangers(self) -> None:
        chunks = self.chunks()
        texts = [
            chunks[3],
            "A stranger says nothing of the kind.",
            chunks[1],
            chunks[2],
            chunks[2],
            "",
            chunks[9][40:120],
        ]
        texts += [chunks[9], "A stranger says nothing of the kind."]
        joined = overlap.join(texts)
        assert overlap.part(joined.texts, joined.windows) == tuple(texts)
        assert sum(map(len, joined.texts)) < sum(map(len, {*texts})) - 200
        result = squeeze.compress(texts, method="lossless", overlap="merge")
        assert result.restore() == tuple(texts)
        assert Compressed.from_dict(result.to_dict()).restore() == tuple(texts)

    def test_without_overlap_nothing_changes(self) -> None:
        assert overlap.join(["One text.", "Another one.", ""]).windows == ()
        assert overlap.join([]).texts == ()

    @given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 200)), max_size=8), st.sampled_from(["report", "ab"]))
    def test_any_windows_come_back(self, spans: list[tuple[int, int]], kind: str) -> None:
        source = self.source if kind == "report" else "ab" * 300
        texts = [source[start : start + size] for start, size in spans]
        joined = overlap.join(texts)
        assert overlap.part(joined.texts, joined.windows) == tuple(texts)
        assert sum(map(len, joined.texts)) <= sum(map(len, texts))

    def test_a_pipeline_may_end_with_it(self) -> None:
        stages = [squeeze.load("edu"), squeeze.load("lossless", overlap="merge")]
        result = Pipeline(stages).compress([LOG, *self.chunks()], "request to orders took how long", budget=400)
        assert result.tokens_after <= 400 and len(result.restore()) == 1 + len(self.chunks())


class TestOptions:
    def test_a_saving_too_small_passes_through(self) -> None:
        kept = squeeze.compress([LOG], method="lossless").kept
        for share in (0.0, 1 - kept - 0.01):
            assert squeeze.compress([LOG], method="lossless", min_saving=share).kept == kept
        result = squeeze.compress([LOG], method="lossless", min_saving=1 - kept + 0.01)
        assert result.text == LOG and "min_saving" in result.warnings[0].message

    def test_the_limit_comes_before_the_least_saving(self) -> None:
        whole = squeeze.compress([LOG], method="lossless")
        result = squeeze.compress([LOG], method="lossless", min_saving=1, max_tokens=whole.tokens_after)
        assert result.tokens_after == whole.tokens_after
        with pytest.raises(BudgetError) as caught:
            squeeze.compress([LOG], method="lossless", max_tokens=whole.tokens_after - 1)
        assert caught.value.reached == whole.tokens_after

    @pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), "0.1", True, None])
    def test_a_wrong_share_is_named(self, value: Any) -> None:
        with pytest.raises(ConfigError, match="min_saving"):
            squeeze.load("lossless", min_saving=value)

    def test_a_wrong_overlap_is_named(self) -> None:
        with pytest.raises(SqueezeError, match=r"overlap.*'keep' or 'merge'"):
            squeeze.load("lossless", overlap="drop")
