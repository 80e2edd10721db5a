from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squeeze.bench import pareto

ROOT = Path(__file__).parents[1]
SVG = "{http://www.w3.org/2000/svg}"


def row(method: str, keep: float | None, value: float, *, kind: str = "method", data: str = "mean") -> dict[str, Any]:
    return {"data": data, "method": method, "keep": keep, "value": value, "tokens_kept": keep or 0.8, "kind": kind}


def report(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"results": list(rows), "rows_measured": {"one": 600, "two": 700}, "seconds": 1.23456, "lines": [{}]}


SMALL = report(
    row("full", None, 1.0, kind="baseline"),
    row("bm25", 0.5, 0.8, kind="baseline"),
    row("bm25", 0.25, 0.7, kind="baseline"),
    row("edu", 0.25, 0.91),
    row("edu", 0.5, 0.97),
    row("passages", 0.25, 0.705),
    row("passages", 0.5, 0.75),
    row("lossless", None, 1.0),
    row("edu", 0.25, 0.1, data="one"),
)


def committed() -> dict[str, Any]:
    return dict(json.loads((ROOT / pareto.REPORT).read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", pareto.THEMES)
def test_the_pictures_are_drawn_from_the_committed_report(name: str) -> None:
    made = pareto.draw(committed(), pareto.THEMES[name])
    assert (ROOT / pareto.PICTURES[name]).read_text(encoding="utf-8") == made, "run make readme"


def test_the_committed_report_agrees_with_the_table_of_the_readme() -> None:
    table = json.loads((ROOT / "reports" / "questions.json").read_text(encoding="utf-8"))["results"]
    means = {(line["method"], line["keep"]): line["value"] for line in committed()["results"]}
    for method in ("edu", "bm25_title"):
        kept = [line["kept"] for line in table if (line["method"], line["keep"]) == (method, 0.25)]
        assert len(kept) == len(committed()["rows_measured"])
        assert means[method, 0.25] == pytest.approx(sum(kept) / len(kept), abs=0.005)


def test_the_committed_report_has_no_rows_of_the_data() -> None:
    assert committed()["lines"] == [] and (ROOT / pareto.REPORT).stat().st_size < 30_000


def test_methods_stand_before_baselines_and_the_best_first() -> None:
    found = pareto.curves(SMALL)
    assert [(curve.name, curve.plain) for curve in found] == [
        ("edu", False),
        ("lossless", False),
        ("passages", True),
        ("bm25", True),
    ]
    assert found[0].points == [(0.5, 0.97), (0.25, 0.91)]


def test_a_report_is_reduced_to_its_means() -> None:
    made = pareto.means(SMALL)
    assert {line["data"] for line in made["results"]} == {"mean"} and made["lines"] == [] and made["seconds"] == 1.2
    with pytest.raises(SystemExit, match="two sets"):
        pareto.means(report(row("edu", 0.5, 1.0, data="one")))


@pytest.mark.parametrize("given_report", [SMALL, None], ids=["small", "committed"])
def test_what_is_written_lies_in_the_picture_and_nothing_meets(given_report: dict[str, Any] | None) -> None:
    root = ElementTree.fromstring(pareto.draw(given_report or committed(), pareto.THEMES["dark"]))
    names = [(float(text.get("x", 0)), float(text.get("y", 0)), text.text or "") for text in root.iter(f"{SVG}text")]
    assert all(0 <= x <= pareto.WIDTH and 0 < y < pareto.HEIGHT for x, y, _ in names)
    right = [(y, x + 8.6 * len(said)) for x, y, said in names if x > pareto.RIGHT and y > pareto.TOP / 2]
    assert all(end <= pareto.WIDTH for _, end in right), "a name is cut off"
    heights = sorted(y for y, _ in right)
    assert all(low + pareto.LINE - 0.2 <= high for low, high in itertools.pairwise(heights))


@given(st.lists(st.floats(0, 400), min_size=1, max_size=12))
def test_names_are_moved_apart_in_their_order_and_no_further_than_they_need(places: list[float]) -> None:
    places.sort()
    moved = pareto.apart(places)
    assert all(high - low >= pareto.LINE - 1e-6 for low, high in itertools.pairwise(moved))
    assert sum(moved) == pytest.approx(sum(places), abs=1e-6)
    if all(high - low > pareto.LINE for low, high in itertools.pairwise(places)):
        assert moved == pytest.approx(places)


def test_the_words_and_the_picture_say_the_same() -> None:
    words = pareto.said(SMALL)
    assert words == (
        "Share of the evidence kept with 50 %, 25 % of the tokens: edu 0.97, 0.91; lossless 1.00 at 80% of the tokens; "
        "passages 0.75, 0.70; bm25 0.80, 0.70."
    )
    drawn = pareto.draw(SMALL, pareto.THEMES["light"])
    assert words in drawn and "600" in drawn and "1,300 questions" in drawn


def test_a_report_is_kept_and_drawn_by_one_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("reports", "docs/_static"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "bench.json").write_text(json.dumps(SMALL), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    pareto.main(["bench.json"])
    first = pareto.PICTURES["light"].read_bytes()
    pareto.main([])
    assert pareto.PICTURES["light"].read_bytes() == first
    shown = pareto.markdown()
    assert re.findall(r'(?:src|srcset)="(\S+)"', shown) == [
        "docs/_static/pareto-dark.svg",
        "docs/_static/pareto-light.svg",
    ]
    assert "edu 0.97, 0.91" in shown
