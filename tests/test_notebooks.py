from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat", reason="pip install '.[notebooks]'")
pytest.importorskip("jupytext", reason="pip install '.[notebooks]'")

EXAMPLES = Path(__file__).parents[1] / "examples"
sys.path.insert(0, str(EXAMPLES))

import notebooks

SCRIPTS = notebooks.scripts([])


def read(script: Path) -> Any:
    return nbformat.read(script.with_suffix(".ipynb"), as_version=4)


def cell(text: str, *, tags: tuple[str, ...] = (), source: str = "x") -> Any:
    made = nbformat.v4.new_code_cell(source, metadata={"tags": list(tags)})
    made.outputs = [nbformat.v4.new_output("stream", name="stdout", text=text)]
    return made


def book(*cells: Any) -> Any:
    return nbformat.v4.new_notebook(cells=list(cells))


def test_each_script_has_a_notebook_and_each_notebook_a_script() -> None:
    assert [script.stem for script in SCRIPTS] == sorted(file.stem for file in EXAMPLES.glob("*.ipynb"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_the_cells_are_those_of_the_script(script: Path) -> None:
    made, committed = notebooks.notebook_of(script), read(script)
    assert [(cell.id, cell.cell_type, cell.source) for cell in committed.cells] == [
        (cell.id, cell.cell_type, cell.source) for cell in made.cells
    ]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_notebook_was_run_from_top_to_end_without_junk(script: Path) -> None:
    notebook = read(script)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert notebooks.junk(notebook) == []
    shown = "\n".join(text for cell in code for text in notebooks.texts(cell))
    for word in ("Warning", "/tmp/", "/home/", "/root/", "\r", "it/s]"):
        assert word not in shown
    assert script.with_suffix(".ipynb").stat().st_size < 1_000_000


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_the_first_cell_says_what_to_install_and_what_to_do_without(script: Path) -> None:
    first = read(script).cells[0]
    assert first.cell_type == "markdown"
    for said in ("**Install**", "pip install", "missing?*", f"python examples/{script.name}"):
        assert said in first.source


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_links_lead_to_files_that_are_there(script: Path) -> None:
    for cell in read(script).cells:
        for link in re.findall(r"\]\(([^)#]+)\)", cell.source if cell.cell_type == "markdown" else ""):
            assert link.startswith("https://") or (EXAMPLES / link).exists(), link


def test_programs_of_the_folder_parse() -> None:
    for file in EXAMPLES.glob("*.py"):
        assert ast.parse(file.read_text(encoding="utf-8")).body, file


def test_each_answer_about_the_job_queue_stands_in_its_file() -> None:
    lines = (EXAMPLES / "data" / "lockgate.jsonl").read_text(encoding="utf-8").splitlines()
    for row in map(json.loads, lines):
        assert row["answer"] in (EXAMPLES / "data" / "lockgate" / row["file"]).read_text(encoding="utf-8"), row


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("1,000 tokens", "1,000 tokens", ""),
        ("1,000 tokens", "1,015 tokens", ""),
        ("1,000 tokens", "1,100 tokens", "1,000 became 1,100"),
        ("0.3 s to read 10", "9.1 s to read 10", ""),
        ("12 ms", "4,000 ms", ""),
        ("kept 4", "lost 4", "the words differ"),
        ("one 1", "one 1 2", "nothing became 2"),
        ("a   5\n b", "a 5 b", ""),
        ("0%", "1%", "0 became 1"),
    ],
)
def test_figures_are_compared_within_the_tolerance_and_times_are_not(old: str, new: str, said: str) -> None:
    assert notebooks.off(old, new) == said


def test_what_differs_is_named_with_its_cell() -> None:
    assert notebooks.differences(book(cell("5 kept")), book(cell("5 kept"))) == []
    assert notebooks.differences(book(cell("5 kept")), book(cell("9 kept"))) == ["cell 0: 5 became 9"]
    assert notebooks.differences(book(cell("5")), book(cell("9", tags=("varies",)))) == []
    other = notebooks.differences(book(cell("5")), book(cell("5", source="y")))
    assert other == ["its cells are not those of the script"]
    silent = nbformat.v4.new_code_cell("x")
    assert "shows" in notebooks.differences(book(cell("5")), book(silent))[0]


def test_standard_error_and_paths_of_the_machine_are_junk() -> None:
    loud = cell("careful")
    loud.outputs[0].name = "stderr"
    assert "standard error" in notebooks.junk(book(loud))[0]
    assert "shows" in notebooks.junk(book(cell(f"see {EXAMPLES.parent}/x")))[0]
    assert notebooks.junk(book(cell("nothing to see"))) == []
