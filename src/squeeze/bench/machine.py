"""Where and with what a benchmark ran, for its JSON."""

from __future__ import annotations

import json
import os
import pathlib
import platform
import subprocess
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

PACKAGES = ("squeeze-rag", "numpy", "sentencex", "rank-bm25", "markdown-it-py", "tiktoken", "torch", "transformers")


def machine(packages: Sequence[str] = PACKAGES) -> dict[str, Any]:
    """Commit, Python, processor, cores and the versions of the packages that are installed."""
    versions = {}
    for name in packages:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "commit": _commit(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "versions": versions,
    }


def write_report(path: str | os.PathLike[str], program: str, results: Any, **settings: Any) -> None:
    """Writes what a program measured, where it ran, and with which settings, as JSON."""
    report: Mapping[str, Any] = {"program": program, "settings": settings, "machine": machine(), "results": results}
    target = pathlib.Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _commit() -> str:
    try:
        found = subprocess.run(
            ["git", "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return found.stdout.strip()


def _processor() -> str:
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
