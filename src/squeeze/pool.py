"""The small thread pool that all asynchronous calls share, so that an event loop stays alive beside them."""

from __future__ import annotations

import asyncio
import contextvars
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

WORKERS = 2
"""Threads of the pool. Two, so that a call that waits (for a model, for a disk) does not hold up the next one; no more,
because compressing holds the interpreter, and an event loop has to queue for it behind every busy thread."""


async def in_pool(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What `function(*args, **kwargs)` returns, worked out in the pool with the caller's context variables."""
    context = contextvars.copy_context()
    call = functools.partial(context.run, function, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_pool(), call)


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=WORKERS, thread_name_prefix="squeeze")
