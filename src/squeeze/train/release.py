"""Makes a checkpoint small enough to ship of a training run of `arc` or `ram`: what was trained, in half precision.

    python -m squeeze.train.release RUN --model FOLDER --out src/squeeze/soft/weights/arc-smollm2

Adapters that the reader of `ram` learned are left out: the model that ships is the plain one.

What the run took (`training.json`) goes with it. The figures to publish are those of the checkpoint that this writes.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path

import torch

from squeeze.errors import ConfigError
from squeeze.soft import checkpoint, ram_files
from squeeze.soft.files import read_info
from squeeze.soft.models import load_model
from squeeze.train.soft import REPORT


def release(run: Path, model: str, out: Path) -> int:
    """The bytes of the checkpoint that is written.

    Raises:
        ConfigError: the run has no checkpoint, or one that holds all weights of its layers.
    """
    if read_info(run).get("format") == ram_files.FORMAT:
        ram_files.save(ram_files.load(run, load_model(model).float()).half(), out)
    else:
        encoder = checkpoint.load(run, load_model(model))
        if encoder.base.own:
            raise ConfigError(f"{run} trained the layers themselves, too much to ship; train adapters (--lora)")
        checkpoint.save(encoder, out, dtype=torch.float16)
    if (run / REPORT).is_file():
        shutil.copyfile(run / REPORT, out / REPORT)
    return sum(path.stat().st_size for path in out.iterdir())


def main(arguments: Sequence[str] | None = None) -> None:
    """Writes the checkpoint and says how large it is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--model", required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    print(f"{options.out}: {release(options.run, options.model, options.out):,} bytes")


if __name__ == "__main__":
    main()
