"""The small thread pool that all asynchronous calls share, so that an event loop stays alive beside them."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

WORKERS = 2
"""Threads of the pool. Two, so that a call that waits (for a model, for a disk) does not hold up the next one; no more,
because compressing holds the interpreter, and an event loop has to queue for it behind every busy thread."""

PATIENCE = 0.05
"""Seconds that the second thread waits for the first to finish. Calls that compute take turns that way, and leave the
interpreter to the event loop more often; calls that take longer than this run side by side."""

_turn = threading.Lock()


async def in_pool(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What `function(*args, **kwargs)` returns, worked out in the pool with the caller's context variables."""
    context = contextvars.copy_context()
    call = functools.partial(context.run, function, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_pool(), _in_turn, call)


def _in_turn(call: Callable[[], T]) -> T:
    held = _turn.acquire(timeout=PATIENCE)
    try:
        return call()
    finally:
        if held:
            _turn.release()


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=WORKERS, thread_name_prefix="squeeze")
