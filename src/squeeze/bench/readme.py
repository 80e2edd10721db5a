"""Fills the generated regions of the README: `python -m squeeze.bench.readme [--check] [README.md]`.

A region stands between `<!-- name -->` and `<!-- /name -->`. With `--check` nothing is written and the exit code says
whether the file is current.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from squeeze.bench import pareto, ram_table, scorers_table


def methods() -> str:
    """The table of methods, as the command prints it, less its third column: the family says it, phones are narrow."""
    command = [sys.executable, "-m", "squeeze.cli", "methods", "--markdown"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return "\n".join(re.sub(r"^((?:\|[^|]*){2})\|[^|]*", r"\1", line) for line in lines)


def survival(path: pathlib.Path = pathlib.Path("reports/questions.json")) -> str:
    """The table of what survives, from the report of `squeeze.bench.questions`; one share of the tokens."""
    lines = [line for line in json.loads(path.read_text(encoding="utf-8"))["results"] if line["keep"] == 0.25]
    methods = list(dict.fromkeys(line["method"] for line in lines))[::-1]  # the baseline comes first in the report
    out = [f"| rows | {' | '.join(f'`{name}`' for name in methods)} | n |", f"| --- | --- |{' --- |' * len(methods)}"]
    for data in dict.fromkeys(line["data"] for line in lines):
        own = {line["method"]: line for line in lines if line["data"] == data}
        cells = [f"{own[name]['kept']:.2f}" for name in methods]
        out.append(f"| {data} | {' | '.join(cells)} | {own[methods[0]]['rows']} |")
    means = [sum(x["kept"] for x in lines if x["method"] == m) / (len(out) - 2) for m in methods]
    return "\n".join([*out, f"| **mean** | {' | '.join(f'**{mean:.2f}**' for mean in means)} | |"])


def peers(path: pathlib.Path = pathlib.Path("reports/peers.json")) -> str:
    """The table of other packages, from the report of `squeeze.bench.peers`, and where `edu` is not ahead."""
    results = json.loads(path.read_text(encoding="utf-8"))["results"]
    rows = [row for row in results["table"] if row["data"] == "mean" and row["kind"] == "peer" and row["rows"]]
    cut = [row for row in rows if row["keep"] == 0.25]
    single = [
        row
        for row in results["table"]
        if row["data"] != "mean" and row["keep"] == 0.25 and row["kind"] == "peer" and row["rows"]
        if row["kept"] > row["equal"]["edu"]["kept"]
    ]
    out = ["| package | rows | tokens kept | answer kept | `edu` | `edu`, no titles | `bm25` | processor ms |"]
    out.append("| --- |" + " --- |" * 7)
    for row in cut:
        own, best = (
            [row["kept"], *(one["kept"] for one in row["equal"].values())],
            max(row["kept"], row["equal"]["edu"]["kept"]),
        )
        cells = [f"**{value:.2f}**" if at < 2 and value == best else f"{value:.2f}" for at, value in enumerate(own)]
        count = f"| `{row['method']}` | {row['rows']} | {row['tokens_kept'] * 100:.0f} % |"
        out.append(f"{count} {' | '.join(cells)} | {row['p50_ms']:,.0f} |")
    return "\n".join([*out, "", *_said(cut, single, rows, results["not_run"])])


def _said(
    cut: list[dict[str, Any]], single: list[dict[str, Any]], rows: list[dict[str, Any]], not_run: dict[str, str]
) -> list[str]:
    """Where `edu` is not ahead, what is no text, and what could not be run."""

    def named(found: list[dict[str, Any]]) -> str:
        return ", ".join(f"`{row['method']}`" for row in found) or "none"

    behind = [row for row in cut if row["kept"] > row["equal"]["edu"]["kept"]]
    level = [row for row in cut if row["kept"] == row["equal"]["edu"]["kept"]]
    unsure = [row for row in cut if row not in behind + level and (row["edu_low"] is None or row["edu_low"] <= 0)]
    lines = [f"- At the same tokens ahead of `edu`, in the mean: {named(behind)}; level with it: {named(level)}."]
    if single:
        where = ", ".join(
            f"`{row['method']}` on {row['data']} ({row['kept']:.2f} to {row['equal']['edu']['kept']:.2f}, "
            f"{row['rows']} row{'s' * (row['rows'] > 1)})"
            for row in single
        )
        lines.append(f"- Ahead of it on single sets: {where}.")
    if unsure:
        lines.append(f"- Behind it, but on too few rows to tell: {named(unsure)}.")
    if any(row.get("shortest") for row in cut):
        lines.append(
            f"- On the shortest rows of each set, as they are slow: {named([r for r in cut if r.get('shortest')])}."
        )
    for row in rows:
        if "lossless" in row["equal"]:
            saved, ours = row["tokens_kept"], row["equal"]["lossless"]["tokens_kept"]
            lines.append(
                f"- `{row['method']}` loses nothing and writes ids, not text: {saved:.0%} of the tokens are left, "
                f"by our `lossless` {ours:.0%}."
            )
    failed = {row["method"]: row["failed"] for row in rows if row["failed"]}
    for name, reasons in failed.items():
        lines.append(
            f"- `{name}` gave no result on some rows: {', '.join(f'{n} × {why}' for why, n in reasons.items())}."
        )
    return lines + [f"- `{name}` could not be run: {why}." for name, why in not_run.items()]


def soft(path: pathlib.Path = pathlib.Path("reports/soft_answers.json"), shown: str = "") -> str:
    """The table of the encoder that ships, from the report of `squeeze.bench.soft_answers`.

    Args:
        path: the report.
        shown: pooling factor whose rows are shown, `4x` say; all of them when empty.
    """
    results = json.loads(path.read_text(encoding="utf-8"))["results"]
    sets: dict[str, Any] = results["sets"]
    heads = [f"{name}, {own['rows']} rows" for name, own in sets.items()]
    out = [f"| context | {' | '.join(f'{head}: nats a token | of the gap | F1' for head in heads)} |"]
    out.append("| --- |" + " --- |" * (3 * len(sets)))
    for condition in next(iter(sets.values()))["conditions"]:
        if condition not in ("none", "full") and not condition.endswith(shown):
            continue
        cells = []
        for own in sets.values():
            found = own["conditions"][condition]
            share = found["gap_log_likelihood"]
            likely = found["log_likelihood_per_token"]
            cells.append(f"{likely['mean']:.2f} [{likely['low']:.2f}, {likely['high']:.2f}]")
            cells.append("" if share is None else f"{share['mean']:.2f}")
            cells.append(f"{found['f1']['mean']:.2f}")
        out.append(f"| {condition} | {' | '.join(cells)} |")
    trained = results["training"]
    verdicts = ", ".join(f"{words} on {name}" for name, words in results["needed_at_4x"].items())
    said = (
        f"Trained on {trained['context_tokens'] / 1e6:.2f} million tokens of contexts, {trained['hours']:.1f} hours of "
        f"one CPU core. Better than truncated text and pooled embeddings at 4×, the interval above 0: {verdicts}."
    )
    return "\n".join([*out, "", said])


REGIONS: dict[str, Callable[[], str]] = {
    "methods": methods,
    "pareto": pareto.markdown,
    "survival": survival,
    "peers": peers,
    "soft": soft,
    "soft 4x": partial(soft, shown="4x"),
    "scorers": scorers_table.markdown,
    "ram": ram_table.table,
}
"""Name of a region -> what makes its text."""


def filled(text: str) -> str:
    """The text with every region made again."""
    for name, make in REGIONS.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        text = pattern.sub(lambda found, make=make: f"{found[1]}\n{make().strip()}\n\n{found[2]}", text)  # type: ignore[misc]
    return text


def main() -> None:
    """Writes the file, or checks it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", default="README.md", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    text = args.file.read_text(encoding="utf-8")
    if args.check:
        sys.exit(0 if filled(text) == text else f"{args.file} is not current; run python -m squeeze.bench.readme")
    args.file.write_text(filled(text), encoding="utf-8")


if __name__ == "__main__":
    main()
