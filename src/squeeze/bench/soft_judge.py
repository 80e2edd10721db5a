"""What reads a context in any form, text or vectors, and scores answers after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from squeeze.bench.soft_rows import prompt_of
from squeeze.errors import need
from squeeze.render import JOINER


@dataclass(frozen=True, slots=True)
class Item:
    """A question with its context.

    Attributes:
        passages: of the context, in order.
        question: as it was asked.
        answers: all that count; the first is the one whose likelihood is taken.
    """

    passages: tuple[str, ...]
    question: str
    answers: tuple[str, ...]


class Judge:
    """Reads contexts in any form and scores answers.

    Args:
        model: the language model.
        tokenizer: its tokenizer.
        new_tokens: most tokens of an answer.
        batch: rows side by side.
    """

    def __init__(self, model: Any, tokenizer: Any, new_tokens: int, batch: int) -> None:
        self.model, self.tokenizer, self.new_tokens, self.batch = model, tokenizer, new_tokens, batch
        self.inputs, self.prompt = need("squeeze.soft.inputs", extra="soft"), need("squeeze.soft.prompt", extra="soft")
        self.reader, self.torch = need("squeeze.soft.reader", extra="soft"), need("torch", extra="soft")

    def ids(self, text: str) -> list[int]:
        """The ids of a text."""
        return list(self.prompt.plain_ids(self.tokenizer, text))

    def text(self, ids: Sequence[int]) -> Any:
        """Ids as they are read: a row, or nothing."""
        return self.inputs.ids_row(self.model, ids) if ids else None

    def vectors(self, vectors: Any) -> Any:
        """Vectors as they are read: a row, or nothing."""
        return self.inputs.vectors_row(self.model, vectors) if len(vectors) else None

    def row(self, context: Any, question: str) -> Any:
        """A context with its question around it."""
        prompt = prompt_of(self.tokenizer, question)
        before, after = self.prompt.split_prompt(self.tokenizer, prompt, context=context is not None)
        pieces = [self.text(before), context, self.text(after)]
        return self.inputs.join([piece for piece in pieces if piece is not None])

    def likelihoods(self, rows: Sequence[Any], answer: str) -> list[tuple[float, int]]:
        """The log-likelihood of the whole answer after each row, with its tokens."""
        ids, found = self.ids(answer.strip()), list[tuple[float, int]]()
        for row in rows:
            inputs = self.inputs.pad_left([self.inputs.join([row, self.inputs.ids_row(self.model, ids)])])
            with self.torch.no_grad():
                out = self.model(inputs_embeds=inputs.inputs_embeds, use_cache=False, logits_to_keep=len(ids) + 1)
            scores = self.torch.log_softmax(out.logits[0, -len(ids) - 1 : -1].float(), -1)
            found.append((float(scores[range(len(ids)), ids].sum()), len(ids)))
        return found

    def answers(self, rows: Sequence[Any]) -> list[str]:
        """What the model says after each row, greedily; rows of about one length are read side by side."""
        order = sorted(range(len(rows)), key=lambda at: len(rows[at].embeds))
        said = [""] * len(rows)
        for start in range(0, len(order), self.batch):
            own = order[start : start + self.batch]
            inputs = self.inputs.pad_left([rows[at] for at in own])
            made = self.reader.generate_ids(
                self.model, inputs.inputs_embeds, inputs.attention_mask, max_new_tokens=self.new_tokens
            )
            for at, ids in zip(own, made, strict=True):
                said[at] = self.tokenizer.decode(ids, skip_special_tokens=True)
        return said


@lru_cache(maxsize=8)  # a row's vectors are read again as those of another's
def vectors_of(compressor: Any, item: Item, factor: int) -> Any:
    """The vectors of a context at a factor, special ones included, (vectors, width)."""
    torch, found = need("torch", extra="soft"), list[Any]()
    for text in item.passages:
        ids = compressor.ids(text)
        found += compressor.encode_many(compressor.pieces(ids), factor) if ids else []
        ending = compressor.ending()
        found += [ending] if ids and ending is not None else []
    return torch.cat(found)


def pooled(judge: Judge, item: Item, factor: int) -> Any:
    """The mean input embeddings of each group of tokens of a context, (groups, width)."""
    torch, pooling = need("torch", extra="soft"), need("squeeze.soft.pooling", extra="soft")
    found = list[Any]()
    for text in item.passages:
        ids = judge.ids(text)
        if ids:
            embedded = judge.text(ids).embeds[None]
            found.append((pooling.averaging([len(ids)], factor, embedded) @ embedded)[0])
    return torch.cat(found)


def contexts(judge: Judge, item: Item, other: Item, encoders: dict[str, Any]) -> dict[str, Any]:
    """Every form of a context by the name of its condition.

    Args:
        judge: what reads.
        item: the question.
        other: another one, whose context is read in its place.
        encoders: the trained compressor, and the untrained one where wanted.
    """
    ids = judge.ids(JOINER.join(item.passages))
    found = {"none": None, "full": judge.text(ids)}
    for factor in encoders["vectors"].factors:
        own = {name: vectors_of(encoder, item, factor) for name, encoder in encoders.items()}
        found[f"truncated {factor}x"] = judge.text(ids[: len(own["vectors"])])
        found[f"pooled {factor}x"] = judge.vectors(pooled(judge, item, factor))
        found |= {f"{name} {factor}x": judge.vectors(vectors) for name, vectors in own.items()}
        found[f"another's {factor}x"] = judge.vectors(vectors_of(encoders["vectors"], other, factor))
    return found
