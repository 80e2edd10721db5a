"""The curve of a training run as a picture: the loss of every step, and what held-out rows say."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from squeeze.errors import need
from squeeze.train.soft_state import write_whole

Row = Mapping[str, Any]


def draw(rows: Sequence[Row], path: Path, title: str = "") -> None:
    """Writes a PNG: at the left the loss by kind, each point with a running mean; at the right the held-out figures.

    Args:
        rows: those of the log: with `loss` and `kind`, or with `measured`.
        path: the file.
        title: what stands above.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        ConfigError: the file cannot be written.
    """
    figure_of = need("matplotlib.figure", extra="train").Figure  # no pyplot: no window, no global state
    figure = figure_of(figsize=(11, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    steps = [row for row in rows if "loss" in row]
    for number, kind in enumerate(sorted({row["kind"] for row in steps})):
        own = [row for row in steps if row["kind"] == kind]
        at, losses = [row["step"] for row in own], [row["loss"] for row in own]
        left.plot(at, losses, ".", markersize=2, alpha=0.25, color=f"C{number}")
        left.plot(at, running_mean(losses), color=f"C{number}", label=kind)
    measured = [row for row in rows if "measured" in row]
    for name in sorted({name for row in measured for name in row["measured"]}):
        own = [row for row in measured if name in row["measured"]]
        fixed = name.endswith(("/none", "/full")) or "/pooled" in name
        values = [row["measured"][name] for row in own]
        right.plot([row["step"] for row in own], values, "--" if fixed else "o-", markersize=3, label=name)
    for axes, label in ((left, "loss"), (right, "held out: nats per token")):
        axes.set_xlabel("step")
        axes.set_ylabel(label)
        axes.grid(alpha=0.3)
        if axes.lines:
            axes.legend(fontsize=8)
    figure.suptitle(title)
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=110, metadata={"Software": None})
    write_whole(path, picture.getvalue())


def running_mean(values: Sequence[float], share: float = 0.1) -> list[float]:
    """The mean of each value and those before it, over a window of a share of them all, 5 to 100."""
    window = min(max(int(len(values) * share), 5), 100)
    sums = [0.0]
    for value in values:
        sums.append(sums[-1] + value)
    return [(sums[at + 1] - sums[max(at + 1 - window, 0)]) / min(at + 1, window) for at in range(len(values))]
