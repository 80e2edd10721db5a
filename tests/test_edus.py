"""Clauses: where they begin, in many languages, and which of them hang on which."""

from __future__ import annotations

import gzip
import io
import json
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from squeeze.errors import CorruptError
from squeeze.segment import edu_model
from squeeze.segment.dependence import needs, sentence_numbers
from squeeze.segment.edu_model import LearnedCutter, load_model, read_model, shipped
from squeeze.segment.edu_rules import RuleCutter, language_of
from squeeze.segment.edus import cut_sentences, cutter_for, edu_spans
from squeeze.segment.sentences import sentence_spans

ENGLISH = (
    "The council said that the bridge would stay closed because the cables had rusted. If the repairs go well, "
    "traffic will return in March. The engineer who led the survey left the company, but her report was published."
)
LANGUAGES = {
    "de": ("Der Zug kam zu spät an, weil die Strecke gesperrt war, und wir blieben in der Stadt.", ["weil", "und"]),
    "fr": ("Elle est partie parce que la pluie tombait, mais il est resté dans la maison.", ["parce", "mais"]),
    "es": ("La mujer salió de la casa porque llovía, pero el hombre se quedó en la cama.", ["porque", "pero"]),
    "it": ("Il treno è arrivato tardi perché la linea era chiusa, ma la gente non si è lamentata.", ["perché", "ma"]),
    "pt": ("O homem não saiu de casa porque chovia, mas a mulher foi para a cidade.", ["porque", "mas"]),
    "nl": ("De trein was te laat omdat het spoor dicht was, maar de mensen bleven rustig.", ["omdat", "maar"]),
    "ru": ("Он вернулся домой, потому что устал, но не смог заснуть до утра.", ["потому", "но"]),
    "zh": ("昨天晚上下了一场很大的雨，但是今天早上天气很好；我们决定去公园散步。", ["但是", "我们"]),
    "ja": ("昨日は雨が降っていたので、私は家で本を読んでいました。", ["私は"]),
    "ko": ("어제는 비가 많이 왔지만 우리는 공원에 갔습니다.", ["우리는"]),
    "ar": ("ذهب الرجل إلى السوق لأن الطعام نفد، ولكن المتجر كان مغلقا.", ["لأن", "ولكن"]),
    "hi": ("वह कल बाजार गया था, लेकिन दुकान बंद थी क्योंकि आज रविवार है।", ["लेकिन", "क्योंकि"]),
    "th": ("เขาไปตลาดเมื่อวานนี้ แต่ร้านปิดแล้ว", ["แต่"]),
}


def texts_of(text: str, spans: list[tuple[int, int]]) -> list[str]:
    return [text[start:end].strip() for start, end in spans]


def check_tiles(text: str, spans: list[tuple[int, int]]) -> None:
    assert all(start < end for start, end in spans)
    assert all(before[1] == after[0] for before, after in pairwise(spans))
    assert (spans[0][0], spans[-1][1]) == (0, len(text)) if text else spans == []


def test_english_clauses() -> None:
    pieces = texts_of(ENGLISH, edu_spans(ENGLISH))
    for piece in (
        "The council said",
        "because the cables had rusted.",
        "If the repairs go well,",
        "The engineer",
        "but her report was published.",
    ):
        assert piece in pieces
    assert isinstance(cutter_for(ENGLISH), LearnedCutter)


@pytest.mark.parametrize("language", LANGUAGES)
def test_languages_have_rules(language: str) -> None:
    text, openings = LANGUAGES[language]
    assert language_of(text) == language
    spans = edu_spans(text)
    check_tiles(text, spans)
    assert [piece for piece in texts_of(text, spans)[1:] if piece.startswith(tuple(openings))]
    assert len(spans) == len(openings) + 1


def test_unknown_language_falls_back_to_marks() -> None:
    text = "Mkutano ulifanyika jana jioni; watu wengi walikuja"
    assert language_of("12 34 --") == ""
    assert texts_of(text, [*cut_sentences(text, [(0, len(text))], cutter=RuleCutter(""))[0]]) == [
        "Mkutano ulifanyika jana jioni;",
        "watu wengi walikuja",
    ]


def test_phrases_stay_whole() -> None:
    for text in ("Bread, butter and jam.", "Brot, Butter und Käse.", "(a)", "No.", "a, b, c, d"):
        assert len(edu_spans(text)) == 1


@settings(max_examples=200, deadline=None)
@given(
    st.text(
        alphabet=st.one_of(st.characters(), st.sampled_from("aé, ;.()-—and\n\r\u0301\u200d\ud800\x00，。")), max_size=80
    )
)
def test_spans_tile_and_keep_clusters_whole(text: str) -> None:
    check_tiles(text, edu_spans(text))
    clusters = {match.start() for match in regex.finditer(r"\X", text)}
    whole = [(0, len(text))] if text else []
    for cutter in (LearnedCutter(), RuleCutter("en"), RuleCutter("zh"), RuleCutter("th"), RuleCutter("")):
        for spans in cut_sentences(text, whole, cutter=cutter):
            check_tiles(text, spans)
            for start, _ in spans[1:]:
                assert start in clusters
                assert not text[start].isspace()


def test_a_sentence_is_cut_alike_alone_and_among_others() -> None:
    sentences = sentence_spans(ENGLISH)
    together = cut_sentences(ENGLISH, sentences)
    cutter = LearnedCutter()
    for span, edus in zip(sentences, together, strict=True):
        assert cut_sentences(ENGLISH, [span], cutter=cutter) == [edus]
    assert cut_sentences(ENGLISH, sentences[1:]) == together[1:]
    assert cut_sentences(ENGLISH, [sentences[0], sentences[2]]) == [together[0], together[2]]


def test_long_texts_are_read_in_batches() -> None:
    once = cut_sentences(ENGLISH, sentence_spans(ENGLISH))
    text = " ".join([ENGLISH] * 1200)
    spans = [
        (start + copy * (len(ENGLISH) + 1), end + copy * (len(ENGLISH) + 1))
        for copy in range(1200)
        for start, end in sentence_spans(ENGLISH)
    ]
    assert [len(edus) for edus in cut_sentences(text, spans)] == [len(edus) for edus in once] * 1200


HOSTILE = (
    ("a", 300_000),
    (".", 300_000),
    (" ", 300_000),
    ("; ", 150_000),
    (" (a", 100_000),
    (", and", 60_000),
    ("the a ", 50_000),
    ("\ud800\x00, and ", 30_000),
    ("，", 300_000),
    ("because it ", 30_000),
    ("\u0301", 300_000),
    ("because ", 40_000),
)


@pytest.mark.parametrize("text", [part * times for part, times in HOSTILE], ids=[ascii(part) for part, _ in HOSTILE])
def test_any_input_ends(text: str) -> None:
    check_tiles(text, edu_spans(text))
    for cutter in (LearnedCutter(), RuleCutter("en"), RuleCutter("zh")):
        check_tiles(text, cut_sentences(text, [(0, len(text))], cutter=cutter)[0])
    assert len(needs(text, [(0, 5), (5, len(text))])) == 2


def test_a_cutter_can_be_plugged_in() -> None:
    class Halves:
        def cuts(self, text: str, spans: list[tuple[int, int]]) -> list[list[int]]:
            return [[(start + end) // 2] for start, end in spans]

    assert cut_sentences("abcdefgh", [(0, 4), (4, 8)], cutter=Halves()) == [[(0, 2), (2, 4)], [(4, 6), (6, 8)]]


def test_threads_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = edu_spans(ENGLISH)
    monkeypatch.setattr(edu_model, "_loaded", [])
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(edu_spans, [ENGLISH] * 32)) == [expected] * 32
    assert len(edu_model._loaded) == 1


def test_damaged_weights_are_named(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = edu_model._shipped_bytes()
    for broken in (b"", b"not a zip", content[: len(content) // 2], content[:2000] + b"\xff" * 400 + content[2400:]):
        with pytest.raises(CorruptError, match="weights some"):
            read_model(broken, "some")
    with np.load(io.BytesIO(content)) as archive:
        arrays = dict(archive)
    changes = (
        {"version": np.array(99)},
        {"cut": arrays["cut"][:100]},
        {"cut": arrays["cut"].astype(np.float64)},
        {"need": arrays["need"][:, :100]},
        {"words": arrays["words"][:50]},
        {"kind": arrays["kind"][:50]},
    )
    for change in changes:
        path = tmp_path / "changed.npz"
        np.savez(path, **(arrays | change))
        with pytest.raises(CorruptError, match=r"changed\.npz"):
            load_model(path)
    with pytest.raises(CorruptError, match=r"absent\.npz"):
        load_model(tmp_path / "absent.npz")
    monkeypatch.setattr(edu_model, "_loaded", [])
    monkeypatch.setattr(edu_model, "NAME", "absent.npz")
    with pytest.raises(CorruptError, match=r"absent\.npz.*reinstall"):
        edu_spans(ENGLISH)


def test_weights_are_small_and_sources_named() -> None:
    assert len(edu_model._shipped_bytes()) < 1_000_000
    assert shipped().cut.dtype == np.float32
    from importlib import resources

    sources = resources.files("squeeze").joinpath("data", "edu_en.sources.txt").read_text(encoding="utf-8")
    assert sources.count("annotations CC BY 4.0") == 84


def parts(*pieces: str) -> tuple[str, list[tuple[int, int]]]:
    text = "".join(pieces)
    ends = np.cumsum([len(piece) for piece in pieces]).tolist()
    return text, list(zip([0, *ends[:-1]], ends, strict=True))


def test_needs_in_english() -> None:
    text, spans = parts(
        "The house ", "that stood by the river ", "was sold last year. ", "The roof leaked ", "because it was old."
    )
    assert needs(text, spans)[1] == (0,)
    assert needs(text, spans)[4] == (3,)
    assert 4 not in needs(text, spans)[3]
    assert needs(text, spans)[2] == (0,)
    assert 2 in needs(text, spans)[0]


def test_needs_stay_in_the_sentence() -> None:
    text, spans = parts("He left. ", "Because of that ", "she stayed, ", "though she was tired.\n", "Which was odd.")
    assert sentence_numbers(text, spans) == [0, 1, 1, 1, 2]
    found = needs(text, spans)
    numbers = sentence_numbers(text, spans)
    assert all(numbers[other] == numbers[index] and other != index for index, row in enumerate(found) for other in row)
    assert needs(text, []) == []
    assert needs(text, spans[:1]) == [()]


def test_needs_in_other_languages() -> None:
    text, spans = parts("Der Zug kam zu spät an, ", "weil die Strecke gesperrt war, ", "und wir blieben in der Stadt.")
    assert needs(text, spans) == [(), (0,), ()]
    text, spans = parts("Wenn es morgen nicht regnet, ", "gehen wir in den Wald.")
    assert needs(text, spans) == [(1,), ()]
    text, spans = parts("昨日は雨が降っていたので、", "私は家で本を読んでいました。")
    assert needs(text, spans) == [(1,), ()]


def gold_row(**changes: object) -> dict[str, object]:
    text = "He said he would come if he could, and left. Fine."
    extra = {
        "edus": [[0, 7], [8, 21], [22, 34], [35, 44], [45, 50]],
        "sentences": [[0, 44], [45, 50]],
        "edu_relations": [
            ["1", "10", "attribution-positive"],
            ["2", "10", "span"],
            ["3", "2", "contingency-condition"],
            ["4", "12", "joint-sequence"],
            ["5", "12", "evaluation-comment"],
        ],
        "groups": [
            ["10", "span", "11", "span"],
            ["11", "span", "12", "joint-sequence"],
            ["12", "multinuc", None, None],
        ],
        "genre": "news",
        "license": "CC BY 4.0",
        "source": "made up",
    }
    return {"id": "row", "documents": [{"text": text}], "extra": extra | changes}


def test_gold_trees_tell_what_is_needed(tmp_path) -> None:
    gold = pytest.importorskip("squeeze.train.edu_gold")
    path = tmp_path / "gum_edu.train.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write(json.dumps(gold_row()))
    (document,) = gold.read_documents(path)
    assert document.starts == {8, 22, 35, 45}
    assert document.sentence_of == [0, 0, 0, 0, 1]
    assert document.needs == [{1}, {0, 2}, {1}, set(), set()]
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write(json.dumps(gold_row(edus=[])))
    with pytest.raises(SystemExit, match="row 1: no gold marks"):
        gold.read_documents(path)
