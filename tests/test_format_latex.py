"""LaTeX: maths and environments whole, sections as headings."""

from __future__ import annotations

import pytest

import squeeze
from format_tools import needed, texts
from squeeze.bench.whole import _open_environment
from squeeze.segment import detect, parse

ITEM = "which is long enough to be of interest to a reader who wants more than a word"
PAPER = rf"""\documentclass{{article}}
\begin{{document}}
\section{{Pumps}}
\label{{sec:pumps}}
We study the map $f: X \to Y$. It is known from \cite{{mill}} that $a = 1. And b = 2$ holds. A third sentence follows.

Plain prose stands here. It has two sentences.
\begin{{equation}}
E = m c^2. \quad F = m a
\end{{equation}}
There are three steps:
\begin{{enumerate}}
\item a first step, {ITEM};
\item a second step with $x^2$, {ITEM};
\item a third step, {ITEM}.
\end{{enumerate}}
\subsection{{Limits}}
\[ p < 40. Q > 3 \]
The end.
\end{{document}}
"""


def test_maths_and_environments_stay_whole() -> None:
    assert detect(PAPER) == "latex"
    units = texts(PAPER)
    assert r"It is known from \cite{mill} that $a = 1. And b = 2$ holds." in units
    assert "\\begin{equation}\nE = m c^2. \\quad F = m a\n\\end{equation}" in units
    assert "Plain prose stands here." in units and "It has two sentences." in units
    assert any("\\[ p < 40. Q > 3 \\]" in unit for unit in units)
    assert [node.level for node in parse(PAPER).nodes if node.kind == "section"] == [1, 2]


def test_an_item_comes_with_its_environment_and_lead_in() -> None:
    found = needed(PAPER, r"\item a second")
    assert "There are three steps:" in found
    assert r"\begin{enumerate}" in found and r"\end{enumerate}" in found
    assert not any(unit.startswith(r"\item a third") for unit in found)


@pytest.mark.parametrize("keep", [0.1, 0.25, 0.5, 0.75])
def test_environments_balance(keep: float) -> None:
    result = squeeze.compress([PAPER], query="what is the second step?", keep=keep)
    assert not _open_environment(result.text)
    assert result.text.count("$") % 2 == 0


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("As \\cite{a} shows, \\emph{all} of \\ref{b} holds with $\\alpha$.", "latex"),
        ("The price is $5 and not $6, see C:\\new\\temp.", "plain"),
        ("# Maths\n\nWe have $\\alpha + \\beta$ and $\\gamma$.\n\n- one\n- two\n", "markdown"),
    ],
)
def test_detection(text: str, name: str) -> None:
    assert detect(text) == name
