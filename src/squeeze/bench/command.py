"""The body of `squeeze bench`: reads the data, runs everything, sums up, and says how it went."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from squeeze.bench.asking import Reads, ask
from squeeze.bench.machine import PACKAGES, machine
from squeeze.bench.runners import METHODS, Making, Spec, check, short, specs_of
from squeeze.bench.sets import EXPECTED, TOP, Set, first, read_sets
from squeeze.bench.summary import counts, summaries
from squeeze.bench.work import Line, Plan, run
from squeeze.errors import ConfigError, MissingDependencyError, nearest
from squeeze.types import Budget

FINE, OVERRUN, SKIPPED = 0, 1, 3
"""Exit codes; 2 is that of wrong usage, as everywhere."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Options:
    """What is measured, on what, and how.

    Attributes:
        data: files of rows, or folders.
        questions: the file of questions about the folders.
        methods: names, options behind a colon each.
        keep: shares of the tokens.
        reference: the runner that others are compared with.
        tokenizer: what counts.
        rows: the most rows of each set; all when 0.
        top: the most documents of a folder for a question.
        seed: of the random baseline and of the bootstrap.
        workers: processes; one for each core when 0.
    """

    data: tuple[str, ...]
    questions: str = ""
    methods: tuple[str, ...] = METHODS
    keep: tuple[float, ...] = (0.5, 0.25, 0.125)
    reference: str = "bm25"
    tokenizer: str = "estimate"
    rows: int = 0
    top: int = TOP
    seed: int = 0
    workers: int = 0
    reader: dict[str, Any] = field(default_factory=dict)


def bench(
    options: Options,
    *,
    reader: Reads | None = None,
    progress: Callable[[str], Progress] = lambda name: lambda a, b: None,
) -> dict[str, Any]:
    """The report of a run: settings, machine, results, what was left out, and a line for each row and runner.

    Args:
        options: what to measure.
        reader: what answers the questions; None for no answers.
        progress: for the name of a phase what is called with (steps done, steps in all).

    Raises:
        ConfigError: an option is not allowed, or no row counts.
        CorruptError: a file does not read.
    """
    started = time.perf_counter()
    specs, missing = _specs(options)
    for keep in options.keep:
        Budget(keep=keep)  # names what is not allowed
    if not options.keep:
        raise ConfigError("--keep has no share; give at least one, such as 0.25")
    sets = read_sets(options.data, questions=options.questions, rows=options.rows, top=options.top)
    if not any(one.rows for one in sets):
        raise ConfigError(f"no row counts: {_reasons(sets)}")
    workers = options.workers or _cores()
    making = Making(options.tokenizer, options.seed, specs)
    plan = Plan(making, options.keep, texts=reader is not None)
    done = run(sets, plan, workers=workers, progress=progress("compressing"))
    if reader is not None:
        ask(reader, sets, done.lines, progress=progress("reading"))
    left = counts(sets, done.lines, missing | done.missing)
    kinds = {spec.label: spec.kind for spec in specs}
    results = summaries(sets, done.lines, options.reference, seed=options.seed)
    settings = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(options).items()}
    settings["methods"] = [spec.label for spec in specs] + sorted(missing)  # labels have no folders of this machine
    settings["tokenizer"] = short(options.tokenizer)
    settings |= {"data": [one.name for one in sets], "workers": workers, "questions": bool(options.questions)}
    return {
        "program": "squeeze bench",
        "settings": settings,
        "seed": options.seed,
        "machine": machine((*PACKAGES, "rich", "tokenizers", "sentence-transformers", "matplotlib")),
        "seconds": time.perf_counter() - started,
        "rows_measured": {one.name: len(one.rows) for one in sets if one.rows},
        "skipped": left,
        "exit_code": exit_code(left, [line for line in done.lines if kinds[line.method] != "peer"]),
        "results": [{**row, "kind": kinds[row["method"]]} for row in results],
        "lines": [_plain(line, sets) for line in done.lines],
    }


def exit_code(left: dict[str, Any], own: Sequence[Line]) -> int:
    """1 where a method or baseline went over its limit, else 3 where something was skipped unexpectedly, else 0."""
    if any(line.over for line in own):
        return OVERRUN
    bad = any(reason not in EXPECTED for reasons in left["rows"].values() for reason in reasons)
    return SKIPPED if bad or left["failed"] or left["reader"] or left["missing"] else FINE


def reduced(report: dict[str, Any], results: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The report with these of its results alone, rounded, and without its lines: what is kept of it in `reports/`."""
    rounded = [{key: round(v, 4) if isinstance(v, float) else v for key, v in row.items()} for row in results]
    return {**report, "results": rounded, "lines": []}


def to_json(report: dict[str, Any]) -> str:
    """The report as JSON, each result and each line on a line of its own."""
    lists = {key: report[key] for key in ("results", "lines")}
    head = json.dumps({k: v for k, v in report.items() if k not in lists}, indent=1, ensure_ascii=False)
    tails = [
        f' "{key}": [\n' + ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in rows) + "\n ]"
        for key, rows in lists.items()
    ]
    return head.removesuffix("\n}") + ",\n" + ",\n".join(tails) + "\n}\n"


def _specs(options: Options) -> tuple[tuple[Spec, ...], dict[str, str]]:
    """What can be run, and what cannot for want of a package."""
    specs = specs_of([*options.methods, options.reference])
    missing = {}
    for spec in specs:
        try:
            check(spec)
        except MissingDependencyError as error:
            missing[spec.label] = str(error)
    labels = [spec.label for spec in specs]
    if options.reference not in labels:
        raise ConfigError(f"--reference {options.reference!r}; {nearest(options.reference, labels)}")
    return tuple(spec for spec in specs if spec.label not in missing), missing


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _reasons(sets: Sequence[Set]) -> str:
    said = [
        f"{one.name}: "
        + ", ".join(
            f"{number} {reason} ({first(number, one.places[reason])})" for reason, number in one.skipped.items()
        )
        for one in sets
    ]
    return "; ".join(line if line.rstrip(": ") != line else f"{line.rstrip(': ')} is empty" for line in said)


def _plain(line: Line, sets: Sequence[Set]) -> dict[str, Any]:
    """A line for JSON."""
    made: dict[str, Any] = {"data": sets[line.data].name, "id": sets[line.data].rows[line.row]["id"]}
    for name in ("row", "method", "keep", "gold", "must", "cover", "before", "tokens", "over", "ms"):
        made[name] = getattr(line, name)
    made["ms"] = round(line.ms, 3)
    if line.by_text:
        made["by_text"] = True
    if line.failed:
        made["failed"] = line.failed
    return made | ({"read": line.read} if line.read else {})
