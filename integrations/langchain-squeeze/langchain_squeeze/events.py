"""What callbacks see of a call: one custom event with its account, where there is a run that it belongs to."""

from __future__ import annotations

from langchain_core.callbacks import Callbacks
from langchain_core.callbacks.manager import adispatch_custom_event, dispatch_custom_event
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import (
    ensure_config,
    get_async_callback_manager_for_config,
    get_callback_manager_for_config,
)

from squeeze.adapting import Outcome

EVENT = "squeeze.compress"
"""Name of the event. Its data: method, tokens before and after, passages kept, seconds, warnings, error."""


def tell(outcome: Outcome, callbacks: Callbacks) -> None:
    """Dispatches the event; silent outside of a run, where the framework refuses events."""
    config = _config(callbacks)
    manager = get_callback_manager_for_config(config)
    if manager.parent_run_id is not None and manager.handlers:
        dispatch_custom_event(EVENT, outcome.account(), config=config)


async def atell(outcome: Outcome, callbacks: Callbacks) -> None:
    """Dispatches the event to handlers of either kind; silent outside of a run."""
    config = _config(callbacks)
    manager = get_async_callback_manager_for_config(config)
    if manager.parent_run_id is not None and manager.handlers:
        await adispatch_custom_event(EVENT, outcome.account(), config=config)


def _config(callbacks: Callbacks) -> RunnableConfig:
    """The config that names the run; without callbacks, the one of the run around the call."""
    return ensure_config(None if callbacks is None else RunnableConfig(callbacks=callbacks))
