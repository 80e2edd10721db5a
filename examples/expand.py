"""A model asks for what was left out: `python examples/expand.py`.

The model here is a script, so that the example runs anywhere; in its place goes any function that takes messages and a
JSON function schema, and gives back an answer or the arguments of a tool call.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import squeeze
from squeeze.tools import ExpandTool

FOLDER = Path(__file__).parent / "data" / "lighthouses"
QUESTION = "Who invented the screw pile?"


def say(text: str) -> None:
    """Writes a line to standard output."""
    sys.stdout.write(f"{text}\n")


def scripted_model(messages: list[dict[str, Any]], schema: dict[str, Any] | None) -> str | dict[str, int]:
    """Asks for the first part once, then answers with the beginning of what it got."""
    if schema is not None and len(messages) == 2:
        say(f"the model calls {schema['name']}(part=0)")
        return {"part": 0}
    return f"I read {len(messages[-1]['content'])} characters: {messages[-1]['content'][:160].strip()} …"


def main() -> None:
    """Compresses, shows the numbered parts, and lets the model ask."""
    files = sorted(FOLDER.glob("*.md"))
    passages = [squeeze.Passage(file.read_text(encoding="utf-8"), title=file.stem) for file in files]
    result = squeeze.compress(passages, QUESTION, max_tokens=120)
    tool = ExpandTool(result, rounds=2)
    say(tool.text)
    say(f"\n{tool.run(scripted_model, QUESTION)}")
    say(f"\nrounds left: {tool.rounds_left}, reopened: {tool.opened}")


if __name__ == "__main__":
    main()
