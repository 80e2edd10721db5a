"""Examples for tuning a model on meta-tokens: the prompt's context coded, the answer plain, loss on the answer only."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from squeeze.bench.rows import read_rows
from squeeze.compressors.meta_tokens import encode

IGNORED = -100
"""The label of a token that the loss leaves out."""

_PLACE = "\x1f"  # stands in the template where the context goes; a control character that no template has
_WORDS = (
    "amber",
    "birch",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "harbor",
    "island",
    "juniper",
    "kernel",
    "north",
)
_STATES = ("delivered", "pending", "returned", "on hold", "cancelled")


@dataclass(frozen=True, slots=True)
class Question:
    """A context, a question about it, and the answer."""

    context: str
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Example:
    """Ids and labels of one example; labels are `IGNORED` up to the answer.

    Attributes:
        ids: prompt and answer.
        labels: the same, the prompt's replaced.
        saved: ids that coding took out of the context.
    """

    ids: tuple[int, ...]
    labels: tuple[int, ...]
    saved: int = 0

    @property
    def prompt(self) -> tuple[int, ...]:
        """The ids before the answer."""
        return self.ids[: sum(label == IGNORED for label in self.labels)]

    @property
    def answer(self) -> tuple[int, ...]:
        """The ids of the answer."""
        return self.ids[len(self.prompt) :]


class Builder:
    """Makes examples for one tokenizer.

    Args of the constructor:
        tokenizer: of the model, with the reserved tokens added.
        reserved: their ids: the two delimiters, then the meta-tokens; empty: contexts stay plain.
        most: ids that a plain context may have.
    """

    def __init__(self, tokenizer: Any, reserved: Sequence[int] = (), most: int = 512) -> None:
        self.tokenizer, self.reserved, self.most = tokenizer, tuple(reserved), most

    def ids(self, text: str) -> list[int]:
        """The ids of a text, text that looks like a special token being plain text."""
        return list(self.tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"])

    def example(self, item: Question, seed: int) -> Example | None:
        """The ids of a question; None where its context is too long.

        Args:
            item: the question.
            seed: which meta-tokens are drawn; another one for each example, so that none gets a meaning of its own.
        """
        context = self.ids(item.context)
        if len(context) > self.most:
            return None
        coded = encode(context, reserved=self.reserved, seed=seed) if self.reserved else context
        before, after = self._frame(item.question)
        answer = [*self.ids(item.answer), self.tokenizer.eos_token_id]
        prompt = [*before, *coded, *after]
        labels = [IGNORED] * len(prompt) + answer
        return Example((*prompt, *answer), tuple(labels), len(context) - len(coded))

    def examples(self, items: Iterable[Question], seed: int = 0) -> list[Example]:
        """The examples of all questions whose contexts are short enough."""
        made = (self.example(item, seed + at) for at, item in enumerate(items))
        return [example for example in made if example is not None]

    def _frame(self, question: str) -> tuple[list[int], list[int]]:
        asked = f"{_PLACE}\n\n{question} Answer with the value only."
        if getattr(self.tokenizer, "chat_template", None):
            message = [{"role": "user", "content": asked}]
            asked = self.tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)
        before, after = asked.split(_PLACE)
        ids: Callable[[str], Any] = lambda text: self.tokenizer(text, add_special_tokens=False)["input_ids"]  # noqa: E731
        return list(ids(before)), list(ids(after))


def made_up(count: int, seed: int, records: int = 8) -> Iterator[Question]:
    """Questions about made-up logs, JSON records, key-value pairs and tables, one value of each asked for."""
    chance = random.Random(seed)
    kinds = (_log, _orders, _pairs, _table)
    for at in range(count):
        yield kinds[at % len(kinds)](chance, max(records + chance.randrange(-2, 3), 2))


def of_rows(path: str, count: int) -> Iterator[Question]:
    """Questions of the first rows of a `.jsonl(.gz)` file: the documents joined as context, the first answer."""
    for at, row in enumerate(read_rows(path)):
        if at == count:
            return
        if row.get("answers"):
            context = "\n\n".join(document["text"] for document in row["documents"])
            yield Question(context, row["question"], row["answers"][0])


def _code(chance: random.Random, size: int = 8) -> str:
    return "".join(chance.choice("0123456789abcdef") for _ in range(size))


def _log(chance: random.Random, count: int) -> Question:
    service, path = chance.choice(_WORDS), f"/srv/{chance.choice(_WORDS)}/{chance.choice(_WORDS)}.json"
    lines = [(_code(chance), chance.randrange(10, 999)) for _ in range(count)]
    text = "\n".join(
        f"2024-05-17 INFO {service}: request {key} for {path} finished in {took} ms" for key, took in lines
    )
    key, took = chance.choice(lines)
    return Question(text, f"In how many ms did request {key} finish?", str(took))


def _orders(chance: random.Random, count: int) -> Question:
    orders = [
        {
            "order_id": f"#{_code(chance, 6)}",
            "customer": f"{chance.choice(_WORDS)}_{chance.choice(_WORDS)}",
            "status": chance.choice(_STATES),
            "total": chance.randrange(100, 99999) / 100,
        }
        for _ in range(count)
    ]
    order = chance.choice(orders)
    key = chance.choice(("customer", "status", "total"))
    return Question(json.dumps(orders, indent=1), f"What is the {key} of order {order['order_id']}?", str(order[key]))


def _pairs(chance: random.Random, count: int) -> Question:
    pairs = {f"device-{_code(chance, 6)}": f"serial-{_code(chance)}" for _ in range(count)}
    key = chance.choice(list(pairs))
    return Question(json.dumps(pairs, indent=1), f"What is the value of {key}?", pairs[key])


def _table(chance: random.Random, count: int) -> Question:
    rows = [
        (f"{chance.choice(_WORDS)} {_code(chance, 4)}", chance.choice(_STATES), chance.randrange(99))
        for _ in range(count)
    ]
    text = "\n".join(f"| item {name} | state: {state} | pieces in stock: {pieces} |" for name, state, pieces in rows)
    name, state, pieces = chance.choice(rows)
    if chance.random() < 0.5:
        return Question(text, f"What is the state of item {name}?", state)
    return Question(text, f"How many pieces of item {name} are in stock?", str(pieces))
