"""Fills the generated regions of the README: `python -m squeeze.bench.readme [--check] [README.md]`.

A region stands between `<!-- name -->` and `<!-- /name -->`. With `--check` nothing is written and the exit code says
whether the file is current.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import subprocess
import sys
from collections.abc import Callable


def methods() -> str:
    """The table of methods, as the command prints it."""
    command = [sys.executable, "-m", "squeeze.cli", "methods", "--markdown"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def survival(path: pathlib.Path = pathlib.Path("reports/questions.json")) -> str:
    """The table of what survives, from the report of `squeeze.bench.questions`; one share of the tokens."""
    lines = [line for line in json.loads(path.read_text(encoding="utf-8"))["results"] if line["keep"] == 0.25]
    methods = list(dict.fromkeys(line["method"] for line in lines))
    out = [f"| rows | n | {' | '.join(f'`{name}`' for name in methods)} |", f"| --- | --- |{' --- |' * len(methods)}"]
    for data in dict.fromkeys(line["data"] for line in lines):
        own = {line["method"]: line for line in lines if line["data"] == data}
        cells = [f"{own[name]['kept']:.2f}" for name in methods]
        out.append(f"| {data} | {own[methods[0]]['rows']} | {' | '.join(cells)} |")
    means = [sum(x["kept"] for x in lines if x["method"] == m) / (len(out) - 2) for m in methods]
    return "\n".join([*out, f"| **mean** | | {' | '.join(f'**{mean:.2f}**' for mean in means)} |"])


REGIONS: dict[str, Callable[[], str]] = {"methods": methods, "survival": survival}
"""Name of a region -> what makes its text."""


def filled(text: str) -> str:
    """The text with every region made again."""
    for name, make in REGIONS.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        text = pattern.sub(lambda found, make=make: f"{found[1]}\n{make().strip()}\n\n{found[2]}", text)  # type: ignore[misc]
    return text


def main() -> None:
    """Writes the file, or checks it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", default="README.md", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    text = args.file.read_text(encoding="utf-8")
    if args.check:
        sys.exit(0 if filled(text) == text else f"{args.file} is not current; run python -m squeeze.bench.readme")
    args.file.write_text(filled(text), encoding="utf-8")


if __name__ == "__main__":
    main()
