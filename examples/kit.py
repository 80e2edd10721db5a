"""What the notebooks share: where the documents are, and how a figure is drawn and shown.

A figure says one thing, with labels at what they name, on white, in colours that stay apart for colour-blind readers.
"""

from __future__ import annotations

import difflib
import html
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from typing import Any

import squeeze
from squeeze.errors import ConfigError, MissingDependencyError

os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")  # of models that are loaded: they hide what a page shows

if find_spec("matplotlib") is None:  # said before a page has printed half of what it shows
    sys.exit(f"matplotlib is not installed; run: {Path(sys.executable).name} -m pip install matplotlib")

DATA = Path(__file__).resolve().parent / "data"
WRITTEN = DATA.parents[1] / "build" / "examples"
GREY, BLUE, ORANGE, GREEN, INK = "#b4b8bf", "#0072b2", "#d55e00", "#009e73", "#24292f"
OWN, PEERS = (BLUE, "#785ef0"), ("#6e7681", ORANGE, GREEN)


def documents(name: str) -> list[squeeze.Passage]:
    """The files of a folder under `data`, each with its first heading as title."""
    passages = []
    for file in sorted((DATA / name).glob("*.md")):
        text = file.read_text(encoding="utf-8")
        passages.append(squeeze.Passage(text, title=text.partition("\n")[0].lstrip("# "), id=file.name))
    return passages


def rows(name: str) -> list[dict[str, Any]]:
    """The rows of a file of JSON lines under `data`."""
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def keeps(result: squeeze.Compressed, file: str, answer: str) -> bool:
    """Whether a result still has an answer that stands in the passage with that id."""
    for index, passage in enumerate(result.passages):
        if passage.id == file:
            start = passage.text.index(answer)
            return any(first <= start and start + len(answer) <= last for first, last in result.spans(index))
    return False


def exact_tokenizer() -> str:
    """cl100k_base where tiktoken has it or can fetch it, else the estimate, which needs nothing."""
    try:
        squeeze.load("truncate", tokenizer="cl100k_base")
    except (MissingDependencyError, ConfigError):
        print("cl100k_base is not here, so tokens are estimated: pip install tiktoken, and a network for its first use")
        return "estimate"
    return "cl100k_base"


def show(thing: Any, file: str) -> None:
    """Shows a figure, a result or HTML in a notebook; a script writes it to a file in `build/examples`."""
    if "ipykernel" in sys.modules:
        from IPython.display import HTML, display

        page = thing._repr_html_() if isinstance(thing, squeeze.Compressed) else thing
        display(HTML(page) if isinstance(page, str) else page)
    else:
        WRITTEN.mkdir(parents=True, exist_ok=True)
        if isinstance(thing, squeeze.Compressed | str):
            page = thing if isinstance(thing, str) else thing.to_html()
            (WRITTEN / file).write_text(page, encoding="utf-8")
        else:
            thing.savefig(WRITTEN / file, dpi=144)
        print(f"written: build/examples/{file}")
    if not isinstance(thing, squeeze.Compressed | str):
        import matplotlib.pyplot as plt

        plt.close(thing)


def axes(title: str, size: tuple[float, float] = (7.6, 3.6)) -> tuple[Any, Any]:
    """A figure and its axes: white, few lines, the message as title."""
    import matplotlib.pyplot as plt

    figure, plot = plt.subplots(figsize=size, dpi=110, facecolor="white", layout="constrained")
    plot.set_facecolor("white")
    plot.set_title(title, loc="left", fontsize=11, fontweight="bold", color=INK)
    plot.spines[["top", "right"]].set_visible(False)
    plot.spines[["left", "bottom"]].set_color("#8b949e")
    plot.tick_params(colors=INK, labelsize=9, length=3)
    return figure, plot


def before_after(before: Sequence[int], after: Sequence[int], lost: Sequence[bool], title: str) -> Any:
    """Tokens before and after, a bar for each question; a cross over those whose answer was lost."""
    figure, plot = axes(title)
    order = sorted(range(len(before)), key=lambda index: -before[index])
    places = range(len(order))
    plot.bar(places, [before[index] for index in order], color=GREY, width=0.8)
    plot.bar(places, [after[index] for index in order], color=BLUE, width=0.8)
    for place, index in zip(places, order, strict=True):
        if lost[index]:
            plot.plot(place, after[index], marker="X", color=ORANGE, markersize=8, markeredgecolor="white")
    top = max(before)
    edge = len(order) - 0.2
    plot.text(edge, before[order[-1]], "before", color="#6e7681", fontsize=10, va="center")
    plot.text(edge, after[order[-1]], "after", color=BLUE, fontsize=10, va="center", fontweight="bold")
    if any(lost):
        plot.text(edge, 0, "✕ answer lost", color=ORANGE, fontsize=10, va="bottom")
    plot.set_xlim(-0.7, len(order) * 1.15)
    plot.set_ylim(0, top * 1.05)
    plot.set_xticks([])
    plot.yaxis.set_major_formatter("{x:,.0f}")
    plot.set_xlabel(f"{len(order)} questions", loc="left", fontsize=9, color=INK)
    plot.set_ylabel("tokens", fontsize=9, color=INK)
    return figure


def lines(
    x: Sequence[float],
    series: Mapping[str, Sequence[float]],
    title: str,
    names: tuple[str, str],
    *,
    percent: tuple[bool, bool] = (True, True),
    peers: Sequence[str] = (),
) -> Any:
    """A line for each name, labelled at its end; peers are thin."""
    figure, plot = axes(title)
    ends, own, thin = [], cycle(OWN), cycle(PEERS)
    for name, values in series.items():
        colour = next(thin if name in peers else own)
        plot.plot(x, values, color=colour, marker="o", markersize=5, linewidth=1.6 if name in peers else 2.8)
        ends.append((values[-1], name, colour))
    high = max(map(max, series.values()))
    plot.set_ylim(0, 1.04 * high)
    last = float("inf")
    for value, name, colour in sorted(ends, reverse=True):
        last = min(value, last - 0.07 * high)  # labels that would stand on each other make room
        plot.annotate(
            name,
            (x[-1], last),
            (8, 0),
            textcoords="offset points",
            annotation_clip=False,
            color=colour,
            va="center",
            fontsize=10,
            fontweight="normal" if name in peers else "bold",
        )
    plot.set_xlabel(names[0], fontsize=9, color=INK)
    plot.set_ylabel(names[1], fontsize=9, color=INK)
    for axis, asked in zip((plot.xaxis, plot.yaxis), percent, strict=True):
        if asked:
            axis.set_major_formatter(lambda value, _: f"{value:.0%}")
    plot.set_xticks(list(x))
    plot.grid(axis="y", color="#e6e8eb", linewidth=0.8)
    plot.set_axisbelow(True)
    return figure


def bars(values: Mapping[str, float], title: str, label: str = "{:,.0f}", best: Sequence[str] = ()) -> Any:
    """A bar for each name, its value at its end; the best in blue."""
    figure, plot = axes(title, (7.6, 0.55 * len(values) + 0.9))
    names = list(values)[::-1]
    plot.barh(names, [values[name] for name in names], color=[BLUE if name in best else GREY for name in names])
    for name in names:
        plot.annotate(
            label.format(values[name]), (values[name], name), (5, 0), textcoords="offset points", va="center", color=INK
        )
    plot.set_xlim(0, max(values.values()) * 1.18)
    plot.set_xticks([])
    plot.spines["bottom"].set_visible(False)
    plot.tick_params(axis="y", length=0, labelsize=10)
    return figure


def before_after_bars(counts: Mapping[str, tuple[int, int]], title: str) -> Any:
    """For each name two bars, tokens before and after, with the share that was saved."""
    figure, plot = axes(title, (7.6, 0.75 * len(counts) + 0.7))
    names = list(counts)[::-1]
    top = max(before for before, _ in counts.values())
    for place, name in enumerate(names):
        before, after = counts[name]
        plot.barh(place + 0.19, before, height=0.34, color=GREY)
        plot.barh(place - 0.19, after, height=0.34, color=BLUE)
        plot.text(before + 0.01 * top, place + 0.19, f"{before:,} before", va="center", fontsize=9, color="#6e7681")
        said = f"{after:,} after: {1 - after / before:.0%} saved"
        plot.text(after + 0.01 * top, place - 0.19, said, va="center", fontsize=9, color=BLUE, fontweight="bold")
    plot.set_yticks(range(len(names)), names)
    plot.set_xlim(0, 1.2 * top)
    plot.set_xticks([])
    plot.spines["bottom"].set_visible(False)
    plot.tick_params(axis="y", length=0, labelsize=10)
    return figure


def difference(before: str, after: str) -> str:
    """A prompt as HTML, in which what is gone from it is struck through."""
    old, new = re.findall(r"\S+|\s+", before), re.findall(r"\S+|\s+", after)
    pieces = []
    for what, start, end, begin, last in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        gone, there = html.escape("".join(old[start:end])), html.escape("".join(new[begin:last]))
        if what != "equal" and gone.strip():
            pieces.append(f'<del style="color:#6e7681">{gone}</del>')
        if there:
            pieces.append(there if what == "equal" else f"<b>{there}</b>")
    text = "".join(pieces).replace("\n", "<br>")
    return f'<div style="background:white;color:{INK};padding:8px;font-size:90%;line-height:1.4">{text}</div>'


def shell(command: str, shown: str = "") -> str:
    """Runs a command line of squeeze beside the documents; prints what it tells, returns what it writes."""
    words = shlex.split(command)
    words[0] = shutil.which(words[0], path=str(Path(sys.executable).parent)) or words[0]
    coloured = ("FORCE_COLOR", "CLICOLOR_FORCE")  # Jupyter sets them; escape codes are no part of a page
    environment = {name: value for name, value in os.environ.items() if name not in coloured}
    environment |= {"COLUMNS": "118", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(words, cwd=DATA, env=environment, capture_output=True, encoding="utf-8")
    print(f"$ {shown or command}", *map(str.rstrip, done.stderr.splitlines()), sep="\n")
    if done.returncode:
        print(f"exit code {done.returncode}")
    return done.stdout
