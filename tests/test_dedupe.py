"""Which units repeat what another passage says."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from squeeze import Passage
from squeeze.dedupe import duplicates
from squeeze.score.base import Corpus
from squeeze.segment.layout import Layout, Node, Piece

LAMP = "The lamp of the lighthouse burned oil. "
PIER = "The pier was lengthened by forty metres. "
FLOOD = "A flood took the keeper's house in spring. "
CRANE = "The harbour crane lifts nine tonnes of coal. "
STORM = "Storms from the north are rare after May. "


def corpus(*passages: list[str | Piece], texts: list[str] | None = None) -> Corpus:
    """A corpus of passages given as the texts of their units, or as a text and its pieces."""
    layouts, values = [], []
    for index, units in enumerate(passages):
        if texts is not None:
            text, pieces = texts[index], tuple(p for p in units if isinstance(p, Piece))
        else:
            parts = [str(unit) for unit in units]
            ends = np.cumsum([0, *map(len, parts)]).tolist()
            text, pieces = (
                "".join(parts),
                tuple(Piece(a, b, "sentence", 0) for a, b in pairwise(ends)),
            )
        layouts.append(Layout("text", (Node(0, len(text), "document", -1, 0),), pieces))
        values.append(Passage(text))
    return Corpus.of(values, layouts)


def pieces(*units: tuple[str, str, tuple[int, ...]]) -> tuple[str, list[str | Piece]]:
    """A text and its pieces, from text, kind and needs of each; all but sentences are no prose."""
    result: list[str | Piece] = []
    start = 0
    for text, kind, needs in units:
        result.append(Piece(start, start + len(text), kind, 0, needs, kind in ("sentence", "edu")))
        start += len(text)
    return "".join(text for text, _, _ in units), result


def marked(texts: Corpus) -> list[int]:
    return np.flatnonzero(duplicates(texts)).tolist()


def test_a_copy_of_a_passage_is_dropped_whole() -> None:
    assert marked(corpus([LAMP, "Yes. "], [PIER], ["  " + LAMP, "Yes."])) == [3, 4]


def test_a_single_passage_repeats_nothing() -> None:
    assert marked(corpus([LAMP, PIER, LAMP, LAMP.strip()])) == []


def test_overlapping_windows_keep_the_shared_sentences_once() -> None:
    assert marked(corpus([LAMP, PIER, FLOOD], [PIER, FLOOD, CRANE], [CRANE, STORM])) == [3, 4, 6]


def test_sentences_that_a_window_cut_are_dropped_on_both_sides() -> None:
    cut = FLOOD[:30]
    assert marked(corpus([LAMP, PIER, cut], ["was lengthened by forty metres. ", FLOOD, CRANE])) == [2, 3]


def test_short_texts_may_be_chance() -> None:
    assert marked(corpus([LAMP, "Yes, it is. "], [PIER, "Yes, it is. "], ["is. ", CRANE])) == []


def test_scripts_with_wide_characters_need_fewer_of_them() -> None:
    assert marked(corpus(["装置は停止しました。", "弁は閉じている。"], ["装置は停止しました。", "圧力は高い。"])) == [2]


def test_a_cut_sentence_in_its_own_passage_stays() -> None:
    assert (
        marked(corpus(["forty metres were built in a year. ", "Some say forty metres were built in a year. "], [LAMP]))
        == []
    )


def test_rows_code_and_braces_stay_unless_the_passage_is_a_copy() -> None:
    rows = [("| name of the part | torque in Nm |\n", "header", ()), ("| bolt of the north gate | 17 |\n", "row", (0,))]
    first, one = pieces(*rows, ("| nut | 12 |\n", "row", (0,)))
    second, two = pieces(*rows, ("| pin | 3 |\n", "row", (0,)))
    assert marked(corpus(one, two, texts=[first, second])) == []
    assert marked(corpus(one, one, texts=[first, first])) == [3, 4, 5]


def test_the_overlap_of_windows_counts_for_every_kind() -> None:
    code = [("    total = add(total, price)\n", "code", ()), ("    return round(total, 2)\n", "code", ())]
    first, one = pieces(("def bill(prices):\n", "code", ()), *code)
    second, two = pieces(*code, ("\nprint(bill([2, 3]))\n", "code", ()))
    assert marked(corpus(one, two, texts=[first, second])) == [3, 4]


def test_what_an_unmarked_unit_needs_stays() -> None:
    heading, limits = "# Limits of the pressure valve\n", "The pressure must not exceed 40 bar. "
    first, one = pieces((limits, "sentence", ()), (heading, "sentence", ()))
    second, two = pieces((heading, "sentence", ()), (limits, "sentence", (0,)), (STORM, "sentence", (0,)))
    assert marked(corpus(one, two, texts=[first, second])) == [3]


def test_a_chain_of_needs_stays_to_its_end() -> None:
    shared = [(LAMP, "sentence", ()), (PIER, "sentence", (0,)), (FLOOD, "sentence", (1,))]
    first, one = pieces(*shared)
    second, two = pieces(*shared, (CRANE, "sentence", (2,)))
    assert marked(corpus(one, two, texts=[first, second])) == []


def test_empty_input() -> None:
    assert duplicates(corpus()).tolist() == []
    assert duplicates(corpus([], [])).tolist() == []


SENTENCES = st.sampled_from([LAMP, PIER, FLOOD, CRANE, STORM, "Yes. ", LAMP[:28], FLOOD[12:]])


@given(st.lists(st.lists(SENTENCES, max_size=6), max_size=5))
def test_every_marked_text_stands_in_a_unit_that_stays(passages: list[list[str]]) -> None:
    texts = corpus(*passages)
    drop = duplicates(texts)
    kept = [text for text, gone in zip(texts.texts, drop.tolist(), strict=True) if not gone]
    for text, gone in zip(texts.texts, drop.tolist(), strict=True):
        assert not gone or any(text in other for other in kept)
