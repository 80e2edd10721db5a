"""squeeze for LangChain: a document compressor and, with the extra `agents`, a middleware for agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_squeeze.compressor import SqueezeCompressor
from langchain_squeeze.events import EVENT
from squeeze.errors import MissingDependencyError

if TYPE_CHECKING:
    from langchain_squeeze.middleware import SqueezeMiddleware

__all__ = ["EVENT", "SqueezeCompressor", "SqueezeMiddleware"]


def __getattr__(name: str) -> Any:
    """`SqueezeMiddleware`, imported on first use: only agents need the package `langchain`."""
    if name != "SqueezeMiddleware":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from langchain_squeeze.middleware import SqueezeMiddleware
    except ModuleNotFoundError as error:
        if str(error.name).startswith("langchain_squeeze"):
            raise
        message = f'{error.name} is not installed; run: pip install "langchain-squeeze[agents]"'
        raise MissingDependencyError(message, name=error.name) from error
    return SqueezeMiddleware
