"""Names beside the lines of a picture, each where it hides the least."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

Box = tuple[float, float, float, float]
"""Left, bottom, right, top, in pixels."""

_FONT = 9
_STEPS = 24
"""Places on a line between two points that a name had better not cover."""


def label(axes: Any, series: Sequence[dict[str, Any]], across: str, quality: str) -> None:
    """Writes the name of each line beside one of its ends.

    Args:
        axes: of matplotlib, drawn once.
        series: lines with `name`, `colour`, `plain` (thin type) and `points`.
        across: the key of a point's horizontal value.
        quality: the key of its vertical one.
    """
    scale = axes.figure.dpi / 72
    drawn, marks = list[tuple[float, float]](), list[tuple[float, float]]()
    ends = []
    for one in series:
        points = [(row[across], row[quality]) for row in one["points"] if row.get(across) is not None]
        if not points:
            continue
        places = axes.transData.transform(points)
        pixels = [(float(x), float(y)) for x, y in places]
        marks += pixels
        drawn += _between(pixels)
        ends.append((one, points[-1], pixels[-1]))
    taken: list[Box] = []
    whole = axes.get_window_extent()
    frame = (float(whole.x0), float(whole.y0), float(whole.x1), float(whole.y1))
    for one, point, pixel in sorted(ends, key=lambda end: (end[0]["plain"], -end[2][1])):
        size = (len(one["name"]) * _FONT * (0.56 if one["plain"] else 0.62) * scale, _FONT * 1.25 * scale)
        best = min(
            _places(pixel, size, scale),
            key=lambda place: _cost(place[0], taken, marks, drawn, frame, 6 * scale) + place[1],
        )
        box = best[0]
        taken.append(box)
        written = axes.annotate(
            one["name"],
            point,
            xytext=((box[0] - pixel[0]) / scale, ((box[1] + box[3]) / 2 - pixel[1]) / scale),
            textcoords="offset points",
            ha="left",
            va="center",
            fontsize=_FONT,
            color=one["colour"],
            fontweight="normal" if one["plain"] else "bold",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": one["colour"], "linewidth": 0.8, "shrinkA": 0, "shrinkB": 3},
        )
        written.set_in_layout(False)  # else the panels are laid out anew, and what was free is not


def _places(pixel: tuple[float, float], size: tuple[float, float], scale: float) -> Iterator[tuple[Box, float]]:
    """Boxes around a point, with what is lost by being far from it."""
    x, y = pixel[0], pixel[1]
    width, height = size
    gap = 9 * scale
    for step in (0, 1, -1, 2, -2, 3, -3, 4, -4):
        middle = y + step * height * 0.6
        near = abs(step) * 0.8
        yield (x + gap, middle - height / 2, x + gap + width, middle + height / 2), near
        yield (x - gap - width, middle - height / 2, x - gap, middle + height / 2), near + 1.5
    for up in (1, -1):
        middle = y + up * (height / 2 + gap)
        yield (x - width / 2, middle - height / 2, x + width / 2, middle + height / 2), 1.0


def _cost(
    box: Box,
    taken: Sequence[Box],
    marks: Sequence[tuple[float, float]],
    drawn: Sequence[tuple[float, float]],
    frame: Box,
    near: float,
) -> float:
    """What a name in that box hides, or loses by being outside."""
    lost = 30.0 * sum(_meet(box, other) for other in taken)
    lost += 6.0 * sum(_inside(mark, box, near) for mark in marks)
    lost += 1.0 * sum(_inside(place, box, 1.0) for place in drawn)
    outside = max(0.0, frame[0] - box[0]) + max(0.0, box[2] - frame[2])
    outside += max(0.0, frame[1] - box[1]) + max(0.0, box[3] - frame[3])
    return lost + outside


def _between(pixels: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Places along the lines between points."""
    found = []
    for first, second in itertools.pairwise(pixels):
        for step in range(_STEPS + 1):
            part = step / _STEPS
            found.append((first[0] + (second[0] - first[0]) * part, first[1] + (second[1] - first[1]) * part))
    return found


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _inside(place: Sequence[float], box: Box, margin: float) -> bool:
    return box[0] - margin < place[0] < box[2] + margin and box[1] - margin < place[1] < box[3] + margin
