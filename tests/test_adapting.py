"""What the adapters share, without a framework."""

from __future__ import annotations

import asyncio
import contextvars
import json
import threading
from typing import Any

import pytest

import squeeze
from squeeze import pool
from squeeze.adapting import Settings, copied
from squeeze.api import kept_compressor
from squeeze.errors import ConfigError
from squeeze.pool import WORKERS, in_pool

TEXTS = ["The valve opens at 40 degrees. Paint is blue.", "Lunch is at noon."]


def test_compressors_are_kept_by_the_value_of_their_options() -> None:
    class Scorer:
        def score(self, corpus: Any, query: str | None) -> list[float]:
            return [0.5] * len(corpus)

    scorer = Scorer()
    kept = kept_compressor("edu", "estimate", {"scorer": scorer})
    assert kept_compressor("edu", "estimate", {"scorer": scorer}) is kept
    assert kept_compressor("edu", "estimate", {"scorer": Scorer()}) is not kept
    assert kept_compressor("edu", "estimate", {"min_keep": 1}) is not kept_compressor("edu", "estimate", {})


def test_settings_are_read_from_an_object_and_checked() -> None:
    given = Settings(keep=0.5, options={"unit": "edu"}, title_key="name")
    assert Settings.of(given) == given
    assert given.compressor is kept_compressor("edu", "estimate", {"unit": "edu"})
    assert given.title({"name": "A", "title": "B"}) == "A" and given.title({"name": "", "title": "B"}) == "B"
    with pytest.raises(ConfigError, match="Did you mean 'keep'"):
        Settings.check({"kep": 0.5}, ["keep", "own"])
    Settings.check({"keep": 0.5, "own": object()}, ["keep", "own"])


def test_an_outcome_accounts_for_the_call() -> None:
    settings = Settings(keep=0.6)
    outcome = settings.attempt(lambda: settings.compressor.compress(TEXTS, "valve", budget=settings.budget))
    assert outcome.result is not None and outcome.texts() == outcome.result.texts() and not outcome.raises
    note = outcome.provenance(0, earlier={"method": "passages"})
    assert note["spans"] == [list(span) for span in outcome.result.spans(0)] and note["earlier"]["method"] == "passages"
    account = json.loads(json.dumps(outcome.account()))
    assert account["passages"] == 2 and account["tokens_after"] <= 0.6 * account["tokens_before"]
    outcome.settle()


def test_an_error_is_raised_or_kept_by_policy() -> None:
    def fails() -> squeeze.Compressed:
        raise KeyError("gone")

    strict, lenient = Settings().attempt(fails), Settings(on_error="passthrough").attempt(fails)
    with pytest.raises(KeyError):
        strict.settle()
    lenient.settle()
    assert lenient.texts() == {} and lenient.provenance(None) == {"method": "edu", "error": "KeyError: 'gone'"}


def test_copies_of_metadata_share_nothing_that_can_be_changed_in_place() -> None:
    thing = object()
    given = {"a": [1, {"b": {2}}], "thing": thing}
    copy = copied(given)
    assert copy == given and copy["thing"] is thing
    copy["a"][1]["b"].add(3)
    copy["a"].append(4)
    assert given == {"a": [1, {"b": {2}}], "thing": thing}


def test_the_pool_keeps_context_variables_and_lets_calls_overlap() -> None:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=0)
    gate = threading.Barrier(WORKERS, timeout=30)

    def call(number: int) -> tuple[int, int, str]:
        gate.wait()  # passes only when as many calls as there are workers run at once
        return number, variable.get(), threading.current_thread().name

    async def main() -> list[tuple[int, int, str]]:
        variable.set(7)
        return list(await asyncio.gather(*(in_pool(call, number) for number in range(2 * WORKERS))))

    results = asyncio.run(main())
    assert [number for number, _, _ in results] == list(range(2 * WORKERS))
    assert {value for _, value, _ in results} == {7} and all(name.startswith("squeeze") for _, _, name in results)


def test_an_error_in_the_pool_frees_its_turn() -> None:
    def fails() -> None:
        raise OSError("no")

    async def main() -> bool:
        with pytest.raises(OSError, match="no"):
            await in_pool(fails)
        return await in_pool(pool._turn.locked)

    assert asyncio.run(main()) and not pool._turn.locked()
