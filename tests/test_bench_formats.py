"""The check that output stays whole finds what it is for, and the program runs on a folder of rows."""

from __future__ import annotations

import json
import pathlib
import sys

import pytest

import squeeze
from squeeze.bench import formats as program
from squeeze.bench.whole import broken
from squeeze.segment import parse


def row(number: int, text: str) -> str:
    documents = [{"id": "a", "title": "", "text": text, "is_gold": True}, {"id": "b", "title": "", "text": "x"}]
    return json.dumps({"id": f"r{number}", "question": "which step is 3?", "answers": [], "documents": documents})


def test_program_writes_a_report(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: object) -> None:
    records = json.dumps([{"id": i, "note": f"step {i} " * 20} for i in range(9)], indent=1)
    table = "| a | b |\n|---|---|\n" + "".join(f"| step {i} | {i} |\n" for i in range(30))
    prose = "The first step is easy. The second step is hard. The third step is the last. " * 4
    for name, text in {"kv_json": records, "tatqa": table, "nq": prose, "squad": prose, "clapnq": prose}.items():
        (tmp_path / f"{name}.small.jsonl").write_text(row(1, text) + "\n" + row(2, text) + "\n", encoding="utf-8")
    report = tmp_path / "out" / "formats.json"
    given = ["formats", "--data", str(tmp_path), "--repeat", "1", "--sets", "kv_json,tatqa,logs", "--json", str(report)]
    monkeypatch.setattr(sys, "argv", given)
    program.main()
    results = json.loads(report.read_text(encoding="utf-8"))["results"]
    assert [line["set"] for line in results] == ["kv_json", "tatqa"]
    assert all(line["violations"] == 0 and line["checked"] >= 4 for line in results)
    assert results[1]["recognised"] == 1


@pytest.mark.parametrize(
    ("text", "kept", "fault"),
    [
        ('{"a": [1, 2, 3]}', '{"a": [1, 2', "parse"),
        ("<div><p>One.</p><p>Two.</p></div>", "<div><p>One.</p>", "balance"),
        ("# T\n\n```py\nx\n```\n\n```py\ny\n```\n", "# T\n\n```py\nx\n", "fence"),
        ("\\begin{a}\nx\n\\end{a}\n\\cite{b}\\cite{c}\\cite{d}\\emph{e}\\ref{f}", "\\begin{a}\nx\n", "environment"),
        ("2024-01-01 10:00:00 INFO one\n2024-01-01 10:00:01 INFO two\n", "2024-01-01 10:00:00 INFO", "line"),
        ("a,b,c\n1,2,3\n4,5,6\n7,8,9\n", "4,5,6\n", "header"),
    ],
)
def test_faults_are_found(text: str, kept: str, fault: str) -> None:
    layout = parse(text)
    start = text.index(kept)
    assert fault in broken(text, layout, [(start, start + len(kept))], kept)
    assert not broken(text, layout, [(0, len(text))], text)


@pytest.mark.parametrize("keep", [0.1, 0.25, 0.5])
@pytest.mark.parametrize(
    "text",
    [
        "a,b,c\n" + "".join(f"{i},{i * i},x\n" for i in range(50)),
        json.dumps([{"id": i, "text": "some words " * 9, "inner": {"a": [1] * 50}} for i in range(20)]),
        "<ul>" + "".join(f"<li>Item <b>{i}</b> is here.</li>" for i in range(50)) + "</ul>",
        "# T\n\n" + "".join(f"```py\nstep({i})\n```\n\nText {i}.\n\n" for i in range(20)),
        "".join(f"2024-01-01 10:00:{i} INFO step {i}\n" for i in range(10, 60)),
    ],
)
def test_nothing_breaks(text: str, keep: float) -> None:
    result = squeeze.compress([text], query="step 7", keep=keep)
    for index, kept in result.texts().items():
        assert not broken(text, parse(text), result.spans(index), kept)
