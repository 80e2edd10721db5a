"""Installs built wheels into an empty environment and compresses with them: `python tests/smoke.py dist`.

Everything runs in a folder of its own, so that nothing is taken from the sources. The wheels under `integrations/` are
installed without the frameworks, and looked at, not run: their own tests do that.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

CODE = """
import sys, squeeze
from importlib.metadata import metadata
page = metadata("squeeze-rag").get_payload()  # what a package index shows
assert "# squeeze" in page and "](" not in page and "<picture" not in page, page
passages = ["The lamp was changed in 1931. It burned colza oil before.", "Boats are let by the hour."]
result = squeeze.compress(passages, "When was the lamp changed?", max_tokens=10)
assert result.text.strip() == "The lamp was changed in 1931." and result.tokens_after <= 10, result.text
assert squeeze.compress(passages * 9, method="lossless").restore() == tuple(passages * 9)
assert result.to_html().startswith("<!DOCTYPE html>")
assert "torch" not in sys.modules and ".venv" not in squeeze.__file__, squeeze.__file__
print(squeeze.__version__)
"""

READ_BY_TESTS = ("tests/conftest.py", "examples/notebooks.py", "examples/data/questions.jsonl", "reports/bench.json")
READ_BY_TESTS += ("docs/index.md", "docs/_static/pareto-dark.svg", "README.md", "pyproject.toml", "constraints.txt")
PACKAGES = ("langchain_squeeze", "llama_index/postprocessor/squeeze", "ray_squeeze")


def run(*command: str | Path, cwd: Path) -> str:
    """What the command printed; the program ends with its errors where it fails."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    """Installs, imports, compresses."""
    dist = Path(sys.argv[1]).resolve()
    constraints = Path(__file__).resolve().parents[1] / "constraints.txt"
    wheels = sorted(dist.glob("*.whl"))
    core = [wheel for wheel in wheels if wheel.name.startswith("squeeze_rag-")]
    sdists = sorted(dist.glob("*.tar.gz"))
    if len(core) != 1 or len(wheels) != len(PACKAGES) + 1 or len(sdists) != len(wheels):
        raise SystemExit(f"{dist} holds {[path.name for path in [*wheels, *sdists]]}; run make dist")
    with tarfile.open(next(path for path in sdists if path.name.startswith("squeeze_rag-"))) as packed:
        inside = {name.partition("/")[2] for name in packed.getnames()}
    if absent := [name for name in READ_BY_TESTS if name not in inside]:
        raise SystemExit(f"the sdist lacks {absent}, which its tests read")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        venv.create(folder / "env", with_pip=True)
        bins = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
        python = bins / ("python.exe" if os.name == "nt" else "python")
        pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile")
        run(*pip, "--constraint", constraints, core[0], cwd=folder)
        version = run(python, "-c", CODE, cwd=folder).strip()

        (folder / "a.md").write_text(
            "# Lamp\n\nThe lamp was changed in 1931. It burned oil before.\n", encoding="utf-8"
        )
        squeeze = bins / "squeeze"
        assert run(squeeze, "--version", cwd=folder).strip() == f"squeeze {version}"
        ask = (squeeze, "compress", "a.md", "-q", "when was the lamp changed", "--max-tokens", "14", "--quiet")
        assert "1931" in run(*ask, cwd=folder)
        saved = json.loads(run(*ask, "--format", "json", cwd=folder))
        assert saved["tokens_after"] <= 14, saved
        assert "`edu`" in run(squeeze, "methods", "--markdown", cwd=folder)

        run(*pip, "--no-deps", *(wheel for wheel in wheels if wheel not in core), cwd=folder)
        site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip())
        for package in PACKAGES:
            assert (site / package / "__init__.py").is_file() and (site / package / "py.typed").is_file(), package
        assert not (site / "tests").exists() and not (site / "llama_index" / "__init__.py").exists()
    print(f"squeeze {version}: {len(wheels)} wheels install, the core compresses in Python and from the shell")


if __name__ == "__main__":
    main()
