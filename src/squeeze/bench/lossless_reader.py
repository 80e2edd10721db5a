"""How well a small local model reads coded text: log-likelihood of answers after plain and after coded context."""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from squeeze.errors import need
from squeeze.registry import load

SETS = ("kv_json", "tool_json_orders")
MOST = 2_000
"""Tokens of a context."""


class Answers:
    """Log-likelihoods of answers under a causal model.

    Args of the constructor:
        folder: a Hugging Face model with its tokenizer.
        threads: of torch.
    """

    def __init__(self, folder: str, threads: int = 1) -> None:
        self.torch = need("torch", extra="bench")
        transformers = need("transformers", extra="bench")
        self.torch.set_num_threads(threads)
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()

    def prompt(self, context: str, question: str) -> str:
        """The context and the question as the model was tuned to see them."""
        asked = f"{context}\n\n{question} Answer with the value only.".lstrip()
        if not getattr(self.tokenizer, "chat_template", None):
            return f"{asked}\n"
        message = [{"role": "user", "content": asked}]
        return str(self.tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True))

    def score(self, prompt: str, answer: str) -> float:
        """Mean natural log-likelihood of the answer's tokens after the prompt."""
        before = self.tokenizer(prompt, add_special_tokens=False)["input_ids"]
        return self.score_ids(before, self.tokenizer(answer, add_special_tokens=False)["input_ids"])

    def score_ids(self, before: Sequence[int], answer: Sequence[int]) -> float:
        """The same for ids."""
        torch = self.torch
        ids = torch.tensor([[*before, *answer]])
        with torch.no_grad():
            logits = self.model(ids, logits_to_keep=len(answer) + 1).logits[0, :-1]
        chosen = torch.log_softmax(logits.float(), dim=-1)[range(len(answer)), list(answer)]
        return float(chosen.mean())


def contexts(folder: Path, name: str, count: int, tokens: Any, most: int = MOST) -> list[tuple[list[str], str, str]]:
    """Documents, question and answer of the first rows, cut down to `most` tokens around what the answer needs.

    Args:
        folder: with `dev/SET.dev.jsonl.gz`.
        name: of the set.
        count: of rows.
        tokens: counts the tokens of a text.
        most: tokens of a context.
    """
    path = next(p for p in (folder / "dev" / f"{name}.dev.jsonl.gz", folder / f"{name}.dev.jsonl.gz") if p.exists())
    out = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, itertools.islice(lines, count)):
            texts = [document["text"] for document in row["documents"]]
            answer = row["answers"][0]
            texts = (
                _members(texts[0], answer, tokens, most) if len(texts) == 1 else _around(texts, answer, tokens, most)
            )
            out.append((texts, row["question"], answer))
    return out


def _around(texts: list[str], answer: str, tokens: Any, most: int) -> list[str]:
    """The document with the answer and as many before and after it as fit, in order."""
    at = next(at for at, text in enumerate(texts) if answer in text)
    kept = [at]
    for other in sorted(range(len(texts)), key=lambda other: abs(other - at)):
        if other != at and tokens("\n\n".join(texts[i] for i in sorted([*kept, other]))) <= most:
            kept.append(other)
    return [texts[i] for i in sorted(kept)]


def _members(text: str, answer: str, tokens: Any, most: int) -> list[str]:
    """The JSON object with the member that holds the answer and as many neighbours of it as fit."""
    members = list(json.loads(text).items())
    at = next(at for at, (_, value) in enumerate(members) if value == answer)
    width, kept = len(members), text
    while tokens(kept) > most:
        width -= max(width // 8, 1)
        start = min(max(at - width // 2, 0), len(members) - width)
        kept = json.dumps(dict(members[start : start + width]), indent=1)
    return [kept]


def read(model: str, folder: Path, count: int, most: int = MOST) -> list[dict[str, Any]]:
    """Per set: tokens and mean log-likelihood per answer token with no context, the plain one, the coded one."""
    reader = Answers(model)
    compressor = load("lossless", tokenizer=f"hf:{model}")
    found = []
    for name in SETS:
        rows = contexts(folder, name, count, compressor.count, most)
        sums = dict.fromkeys(("none", "plain", "coded"), 0.0)
        before = after = better = 0
        for texts, question, answer in rows:
            result = compressor.compress(texts)
            plain = "\n\n".join(texts)
            scores = {
                kind: reader.score(reader.prompt(context, question), answer)
                for kind, context in (("none", ""), ("plain", plain), ("coded", result.text))
            }
            before, after = before + result.tokens_before, after + result.tokens_after
            better += scores["coded"] > scores["none"]
            for kind, score in scores.items():
                sums[kind] += score
        means = {kind: round(total / len(rows), 3) for kind, total in sums.items()}
        found.append(
            {
                "set": name,
                "rows": len(rows),
                "tokens_plain": round(before / len(rows)),
                "tokens_coded": round(after / len(rows)),
                "log_likelihood_per_answer_token": means,
                "rows_where_coded_context_helps": better,
            }
        )
        print(json.dumps(found[-1]), flush=True)
    return found
