"""A benchmark's numbers for people: the table, what was left out, and what there is to measure."""

from __future__ import annotations

import ast
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

import squeeze.bench
from squeeze.bench.baselines import PLAIN
from squeeze.bench.runners import ALWAYS, peers
from squeeze.bench.sets import first
from squeeze.bench.summary import MEAN
from squeeze.console import one_line

WIDTH = 240
"""Columns where the output is no terminal: nothing is cut."""

Column = tuple[str, Callable[[dict[str, Any]], str]]
"""The head of a column, and what makes its cell from the row of a method."""

_EXPLAINED = {
    "answer_in_several_documents": "the answer also stands in a document that is not gold, so it may survive by luck",
    "answer_not_in_documents": "no gold document holds the answer",
    "no_answer": "neither an answer nor strings that must be kept",
    "no_question": "no question",
    "no_documents": "no list of documents with texts",
    "not_json": "a line that is no JSON",
    "unreadable_document": "a file of the folder is not UTF-8, or has lines that are no passages",
    "no_such_document": "the folder has no document of the name that the question gives, or none that can be read",
    "not_an_object": "a line that is no object",
}


def console(*, stderr: bool = False) -> Console:
    """A console as wide as the terminal, or wide enough for the table where there is none."""
    made = Console(stderr=stderr, highlight=False)
    return made if made.is_terminal else Console(stderr=stderr, highlight=False, width=WIDTH)


def table(report: dict[str, Any], to: Console) -> None:
    """The table of a report: a line for each method at each share, in parts where the console is narrow."""
    columns: list[Column] = []
    for group in _groups(report):
        if columns and not _fits(_table(report, columns + group), to):
            to.print(_table(report, columns))
            columns = []
        columns += group
    to.print(_table(report, columns))


def _fits(made: Table, to: Console) -> bool:
    return made.__rich_measure__(to, to.options.update(max_width=1000)).maximum <= to.width


def _table(report: dict[str, Any], columns: Sequence[Column]) -> Table:
    results = report["results"]
    overall = results[-1]["data"]
    rows = [row for row in results if row["data"] == overall]
    settings = report["settings"]
    counted = ", ".join(f"{name} {count}" for name, count in report["rows_measured"].items())
    title = f"rows: {counted}; tokens by {settings['tokenizer']}; processes: {settings['workers']}"
    out = Table(title=Text(title), title_justify="left", title_style="")
    out.add_column("keep", no_wrap=True, justify="right")
    out.add_column("method", no_wrap=True, max_width=40)
    for head, _ in columns:
        out.add_column(Text(head), justify="right", no_wrap=True, style="bold" if head.startswith(MEAN) else "")
    keeps = sorted({row["keep"] for row in rows}, key=lambda keep: 2.0 if keep is None else keep, reverse=True)
    for keep in keeps:
        own = [row for row in rows if row["keep"] == keep]
        for row in own:
            name = Text(row["method"], style="dim" if row["kind"] == "baseline" else "")
            cells = [make(row) for _, make in columns]
            out.add_row("–" if keep is None else f"{keep:g}", name, *cells, end_section=row is own[-1])
    return out


def _groups(report: dict[str, Any]) -> list[list[Column]]:
    """The columns: what is kept, what it costs, and what a reader makes of it."""
    results, reference = report["results"], report["settings"]["reference"]
    sets = {row["data"]: row["measure"] for row in results if row["data"] != MEAN}
    of = {(row["data"], row["method"], row["keep"]): row["value"] for row in results}

    def on(data: str) -> Callable[[dict[str, Any]], str]:
        return lambda row: _number(of.get((data, row["method"], row["keep"])), "{:.3f}")

    kept: list[list[Column]] = [[(f"{name}\n{measure}", on(name))] for name, measure in sets.items()]
    if len(sets) > 1:
        kept.append([(f"{MEAN}\n", lambda row: _number(row["value"], "{:.3f}"))])
    kept[-1].append(("\n95 %", lambda row: _between(row, "value", "{:.2f}")))
    against: list[Column] = [
        (f"against\n{reference}", lambda row: _number(row["difference"], "{:+.3f}")),
        ("\n95 %", lambda row: _between(row, "difference", "{:+.2f}")),
    ]
    cost: list[Column] = [
        ("tokens\nkept", lambda row: _number(row["tokens_kept"], "{:.1%}")),
        ("p50\nms", lambda row: _number(row["p50_ms"], "{:,.1f}")),
        ("p95\nms", lambda row: _number(row["p95_ms"], "{:,.1f}")),
        ("\ntokens/s", lambda row: _thousands(row["tokens_per_s"])),
        ("\nover", lambda row: str(row["over"])),
    ]
    measured = report["rows_measured"]
    if any(row["rows"] != measured.get(row["data"], sum(measured.values())) for row in results):
        cost.append(("\nrows", lambda row: str(row["rows"])))
    read: list[Column] = [
        ("exact\nmatch", lambda row: _number(row.get("exact"), "{:.3f}")),
        ("\nF1", lambda row: _number(row.get("f1"), "{:.3f}")),
        (f"F1 against\n{reference}", lambda row: _number(row.get("f1_difference"), "{:+.3f}")),
        ("log-lik.\nper token", lambda row: _number(row.get("logprob"), "{:.2f}")),
        ("first\ntoken ms", lambda row: _number(row.get("first_ms"), "{:,.0f}")),
    ]
    return [*kept, against, cost, *([read] if any("f1" in row for row in results) else [])]


def left_out(counts: dict[str, Any], to: Console, causes: Mapping[str, str] | None = None) -> None:
    """What was skipped, by name, a line each; `causes` says more of why a reader gave no answer."""
    places = counts.get("first", {})
    where: dict[str, dict[str, int]] = {}
    for data, reasons in counts["rows"].items():
        for reason, number in reasons.items():
            where.setdefault(reason, {})[data] = number
    for reason, numbers in where.items():
        said = ", ".join(
            f"{data} {number}" + (f" ({first(number, places[data][reason])})" if data in places else "")
            for data, number in numbers.items()
        )
        why = f"; {_EXPLAINED[reason]}" if reason in _EXPLAINED else ""
        to.print(Text(one_line(f"left out, {reason}: {said}{why}")), soft_wrap=True)
    for method, reasons in counts["failed"].items():
        said = ", ".join(f"{number} × {reason}" for reason, number in reasons.items())
        to.print(Text(one_line(f"{method}: no result: {said}")), soft_wrap=True)
    for reason, number in counts["reader"].items():
        why = f"; {causes[reason]}" if causes and reason in causes else ""
        to.print(Text(one_line(f"reader: {number} answers not given: {reason}{why}")), soft_wrap=True)
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


def _between(row: dict[str, Any], name: str, form: str) -> str:
    """The ends of an interval."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return "–" if low is None else f"{form.format(low)}, {form.format(high)}"


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else form.format(value)


def _thousands(value: float | None) -> str:
    """A speed; what did not work at all has none worth printing."""
    return "–" if value is None or value > 20_000_000 else f"{value:,.0f}"
