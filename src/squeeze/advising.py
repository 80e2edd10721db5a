"""Whether compressing pays: `squeeze.advise`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from squeeze.api import compress
from squeeze.costs import Profile
from squeeze.errors import ConfigError
from squeeze.types import Budget, Compressed, Passage

_WARM_UP = "A first short call. It loads what is loaded once."


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What a call costs with and without compression, by a profile.

    Attributes:
        result: what the compressor returned, to be used if it pays.
        tokens_without: tokens of the prompt with the whole input.
        tokens_with: tokens of the prompt with the compressed one.
        compressor_seconds: what compressing took; part of `seconds_with`.
        seconds_without: predicted seconds to read the prompt and write the answer; None without times in the profile.
        seconds_with: the same with compression.
        price_without: predicted price; None without prices in the profile.
        price_with: the same with compression.
    """

    result: Compressed
    tokens_without: int
    tokens_with: int
    compressor_seconds: float
    seconds_without: float | None
    seconds_with: float | None
    price_without: float | None
    price_with: float | None

    @property
    def saves_time(self) -> bool | None:
        """Whether the answer is there sooner; None without times."""
        return _less(self.seconds_with, self.seconds_without)

    @property
    def saves_money(self) -> bool | None:
        """Whether the call costs less; None without prices."""
        return _less(self.price_with, self.price_without)

    @property
    def pays(self) -> bool:
        """Whether something is saved, time or money, and neither gets worse."""
        pairs = [(self.seconds_with, self.seconds_without), (self.price_with, self.price_without)]
        worse = any(new is not None and old is not None and new > old for new, old in pairs)
        return not worse and bool(self.saves_time or self.saves_money)

    @property
    def reason(self) -> str:
        """The numbers as a sentence."""
        said = [f"{self.tokens_without:,} tokens become {self.tokens_with:,}"]
        if self.seconds_with is not None and self.seconds_without is not None:
            said.append(
                f"{self.seconds_without:.3f} s become {self.seconds_with:.3f} s, of which compressing is "
                f"{self.compressor_seconds:.3f} s"
            )
        if self.price_with is not None and self.price_without is not None:
            said.append(f"a price of {self.price_without:.6f} becomes {self.price_with:.6f}")
        return f"{'It pays' if self.pays else 'It does not pay'}: " + "; ".join(said) + "."


def advise(
    passages: str | Passage | Iterable[str | Passage],
    query: str | None = None,
    *,
    profile: Profile | Mapping[str, Any] | str | os.PathLike[str],
    answer_tokens: int = 200,
    prompt_tokens: int = 0,
    cached: float = 0.0,
    **call: Any,
) -> Advice:
    """Whether compressing these passages pays, in time and in money.

    The passages are compressed, as only that tells what is left and how long it takes; a first short call warms the
    method up, so that loading a model is not counted. With vectors in the result each counts as a token.

    Args:
        passages: what the retriever found.
        query: the question.
        profile: a `squeeze.costs.Profile`, a mapping of its fields, or the JSON that `squeeze profile` wrote.
        answer_tokens: tokens that the model will write.
        prompt_tokens: tokens of instructions and question, which both prompts have.
        cached: share of the whole input that is in a cache, 0 to 1: input that stays the same from call to call. What
            is compressed for a question is new text and never cached.
        call: what `squeeze.compress` takes besides: method, limits, tokenizer, options. The model's own tokenizer makes
            the prediction exact.

    Raises:
        ConfigError: a value outside of what is allowed (NaN in the profile, say).
        CorruptError: the file of the profile does not read.
    """
    costs = Profile.of(profile)
    for name, value in (("answer_tokens", answer_tokens), ("prompt_tokens", prompt_tokens)):
        if type(value) is not int or value < 0:
            raise ConfigError(f"{name} is {value!r}; allowed: a whole number from 0 up")
    if isinstance(cached, bool) or not isinstance(cached, int | float) or not 0 <= cached <= 1:
        raise ConfigError(f"cached is {cached!r}; allowed: a number from 0 to 1")
    Budget(call.get("max_tokens"), call.get("keep"))
    compress(_WARM_UP, "loads", **{**call, "max_tokens": None, "keep": None})
    result = compress(passages, query, **call)
    without, left = prompt_tokens + result.tokens_before, prompt_tokens + result.tokens_after
    known = int(cached * result.tokens_before)
    seconds_with = costs.seconds(left, answer_tokens)
    return Advice(
        result=result,
        tokens_without=without,
        tokens_with=left,
        compressor_seconds=result.seconds,
        seconds_without=costs.seconds(without, answer_tokens, known),
        seconds_with=None if seconds_with is None else seconds_with + result.seconds,
        price_without=costs.price(without, answer_tokens, known),
        price_with=costs.price(left, answer_tokens),
    )


def _less(new: float | None, old: float | None) -> bool | None:
    return None if new is None or old is None else new < old
