"""Logs, CSV and TSV: lines whole, rows with their header, the rare line among many alike."""

from __future__ import annotations

import numpy as np
import pytest

import squeeze
from format_tools import needed, texts
from squeeze.score.base import Corpus
from squeeze.score.lexical import scores
from squeeze.segment import detect, parse
from squeeze.templates import shape, weights
from squeeze.types import Passage

LOG = "".join(f"2024-05-01 10:{i % 60:02d}:11 INFO worker-{i % 4} job {1000 + i} finished\n" for i in range(120))
ODD = "2024-05-01 11:57:11 ERROR worker-1 disk /dev/sda1 is full\n"
MIXED = LOG[:3000] + ODD + LOG[3000:]
TABLE = "name,height,built\n" + "".join(f"Tower {i},{20 + i},{1800 + i}\n" for i in range(60))


@pytest.mark.parametrize("query", [None, "what went wrong?", "why did the job of the worker fail?"])
def test_the_rare_line_is_kept(query: str | None) -> None:
    cut = LOG.index("\n", 3000) + 1
    result = squeeze.compress([LOG[:cut] + ODD + LOG[cut:]], query=query, keep=0.1, scorer="bm25")
    assert ODD.strip() in result.text


def test_a_line_that_matches_is_not_held_back() -> None:
    result = squeeze.compress([LOG], query="How long did job 1033 take?", keep=0.1, scorer="bm25")
    assert "job 1033 finished" in result.text


def test_lines_of_one_shape_count_as_a_few() -> None:
    layout = parse(LOG)
    corpus = Corpus.of([Passage(LOG)], [layout])
    scores = np.full(len(corpus), 0.5)
    scores[70] = 0.9
    factor = weights(corpus, scores)
    assert factor[70] == 1 and (factor == 1).sum() == 3
    assert factor.min() == pytest.approx(3 / 120)
    assert (weights(Corpus.of([Passage("One. Two.")], [parse("One. Two.")]), np.ones(2)) == 1).all()


def test_shape_leaves_words_and_replaces_what_has_digits() -> None:
    assert shape("10.0.0.1 GET /a/b?id=7 in 12ms") == shape("10.9.0.255 GET /a/b?id=81 in 3ms")
    assert shape("user ann") != shape("user bob")


def test_a_stack_trace_stays_with_its_line() -> None:
    trace = "".join(f"    at com.example.Pump.run(Pump.java:{i})\n" for i in range(5))
    text = (
        "2024-01-01 10:00:00 INFO start\n2024-01-01 10:00:01 ERROR broken\n" + trace + "2024-01-01 10:00:02 INFO end\n"
    )
    assert texts(text, "logs") == [
        "2024-01-01 10:00:00 INFO start",
        ("2024-01-01 10:00:01 ERROR broken\n" + trace).strip(),
        "2024-01-01 10:00:02 INFO end",
    ]


def test_a_long_stack_trace_is_given_in_parts_with_its_line() -> None:
    trace = "".join(f"\tat com.example.Pump.run(Pump.java:{i})\n" for i in range(60))
    text = "2024-01-01 10:00:01 ERROR broken\n" + trace
    units = texts(text, "logs")
    assert 4 < len(units) < 8
    assert needed(text, units[3], "logs") == [units[0], units[3]]


def test_rows_come_with_their_header_and_without_gap_marks() -> None:
    result = squeeze.compress([TABLE], query="When was Tower 37 built?", keep=0.15)
    lines = result.text.splitlines()
    assert lines[0] == "name,height,built" and "Tower 37,57,1837" in lines
    assert set(lines) <= set(TABLE.splitlines())


def test_quoted_fields_may_hold_line_breaks() -> None:
    text = 'id,text\n1,"one\ntwo, three"\n2,"four"\n3,five\n'
    assert texts(text, "csv") == ["id,text", '1,"one\ntwo, three"', '2,"four"', "3,five"]


def test_a_quotation_mark_that_nobody_closes_joins_nothing() -> None:
    text = "id,text\n" + '1,5" pipe\n' + "".join(f"{i},plain\n" for i in range(300))
    assert len(texts(text, "csv")) == 302


def test_numbers_in_the_first_row_make_it_a_row() -> None:
    assert all(piece.kind == "row" for piece in parse("1;2;3\n4;5;6\n7;8;9\n", format="csv").pieces)


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("what became of /srv/app/run.sh?", "cannot open /srv/app/run.sh"),
        ("what became of run.sh?", "cannot open /srv/app/run.sh"),
        ("who is ea98d913-4802-4978-a24b-ad684d7ba840?", "user ea98d913-4802-4978-a24b-ad684d7ba840 is Ann"),
        ("since when is 3.11.2 here?", "version 3.11.2 is installed"),
        ("where is order #W5199551?", "order #W5199551 was sent"),
        ("what does max_retry_count do?", "maxRetryCount is 3"),
        ("what is RetryCount?", "max_retry_count = 3"),
    ],
)
def test_identifiers_match_as_they_stand_and_by_their_pieces(query: str, line: str) -> None:
    others = [
        "the file is open",
        "version 3.10.1 is old",
        "user 00aa-11bb is Bob",
        "order #W5199550 was lost",
        "it is 3",
    ]
    values = scores([*others, line], query)
    assert values[-1] > max(values[:-1])


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (LOG, "logs"),
        ('10.0.0.1 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 12\n' * 3, "logs"),
        ("[2020-01-01 10:10:10,123] WARN slow\n  details\n[2020-01-01 10:10:11,123] INFO ok\n", "logs"),
        ("[2016-12-20 00:11:18,570] INFO Scheduling log segment 947658 for deletion.", "logs"),
        ("2024-01-01 10:00:00 was the time when the pump failed.", "plain"),
        (TABLE, "csv"),
        (TABLE.replace(",", ";"), "csv"),
        (TABLE.replace(",", "\t"), "tsv"),
        ("First, we went home.\nThen, we ate well.\nAfter that, we slept.\nLater, we woke up.\n", "plain"),
        ("On 2024-01-01 the pump failed. It was repaired in May.", "plain"),
    ],
)
def test_detection(text: str, name: str) -> None:
    assert detect(text) == name
