"""The picture of the README: evidence kept against tokens kept, drawn as SVG from a report of `squeeze bench`.

    python -m squeeze.bench.pareto               # draws the pictures again from reports/bench.json
    python -m squeeze.bench.pareto bench.json    # keeps the means of that report as reports/bench.json, and draws them

The same report gives the same bytes: no drawing library, no date, no machine. There is one picture for light pages and
one for dark ones.
"""

from __future__ import annotations

import argparse
import json
import math
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from squeeze.bench.command import reduced, to_json
from squeeze.bench.summary import MEAN

REPORT = pathlib.Path("reports/bench.json")
PICTURES = {
    "light": pathlib.Path("docs/_static/pareto-light.svg"),
    "dark": pathlib.Path("docs/_static/pareto-dark.svg"),
}

WIDTH, HEIGHT = 680, 440
LEFT, RIGHT, TOP, BOTTOM = 52, 496, 46, 384
"""Edges of the plot; right of it stand the names."""

LINE = 19
"""From name to name, at the least."""

PLAIN = ("passages",)
"""Methods of the package that are there to be compared with."""


class Theme(NamedTuple):
    """Colours of a picture."""

    text: str
    quiet: str
    grid: str
    shade: str
    page: str
    lines: tuple[str, ...]


THEMES = {
    "light": Theme(
        "#1f2328", "#656d76", "#d8dee4", "#f6f3e9", "#ffffff", ("#0060a8", "#c04c00", "#00795a", "#a8417f", "#7a5c00")
    ),
    "dark": Theme(
        "#e6edf3", "#9198a1", "#373e47", "#191c20", "#0d1117", ("#58b4f5", "#ff9d57", "#3ccfa0", "#f08cc4", "#d9b64a")
    ),
}


class Curve(NamedTuple):
    """A method and its points (share of tokens, share of evidence), the most tokens first."""

    name: str
    plain: bool
    points: list[tuple[float, float]]


def means(report: dict[str, Any]) -> dict[str, Any]:
    """The report without its rows and its sets: the means over the sets, rounded to what a picture shows."""
    kept = [row for row in report["results"] if row["data"] == MEAN]
    if not kept:
        raise SystemExit("the report has no mean: it needs rows of two sets or more")
    return {**reduced(report, kept), "seconds": round(report["seconds"], 1)}


def curves(report: dict[str, Any]) -> list[Curve]:
    """The methods and then the baselines of a report, each in the order of their quality with the fewest tokens."""
    found: dict[str, Curve] = {}
    for row in report["results"]:
        if row["data"] == MEAN and row["value"] is not None and row["method"] != "full":
            plain = row["kind"] == "baseline" or row["method"] in PLAIN
            curve = found.setdefault(row["method"], Curve(row["method"], plain, []))
            curve.points.append((row["tokens_kept"], row["value"]))
    for curve in found.values():
        curve.points.sort(reverse=True)
    return sorted(found.values(), key=lambda one: (one.plain, len(one.points) == 1, -one.points[-1][1], one.name))


def across(share: float, least: float) -> float:
    """Where a share of the tokens stands: halves are as far apart as wholes from halves."""
    return LEFT + 14 + (RIGHT - LEFT - 30) * math.log(share) / math.log(least)


def height(value: float) -> float:
    """Where a share of the evidence stands."""
    return BOTTOM - (BOTTOM - TOP) * value


def draw(report: dict[str, Any], theme: Theme) -> str:
    """The picture as SVG."""
    found = curves(report)
    least = min(share for curve in found for share, _ in curve.points)
    keeps = sorted({row["keep"] for row in report["results"] if row["keep"] is not None}, reverse=True)
    parts = [*_head(report, theme), _shade(found, least, theme), *_grid([1.0, *keeps], least, theme)]
    methods = [curve for curve in found if not curve.plain]
    for curve in [*(curve for curve in found if curve.plain), *reversed(methods)]:  # the best lies on top
        colour = theme.quiet if curve.plain else theme.lines[methods.index(curve) % len(theme.lines)]
        parts += _curve(curve, least, colour, 0 if curve.plain else methods.index(curve), theme)
    parts += _names([curve for curve in found if len(curve.points) > 1], methods, least, theme)
    return "\n".join([*parts, "</svg>", ""])


def _text(x: float, y: float, said: str, colour: str, extra: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}"{" " * bool(extra)}{extra}>{escape(said)}</text>'


def _head(report: dict[str, Any], theme: Theme) -> Iterable[str]:
    sets = report["rows_measured"]
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif" font-size="15">'
    )
    yield f"<title>{escape(said(report))}</title>"
    about = f"mean over {len(sets)} sets, {sum(sets.values()):,} questions"
    yield (
        f'<text x="{LEFT - 40}" y="20" fill="{theme.text}" font-weight="600">Evidence kept'
        f'<tspan dx="10" fill="{theme.quiet}" font-weight="400" font-size="14">{about}</tspan></text>'
    )
    yield _text(WIDTH - 8, 20, "up and right is better", theme.quiet, 'text-anchor="end" font-size="14"')
    yield _text((LEFT + RIGHT) / 2, HEIGHT - 10, "Tokens kept", theme.text, 'text-anchor="middle" font-weight="600"')


def _grid(keeps: Sequence[float], least: float, theme: Theme) -> Iterable[str]:
    for step in range(6):
        y = height(step / 5)
        yield f'<path d="M{LEFT} {y:.1f}H{RIGHT}" stroke="{theme.grid}"/>'
        yield _text(LEFT - 8, y + 5, f"{step / 5:.1f}", theme.quiet, 'text-anchor="end" font-size="14"')
    yield _text(LEFT + 10, BOTTOM - 12, "shaded: what can be had", theme.quiet, 'font-size="14"')
    for keep in keeps:
        x = across(keep, least)
        yield f'<path d="M{x:.1f} {BOTTOM}v6" stroke="{theme.quiet}"/>'
        yield _text(x, BOTTOM + 23, f"{keep * 100:g} %", theme.quiet, 'text-anchor="middle" font-size="14"')


def _shade(found: Sequence[Curve], least: float, theme: Theme) -> str:
    """What can be had for so many tokens or more: below the best points and the whole input."""
    best = [(1.0, 1.0)]
    for share, value in sorted((point for curve in found for point in curve.points), reverse=True):
        while best[-1][1] < value:
            best.pop()
        best.append((share, value))
    path = [f"M{LEFT} {height(1.0):.1f}"]
    for share, value in best:
        path.append(f"L{across(share, least):.1f} {height(value):.1f}")
    return f'<path d="{"".join(path)}L{RIGHT} {height(best[-1][1]):.1f}V{BOTTOM}H{LEFT}Z" fill="{theme.shade}"/>'


def _curve(curve: Curve, least: float, colour: str, shape: int, theme: Theme) -> Iterable[str]:
    places = [(across(share, least), height(value)) for share, value in curve.points]
    if len(places) > 1:
        line = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        style = 'stroke-width="1.5" stroke-dasharray="5 4"' if curve.plain else 'stroke-width="2.5"'
        yield f'<path d="M{line}" fill="none" stroke="{colour}" {style} stroke-linejoin="round"/>'
    else:
        (x, y), (_, value) = places[0], curve.points[0]
        weight = "" if curve.plain else ' font-weight="600"'
        yield _text(x, y + 24, f"{curve.name} {value:.2f}", colour, f'text-anchor="middle"{weight}')
    fill = theme.page if curve.plain else colour
    for x, y in places:
        mark = _mark(x, y, 3.5 if curve.plain else 5.5, shape)
        yield f'<path d="{mark}" fill="{fill}" stroke="{colour}" stroke-width="1.5"/>'


def _mark(x: float, y: float, r: float, shape: int) -> str:
    """A disc, square, diamond, or triangle: told apart without colours."""
    if shape % 4 == 0:
        return f"M{x - r:.1f} {y:.1f}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0Z"
    corners = {
        1: ((-1, -1), (1, -1), (1, 1), (-1, 1)),
        2: ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
        3: ((0, -1.2), (1.2, 0.9), (-1.2, 0.9)),
    }[shape % 4]
    return "M" + "L".join(f"{x + r * dx * 0.9:.1f} {y + r * dy * 0.9:.1f}" for dx, dy in corners) + "Z"


def _names(found: Sequence[Curve], methods: Sequence[Curve], least: float, theme: Theme) -> Iterable[str]:
    """A name and its last value right of each line, moved apart where they would meet."""
    order = sorted(found, key=lambda curve: -curve.points[-1][1])
    for curve, y in zip(order, apart([height(curve.points[-1][1]) for curve in order]), strict=True):
        share, value = curve.points[-1]
        colour = theme.quiet if curve.plain else theme.lines[methods.index(curve) % len(theme.lines)]
        end = f"M{across(share, least) + 8:.1f} {height(value):.1f}L{RIGHT + 10} {y:.1f}h6"
        yield f'<path d="{end}" fill="none" stroke="{colour}" stroke-opacity="0.6"/>'
        weight = "" if curve.plain else 'font-weight="600"'
        yield _text(RIGHT + 21, y + 5, f"{curve.name} {value:.2f}", colour, weight)


def apart(places: Sequence[float]) -> list[float]:
    """The places, in the same order, at least a line apart and each near to where it was."""
    groups: list[list[float]] = []  # of places that touch, spread around their mean
    for place in places:
        groups.append([place])
        while len(groups) > 1 and _edge(groups[-2], 1) + LINE > _edge(groups[-1], -1):
            touching = groups.pop()
            groups[-1] += touching
    return [_edge(group, -1) + at * LINE for group in groups for at in range(len(group))]


def _edge(group: Sequence[float], side: int) -> float:
    """Where the first or the last name of a group stands."""
    return sum(group) / len(group) + side * (len(group) - 1) * LINE / 2


def said(report: dict[str, Any]) -> str:
    """The picture in words, for those who do not see it."""
    found = curves(report)
    keeps = sorted({row["keep"] for row in report["results"] if row["keep"] is not None}, reverse=True)
    lines = []
    for curve in found:
        values = ", ".join(f"{value:.2f}" for _, value in curve.points)
        at = f" at {curve.points[0][0]:.0%} of the tokens" if len(curve.points) == 1 else ""
        lines.append(f"{curve.name} {values}{at}")
    shares = ", ".join(f"{keep * 100:g} %" for keep in keeps)
    return f"Share of the evidence kept with {shares} of the tokens: {'; '.join(lines)}."


def markdown(path: pathlib.Path = REPORT) -> str:
    """The picture for the README, light or dark as the page is, with its words for those who do not see it."""
    words = escape(said(json.loads(path.read_text(encoding="utf-8"))), {'"': "&quot;"})
    light, dark = (PICTURES[name].as_posix() for name in ("light", "dark"))
    return (
        f'<picture>\n  <source media="(prefers-color-scheme: dark)" srcset="{dark}">\n'
        f'  <img src="{light}" width="{WIDTH}" alt="{words}">\n</picture>'
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Keeps the report where one is given, and draws."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", nargs="?", type=pathlib.Path, help="written by squeeze bench --json, of several sets")
    args = parser.parse_args(arguments)
    if args.report is not None:
        REPORT.write_text(to_json(means(json.loads(args.report.read_text(encoding="utf-8")))), encoding="utf-8")
    report = json.loads(REPORT.read_text(encoding="utf-8"))
    for name, path in PICTURES.items():
        path.write_text(draw(report, THEMES[name]), encoding="utf-8", newline="\n")
        print(path)


if __name__ == "__main__":
    main()
