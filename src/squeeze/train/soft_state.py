"""The state of a training run in one safetensors file, and its log: whole at any moment, whatever happens."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from squeeze.errors import ConfigError, CorruptError, need
from squeeze.soft.files import read_tensors, shapes
from squeeze.train.soft_method import Roles

STATE = "state.safetensors"
LOG = "log.jsonl"
FORMAT = "squeeze.training"
VERSION = 1
_MOMENTS = ("exp_avg", "exp_avg_sq", "step")


def write_state(path: Path, roles: Roles, optimizer: torch.optim.Optimizer, info: Mapping[str, Any]) -> None:
    """Writes trained parameters, the optimiser's moments and a JSON object; the old file stays until the new is whole.

    Raises:
        ConfigError: the file cannot be written, the disk being full say; what was there is still there.
    """
    tensors = {}
    for name, value in trained(roles).items():
        tensors[f"weight.{name}"] = value.detach()
        for moment in _MOMENTS if value in optimizer.state else ():
            tensors[f"{moment}.{name}"] = optimizer.state[value][moment]
    whole = {"format": FORMAT, "version": VERSION, **info}
    copies = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    encoded = need("safetensors.torch", extra="soft").save(copies, metadata={"squeeze": json.dumps(whole)})
    write_whole(path, encoded)


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file so that its name always stands for a whole one, the old or the new.

    Raises:
        ConfigError: it cannot be written.
    """
    aside = path.with_name(f".{path.name}.part")
    try:
        with aside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except OSError as error:
        aside.unlink(missing_ok=True)
        kept = "; the one of before is kept" if path.is_file() else ""
        raise ConfigError(f"{path} cannot be written: {error}{kept}; make room and go on with --resume") from error


def read_state(path: Path) -> dict[str, Any]:
    """The JSON object of a state file.

    Raises:
        ConfigError: there is no such file.
        CorruptError: it is none.
    """
    if not path.is_file():
        raise ConfigError(f"{path.parent} has no {path.name}, so there is no run to go on with; leave --resume out")
    shapes(path)
    with need("safetensors", extra="soft").safe_open(str(path), framework="pt") as file:
        text = (file.metadata() or {}).get("squeeze", "")
    try:
        info = json.loads(text)
        if (info["format"], info["version"]) != (FORMAT, VERSION):
            raise ValueError(f"it is {info['format']!r}, version {info['version']!r}")
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptError(f"{path} is no state of a training run: {error}") from None
    found: dict[str, Any] = info
    return found


def restore(path: Path, roles: Roles, optimizer: torch.optim.Optimizer) -> None:
    """Puts a state's weights and moments back.

    Raises:
        CorruptError: the file's tensors are not those of this trainee.
    """
    own = trained(roles)
    found = shapes(path)
    wanted: dict[str, tuple[int, ...]] = {f"weight.{name}": tuple(value.shape) for name, value in own.items()}
    moved = {name.partition(".")[2] for name in found if name.startswith("exp_avg.")}
    for name in sorted(moved & set(own)):
        wanted |= {f"exp_avg.{name}": tuple(own[name].shape), f"exp_avg_sq.{name}": tuple(own[name].shape)}
        wanted[f"step.{name}"] = ()
    tensors = read_tensors(path, wanted)
    with torch.no_grad():
        for name, value in own.items():
            value.copy_(tensors[f"weight.{name}"])
            if name in moved:
                moments = {key: tensors[f"{key}.{name}"].to(value.device) for key in ("exp_avg", "exp_avg_sq")}
                optimizer.state[value] = {"step": tensors[f"step.{name}"], **moments}


def trained(roles: Roles) -> dict[str, Any]:
    """The parameters of all roles by name."""
    return {name: value for own in roles.values() for name, value in own}


class Log:
    """Rows of a run, one JSON object a line.

    Args:
        path: the file.
        upto: on going on with a run, the steps that are kept; -1 starts anew.
    """

    def __init__(self, path: Path, upto: int = -1) -> None:
        self.path = path
        self.rows: list[dict[str, Any]] = []
        for line in path.read_text(encoding="utf-8").splitlines() if upto >= 0 and path.is_file() else []:
            try:
                row = json.loads(line)
            except ValueError:  # the last line of a run that was killed
                continue
            if isinstance(row, dict) and row.get("step", 0) <= upto:
                self.rows.append(row)
        write_whole(path, "".join(json.dumps(row) + "\n" for row in self.rows).encode())

    def add(self, **row: Any) -> None:
        """Writes a row.

        Raises:
            ConfigError: the file cannot be written to.
        """
        self.rows.append(row)
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be written: {error}; make room and go on with --resume") from error
