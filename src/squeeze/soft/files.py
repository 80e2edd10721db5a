"""Reading and writing weights: safetensors and JSON only, every file checked before memory is taken for it."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import torch

from squeeze.errors import ConfigError, CorruptError, need

INFO = "squeeze.json"
_HUB = re.compile(r"[\w.-]+/[\w.-]+")
_WEIGHTS = re.compile(r"weights-[0-9a-f]{16}\.safetensors")
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.pkl", "*.ckpt")
_PATTERNS = ["*.json", "*.safetensors", "*.yaml", "*.model", "*.jinja", "*.txt"]


def folder_of(name: str | os.PathLike[str]) -> Path:
    """The folder of a checkpoint: one on disk, or a hub name, which is fetched.

    Raises:
        ConfigError: there is no such folder, or the hub has no such name or is out of reach.
    """
    path = Path(name).expanduser()
    if path.is_dir():
        return path
    text = os.fspath(name)
    if path.exists() or not _HUB.fullmatch(text) or text.startswith("."):
        raise ConfigError(f"no such folder: {text}; allowed: a folder, or a hub name such as 'owner/name'")
    hub = need("huggingface_hub", extra="soft")
    try:
        return Path(hub.snapshot_download(text, allow_patterns=_PATTERNS))
    except Exception as error:  # the hub client raises errors of several libraries
        raise ConfigError(f"{text!r} is no folder here and cannot be fetched from the hub: {error}") from error


def read_info(folder: Path, name: str = INFO) -> dict[str, Any]:
    """The JSON object of a checkpoint.

    Raises:
        ConfigError: the folder has no such file; the message says what is there instead.
        CorruptError: it is not a JSON object.
    """
    path = folder / name
    if not path.is_file():
        pickles = sorted(file.name for pattern in _PICKLES for file in folder.glob(pattern))
        found = f"; it holds {pickles[0]}, a pickle, which is never loaded" if pickles else ""
        raise ConfigError(f"{folder} has no {name}, so it is no checkpoint of squeeze{found}")
    try:
        info = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise CorruptError(f"{path} does not read as JSON: {error}") from None
    if not isinstance(info, dict):
        raise CorruptError(f"{path} holds {type(info).__name__}; allowed: an object")
    return info


def head(kind: str, version: int, fingerprint: str) -> dict[str, Any]:
    """What the JSON of every checkpoint begins with."""
    weights = f"weights-{fingerprint}.safetensors"
    return {"format": kind, "version": version, "weights": weights, "fingerprint": fingerprint}


def read_head(folder: Path, kind: str, version: int) -> dict[str, Any]:
    """The JSON object of a checkpoint of that format and version.

    Raises:
        ConfigError: there is no checkpoint.
        CorruptError: it does not read, or is of another format or version.
    """
    info = read_info(folder)
    if info.get("format") != kind or info.get("version") != version:
        found = f"{info.get('format')!r}, version {info.get('version')!r}"
        raise CorruptError(f"{folder} is {found}; allowed: {kind!r}, version {version}")
    return info


def weights_of(info: Mapping[str, Any], folder: Path) -> Path:
    """The weights file that a checkpoint names.

    Raises:
        CorruptError: the name is not that of one.
    """
    weights = info.get("weights")
    if not isinstance(weights, str) or not _WEIGHTS.fullmatch(weights):
        raise CorruptError(f"weights of {folder} is {weights!r}; allowed: weights-<16 hex digits>.safetensors")
    return folder / weights


def read_settings(info: Mapping[str, Any], folder: Path, kind: type[Any]) -> Any:
    """The settings of a checkpoint as the dataclass `kind`; lists become tuples.

    What is not named is at its default, so that a checkpoint outlives settings that came after it.

    Raises:
        CorruptError: they are not those of one.
    """
    given = info.get("settings")
    known = {field.name for field in fields(kind)}
    needed = {field.name for field in fields(kind) if field.default is MISSING and field.default_factory is MISSING}
    if not isinstance(given, dict) or not needed <= set(given) <= known:
        raise CorruptError(f"settings of {folder} are not those of an encoder")
    try:
        return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in given.items()})
    except ConfigError as error:
        raise CorruptError(f"settings of {folder}: {error}") from None


def shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Names and shapes of a safetensors file, from its header alone.

    Raises:
        ConfigError: there is no such file.
        CorruptError: it is not safetensors (a pickle, say), or its header does not fit its size.
    """
    if not path.is_file():
        raise ConfigError(f"the weights {path} are missing")
    with path.open("rb") as file:
        start = file.read(2)
    if start in (b"PK", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"):
        raise CorruptError(f"{path} is a pickle; only safetensors is loaded")
    try:
        with need("safetensors", extra="soft").safe_open(str(path), framework="pt") as file:
            return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
    except Exception as error:  # the library's own error class, or an I/O error
        raise CorruptError(f"{path} is not a whole safetensors file: {error}") from None


def read_tensors(path: Path, expected: Mapping[str, tuple[int, ...]]) -> dict[str, torch.Tensor]:
    """The tensors of a file whose names and shapes are those expected.

    Raises:
        CorruptError: a tensor is missing, unknown or of another shape; it is named.
    """
    found = shapes(path)
    for name in sorted({*expected, *found}):
        if name not in found:
            raise CorruptError(f"{path} lacks the tensor {name!r}")
        if name not in expected:
            raise CorruptError(f"{path} has a tensor {name!r}, for which the settings have no place")
        if tuple(expected[name]) != found[name]:
            raise CorruptError(f"{name!r} in {path} has the shape {found[name]}; the settings say {expected[name]}")
    tensors: dict[str, torch.Tensor] = need("safetensors.torch", extra="soft").load_file(str(path))
    for name, tensor in tensors.items():
        if not tensor.is_floating_point() or not torch.isfinite(tensor).all():
            raise CorruptError(f"{name!r} in {path} holds values that are no finite numbers")
    # The file's own memory is not aligned as torch aligns its own, and some kernels round by alignment.
    return {name: tensor.clone() for name, tensor in tensors.items()}


def write(folder: str | os.PathLike[str], weights: str, tensors: Mapping[str, torch.Tensor], info: Any) -> None:
    """Writes weights and JSON so that the folder always holds a whole checkpoint, the old one or the new one.

    The JSON names its weights file; it is put in place last. Weights that no JSON names any more are removed.

    Raises:
        ConfigError: the folder cannot be written to, or the disk is full.
    """
    target = Path(folder)
    save = need("safetensors.torch", extra="soft").save_file
    try:
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target) as aside:
            new = Path(aside)
            save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, str(new / weights))
            (new / INFO).write_text(json.dumps(info, indent=1) + "\n", encoding="utf-8")
            os.replace(new / weights, target / weights)
            os.replace(new / INFO, target / INFO)
        for old in target.glob("weights-*.safetensors"):
            if old.name != weights:
                old.unlink()
    except Exception as error:
        if not isinstance(error, OSError) and type(error).__name__ != "SafetensorError":
            raise
        raise ConfigError(f"the checkpoint cannot be written to {target}: {error}") from error
