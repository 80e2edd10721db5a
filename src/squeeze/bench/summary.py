"""Means with intervals, differences to a reference, times: from the lines of a run to the rows of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from squeeze.bench.sets import Set
from squeeze.bench.survival import difference, interval
from squeeze.bench.work import Line

Key = tuple[int, int]

MEAN = "mean"
"""The name under which the mean over the sets stands."""

_READ = ("exact", "f1", "logprob")


def summaries(sets: Sequence[Set], lines: Sequence[Line], reference: str, *, seed: int = 0) -> list[dict[str, Any]]:
    """One row for each set, method and share, then one for the mean over the sets where there are several.

    Args:
        sets: what was read.
        lines: what was measured.
        reference: the runner that others are compared with, row by row.
        seed: of the bootstrap.
    """
    of: dict[tuple[str, float | None], list[Line]] = {}
    for line in lines:
        of.setdefault((line.method, line.keep), []).append(line)
    found = [
        _row(one.name, [line for line in own if line.data == data], sets, _reference(of, reference, keep), seed)
        for data, one in enumerate(sets)
        if one.rows
        for (_, keep), own in of.items()
        if any(line.data == data for line in own)
    ]
    if sum(bool(one.rows) for one in sets) > 1:
        found += [_row(MEAN, own, sets, _reference(of, reference, keep), seed) for (_, keep), own in of.items()]
    return found


def counts(sets: Sequence[Set], lines: Sequence[Line], missing: dict[str, str]) -> dict[str, Any]:
    """What was left out, by name: rows of each set, runs that failed, answers that a reader did not give, packages."""
    failed: dict[str, Counter[str]] = {}
    unread: Counter[str] = Counter()
    for line in lines:
        if line.failed:
            failed.setdefault(line.method, Counter())[line.failed] += 1
        if line.read.get("failed"):
            unread[line.read["failed"]] += 1
    return {
        "rows": {one.name: dict(sorted(one.skipped.items())) for one in sets if one.skipped},
        "first": {one.name: dict(sorted(one.places.items())) for one in sets if one.places},
        "failed": {method: dict(sorted(reasons.items())) for method, reasons in failed.items()},
        "reader": dict(sorted(unread.items())),
        "missing": dict(missing),
    }


def quality(line: Line, sets: Sequence[Set]) -> float | None:
    """The value of the measure of the line's set."""
    value = getattr(line, sets[line.data].measure)
    return None if value is None else float(value)


def _reference(of: dict[tuple[str, float | None], list[Line]], name: str, keep: float | None) -> list[Line]:
    return of.get((name, keep)) or of.get((name, None)) or []


def _row(name: str, own: list[Line], sets: Sequence[Set], other: list[Line], seed: int) -> dict[str, Any]:
    good = [line for line in own if not line.failed]
    first = own[0]
    row: dict[str, Any] = {"data": name, "method": first.method, "keep": first.keep, "rows": len(good)}
    row["measure"] = MEAN if name == MEAN else sets[first.data].measure
    row |= _means(good, lambda line: quality(line, sets), "value", seed, bounds=True)
    for measure in ("gold", "must", "cover"):
        row |= _means(good, lambda line, measure=measure: getattr(line, measure), measure, seed)  # type: ignore[misc]
    row |= _apart(good, other, lambda line: quality(line, sets), "", seed)
    row["tokens_kept"] = _mean([[line.tokens / max(1, line.before) for line in group] for group in _groups(good)])
    row["by_text"] = any(line.by_text for line in good)
    row["over"], row["failed"] = sum(line.over for line in own), len(own) - len(good)
    row |= _times([line.ms for line in good], sum(line.before for line in good))
    if any(line.read for line in own):
        row |= _read(good, other, seed)
    return row


def _read(good: list[Line], other: list[Line], seed: int) -> dict[str, Any]:
    """What a reader measured: means, and the difference in F1."""
    row: dict[str, Any] = {"read": sum("f1" in line.read for line in good)}
    for measure in _READ:
        row |= _means(good, lambda line, m=measure: line.read.get(m), measure, seed, bounds=measure == "f1")  # type: ignore[misc]
    row |= _apart(good, other, lambda line: line.read.get("f1"), "f1_", seed)
    waits = [line.read["first_ms"] for line in good if "first_ms" in line.read]
    row["first_ms"] = float(np.median(waits)) if waits else None
    whole = [line.ms + line.read["first_ms"] for line in good if "first_ms" in line.read]
    row["until_first_ms"] = float(np.median(whole)) if whole else None
    return row


def _times(ms: list[float], tokens: int) -> dict[str, float | None]:
    if not ms:
        return {"p50_ms": None, "p95_ms": None, "tokens_per_s": None}
    half, most = np.percentile(ms, [50, 95])
    return {"p50_ms": float(half), "p95_ms": float(most), "tokens_per_s": tokens / max(sum(ms) / 1000, 1e-9)}


def _groups(lines: Sequence[Line]) -> list[list[Line]]:
    """The lines of each set."""
    groups: dict[int, list[Line]] = {}
    for line in lines:
        groups.setdefault(line.data, []).append(line)
    return list(groups.values())


def _mean(groups: Sequence[Sequence[float]]) -> float | None:
    """The mean of the means of the groups that have values."""
    means = [float(np.mean(group)) for group in groups if len(group)]
    return float(np.mean(means)) if means else None


def _means(
    lines: list[Line], value: Callable[[Line], float | None], name: str, seed: int, *, bounds: bool = False
) -> dict[str, float | None]:
    groups = [[float(v) for v in map(value, group) if v is not None] for group in _groups(lines)]
    row = {name: _mean(groups)}
    if bounds:
        known = row[name] is not None
        low, high = interval(groups, seed=seed) if known else (None, None)
        row |= {f"{name}_low": low, f"{name}_high": high}
    return row


def _apart(
    own: list[Line], other: list[Line], value: Callable[[Line], float | None], prefix: str, seed: int
) -> dict[str, Any]:
    """The difference to the reference on the rows that both have; None where there are none, or it is the reference."""
    names = [prefix + name for name in ("difference", "won", "lost", "difference_low", "difference_high")]
    if not own or not other or own[0].method == other[0].method:
        return dict.fromkeys(names)
    base = {(line.data, line.row): value(line) for line in other if not line.failed}
    pairs: dict[int, list[tuple[float, float]]] = {}
    for line in own:
        mine, theirs = value(line), base.get((line.data, line.row))
        if mine is not None and theirs is not None:
            pairs.setdefault(line.data, []).append((mine, theirs))
    if not pairs:
        return dict.fromkeys(names)
    groups = [[mine - theirs for mine, theirs in group] for group in pairs.values()]
    flat = [pair for group in pairs.values() for pair in group]
    found = difference([mine for mine, _ in flat], [theirs for _, theirs in flat], seed=seed)
    low, high = (found.low, found.high) if len(groups) == 1 else interval(groups, seed=seed)
    return dict(zip(names, (_mean(groups), found.won, found.lost, low, high), strict=True))
