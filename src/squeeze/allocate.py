"""Who gets how much: a token budget shared over segments, exact to the token.

Methods that read one part closely and skim the rest (RAM, REFRAG, DAST, BEAVER) differ mostly in this decision. An
`Allocator` makes it from the sizes and scores of the segments alone; what becomes of a share (text, vectors, clauses)
is the method's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from squeeze.errors import ConfigError, InputError

Shares = NDArray[np.int64]
Weights = NDArray[np.float64]


@runtime_checkable
class Allocator(Protocol):
    """Shares a budget over segments."""

    def share(self, sizes: Sequence[int], scores: Sequence[float], budget: int) -> Shares:
        """Tokens for each segment, (segments,).

        No share is larger than its segment, and together they are `min(budget, sum(sizes))` exactly.

        Args:
            sizes: tokens of each segment, 0 or more.
            scores: what speaks for each segment; higher is better, any finite numbers.
            budget: tokens to give away, 0 or more.

        Raises:
            InputError: the lengths differ, or a number is negative, NaN or infinite.
        """
        ...


def apportion(weights: ArrayLike, caps: Sequence[int], budget: int, *, minimum: int = 0) -> Shares:
    """A budget shared in proportion to weights, exact to the token (largest remainder, the Hamilton method).

    Each segment first gets `minimum` (or its cap, where that is less); when the budget is too small for that, the
    segments of the highest weight get theirs first. The rest goes by weight; what a segment cannot take because of its
    cap is shared again among the others. Ties go to the earlier segment.

    Args:
        weights: what each segment should get, relative to the others; all zero means all alike.
        caps: the most that each can take, 0 or more.
        budget: tokens to give away; `min(budget, sum(caps))` are given.
        minimum: what each gets before weights count.

    Raises:
        InputError: the lengths differ, or a number is negative, NaN or infinite.
    """
    wanted, caps_, budget = _checked(weights, caps, budget)
    if len(wanted) and wanted.min() < 0:
        raise InputError(f"a weight is {wanted.min()}; allowed: numbers from 0 up")
    floor = np.minimum(caps_, _whole("minimum", minimum))
    order = np.argsort(-wanted, kind="stable")
    if floor.sum() > budget:
        room = budget - np.concatenate([[0], np.cumsum(floor[order])[:-1]])
        shares = np.zeros_like(floor)
        shares[order] = np.clip(np.minimum(floor[order], room), 0, None)
        return shares
    shares = floor.copy()
    left = min(budget, int(caps_.sum())) - int(shares.sum())
    while left:
        open_ = shares < caps_
        part = np.where(open_, wanted, 0.0)
        if not part.any():
            part = open_.astype(np.float64)
        part = part / part.max()  # so that neither the largest floats nor the smallest spoil the sum
        exact = part * (left / part.sum())
        given = np.minimum(np.floor(exact).astype(np.int64), caps_ - shares)
        if not given.sum():  # less than one each: the largest remainders, one token at a time
            for index in np.argsort(-exact, kind="stable")[:left]:
                given[index] = 1 if part[index] else 0
        shares += given
        left -= int(given.sum())
    return shares


@dataclass(frozen=True, slots=True)
class Uniform:
    """All segments alike.

    Attributes:
        minimum: tokens that each segment gets first.
    """

    minimum: int = 0

    def share(self, sizes: Sequence[int], scores: Sequence[float], budget: int) -> Shares:
        """See `Allocator.share`; the scores only decide who gets the minimum when there is not enough for all."""
        ranks, caps, budget = _checked(scores, sizes, budget)
        weights = _ranks(ranks) if _floor(caps, self.minimum) > budget else np.ones(len(caps))
        return apportion(weights, sizes, budget, minimum=self.minimum)


@dataclass(frozen=True, slots=True)
class TopK:
    """The best segments whole, the others `skim` tokens each (RAM's keep share, arXiv 2602.01840).

    The paper keeps a share of the segments; a budget in tokens says how many those are: segments are taken by score
    while all that remain still get their `skim`. What is left over goes to the next best one.

    Attributes:
        skim: tokens of a segment that is not kept whole.
    """

    skim: int = 1

    def share(self, sizes: Sequence[int], scores: Sequence[float], budget: int) -> Shares:
        """See `Allocator.share`."""
        ranks, caps, budget = _checked(scores, sizes, budget)
        shares = apportion(_ranks(ranks), sizes, min(budget, _floor(caps, self.skim)), minimum=self.skim)
        left = budget - int(shares.sum())
        for index in np.argsort(-ranks, kind="stable"):
            more = min(left, int(caps[index] - shares[index]))
            shares[index] += more
            left -= more
        return shares


@dataclass(frozen=True, slots=True)
class Dast:
    """A blend of a local and a global score, each through a softmax (DAST, arXiv 2502.11493).

    Attributes:
        local: the local score of each segment (in the paper: its perplexity under the language model); None uses the
            scores of the call for both.
        alpha: weight of the local score, 0 to 1.
        sign: +1 when a higher local score asks for more tokens, -1 when a lower one does. The sources do not agree on
            the paper's sign, so it is a choice here.
        temperature: of both softmaxes, above 0.
        minimum: tokens that each segment gets first.
    """

    local: tuple[float, ...] | None = None
    alpha: float = 0.5
    sign: Literal[1, -1] = 1
    temperature: float = 1.0
    minimum: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1:
            raise ConfigError(f"alpha is {self.alpha!r}; allowed: a number from 0 to 1")
        if self.sign not in (1, -1):
            raise ConfigError(f"sign is {self.sign!r}; allowed: 1 or -1")
        if not 0 < self.temperature < np.inf:
            raise ConfigError(f"temperature is {self.temperature!r}; allowed: a number above 0")

    def share(self, sizes: Sequence[int], scores: Sequence[float], budget: int) -> Shares:
        """See `Allocator.share`; `scores` is the global score."""
        wide, _, budget = _checked(scores, sizes, budget)
        near, _, _ = _checked(scores if self.local is None else self.local, sizes, budget)
        weights = self.alpha * _softmax(self.sign * near / self.temperature)
        weights = weights + (1 - self.alpha) * _softmax(wide / self.temperature)
        return apportion(weights, sizes, budget, minimum=self.minimum)


@dataclass(frozen=True, slots=True)
class Expand:
    """Every segment `skim` tokens, the most useful ones reopened whole (REFRAG, arXiv 2509.01092).

    Usefulness is the score of the call: in the paper a learned policy picks (`squeeze.policy.SequentialPolicy`), or
    the perplexity of the segment stands in for it. What reopening leaves goes to the closed segments alike, so that
    nothing of the budget is lost.

    Attributes:
        p: share of the budget that reopened segments may take, 0 to 1.
        skim: tokens that a segment gets first.
    """

    p: float = 0.5
    skim: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.p <= 1:
            raise ConfigError(f"p is {self.p!r}; allowed: a number from 0 to 1")

    def share(self, sizes: Sequence[int], scores: Sequence[float], budget: int) -> Shares:
        """See `Allocator.share`."""
        ranks, caps, budget = _checked(scores, sizes, budget)
        shares = apportion(_ranks(ranks), sizes, min(budget, _floor(caps, self.skim)), minimum=self.skim)
        room = min(int(self.p * budget), budget - int(shares.sum()))
        for index in np.argsort(-ranks, kind="stable"):
            more = int(caps[index] - shares[index])
            if 0 < more <= room:
                shares[index] += more
                room -= more
        return shares + apportion(np.ones(len(caps)), (caps - shares).tolist(), max(0, budget - int(shares.sum())))


def _checked(values: ArrayLike, sizes: Sequence[int], budget: int) -> tuple[Weights, Shares, int]:
    numbers = np.asarray(values, dtype=np.float64)
    caps = np.asarray(sizes, dtype=np.float64)
    if numbers.shape != caps.shape or numbers.ndim != 1:
        raise InputError(f"{numbers.size} scores for {caps.size} segments; give one for each")
    if not np.isfinite(numbers).all():
        raise InputError(f"a score is {numbers[~np.isfinite(numbers)][0]}; allowed: finite numbers")
    wrong = ~np.isfinite(caps) | (caps < 0) | (caps != np.floor(caps))
    if wrong.any():
        raise InputError(f"a size is {caps[wrong][0]}; allowed: whole numbers from 0 up")
    return numbers, caps.astype(np.int64), _whole("budget", budget)


def _whole(name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise InputError(f"{name} is {value!r}; allowed: a whole number from 0 up")
    return int(value)


def _floor(caps: Shares, minimum: int) -> int:
    """Tokens that it takes to give each segment its minimum."""
    return int(np.minimum(caps, _whole("minimum", minimum)).sum())


def _ranks(scores: ArrayLike) -> Weights:
    """Scores as weights that keep their order: the worst distinct score 1, the next 2, and so on."""
    _, inverse = np.unique(np.asarray(scores, dtype=np.float64), return_inverse=True)
    return inverse.astype(np.float64).reshape(-1) + 1


def _softmax(values: Weights) -> Weights:
    if not len(values):
        return values
    powers = np.exp(values - values.max())
    result: Weights = powers / powers.sum()
    return result
