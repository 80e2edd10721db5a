"""Runs the notebooks and compares their figures with the committed ones: `python examples/notebooks.py`.

Each notebook is made from the script of the same name beside it (`01_quickstart.py`, in jupytext's percent format), so
that the two cannot drift apart. Without `--write` nothing is changed: a figure that is off by more than the tolerance,
a cell that differs from the script, a warning or a path of this machine in an output is a fault, and the exit code 1.
Seconds are not compared, nor anything in a cell tagged `varies`, which shows what a machine measures on itself.

    python examples/notebooks.py                  # all of them: run and compare
    python examples/notebooks.py 01 04 --write    # run two and keep what they show
"""

from __future__ import annotations

import argparse
import getpass
import os
import re
import socket
import sys
import tempfile
import time
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError

FOLDER = Path(__file__).resolve().parent
TOLERANCE = 0.02
QUIET = {
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "TOKENIZERS_PARALLELISM": "false",
    "TQDM_DISABLE": "1",
    "PYTHONWARNINGS": "ignore::DeprecationWarning,ignore:IProgress not found",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
}
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
TIME = re.compile(r"\d[\d,]*(?:\.\d+)?(?=\s?(?:s|ms|seconds?|milliseconds?|minutes?)\b)")


def scripts(names: list[str]) -> list[Path]:
    """The scripts that are notebooks, or those whose names begin with one of the names."""
    found = sorted(FOLDER.glob("[0-9][0-9]_*.py"))
    return [script for script in found if not names or any(script.name.startswith(name) for name in names)]


def notebook_of(script: Path) -> Any:
    """The notebook of a script, without outputs; its cells and their ids depend on the script alone."""
    notebook = jupytext.read(script)
    for index, cell in enumerate(notebook.cells):
        cell.id = f"cell-{index:02}"
        cell.metadata = nbformat.from_dict({key: cell.metadata[key] for key in ("tags",) if key in cell.metadata})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata = nbformat.from_dict({"kernelspec": kernel, "language_info": {"name": "python"}})
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return notebook


def environment(scratch: str) -> dict[str, str]:
    """Variables for the kernel: no network, no progress bars, and cl100k_base where LlamaIndex brings it."""
    given = {**os.environ, **QUIET, "IPYTHONDIR": scratch}
    core = find_spec("llama_index.core") if find_spec("llama_index") else None
    if core and core.origin:
        given.setdefault("TIKTOKEN_CACHE_DIR", str(Path(core.origin).parent / "_static" / "tiktoken_cache"))
    return given


def execute(script: Path, timeout: int) -> Any:
    """The notebook of a script with its outputs."""
    notebook = notebook_of(script)
    with tempfile.TemporaryDirectory() as scratch:
        client = NotebookClient(
            notebook,
            timeout=timeout,
            kernel_name="python3",
            resources={"metadata": {"path": str(script.parent)}},
            record_timing=False,
            coalesce_streams=True,
            extra_arguments=["--log-level=ERROR"],
        )
        client.execute(env=environment(scratch))
    notebook.metadata["language_info"] = {"name": "python"}  # the kernel wrote its version in
    return notebook


def texts(cell: Any) -> list[str]:
    """What a code cell shows as text."""
    found = []
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            found.append(output.text)
        elif output.output_type in ("display_data", "execute_result"):
            found.append(output.data.get("text/plain", ""))
    return found


def junk(notebook: Any) -> list[str]:
    """What no output may have: standard error, paths and names of the machine."""
    private = {str(FOLDER.parent), str(Path.home()), sys.prefix, tempfile.gettempdir() + os.sep, socket.gethostname()}
    private |= {f"/home/{getpass.getuser()}"}
    found = []
    for number, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", []):
            if output.output_type == "error" or output.get("name") == "stderr":
                found.append(f"cell {number} writes to standard error: {str(output.get('text', ''))[:200]!r}")
        shown = "\n".join(
            texts(cell) + [out.data.get("text/html", "") for out in cell.get("outputs", []) if "data" in out]
        )
        found += [f"cell {number} shows {name!r}" for name in private if len(name) > 3 and name in shown]
        found += [f"cell {number} shows escape codes of a terminal"] * ("\x1b" in shown)
    return found


def off(old: str, new: str) -> str:
    """How two texts differ in a figure or a word; empty if they agree."""
    old, new = TIME.sub("#", old), TIME.sub("#", new)
    for left, right in zip_longest(NUMBER.findall(old), NUMBER.findall(new), fillvalue=""):
        if left == right:
            continue
        if not left or not right:
            return f"{left or 'nothing'} became {right or 'nothing'}"
        before, after = (float(value.replace(",", "")) for value in (left, right))
        if abs(before - after) > TOLERANCE * max(abs(before), abs(after)):
            return f"{left} became {right}"
    words = [re.sub(r"[\s─━-]+", " ", NUMBER.sub("#", text)).strip() for text in (old, new)]
    return "" if words[0] == words[1] else "the words differ"


def differences(old: Any, new: Any) -> list[str]:
    """Where a notebook differs from another one beyond the tolerance."""
    if [cell.source for cell in old.cells] != [cell.source for cell in new.cells]:
        return ["its cells are not those of the script"]
    found = []
    for number, (before, after) in enumerate(zip(old.cells, new.cells, strict=True)):
        kinds = [[out.output_type for out in cell.get("outputs", [])] for cell in (before, after)]
        if kinds[0] != kinds[1]:
            found.append(f"cell {number} shows {kinds[1]} where it had {kinds[0]}")
        elif "varies" not in after.metadata.get("tags", []):
            pairs = zip(texts(before), texts(after), strict=True)
            found += [f"cell {number}: {said}" for left, right in pairs if (said := off(left, right))]
    return found


def build(script: Path, write: bool, timeout: int) -> list[str]:
    """Runs a notebook, writes it if asked for, and says what is wrong with it."""
    target = script.with_suffix(".ipynb")
    try:
        notebook = execute(script, timeout)
    except (CellExecutionError, CellTimeoutError) as error:
        return [str(error).strip()]
    faults = junk(notebook)
    if write:
        if not faults:
            nbformat.write(notebook, target)
        return faults
    if not target.is_file():
        return [*faults, "it is not there yet; --write makes it"]
    return faults + differences(nbformat.read(target, as_version=4), notebook)


def main() -> int:
    """Runs and compares what is asked for; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="beginnings of names, such as 01; all if left out")
    parser.add_argument("--write", action="store_true", help="keep the outputs")
    parser.add_argument("--timeout", type=int, default=300, help="the most seconds for a cell")
    given = parser.parse_args()
    failed = False
    for script in scripts(given.names):
        started = time.perf_counter()
        faults = build(script, given.write, given.timeout)
        said = "; ".join(faults) or ("written" if given.write else "as committed")
        print(f"{script.stem}: {said} ({time.perf_counter() - started:.0f} s)", flush=True)
        failed |= bool(faults)
    if failed and not given.write:
        print("If the new figures are right: python examples/notebooks.py --write, and commit what it writes.")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
