"""Code without a fence: definitions whole, or groups of statements with the signatures around them."""

from __future__ import annotations

import pytest

import squeeze
from format_tools import needed, texts
from squeeze.segment import detect, parse

PYTHON = '''import os
from time import sleep


def area(width: float, height: float) -> float:
    """The area."""
    return width * height


class Pump:
    """A pump that can be started and stopped, and that knows its pressure and the time since when it runs."""

    limit = 40

    @property
    def pressure(self) -> float:
        return self._pressure

    def start(
        self,
        speed: int,
        *,
        force: bool = False,
    ) -> None:
        if self.running and not force:
            raise RuntimeError("the pump runs already, stop it first or give force=True to start it again")
        for step in range(speed):
            self._turn(step)
            sleep(0.1)

        self.running = True
        self._log(f"started with the speed {speed} after {step} steps, which took {step * 0.1} seconds")
'''
SCRIPT = """export async function load(url, options = {}) {
  const response = await fetch(url, options);
  if (!response.ok) {
    throw new Error(`cannot load ${url}: ${response.status}, ${response.statusText}`);
  } else {
    counters.loaded += 1;
  }
  const records = await response.json();
  return records.filter((record) => record.valid).map((record) => ({ ...record, loaded: Date.now() }));
}

const LIMIT = 40;
"""
JAVA = "".join(
    f"public class Pump{i} {{\n    private int speed;\n\n    public int speed() {{\n"
    "        return this.speed;\n    }\n}\n\n"
    for i in range(4)
)


def test_short_definitions_stay_whole() -> None:
    units = texts(PYTHON)
    assert units[0] == "import os\nfrom time import sleep"
    assert units[1].startswith("def area") and units[1].endswith("return width * height")
    assert any(unit.startswith("@property") and unit.endswith("return self._pressure") for unit in units)


def test_parts_of_a_long_definition_come_with_the_signatures_around_them() -> None:
    found = needed(PYTHON, "self.running = True")
    assert found[0] == "class Pump:" and found[1].startswith("def start(") and found[1].endswith(") -> None:")
    assert len(found) == 3
    assert max(len(unit) for unit in texts(PYTHON)) <= 400


def test_a_small_budget_keeps_a_signature_and_a_group() -> None:
    result = squeeze.compress([PYTHON], query="how does start turn the pump for each step?", keep=0.45)
    assert "class Pump:" in result.text and "def start(" in result.text and "self._turn(step)" in result.text
    assert all(line == "…" or line in PYTHON.splitlines() for line in result.text.splitlines())


def test_a_definition_that_does_not_fit_is_shown_by_its_signature_with_marks() -> None:
    result = squeeze.compress([PYTHON], query="Which RuntimeError says that the pump runs already?", keep=0.4)
    shown = result.text.splitlines()
    raising = next(i for i, line in enumerate(shown) if "raise RuntimeError" in line)
    assert shown.index("class Pump:") < shown.index("    def start(") < raising
    assert "…" in shown and result.tokens_after <= 0.4 * result.tokens_before


@pytest.mark.parametrize("keep", [0.1, 0.2, 0.3, 0.5, 0.7, 0.9])
def test_a_short_definition_is_kept_whole_or_not_at_all(keep: float) -> None:
    text = "".join(f'def part_{i}(value):\n    """Turns by {i}."""\n    return value + {i}\n\n\n' for i in range(12))
    result = squeeze.compress([text], query="What does part_7 return?", keep=keep)
    whole = [f'def part_{i}(value):\n    """Turns by {i}."""\n    return value + {i}' for i in range(12)]
    assert result.text.count("def part_") == sum(unit in result.text for unit in whole) > 0
    assert result.text.count("return value") == result.text.count("def part_")


def test_braces_work_like_indentation() -> None:
    units = texts(SCRIPT)
    assert units[0] == "export async function load(url, options = {}) {"
    assert units[-1] == "const LIMIT = 40;"
    assert needed(SCRIPT, "if (!response.ok)")[0] == units[0]
    assert all(text.startswith("public class Pump") for text in texts(JAVA))


def test_a_long_docstring_is_given_by_paragraphs() -> None:
    paragraphs = "\n\n".join(
        f"    Paragraph {i} says something about the pump that is worth a line or two here." for i in range(8)
    )
    text = f'def f(x):\n    """Summary of it.\n\n{paragraphs}\n    """\n    return x\n'
    assert detect(text) == "code"
    assert len(texts(text)) > 6 and needed(text, "Paragraph 5")[0] == "def f(x):"


def test_minified_code_is_cut_between_statements() -> None:
    text = "var a=1;" + "function f(a,b){return a+b;};" * 400
    layout = parse(text, format="code")
    assert max(piece.end - piece.start for piece in layout.pieces) <= 1200
    assert all(text[piece.end - 1] in ",;}) " for piece in layout.pieces)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (PYTHON, "code"),
        (SCRIPT, "code"),
        (JAVA, "code"),
        ("#include <stdio.h>\nint main(void) {\n    return 0;\n}\n", "code"),
        ("func (p *Pump) Start() error {\n\treturn nil\n}\n", "code"),
        ("pub fn area(a: f64, b: f64) -> f64 {\n    a * b\n}\n", "code"),
        ("If the pump runs, stop it.\nThen open the valve (slowly).\nReturn to the office.\n", "plain"),
        ("class of 1998: what became of it?\nMost of them import wine from Spain.\n", "plain"),
        ("# Pump\n\nRun `start()`:\n\n```python\nstart()\n```\n", "markdown"),
    ],
)
def test_detection(text: str, name: str) -> None:
    assert detect(text) == name
