"""The encoders that ship with squeeze, and the small model that they were trained for."""

from __future__ import annotations

from pathlib import Path

from squeeze.errors import ConfigError, need

WEIGHTS = Path(__file__).resolve().parent / "weights"
"""Where the checkpoints lie that ship with squeeze; each is named as its folder."""

MODEL = "smollm2"
"""The model that they were trained for, SmolLM2-135M-Instruct, as their names end."""


def shipped(method: str) -> Path:
    """The folder of a method's checkpoint that ships.

    Raises:
        ConfigError: none does.
    """
    folder = WEIGHTS / f"{method}-{MODEL}"
    if not folder.is_dir():
        raise ConfigError(f"no checkpoint of {method} ships with squeeze; {advice(method)}")
    return folder


def shipped_model() -> Path:
    """The folder of the model that the checkpoints were trained for, once it has been converted.

    Raises:
        ConfigError: it has not been.
    """
    smollm2 = need("squeeze.bench.smollm2", extra="bench")
    found: Path | None = smollm2.converted()
    if found is None:
        raise ConfigError(
            f"the model of the checkpoint that ships, SmolLM2-135M-Instruct, is not there yet; make it with "
            f"`{smollm2.COMMAND}`, or give a model and a checkpoint of your own"
        )
    return found


def advice(method: str) -> str:
    """How a checkpoint for a model is come by."""
    return (
        f'give the model that reads the vectors and an encoder trained for it, load("{method}", model="folder or hub '
        f'name", checkpoint="folder or hub name"); train one with '
        f"`python -m squeeze.train.soft --method {method} --model FOLDER --text FILE --data FILE --out FOLDER`"
    )
