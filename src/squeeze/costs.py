"""What reading and writing tokens costs with a model, in seconds and in money."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any

from squeeze.errors import ConfigError, CorruptError

Points = tuple[tuple[int, float], ...]
"""(tokens, seconds) pairs, ascending in tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What a model takes for a prompt and an answer. All of it may be left out but either times or prices.

    Attributes:
        prefill: seconds to read a prompt of so many tokens, at one or more lengths.
        decode: seconds for one further token after so many, at one or more lengths.
        input_price: price of a million tokens of the prompt.
        output_price: price of a million tokens of the answer.
        cached_discount: how much less a token costs that the provider has cached, 0 to 1: 0.9 is a tenth of the price.
        model: what was profiled, for reports.

    Raises:
        ConfigError: a number is negative, NaN or infinite, lengths do not ascend, or there is neither time nor price.
    """

    prefill: Points = ()
    decode: Points = ()
    input_price: float | None = None
    output_price: float | None = None
    cached_discount: float = 0.0
    model: str = ""

    def __post_init__(self) -> None:
        for name in ("prefill", "decode"):
            object.__setattr__(self, name, _points(name, getattr(self, name)))
        for name in ("input_price", "output_price"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _number(name, getattr(self, name), math.inf))
        object.__setattr__(self, "cached_discount", _number("cached_discount", self.cached_discount, 1.0))
        if not isinstance(self.model, str):
            raise ConfigError(f"model is {self.model!r}; allowed: a str")
        if not self.prefill and self.input_price is None:
            raise ConfigError("a profile needs prefill times (squeeze profile --model FOLDER) or an input_price")
        if self.decode and not self.prefill:
            raise ConfigError("decode times without prefill times; give both")

    def seconds(self, prompt: int, answer: int, cached: int = 0) -> float | None:
        """Seconds to read a prompt and write an answer; None without times.

        Args:
            prompt: tokens of the prompt.
            answer: tokens of the answer.
            cached: tokens at the front of the prompt whose state the model still has.
        """
        if not self.prefill:
            return None
        read = time_at(self.prefill, prompt) - (time_at(self.prefill, cached) if cached else 0.0)
        return max(0.0, read) + answer * (between(self.decode, prompt + answer / 2) if self.decode else 0.0)

    def price(self, prompt: int, answer: int, cached: int = 0) -> float | None:
        """Price of a prompt of which some tokens are cached, and of an answer; None without prices."""
        if self.input_price is None:
            return None
        read = (prompt - cached) + cached * (1 - self.cached_discount)
        return (read * self.input_price + answer * (self.output_price or 0.0)) / 1e6

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the profile as JSON."""
        Path(path).write_text(self.to_json(), encoding="utf-8")

    def to_json(self) -> str:
        """The profile as JSON, which `of` reads back."""
        return json.dumps(asdict(self), indent=1, allow_nan=False) + "\n"

    @classmethod
    def of(cls, given: Any) -> Profile:
        """The profile that is given: one, a mapping of its fields, or the path of its JSON.

        Raises:
            ConfigError: there is no such file, a field is unknown, or a value is not allowed.
            CorruptError: the file is no JSON object.
        """
        if isinstance(given, cls):
            return given
        if isinstance(given, str | os.PathLike):
            given = _read(Path(given).expanduser())
        if not isinstance(given, Mapping):
            raise ConfigError(
                f"profile is {type(given).__name__}; allowed: a Profile, a mapping, or the path of a file"
            )
        known = {field.name for field in fields(cls)}
        unknown = sorted(str(name) for name in given if name not in known)
        if unknown:
            raise ConfigError(f"a profile has no {unknown[0]!r}; allowed: {', '.join(sorted(known))}")
        return cls(**given)


def time_at(points: Points, tokens: float) -> float:
    """Seconds at a length, from measured ones.

    Between two lengths on the line through them. Below the shortest a line to nothing at the slope of the first two,
    not above the first and not below 0; above the longest the time per token goes on growing as it did between the last
    two.
    """
    if tokens <= 0:
        return 0.0
    first, last = points[0], points[-1]
    if len(points) == 1:
        return first[1] * tokens / first[0]
    if tokens > last[0]:
        before = points[-2]
        growth = max(0.0, (last[1] / last[0] - before[1] / before[0]) / (last[0] - before[0]))
        return tokens * (last[1] / last[0] + growth * (tokens - last[0]))
    if tokens < first[0]:
        slope = max(0.0, (points[1][1] - first[1]) / (points[1][0] - first[0]))
        return max(0.0, first[1] - slope * (first[0] - tokens))
    return between(points, tokens)


def between(points: Points, tokens: float) -> float:
    """The value at a length on the lines through the points; outside of them that of the nearest."""
    if tokens <= points[0][0]:
        return points[0][1]
    for (low, left), (high, right) in pairwise(points):
        if tokens <= high:
            return left + (right - left) * (tokens - low) / (high - low)
    return points[-1][1]


def _points(name: str, given: Any) -> Points:
    try:
        pairs = tuple((tokens, _number(name, seconds, math.inf)) for tokens, seconds in given)
    except (TypeError, ValueError) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"{name} is {given!r}; allowed: pairs of tokens and seconds") from None
    whole = all(type(tokens) is int and tokens > 0 for tokens, _ in pairs)
    if not whole or any(low >= high for (low, _), (high, _) in pairwise(pairs)):
        raise ConfigError(f"{name} is {given!r}; allowed: pairs of tokens and seconds, tokens ascending from 1 up")
    return pairs


def _number(name: str, given: Any, most: float) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not (0 <= given <= most and given < math.inf):
        limit = "from 0 up" if most == math.inf else f"from 0 to {most:g}"
        raise ConfigError(f"{name} of a profile has {given!r}; allowed: a finite number {limit}")
    return float(given)


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"no profile {str(path)!r}; make one: squeeze profile --model FOLDER -o FILE") from None
    except (ValueError, OSError) as error:
        raise CorruptError(f"the profile {path} does not read as JSON: {error}") from None
