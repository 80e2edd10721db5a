"""The picture of a benchmark: quality against the tokens kept and against time, the best trade-offs joined."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence
from typing import Any

from squeeze.bench.summary import MEAN
from squeeze.errors import ConfigError, need

FORMATS = (".png", ".svg", ".pdf")

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
"""Okabe and Ito's colours, which people with any colour vision tell apart; baselines are grey."""

MARKS = ("o", "s", "^", "D", "v", "P")
GREY = "#767676"
_TEXT = "#333333"


def check_plot(path: str) -> None:
    """Returns when a picture of that name can be made.

    Raises:
        ConfigError: the name ends otherwise than a picture's.
        MissingDependencyError: matplotlib is not installed.
    """
    suffix = pathlib.Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise ConfigError(f"--plot {path}; allowed: a name that ends in {', '.join(FORMATS)}")
    need("matplotlib", extra="bench")


def plot(report: dict[str, Any], path: str) -> None:
    """Writes the picture of a report.

    Raises:
        ConfigError: see `check_plot`.
        MissingDependencyError: matplotlib is not installed.
    """
    check_plot(path)
    figures = need("matplotlib.figure", extra="bench")
    rows, names = _rows(report["results"])
    read = any(row.get("f1") is not None for row in rows)
    quality, what = ("f1", "F1 of the answers") if read else ("value", _quality(report["results"], names))
    time, when = ("until_first_ms", "to the first token") if read else ("p50_ms", "to compress")
    figure = figures.Figure(figsize=(12, 5.2), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    series = _series(rows, quality)
    for axes, across in ((left, "tokens_kept"), (right, time)):
        _panel(axes, series, across, quality)
    left.set_ylabel(what, color=_TEXT)
    left.set_xlabel("share of the tokens kept", color=_TEXT)
    left.xaxis.set_major_formatter(need("matplotlib.ticker", extra="bench").PercentFormatter(1.0, decimals=0))
    right.set_xscale("log")
    right.set_xlabel(f"milliseconds {when}, median", color=_TEXT)
    right.xaxis.set_major_formatter(need("matplotlib.ticker", extra="bench").FuncFormatter(lambda x, _: f"{x:g}"))
    figure.suptitle(_title(names, report), x=0.01, ha="left", fontsize=11, color=_TEXT)
    figure.canvas.draw()
    for axes, across in ((left, "tokens_kept"), (right, time)):
        _labels(axes, series, across, quality)
    figure.savefig(path, dpi=160, metadata={"Software": None} if path.lower().endswith(".png") else None)


def _rows(results: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows that are drawn, the mean where there are several sets, and the names of the sets."""
    names = [name for name in dict.fromkeys(row["data"] for row in results) if name != MEAN]
    shown = MEAN if len(names) > 1 else names[0]
    return [row for row in results if row["data"] == shown], names


def _quality(results: Sequence[dict[str, Any]], names: Sequence[str]) -> str:
    measures = {row["measure"] for row in results if row["data"] in names}
    only = {"gold": "share of answers kept", "must": "share with all that must be kept", "cover": "answer words kept"}
    return only[measures.pop()] if len(measures) == 1 else "evidence kept"


def _title(names: Sequence[str], report: dict[str, Any]) -> str:
    counts = report["rows_measured"]
    if len(names) > 6:
        return f"Mean over {len(names)} sets, {sum(counts.values())} questions"
    return ", ".join(f"{name} ({counts[name]})" for name in names) + (": the mean" if len(names) > 1 else "")


def _series(rows: Sequence[dict[str, Any]], quality: str) -> list[dict[str, Any]]:
    """For each method its points in order of the tokens, its colour and mark."""
    found: list[dict[str, Any]] = []
    colours = 0
    for name in dict.fromkeys(row["method"] for row in rows):
        points = [row for row in rows if row["method"] == name and row.get(quality) is not None]
        if not points:
            continue
        points.sort(key=lambda row: row["tokens_kept"])
        plain = points[0]["kind"] == "baseline"
        colour = GREY if plain else COLOURS[colours % len(COLOURS)]
        mark = MARKS[len(found) % len(MARKS)] if plain else MARKS[colours % len(MARKS)]
        colours += not plain
        found.append({"name": name, "points": points, "colour": colour, "mark": mark, "plain": plain})
    return found


def _panel(axes: Any, series: Sequence[dict[str, Any]], across: str, quality: str) -> None:
    for one in series:
        points = [row for row in one["points"] if row.get(across) is not None]
        axes.plot(
            [row[across] for row in points],
            [row[quality] for row in points],
            color=one["colour"],
            marker=one["mark"],
            markersize=4.5 if one["plain"] else 6.5,
            markerfacecolor="white" if one["plain"] else one["colour"],
            linewidth=1.0 if one["plain"] else 2.0,
            zorder=2 if one["plain"] else 3,
        )
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=_TEXT, labelsize=9)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color("#bbbbbb")


def _labels(axes: Any, series: Sequence[dict[str, Any]], across: str, quality: str) -> None:
    """Names beside the last point of each line, moved apart where they would overlap."""
    places = []
    for one in series:
        points = [row for row in one["points"] if row.get(across) is not None]
        if points:
            places.append((axes.transData.transform((points[-1][across], points[-1][quality])), one))
    taken: list[tuple[float, float, float]] = []
    scale = axes.figure.dpi / 72
    for (x, y), one in sorted(places, key=lambda place: (place[1]["plain"], -place[0][1])):
        width = 5.6 * scale * len(one["name"])
        shift = _free(x, y, width, taken, 11 * scale)
        taken.append((x, y + shift, width))
        axes.annotate(
            one["name"],
            (one["points"][-1][across], one["points"][-1][quality]),
            xytext=(8, shift / scale),
            textcoords="offset points",
            va="center",
            fontsize=9,
            color=one["colour"],
            fontweight="normal" if one["plain"] else "bold",
            annotation_clip=False,
        )


def _free(x: float, y: float, width: float, taken: Sequence[tuple[float, float, float]], height: float) -> float:
    """The smallest shift up or down at which a label overlaps no other."""
    steps = (step * height / 4 * sign for step in range(60) for sign in (-1, 1))
    for shift in steps:
        if all(abs(y + shift - b) >= height or x + width < a or x > a + w for a, b, w in taken):
            return shift
    return 0.0
