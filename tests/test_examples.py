from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import squeeze

EXAMPLES = Path(__file__).parents[1] / "examples"
DOCUMENTS = sorted((EXAMPLES / "data" / "lighthouses").glob("*.md"))
QUESTIONS = [
    json.loads(line) for line in (EXAMPLES / "data" / "questions.jsonl").read_text(encoding="utf-8").splitlines()
]


def test_every_answer_stands_in_its_file() -> None:
    names = {file.name for file in DOCUMENTS}
    assert {question["file"] for question in QUESTIONS} == names
    for question in QUESTIONS:
        text = (EXAMPLES / "data" / "lighthouses" / question["file"]).read_text(encoding="utf-8")
        assert question["answer"] in text, question


def test_most_answers_are_kept_in_a_twentieth() -> None:
    texts = [file.read_text(encoding="utf-8") for file in DOCUMENTS]
    compressor = squeeze.load("edu")
    found = 0
    for question in QUESTIONS:
        result = compressor.compress(texts, question["question"], budget=squeeze.Budget(keep=0.05))
        index = [file.name for file in DOCUMENTS].index(question["file"])
        start = texts[index].index(question["answer"])
        end = start + len(question["answer"])
        found += any(first <= start and end <= last for first, last in result.spans(index))
    assert found >= 0.85 * len(QUESTIONS)


def test_a_notebook_without_matplotlib_says_so_before_anything_else() -> None:
    code = f"""
import importlib.util, sys
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "matplotlib" else find(name, *rest)
sys.path.insert(0, {str(EXAMPLES)!r})
exec(compile(open({str(EXAMPLES / "04_lossless.py")!r}, encoding="utf-8").read(), "04", "exec"))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and done.stdout == ""
    assert "matplotlib is not installed" in done.stderr and done.stderr.strip().endswith("-m pip install matplotlib")
    assert len(done.stderr.splitlines()) == 1


def test_the_demonstration_runs(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLES / "demo.py"), "who invented the screw pile?", "--max-tokens", "150"]
    env = {**os.environ, "PYTHONIOENCODING": "utf-8", "COLUMNS": "120"}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, timeout=120, check=True)
    out = done.stdout.decode("utf-8")
    for expected in ("Alexander", "Mitchell", "tokens before", "tokens after", "kept", "milliseconds"):
        assert expected in out
    page = (tmp_path / "demo.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>") and "Alexander Mitchell" in page
