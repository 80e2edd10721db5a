"""squeeze shortens what a retriever found before a language model reads it, under a hard token budget.

Example:
    result = squeeze.compress(passages, query="when was it finished?", max_tokens=800)
    result.text, result.spans(0), result.tokens_before, result.tokens_after
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from squeeze.advising import advise
    from squeeze.api import compress
    from squeeze.base import Compressor
    from squeeze.errors import SqueezeError
    from squeeze.pipeline import Pipeline
    from squeeze.registry import available, load, register
    from squeeze.tokens import Tokenizer
    from squeeze.types import Budget, Compressed, Passage, SoftPart, TextPart

__version__ = "0.1.0"

__all__ = [
    "Budget",
    "Compressed",
    "Compressor",
    "Passage",
    "Pipeline",
    "SoftPart",
    "SqueezeError",
    "TextPart",
    "Tokenizer",
    "__version__",
    "advise",
    "available",
    "compress",
    "load",
    "register",
]

_HOMES = {
    "squeeze.advising": ("advise",),
    "squeeze.api": ("compress",),
    "squeeze.base": ("Compressor",),
    "squeeze.errors": ("SqueezeError",),
    "squeeze.pipeline": ("Pipeline",),
    "squeeze.registry": ("available", "load", "register"),
    "squeeze.tokens": ("Tokenizer",),
    "squeeze.types": ("Budget", "Compressed", "Passage", "SoftPart", "TextPart"),
}


def __getattr__(name: str) -> Any:
    """A public name, imported when it is first used: an application that only might compress pays nothing."""
    for module, names in _HOMES.items():
        if name in names:
            value = getattr(import_module(module), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'squeeze' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
