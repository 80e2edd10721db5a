"""What several test files share: a small corpus, counters, and a byte tokenizer built in code."""

from __future__ import annotations

import importlib.util
import os
import pathlib

import pytest
from hypothesis import HealthCheck, settings

import squeeze
from squeeze import Passage

if "TIKTOKEN_CACHE_DIR" not in os.environ and importlib.util.find_spec("llama_index"):
    # llama-index-core ships the vocabulary of cl100k_base, so that no test needs the network for it
    found = importlib.util.find_spec("llama_index.core")
    if found and found.origin:
        os.environ["TIKTOKEN_CACHE_DIR"] = str(pathlib.Path(found.origin).parent / "_static" / "tiktoken_cache")

settings.register_profile(
    "default", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.register_profile("many", parent=settings.get_profile("default"), max_examples=2000, derandomize=False)
settings.load_profile("many" if os.environ.get("SQUEEZE_MANY") else "default")

TEXTS = [
    "The lighthouse on the north pier was built in 1874. It is 22 metres high. Its lamp burned colza oil at first. "
    "In 1931 the lamp was changed to electricity. The keeper's house was pulled down after the flood.",
    "# Pumps\n\nEach pump is checked every spring.\n\n## Limits\n\nThe pressure must not exceed 40 bar. "
    "Above 38 bar the valve opens by itself.\n\n| Part | Torque |\n|---|---|\n| bolt | 17 Nm |\n| nut | 12 Nm |\n\n"
    "```python\ndef area(a, b):\n    return a * b\n```\n",
    "装置は停止した。弁は閉じている。圧力は四十バールです。",
    "",
    "Lunch is at noon. The paint is blue. The crate weighs 9 kg.",
]
QUERY = "When was the lighthouse lamp changed to electricity?"


@pytest.fixture
def passages() -> list[Passage]:
    """Five short passages: prose, Markdown, Japanese, an empty one, prose."""
    return [Passage(text, title=f"Sheet {i}", id=f"p{i}") for i, text in enumerate(TEXTS)]


def words(text: str) -> int:
    """A counter for tests: words between white space."""
    return len(text.split())


def overhead_words(text: str) -> int:
    """A counter like a tokenizer that adds two tokens to each call."""
    return len(text.split()) + 2 if text else 0


def byte_tokenizer() -> object:
    """A byte-level Hugging Face tokenizer of 280 tokens, built in code."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=280, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(["plain words only"] * 5, trainer)
    return tokenizer


def example(name: str) -> squeeze.Compressor:
    """A method's smallest instance; the test skips where the method's extra is not installed."""
    from squeeze.errors import MissingDependencyError
    from squeeze.registry import method_class

    try:
        return method_class(name).example()
    except MissingDependencyError as error:
        pytest.skip(str(error))
