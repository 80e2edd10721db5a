"""Short training runs side by side: what they were given that others were not, and what held-out rows said.

python -m squeeze.train.trials RUN... [--json FILE]

A RUN is a folder that `squeeze.train.soft` wrote. Figures are nats a token, lower being better; runs whose rows were
kept out in other numbers (`held`) do not compare.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from squeeze.bench.machine import write_report
from squeeze.errors import ConfigError, CorruptError
from squeeze.train.soft import REPORT

COUNTED = ("steps", "context_tokens", "target_tokens", "hours")


def read(folder: Path) -> dict[str, Any]:
    """What a run says of itself, with `run`, the folder's name.

    Raises:
        ConfigError: the folder holds no run that came to an end.
        CorruptError: its file is not one of `squeeze.train.soft`.
    """
    path = folder / REPORT
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        results, settings = told["results"], told["settings"]
        first, last = (results["measured"][at]["measured"] for at in (0, -1))
        counted = {name: results[name] for name in COUNTED}
    except OSError:
        raise ConfigError(f"{path} is not there; give folders of squeeze.train.soft --out") from None
    except (ValueError, KeyError, TypeError, IndexError):
        raise CorruptError(f"{path} is not what squeeze.train.soft writes") from None
    return {"run": folder.name, "settings": settings, **counted, "before": first, "after": last}


def compared(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The runs, each with those settings alone in which they are unlike."""
    names = dict.fromkeys(name for run in runs for name in run["settings"])
    unlike = [name for name in names if len({repr(run["settings"].get(name)) for run in runs}) > 1]
    return [{**run, "settings": {name: run["settings"].get(name) for name in unlike}} for run in runs]


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the runs, and writes them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    runs = [read(folder) for folder in options.runs]
    found = compared(runs)
    for run in found:
        print(f"{run['run']}: {run['settings']}")
        print("  " + ", ".join(f"{name} {run[name]}" for name in COUNTED))
        for name, value in run["after"].items():
            if run["before"].get(name) != value:
                print(f"  {name:12} {run['before'].get(name, float('nan')):.3f} -> {value:.3f}")
    if options.json:
        alike = {name: value for name, value in runs[0]["settings"].items() if name not in found[0]["settings"]}
        write_report(options.json, "squeeze.train.trials", found, **alike)


if __name__ == "__main__":
    main()
