"""The table of scorers in the guide, from a report of `squeeze bench` in which methods differ by their scorer.

squeeze bench ROWS... --methods edu,edu:scorer=embedding,edu:scorer=bm25 --keep 0.25 --reference edu --json bench.json
python -m squeeze.bench.scorers_table bench.json  # keeps what the table shows as reports/scorers.json
"""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Any

from squeeze.bench.command import reduced, to_json
from squeeze.bench.summary import MEAN

REPORT = pathlib.Path("reports/scorers.json")
METHOD, DEFAULT = "edu", "ranker"


def shown(report: dict[str, Any]) -> dict[str, Any]:
    """The report without its rows and without baselines, rounded to what the table shows."""
    kept = [row for row in report["results"] if row["method"].partition(":")[0] == METHOD]
    if not kept:
        raise SystemExit(f"the report has no results of {METHOD}")
    return reduced(report, kept)


def markdown() -> str:
    """The evidence that each scorer keeps, by set, and the time of a question, that of the default being 1."""
    report = json.loads(REPORT.read_text(encoding="utf-8"))
    rows = {(row["method"], row["data"]): row for row in report["results"]}
    methods = dict.fromkeys(method for method, _ in rows)
    sets = [*report["rows_measured"], MEAN]
    out = [f"| scorer | {' | '.join(sets)} | time |", "| --- |" + " --- |" * (len(sets) + 1)]
    for method in methods:
        name = method.partition("scorer=")[2] or DEFAULT
        cells = [f"{rows[method, data]['value']:.2f}" for data in sets]
        time = rows[method, MEAN]["p50_ms"] / rows[METHOD, MEAN]["p50_ms"]
        out.append(f"| `{name}` | {' | '.join(cells)} | {time:.2g} |")
    count = ", ".join(str(number) for number in report["rows_measured"].values())
    keep = report["settings"]["keep"][0]
    said = f"`{METHOD}` with {keep * 100:g} % of the tokens, on {count} questions. Times are medians; `{DEFAULT}` is 1."
    return "\n".join([*out, "", said])


def main() -> None:
    """Keeps the report."""
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    report = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    REPORT.write_text(to_json(shown(report)), encoding="utf-8")


if __name__ == "__main__":
    main()
