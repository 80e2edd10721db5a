"""The table of peers: other packages on the same rows at the same limit, and `edu` at the tokens that each kept.

    python -m squeeze.bench.peers DATA.jsonl.gz ... [--keep 0.25] [--rows 100] [--peers a,b] [--json FILE]

`make peers DATA="..."` builds their environments first. Packages that run a model see fewer rows of each set; the
table says how many. They return text, so for all of them, ours too, an answer counts as kept where it stands in the
text (`squeeze bench` asks for it inside one kept span). Tokens are those of cl100k_base. A package that misses the
limit is compared at the tokens that it really kept, row by row. Times are those of the processor. What cannot be run
is listed by name, with the reason.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import pathlib
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from squeeze.bench.machine import write_report
from squeeze.bench.peers._process import Peer, vocabulary
from squeeze.bench.questions import judged
from squeeze.bench.rows import row_passages
from squeeze.bench.runners import Making, Output, Runner, Spec, peers, specs_of
from squeeze.bench.sets import Set, read_sets
from squeeze.bench.summary import MEAN
from squeeze.bench.survival import difference, interval
from squeeze.bench.work import Bench, Chunk, Line, Plan, judge
from squeeze.tokens import load_tokenizer

TOKENIZER = "cl100k_base"
UNTITLED = "edu_untitled"
"""`edu` without the titles of the documents, which no other package is told."""

TITLED = ("trimwise", "llmslim", "sentence_embedding_optimizer", "embeddings_filter")
"""Packages that are also run on texts with the title in front, where it counts as text."""

_CLOCK = {"clock": "processor"}


@dataclass
class Found:
    """What was measured of one package.

    Attributes:
        spec: what it is called.
        lines: one for each row and share.
        equal: name of one of ours -> its lines on the same rows at the tokens that the package kept.
        versions: of its environment.
        missing: why it was not run; empty where it was.
        most: the most rows of a set that it was run on; None for all.
    """

    spec: Spec
    lines: list[Line] = field(default_factory=list)
    equal: dict[str, list[Line]] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    missing: str = ""
    most: int | None = None


def measure(spec: Spec, sets: Sequence[Set], keeps: tuple[float, ...]) -> Found:
    """A package on the rows that it is run on."""
    bench, found = Bench(Plan(Making(TOKENIZER, 0, (spec,)), keeps)), Found(spec)
    for data, one in enumerate(sets):
        found.lines += bench.chunk(Chunk(data, 0, one.rows)).lines
    found.missing = bench.missing.get(spec.label, "")
    runner = bench.runners.get(spec.label)
    if isinstance(runner, Peer):
        found.versions, found.most = runner.versions, runner.most
        runner.close()
    return found


def compare(found: Found, sets: Sequence[Set], ours: dict[str, Runner]) -> None:
    """Fills in what ours keep of the same rows at the same tokens; of a package that loses nothing, `lossless`."""
    for name, runner in ours.items():
        if (name == "lossless") == any(line.keep is not None for line in found.lines):
            continue
        found.equal[name] = [
            at_equal_tokens(line, sets[line.data].rows[line.row], runner, titles=name != UNTITLED)
            for line in found.lines
            if not line.failed
        ]


def at_equal_tokens(line: Line, row: dict[str, Any], runner: Runner, *, titles: bool = True) -> Line:
    """The line of a runner that is given as many tokens as another kept, judged by the text as that was."""
    documents = [document if titles else replace(document, title="") for document in row_passages(row)]
    made, started = Line(line.data, line.row, runner.name, line.keep, before=line.before), time.thread_time()
    output = runner.run(documents, row["question"], max(1, line.tokens))
    made.ms = 1000 * (time.thread_time() - started)
    made.tokens = load_tokenizer(TOKENIZER).count(output.text or "")
    made.over = line.keep is not None and made.tokens > max(1, line.tokens)
    judge(made, Output(output.text), row)
    return made


def summed(found: Found, sets: Sequence[Set]) -> list[dict[str, Any]]:
    """One result for each set and share, then one for the mean over the sets."""
    out = []
    for keep in dict.fromkeys(line.keep for line in found.lines):
        per_set = []
        for data, one in enumerate(sets):
            lines = [line for line in found.lines if (line.data, line.keep) == (data, keep)]
            equal = {
                name: [line for line in own if (line.data, line.keep) == (data, keep)]
                for name, own in found.equal.items()
            }
            if lines:
                per_set.append(_result(one.name, lines, equal))
        out += [{key: value for key, value in row.items() if key != "_apart"} for row in per_set]
        if len(per_set) > 1:
            out.append(_mean(per_set))
    return [{"method": found.spec.label, "kind": found.spec.kind, **row} for row in out]


def _result(data: str, lines: list[Line], equal: dict[str, list[Line]]) -> dict[str, Any]:
    good = [line for line in lines if not line.failed]
    failed = Counter(line.failed for line in lines if line.failed)
    row: dict[str, Any] = {"data": data, "keep": lines[0].keep, "rows": len(good), "failed": dict(failed)}
    row["kept"] = _share([line.gold for line in good])
    row["tokens_kept"] = _share([line.tokens / max(1, line.before) for line in good])
    row["over"] = sum(line.over for line in good) if lines[0].keep is not None else 0
    row["p50_ms"] = float(np.median([line.ms for line in good])) if good else None
    row["tokens_per_s"] = sum(line.before for line in good) / max(1e-9, sum(line.ms for line in good) / 1000)
    row["equal"] = {
        name: {
            "kept": _share([line.gold for line in own]),
            "tokens_kept": _share([line.tokens / max(1, line.before) for line in own]),
            "over": sum(line.over for line in own),
            "p50_ms": float(np.median([line.ms for line in own])) if own else None,
        }
        for name, own in equal.items()
    }
    pairs = [
        (float(mine.gold), float(theirs.gold))
        for mine, theirs in zip(equal.get("edu", []), good, strict=False)
        if mine.gold is not None and theirs.gold is not None
    ]
    apart = difference([mine for mine, _ in pairs], [theirs for _, theirs in pairs])
    row |= {"edu_won": apart.won, "edu_lost": apart.lost, "edu_low": apart.low, "edu_high": apart.high}
    return row | {"_apart": [mine - theirs for mine, theirs in pairs]}


def _mean(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The mean over the sets, the times summed over the rows."""
    out: dict[str, Any] = {"data": MEAN, "keep": rows[0]["keep"], "rows": sum(row["rows"] for row in rows)}
    out["failed"] = dict(sum((Counter(row["failed"]) for row in rows), Counter()))
    good = [row for row in rows if row["rows"]]
    out |= {key: _share([row[key] for row in good]) for key in ("kept", "tokens_kept", "p50_ms", "tokens_per_s")}
    out["over"] = sum(row["over"] for row in rows)
    out["equal"] = {
        name: {key: _share([row["equal"][name][key] for row in good]) for key in ("kept", "tokens_kept", "p50_ms")}
        | {"over": sum(row["equal"][name]["over"] for row in good)}
        for name in (good[0]["equal"] if good else ())
    }
    groups = [row["_apart"] for row in rows]
    low, high = interval(groups) if all(len(group) > 1 for group in groups) else (None, None)  # one row never varies
    out |= {key: sum(row[key] for row in rows) for key in ("edu_won", "edu_lost")}
    return out | {"edu_low": low, "edu_high": high}


def _share(values: Sequence[float | bool | None]) -> float | None:
    known = [float(value) for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _ours() -> dict[str, Runner]:
    made = {}
    for name, method in (("edu", "edu"), (UNTITLED, "edu"), ("bm25", "bm25"), ("lossless", "lossless")):
        (spec,) = specs_of([method], always=())
        made[name] = Making(TOKENIZER, 0, (spec,)).make(spec)
    return made


def _write(path: str, found: Sequence[Found], sets: Sequence[Set], *, add: bool, **settings: Any) -> None:
    """The report; with `add` what the file has of other packages stays."""
    results: dict[str, Any] = {"table": [], "not_run": {}, "limited": {}, "versions": {}}
    if add and pathlib.Path(path).is_file():
        results |= json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["results"]
    now = {one.spec.label for one in found}
    results["table"] = [row for row in results["table"] if row["method"] not in now]
    for part in ("not_run", "limited", "versions"):
        results[part] = {name: value for name, value in results[part].items() if name not in now}
    for one in found:
        cut = one.most is not None and any(len(each.rows) > one.most for each in sets)
        order = {"shortest": True} if cut and settings["shortest"] else {}
        results["table"] += [row | order for row in summed(one, sets)]
        if cut:
            which = ", the shortest" if order else ""
            results["limited"][one.spec.label] = f"rows of each set: {one.most}{which}, as it runs a model and is slow"
        reasons = Counter(line.failed for line in one.lines if line.failed)
        if one.missing:
            results["not_run"][one.spec.label] = one.missing
        elif reasons and not any(not line.failed for line in one.lines):
            said = ", ".join(f"{number} × {name}" for name, number in reasons.items())
            results["not_run"][one.spec.label] = f"no row gave a result: {said}"
        if one.versions:
            results["versions"][one.spec.label] = one.versions
    write_report(path, "squeeze.bench.peers", results, tokenizer=TOKENIZER, **settings)


def _show(found: Found, sets: Sequence[Set]) -> None:
    if found.missing:
        print(f"{found.spec.label}: not run: {found.missing}", flush=True)
    for row in summed(found, sets):
        equal = "  ".join(f"{name} {one['kept'] or 0:.3f}" for name, one in row["equal"].items() if name != "lossless")
        kept = "-" if row["kept"] is None else f"{row['kept']:.3f}"
        tokens = "-" if row["tokens_kept"] is None else f"{row['tokens_kept']:.3f}"
        print(
            f"{row['method']:29s} {row['data']:16s} keep {row['keep'] or '-'}  rows {row['rows']:3d}  kept {kept}  "
            f"tokens {tokens}  over {row['over']}  p50 {row['p50_ms'] or 0:,.0f} ms | at equal tokens: {equal}  "
            f"{row['failed'] or ''}",
            flush=True,
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures, prints, and writes after each package what there is so far."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--keep", default="0.25", help="one or more shares of the tokens")
    parser.add_argument("--rows", type=int, default=100, help="the most rows of each set")
    parser.add_argument(
        "--peers",
        default=",".join([*peers(), *(f"{name}:titles=true" for name in TITLED)]),
        help="names, options behind a colon each",
    )
    parser.add_argument("--shortest", action="store_true", help="the shortest rows of each set before others")
    parser.add_argument("--workers", type=int, default=1, help="packages that run at a time")
    parser.add_argument("--add", action="store_true", help="keep what the file has of packages that are not named")
    parser.add_argument("--json", default="")
    args = parser.parse_args(arguments)
    os.environ.update(vocabulary())
    keeps = tuple(float(part) for part in args.keep.split(","))
    sets = [judged(one, args.rows) for one in read_sets(args.data)]
    for one_set in sets if args.shortest else ():
        one_set.rows.sort(key=lambda row: sum(len(document["text"]) for document in row["documents"]))
    specs = specs_of([*args.peers.split(","), "edu"], always=())
    specs = tuple(_named(one, [one.label for one in specs]) for one in specs)
    ours, done, lock = _ours(), list[Found](), threading.Lock()

    def one(spec: Spec) -> None:
        found = measure(spec, sets, keeps)
        with lock:  # only the packages run side by side
            compare(found, sets, {} if spec.kind == "method" else ours)
            if spec.kind == "method":
                found.lines = [_by_text(line, sets, ours["edu"]) for line in found.lines]
            done.append(found)
            _show(found, sets)
            if args.json:
                names = [one.name for one in sets]
                order = sorted(done, key=lambda each: specs.index(each.spec))
                _write(
                    args.json,
                    order,
                    sets,
                    add=args.add,
                    data=names,
                    keep=list(keeps),
                    rows=args.rows,
                    shortest=args.shortest,
                )

    with concurrent.futures.ThreadPoolExecutor(args.workers) as pool:
        for future in [pool.submit(one, spec) for spec in specs]:
            future.result()
    sys.exit(0 if all(found.lines and not found.missing for found in done) else 3)


def _named(spec: Spec, taken: Sequence[str]) -> Spec:
    """The spec without the number of rows in its name, since the table has a column for it."""
    if spec.kind != "peer":
        return spec
    label = spec.label.replace(f":rows={spec.options.get('rows')}", "")
    return spec._replace(label=spec.label if label in taken else label, options=spec.options | _CLOCK)


def _by_text(line: Line, sets: Sequence[Set], runner: Runner) -> Line:
    """A line of ours, judged as the other packages are: by the text."""
    row = sets[line.data].rows[line.row]
    limit = int(line.before * (line.keep or 1))
    made = at_equal_tokens(replace(line, tokens=limit), row, runner)
    return replace(made, method=line.method, over=line.over)


if __name__ == "__main__":
    main()
