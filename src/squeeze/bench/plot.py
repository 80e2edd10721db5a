"""The picture of a benchmark: quality against the tokens kept and against time, the best trade-offs joined."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence
from typing import Any

from squeeze.bench.labels import label
from squeeze.bench.summary import MEAN
from squeeze.errors import ConfigError, need

FORMATS = (".png", ".svg", ".pdf")

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
"""Okabe and Ito's colours, which people with any colour vision tell apart; baselines are grey."""

MARKS = ("o", "s", "^", "D", "v", "p")
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
    figures, ticker = need("matplotlib.figure", extra="bench"), need("matplotlib.ticker", extra="bench")
    rows, names = _rows(report["results"])
    read = any(row.get("f1") is not None for row in rows)
    quality, what = ("f1", "F1 of the answers") if read else ("value", _quality(report["results"], names))
    figure = figures.Figure(figsize=(12, 5.4), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(1.15, 1))
    panels = [(left, "tokens_kept", _series(rows, quality))]
    if read:
        panels.append((right, "until_first_ms", panels[0][2]))
        right.set_xlabel("milliseconds until the first token, compression included (median)", color=_TEXT)
    else:  # the time hardly depends on the share, so one share says it all
        share = _middle(rows)
        panels.append((right, "p50_ms", _at(panels[0][2], share)))
        right.set_xlabel(f"milliseconds to compress, median, keeping {share:.3g} of the tokens", color=_TEXT)
    right.set_xscale("log")
    for axes, across, series in panels:
        _panel(axes, series, across, quality)
    for axes, across, series in panels:  # the panels share what is up and down: all is drawn before the shade is
        _front(axes, series, across, quality)
    left.set_ylabel(what, color=_TEXT)
    left.set_xlabel("share of the tokens kept", color=_TEXT)
    left.xaxis.set_major_formatter(ticker.PercentFormatter(1.0, decimals=0))
    right.xaxis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
    right.xaxis.set_major_formatter(ticker.FuncFormatter(lambda x, _: f"{x:,g}"))
    right.xaxis.set_minor_formatter(ticker.NullFormatter())
    figure.suptitle(_title(names, report), x=0.01, ha="left", fontsize=11, color=_TEXT)
    left.set_title("shaded: what can be had for so many tokens", loc="left", fontsize=9, color=GREY)
    right.set_title("shaded: what can be had in that time", loc="left", fontsize=9, color=GREY)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes, across, series in panels:
        label(axes, series, across, quality)
    figure.savefig(path, dpi=160)


def _middle(rows: Sequence[dict[str, Any]]) -> float:
    """The middle one of the shares."""
    keeps = sorted({row["keep"] for row in rows if row["keep"] is not None})
    return float(keeps[len(keeps) // 2]) if keeps else 1.0


def _at(series: Sequence[dict[str, Any]], share: float) -> list[dict[str, Any]]:
    """The points at one share."""
    found = []
    for one in series:
        points = [row for row in one["points"] if row["keep"] == share]
        if points:
            found.append({**one, "points": points})
    return found


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
        mark = MARKS[len(found) % len(MARKS)] if plain else MARKS[(colours + colours // len(MARKS)) % len(MARKS)]
        colours += not plain
        found.append(
            {
                "name": name,
                "points": points,
                "colour": colour,
                "mark": mark,
                "plain": plain,
                "peer": points[0]["kind"] == "peer",
            }
        )
    return found


def _panel(axes: Any, series: Sequence[dict[str, Any]], across: str, quality: str) -> None:
    for one in series:
        points = [row for row in one["points"] if row.get(across) is not None]
        axes.plot(
            [row[across] for row in points],
            [row[quality] for row in points],
            color=one["colour"],
            marker=one["mark"],
            markersize=5 if one["plain"] else 7,
            markerfacecolor="white" if one["plain"] else one["colour"],
            linestyle="--" if one["peer"] else "-",
            linewidth=1.0 if one["plain"] else 2.0,
            zorder=2 if one["plain"] else 3,
        )
    axes.margins(x=0.12 if across == "tokens_kept" else 0.22, y=0.07)  # names take room
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=_TEXT, labelsize=9)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color("#bbbbbb")


def _front(axes: Any, series: Sequence[dict[str, Any]], across: str, quality: str) -> None:
    """A shade below what the best reach with so much or less."""
    points = [(row[across], row[quality]) for one in series for row in one["points"] if row.get(across) is not None]
    best: list[tuple[float, float]] = []
    for x, y in sorted(points, key=lambda point: (point[0], -point[1])):
        if not best or y > best[-1][1]:
            best.append((x, y))
    if best:
        (_, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
        best.append((right, best[-1][1]))
        xs, ys = zip(*best, strict=True)
        axes.fill_between(xs, ys, bottom, step="post", color="#f5f1e4", linewidth=0, zorder=0)
        axes.set(xlim=axes.get_xlim(), ylim=(bottom, top))
        axes.set_xlim(right=right)
