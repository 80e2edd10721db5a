"""What formats cost, whether they are recognised, and whether the output of each stays whole.

    python -m squeeze.bench.formats --data FOLDER [--json reports/formats.json]

The folder has files of rows, `NAME.*.jsonl.gz`, named in `SETS`. Cost is processor time of `edu` per token against
prose in the same run, best of several rounds that go through the sets in turn. Recognition is the share of passages
whose format is the expected one, for sets that have one. A violation is a passage whose output at a keep of 0.1, 0.25
or 0.5 does not parse, balance or show the header of its rows, although the input does, or that shows part of a line.
"""

from __future__ import annotations

import argparse
import pathlib
import time
from typing import Any

import squeeze
from squeeze.bench.machine import write_report
from squeeze.bench.rows import read_rows, row_passages
from squeeze.bench.whole import CHECKS, broken
from squeeze.segment import detect, parse
from squeeze.types import Budget, Passage

SETS = {
    "nq": "plain", "squad": "plain", "popqa": "plain", "clapnq": "plain", "hotpotqa": "plain", "musique": "plain",
    "2wikimultihopqa": "plain", "squality": "plain", "qmsum": "plain", "xquad": "plain", "tydiqa": "plain",
    "cmrc2018_zh": "plain", "jaquad_ja": "plain", "gum_edu": "plain", "tatqa": "", "wikitablequestions": "markdown",
    "factbook_json": "json", "tool_json_orders": "json", "kv_json": "json", "logs": "logs", "docs_rst": "rst",
    "docs_html": "html", "code_repo": "code", "agent_traces": "", "mtrag_un": "",
}  # fmt: skip
"""Each set with the format of its passages; empty where they have several."""

PROSE = ("nq", "squad", "clapnq")
KEEPS = (0.1, 0.25, 0.5)


def expected(name: str, text: str) -> str:
    """The format that a passage of this set should be read as."""
    if name == "tatqa":
        return "markdown" if text.lstrip().startswith("|") else "plain"
    if name == "agent_traces" and text.startswith(("{", "[")):
        return "json"
    return SETS[name]


def recognition(name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """How many passages are read as what they are."""
    right = total = 0
    for row in rows:
        for passage in row_passages(row):
            wanted = expected(name, passage.text)
            if wanted:
                total += 1
                right += detect(passage.text) == wanted
    return {"passages": total, "recognised": round(right / total, 4) if total else None}


def violations(rows: list[dict[str, Any]], compressor: squeeze.Compressor) -> dict[str, Any]:
    """How many compressed passages break their format, and the first of them."""
    checked = bad = 0
    first: list[str] = []
    for row in rows:
        passages = row_passages(row)
        layouts = [parse(passage.text) for passage in passages]
        for keep in KEEPS if any(layout.format in CHECKS for layout in layouts) else ():
            result = compressor.compress(passages, row["question"], budget=Budget(keep=keep))
            for index, kept in result.texts().items():
                if layouts[index].format not in CHECKS:
                    continue
                checked += 1
                fault = broken(passages[index].text, layouts[index], result.spans(index), kept)
                if fault:
                    bad += 1
                    first = first or [f"{row['id']} passage {index} keep {keep}: {fault}"]
    return {"checked": checked, "violations": bad, "first": first[0] if first else ""}


def cost(work: list[tuple[list[Passage], str]], compressor: squeeze.Compressor) -> float:
    """Seconds of processor time per thousand tokens."""
    started, tokens = time.process_time(), 0
    for passages, question in work:
        tokens += compressor.compress(passages, question, budget=Budget(keep=0.25)).tokens_before
    return (time.process_time() - started) / max(1, tokens) * 1000


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder with files of rows")
    parser.add_argument("--scorer", default="bm25")
    parser.add_argument("--rows", type=int, default=0, help="rows of each set that are checked; 0 for all")
    parser.add_argument("--timed", type=int, default=20, help="rows of each set that are timed")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--json", default="")
    args = parser.parse_args()
    compressor = squeeze.load("edu", scorer=args.scorer)
    names = [name for name in args.sets.split(",") if name in SETS]
    files = {name: sorted(pathlib.Path(args.data).glob(f"{name}.*jsonl*")) for name in {*names, *PROSE}}
    rows = {name: list(read_rows(found[0])) for name, found in files.items() if found}
    times: dict[str, list[float]] = {name: [] for name in rows}
    for _ in range(args.repeat):
        for name, own in rows.items():
            work = [(row_passages(row), row["question"]) for row in own[: args.timed]]
            times[name].append(cost(work, compressor))
    prose = min(sum(times[name][turn] for name in PROSE) / len(PROSE) for turn in range(args.repeat))
    table = []
    for name in names:
        if name not in rows:
            print(f"{name}: no file")
            continue
        own = rows[name][: args.rows or None]
        line = {
            "set": name,
            "format": SETS[name],
            "rows": len(own),
            "times_prose": round(min(times[name]) / prose, 2),
            "ms_per_1000_tokens": round(min(times[name]) * 1000, 2),
            **recognition(name, own),
            **violations(own, compressor),
        }
        table.append(line)
        print("  ".join(f"{key} {value}" for key, value in line.items() if value not in ("", None)), flush=True)
    if args.json:
        settings = {"scorer": args.scorer, "keeps": KEEPS, "timed": args.timed, "repeat": args.repeat}
        write_report(args.json, "squeeze.bench.formats", table, **settings)


if __name__ == "__main__":
    main()
