"""The two pipelines. A compressor is loaded once per worker, from options that travel to it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import ray.data

import squeeze
from squeeze.errors import ConfigError, InputError
from squeeze.registry import method_class

Batch = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Workers:
    """How the work is shared out.

    Attributes:
        count: workers, each with a compressor of its own.
        rows: rows that a worker gets at a time.
        batch: pieces that `encode` encodes side by side; 1 gives bit for bit what a single process computes.
        resources: what each worker reserves, `{"num_gpus": 1}` say, as `map_batches` takes it.
    """

    count: int = 2
    rows: int = 64
    batch: int = 16
    resources: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("count", "rows", "batch"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ConfigError(f"{name} of workers is {value!r}; allowed: a whole number from 1 up")


def encode(
    dataset: ray.data.Dataset,
    cache: str | os.PathLike[str],
    *,
    method: str = "compllm",
    text: str = "text",
    factors: Sequence[int] | None = None,
    workers: Workers | None = None,
    **options: Any,
) -> ray.data.Dataset:
    """The dataset with the columns `pieces` and `vectors` (their numbers), once all vectors are in the cache.

    It is lazy, as datasets are: `materialize()` or a write does the work. What is in the cache already is passed over.
    Vectors stay in the cache, where `squeeze.load(method, cache=…)` finds them.

    Args:
        dataset: rows with a text each.
        cache: a folder that all workers reach.
        method: a method whose result is vectors.
        text: name of the column.
        factors: tokens per vector to encode for; None for the least compression that the checkpoint can.
        workers: how the work is shared out.
        options: those of the method: `model`, `checkpoint`, as names or folders that the workers can load.

    Raises:
        ConfigError: no such column, a method without vectors, or an option that is not allowed.
    """
    if method_class(method).output != "soft":
        raise ConfigError(f"the result of {method!r} holds no vectors that could be kept; allowed: compllm, arc")
    chosen = {"factors": list(factors) if factors else None, "batch": (workers or Workers()).batch}
    return _mapped(dataset, _Encode, workers, text, (method, {**options, "cache": os.fspath(cache)}, chosen))


def compress(
    dataset: ray.data.Dataset,
    *,
    method: str = "edu",
    text: str = "text",
    query: str | None = None,
    budget: squeeze.Budget | int | None = None,
    workers: Workers | None = None,
    **options: Any,
) -> ray.data.Dataset:
    """The dataset with the columns `compressed`, `tokens_before` and `tokens_after`.

    `compressed` is the text; for methods whose result is not text it is the result as JSON, which
    `squeeze.Compressed.from_dict` reads.

    Args:
        dataset: rows with a text each, or with a list of texts.
        method: name of the method.
        text: name of the column.
        query: name of the column with the question; None for no question.
        budget: what each row may keep: a `Budget`, tokens, or None for no limit.
        workers: how the work is shared out.
        options: those of the method, and `tokenizer`.

    Raises:
        ConfigError: no such column, a limit or an option that is not allowed.
    """
    method_class(method)
    limit = budget if isinstance(budget, squeeze.Budget) else squeeze.Budget(max_tokens=budget)
    chosen = {"query": query, "budget": limit}
    if query is not None:
        _check_column(dataset, query)
    return _mapped(dataset, _Compress, workers, text, (method, options, chosen))


class _Encode:
    """A worker that fills the cache."""

    def __init__(self, text: str, method: str, options: dict[str, Any], chosen: dict[str, Any]) -> None:
        self.text, self.chosen = text, chosen
        self.compressor: Any = squeeze.load(method, **options)

    def __call__(self, rows: Batch) -> Batch:
        from squeeze.soft.encode import warm

        texts = [_texts(value) for value in rows[self.text]]
        warm(self.compressor, [text for own in texts for text in own], **self.chosen)
        factor = (self.chosen["factors"] or self.compressor.factors)[0]
        ids = [[self.compressor.ids(text) for text in own] for own in texts]
        pieces = [sum(len(self.compressor.pieces(one)) for one in own) for own in ids]
        vectors = [sum(self.compressor.count_vectors(len(one), factor) for one in own) for own in ids]
        return {**rows, "pieces": np.array(pieces), "vectors": np.array(vectors)}


class _Compress:
    """A worker that compresses row by row."""

    def __init__(self, text: str, method: str, options: dict[str, Any], chosen: dict[str, Any]) -> None:
        self.text, self.query = text, chosen["query"]
        self.budget: squeeze.Budget = chosen["budget"]
        self.compressor: Any = squeeze.load(method, **options)

    def __call__(self, rows: Batch) -> Batch:
        texts = rows[self.text]
        queries = [None] * len(texts) if self.query is None else list(rows[self.query])
        done = [
            self.compressor.compress(_texts(own), query, budget=self.budget)
            for own, query in zip(texts, queries, strict=True)
        ]
        plain = self.compressor.output == "text"
        return {
            **rows,
            "compressed": np.array([one.text if plain else json.dumps(one.to_dict()) for one in done], dtype=object),
            "tokens_before": np.array([one.tokens_before for one in done]),
            "tokens_after": np.array([one.tokens_after for one in done]),
        }


def _mapped(dataset: Any, worker: type, workers: Workers | None, text: str, rest: tuple[Any, ...]) -> Any:
    _check_column(dataset, text)
    shares = workers or Workers()
    return dataset.map_batches(
        worker,
        fn_constructor_args=(text, *rest),
        compute=ray.data.ActorPoolStrategy(size=shares.count),
        batch_size=shares.rows,
        **shares.resources,
    )


def _check_column(dataset: Any, name: str) -> None:
    if not isinstance(dataset, ray.data.Dataset):
        raise InputError(f"dataset is {type(dataset).__name__}; allowed: a ray.data.Dataset")
    columns = dataset.columns() or []
    if name not in columns:
        raise ConfigError(f"the dataset has no column {name!r}; it has: {', '.join(columns) or 'none'}")


def _texts(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else [str(text) for text in value]
