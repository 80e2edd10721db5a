"""The curve of a training run as a picture: the loss of every step, and what held-out rows say.

python -m squeeze.train.curve OUT/log.jsonl curve.png
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from squeeze.errors import need
from squeeze.train.soft_state import write_whole

Row = Mapping[str, Any]


def draw(rows: Sequence[Row], path: Path, title: str = "") -> None:
    """Writes a PNG: the loss by kind, each point with a running mean, and a picture of each kind of held-out figures.

    Args:
        rows: those of the log: with `loss` and `kind`, or with `measured`.
        path: the file.
        title: what stands above.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        ConfigError: the file cannot be written.
    """
    figure_of = need("matplotlib.figure", extra="train").Figure  # no pyplot: no window, no global state
    measured = [row for row in rows if "measured" in row]
    kinds = sorted({name.partition("/")[0] for row in measured for name in row["measured"]})
    figure = figure_of(figsize=(5 + 4.5 * len(kinds), 4.2), layout="constrained")
    losses, *held = figure.subplots(1, 1 + len(kinds), squeeze=False)[0]
    _losses(losses, [row for row in rows if "loss" in row])
    for axes, kind in zip(held, kinds, strict=True):
        _held(axes, measured, kind)
    for axes in (losses, *held):
        axes.set_xlabel("step")
        axes.grid(alpha=0.3)
    figure.suptitle(title)
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=110, metadata={"Software": None})
    write_whole(path, picture.getvalue())


def _losses(axes: Any, rows: Sequence[Row]) -> None:
    for number, kind in enumerate(sorted({row["kind"] for row in rows})):
        own = [row for row in rows if row["kind"] == kind]
        at, losses = [row["step"] for row in own], [row["loss"] for row in own]
        axes.plot(at, losses, ".", markersize=2, alpha=0.25, color=f"C{number}")
        axes.plot(at, running_mean(losses), color=f"C{number}", label=kind)
    axes.set_title("loss", fontsize=10)
    axes.set_ylabel("nats per token")
    if rows:
        axes.legend(fontsize=8)


def _held(axes: Any, measured: Sequence[Row], kind: str) -> None:
    """The figures of a kind; what is measured without the encoder is dashed. Names stand at the ends of the lines."""
    names = sorted({name for row in measured for name in row["measured"] if name.startswith(f"{kind}/")})
    ends = []
    for number, name in enumerate(names):
        own = [row for row in measured if name in row["measured"]]
        values = [row["measured"][name] for row in own]
        fixed = name.endswith(("/none", "/full")) or "/pooled" in name
        style: dict[str, Any] = {"linestyle": "--", "color": "0.5"} if fixed else {"marker": "o", "color": f"C{number}"}
        axes.plot([row["step"] for row in own], values, markersize=3, linewidth=1.2, **style)
        ends.append((values[-1], name.partition("/")[2], style["color"]))
    axes.set_title(f"held out: {kind}", fontsize=10)
    low, high = axes.get_ylim()
    least, place = (high - low) / 22, low - (high - low)
    for value, name, colour in sorted(ends):
        place = max(value, place + least)  # names of lines that end side by side are moved apart
        axes.text(1.01, place, name, transform=axes.get_yaxis_transform(), fontsize=8, color=colour, va="center")


def running_mean(values: Sequence[float], share: float = 0.1) -> list[float]:
    """The mean of each value and those before it, over a window of a share of them all, 5 to 100."""
    window = min(max(int(len(values) * share), 5), 100)
    sums = [0.0]
    for value in values:
        sums.append(sums[-1] + value)
    return [(sums[at + 1] - sums[max(at + 1 - window, 0)]) / min(at + 1, window) for at in range(len(values))]


if __name__ == "__main__":
    draw([json.loads(line) for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()], Path(sys.argv[2]))
