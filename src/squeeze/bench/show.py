"""A benchmark's numbers for people: the table, what was left out, and what there is to measure."""

from __future__ import annotations

import ast
import pathlib
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

import squeeze.bench
from squeeze.bench.baselines import PLAIN
from squeeze.bench.runners import ALWAYS, peers
from squeeze.bench.summary import MEAN
from squeeze.console import one_line

WIDTH = 132
"""Columns where the output is no terminal."""

_EXPLAINED = {
    "answer_in_several_documents": "the answer also stands in a document that is not gold, so it may survive by luck",
    "answer_not_in_documents": "no gold document holds the answer",
    "no_answer": "neither an answer nor strings that must be kept",
    "no_question": "no question",
    "no_documents": "no list of documents with texts",
    "not_json": "a line that is no JSON",
    "not_an_object": "a line that is no object",
}


def console(*, stderr: bool = False) -> Console:
    """A console as wide as the terminal, or wide enough for the table where there is none."""
    made = Console(stderr=stderr, highlight=False)
    return made if made.is_terminal else Console(stderr=stderr, highlight=False, width=WIDTH)


def table(report: dict[str, Any], to: Console) -> None:
    """The table of a report: a line for each method at each share, the sets side by side."""
    results = report["results"]
    sets = [name for name in dict.fromkeys(row["data"] for row in results) if name != MEAN]
    overall = MEAN if len(sets) > 1 else sets[0]
    read = any("f1" in row for row in results)
    measures = {row["data"]: (row["measure"], row["rows"]) for row in results if row["data"] != MEAN}
    out = Table(title=_title(report), title_justify="left", title_style="", pad_edge=False)
    out.add_column("keep", no_wrap=True)
    out.add_column("method", no_wrap=True, overflow="ellipsis", max_width=34)
    for name in sets if len(sets) > 1 else ():
        out.add_column(Text(f"{name}\n{measures[name][0]}"), justify="right")
    out.add_column(MEAN if len(sets) > 1 else Text(f"{sets[0]}\n{measures[sets[0]][0]}"), justify="right", style="bold")
    out.add_column("95 %", justify="right", no_wrap=True)
    out.add_column(Text(f"against\n{report['settings']['reference']}"), justify="right", no_wrap=True)
    for head in ("tokens\nkept", *(("EM", "F1", "log p", "first\ntoken ms") if read else ())):
        out.add_column(head, justify="right")
    for head in ("p50\nms", "p95\nms", "tokens/s", "over"):
        out.add_column(head, justify="right", no_wrap=True)
    shown = [row for row in results if row["data"] == overall]
    keeps = sorted({row["keep"] for row in shown}, key=lambda keep: 2.0 if keep is None else keep, reverse=True)
    for keep in keeps:
        own = [row for row in shown if row["keep"] == keep]
        for row in own:
            values = [_value(results, name, row) for name in sets] if len(sets) > 1 else []
            cells = [*values, *_cells(row, read)]
            name = Text(row["method"], style="dim" if row["kind"] == "baseline" else "")
            out.add_row("–" if keep is None else f"{keep:g}", name, *cells, end_section=row is own[-1])
    to.print(out)


def left_out(counts: dict[str, Any], to: Console) -> None:
    """What was skipped, by name, a line each."""
    for data, reasons in counts["rows"].items():
        for reason, number in reasons.items():
            why = _EXPLAINED.get(reason, reason)
            to.print(Text(one_line(f"{data}: {number} rows left out: {reason} ({why})")), soft_wrap=True)
    for method, reasons in counts["failed"].items():
        said = ", ".join(f"{number} × {reason}" for reason, number in reasons.items())
        to.print(Text(one_line(f"{method}: no result: {said}")), soft_wrap=True)
    for reason, number in counts["reader"].items():
        to.print(Text(one_line(f"reader: {number} answers not given: {reason}")), soft_wrap=True)
    for method, why in counts["missing"].items():
        to.print(Text(one_line(f"{method}: not run: {why}")), soft_wrap=True)


def listing(to: Console) -> None:
    """What can be measured, and the programs that measure more."""
    from squeeze import available

    for head, names in (
        ("methods", available()),
        ("baselines, always in the run", list(ALWAYS)),
        ("further baselines", [name for name in PLAIN if name not in ALWAYS]),
        ("other packages", peers()),
    ):
        if names:
            to.print(Text(f"{head}: {', '.join(names)}"), soft_wrap=True)
    out = Table(title="programs that measure more (--help says how)", title_justify="left", title_style="")
    out.add_column("python -m …", no_wrap=True)
    out.add_column("what it measures")
    for name, summary in programs():
        out.add_row(name, summary)
    to.print(out)


def programs() -> list[tuple[str, str]]:
    """Name and summary of every module here that can be run, none of them imported."""
    found = []
    for file in sorted(pathlib.Path(next(iter(squeeze.bench.__path__))).glob("*.py")):
        source = file.read_text(encoding="utf-8")
        if '\nif __name__ == "__main__"' in source:
            doc = ast.get_docstring(ast.parse(source)) or ""
            found.append((f"squeeze.bench.{file.stem}", doc.partition("\n")[0]))
    return found


def _title(report: dict[str, Any]) -> Text:
    settings = report["settings"]
    rows = ", ".join(f"{name} {count}" for name, count in report["rows_measured"].items())
    return Text(f"rows: {rows}; tokens by {settings['tokenizer']}; {settings['workers']} processes")


def _value(results: Sequence[dict[str, Any]], data: str, like: dict[str, Any]) -> str:
    """The quality of a method on one set."""
    for row in results:
        if (row["data"], row["method"], row["keep"]) == (data, like["method"], like["keep"]):
            return _number(row["value"], "{:.3f}")
    return "–"


def _cells(row: dict[str, Any], read: bool) -> list[str]:
    low, high = row["value_low"], row["value_high"]
    apart = row["difference"]
    cells = [_number(row["value"], "{:.3f}"), "–" if low is None else f"{low:.2f} – {high:.2f}"]
    bounds = "" if apart is None else f" [{row['difference_low']:+.2f}, {row['difference_high']:+.2f}]"
    cells += [_number(apart, "{:+.3f}") + bounds, _number(row["tokens_kept"], "{:.1%}")]
    if read:
        cells += [_number(row.get(name), "{:.3f}") for name in ("exact", "f1")]
        cells += [_number(row.get("logprob"), "{:.2f}"), _number(row.get("first_ms"), "{:,.0f}")]
    cells += [_number(row["p50_ms"], "{:,.1f}"), _number(row["p95_ms"], "{:,.1f}")]
    return [*cells, _thousands(row["tokens_per_s"]), str(row["over"])]


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else form.format(value)


def _thousands(value: float | None) -> str:
    """A speed; what did not work at all has none worth printing."""
    return "–" if value is None or value > 20_000_000 else f"{value:,.0f}"
