"""Contexts and questions of soft tokens, alike in training and in the report: gold passages among distractors."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

ASK = "Answer with as few words as possible."
"""What follows every question."""


def prompt_of(tokenizer: Any, question: str) -> Any:
    """The prompt that follows a context, as `squeeze.soft.Reader` takes it: chat messages where the model chats."""
    asked = f"{question.strip()} {ASK}"
    if getattr(tokenizer, "chat_template", None):
        return [{"role": "user", "content": asked}]
    return f"{asked}\n"


def usable(row: dict[str, Any]) -> bool:
    """Whether a row has a question, a short answer, and the document that it is in."""
    answers, extra = row.get("answers"), row.get("extra") or {}
    short = isinstance(answers, list) and answers and isinstance(answers[0], str) and bool(answers[0].strip())
    documents = row.get("documents")
    if not short or not isinstance(documents, list) or extra.get("long_form") or extra.get("summary"):
        return False
    if not isinstance(row.get("question"), str) or not row["question"].strip():
        return False
    return bool(extra.get("answer_in_gold", True)) and any(
        document.get("is_gold") and str(document.get("text") or "").strip() for document in documents
    )


def choose(sizes: Sequence[int], gold: Sequence[bool], most: int, chance: random.Random, joiner: int = 1) -> list[int]:
    """Numbers of the documents of a context, in the order in which it has them.

    The gold ones are always in it; others are drawn as long as they fit, and then all are shuffled, so that the answer
    may stand anywhere.

    Args:
        sizes: tokens of each document.
        gold: which of them hold the answer.
        most: tokens of the context; nothing is chosen where the gold ones alone take more.
        chance: draws.
        joiner: tokens between two documents.
    """
    chosen = [at for at, own in enumerate(gold) if own and sizes[at]]
    left = most - sum(sizes[at] for at in chosen) - joiner * max(len(chosen) - 1, 0)
    if left < 0 or not chosen:
        return []
    others = [at for at, own in enumerate(gold) if not own and sizes[at]]
    chance.shuffle(others)
    for at in others:
        if sizes[at] + joiner <= left:
            chosen.append(at)
            left -= sizes[at] + joiner
    chance.shuffle(chosen)
    return chosen
