"""squeeze shortens what a retriever found before a language model reads it, under a hard token budget.

import squeeze

result = squeeze.compress(passages, query="when was it finished?", max_tokens=800)
result.text, result.spans(0), result.tokens_before, result.tokens_after
"""

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
    "available",
    "compress",
    "load",
    "register",
]
