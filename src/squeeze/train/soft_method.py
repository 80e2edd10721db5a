"""What a way of training soft tokens brings to `squeeze.train.soft`, and what the ways have in common.

A method is a class of a module of its own, named in `METHODS`, that is built from a `Setting` and does what `Method`
says. The program does the rest: steps and their seeds, rates, clipping, mixed precision, state, log, curve, stopping.
For a resumed run to give the losses of an unbroken one, a method keeps to three rules:

- `draw` takes all chance from the `random.Random` it is handed (seeded by seed and step alone) and holds no state that
  later draws depend on; what is drawn by torch inside `loss` is seeded by the program in the same way.
- all that training changes is in the parameters that `roles` lists: these, and the optimiser's state, are what is
  saved. What is put on disk beside them (answers of a teacher, say) is only ever a cache.
- `save` writes a whole checkpoint that `squeeze.load(method, …)` reads, and leaves the old one when it fails.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn

from squeeze.errors import ConfigError, nearest
from squeeze.soft.inputs import text_embeds
from squeeze.soft.pooling import averaging
from squeeze.train.losses import Ids, read_loss
from squeeze.train.soft_data import Asked, draw_question, draw_recall, draw_text, questions_apart, texts_apart
from squeeze.train.soft_ids import Prepared

METHODS = {
    "arc": "squeeze.train.soft_arc:Arc",
    "compllm": "squeeze.train.soft_compllm:CompLLM",
    "ram": "squeeze.train.soft_ram:Ram",
}
"""Where the class of each method is."""

Roles = dict[str, list[tuple[str, nn.Parameter]]]
"""Names and parameters by what their learning rate is called: `layers`, `heads`, `other`."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What one pass goes over, as ids: no tensor yet.

    Attributes:
        kind: what it is called in the log.
        factor: tokens per vector.
        rows: whatever `loss` of the method needs.
        context: tokens that are read as vectors.
        target: tokens whose prediction counts.
    """

    kind: str
    factor: int
    rows: Any
    context: int
    target: int


@dataclass(frozen=True, slots=True)
class Setting:
    """What a method is built from.

    Attributes:
        options: those of the program.
        model: the language model, frozen, in eval mode, on its device.
        prepared: ids to train on.
        out: the folder of the run.
    """

    options: argparse.Namespace
    model: Any
    prepared: Prepared
    out: Path

    def shape(self) -> dict[str, Any]:
        """Settings of the encoder from `--set`: names with values as JSON, plain words as they are."""
        found = {}
        for given in self.options.set:
            name, equals, value = given.partition("=")
            if not equals:
                raise ConfigError(f"--set {given!r} names no value; allowed: name=value")
            try:
                read = json.loads(value)
            except ValueError:
                read = value
            found[name] = tuple(read) if isinstance(read, list) else read
        return found


class Method(Protocol):
    """One way of training; see the module for the rules it keeps to.

    Attributes:
        trainee: the module whose trained parameters are saved.
        factors: tokens per vector that are trained.
    """

    trainee: nn.Module
    factors: tuple[int, ...]

    def roles(self) -> Roles:
        """The parameters that are trained, each once."""

    def draw(self, step: int, chance: random.Random) -> Batch:
        """What the pass of a step goes over."""

    def loss(self, batch: Batch) -> torch.Tensor:
        """The loss of a batch, a scalar with gradient."""

    def measure(self) -> dict[str, float]:
        """Figures of what was kept out of training, lower being better; names are `kind/condition`."""

    def save(self, folder: Path) -> None:
        """Writes the checkpoint."""


def build(name: str, setting: Setting) -> Method:
    """The method of a name.

    Raises:
        ConfigError: there is no such method, or the setting does not suit it.
    """
    if name not in METHODS:
        raise ConfigError(f"method is {name!r}; {nearest(name, METHODS)}")
    module, _, own = METHODS[name].partition(":")
    made: Method = getattr(importlib.import_module(module), own)(setting)
    return made


class Source:
    """Questions and texts to draw from, and those that are kept out of training.

    Args:
        setting: with the ids and the lengths to draw.
    """

    def __init__(self, setting: Setting) -> None:
        options = setting.options
        self.prepared, self.options = setting.prepared, options
        self.questions, held = questions_apart(self.prepared, options.held, options.seed)
        self.texts, kept = texts_apart(self.prepared, options.held, options.seed)
        chance = random.Random(options.seed)
        self.held_questions = [draw_question(self.prepared, number, options.context, chance) for number in held]
        self.held_texts = [
            draw_text(self.prepared, number, options.passage, options.following, chance) for number in kept
        ]

    def asked(self, count: int, chance: random.Random) -> list[Asked]:
        """Questions with contexts, up to one length that is drawn for all of them, after as many shots as wanted."""
        most = chance.randint(min(self.options.shortest, self.options.context), self.options.context)

        def one() -> Asked:
            return draw_question(self.prepared, chance.choice(self.questions), most, chance)

        end = [self.prepared.spelling.end] if self.options.end and self.prepared.spelling.end >= 0 else []
        found = [(one(), tuple(one() for _ in range(self.options.shots))) for _ in range(count)]
        return [replace(own, answer=[*own.answer, *end], shots=shots) for own, shots in found]

    def pairs(self, count: int, chance: random.Random) -> list[tuple[list[int], list[int]]]:
        """Passages of about one length, which is drawn, with what follows them."""
        most = chance.randint(min(self.options.shortest, self.options.passage), self.options.passage)
        following = self.options.following
        return [draw_text(self.prepared, chance.choice(self.texts), most, following, chance) for _ in range(count)]

    def cued(self, count: int, chance: random.Random) -> list[tuple[list[int], list[int], list[int]]]:
        """Passages of about one length, which is drawn, with the start and the rest of a sentence of each."""
        most = chance.randint(min(self.options.shortest, self.options.passage), self.options.passage)
        following = self.options.following
        return [draw_recall(self.prepared, chance.choice(self.texts), most, following, chance) for _ in range(count)]


class Prompts:
    """Input embeddings of prompts whose passages are text, vectors or left out, as `squeeze.soft.Reader` puts them.

    Args:
        setting: with the model and the ids around a context.
    """

    def __init__(self, setting: Setting) -> None:
        self.model, self.spelling = setting.model, setting.prepared.spelling

    def text(self, ids: Ids) -> torch.Tensor:
        """Input embeddings of text, (tokens, width), without gradient."""
        with torch.no_grad():
            return text_embeds(self.model, torch.tensor([list(ids)], dtype=torch.long))[0]

    def question(self, asked: Asked, vectors: Sequence[torch.Tensor]) -> torch.Tensor:
        """What stands before an answer, (positions, width): vectors of passages follow each other without a joiner.

        Args:
            asked: the question.
            vectors: of each of its passages, those of its shots first; none at all for no context.
        """
        given = iter(vectors)
        return self._around(asked, [[next(given) for _ in one.passages] if vectors else [] for one in _turns(asked)])

    def full(self, asked: Asked) -> torch.Tensor:
        """The same with the passages as text, which is joined."""
        return self._around(asked, [[self.text(self.joined(one))] for one in _turns(asked)])

    def joined(self, asked: Asked) -> list[int]:
        """The ids of a context as text."""
        ids = list[int]()
        for own in asked.passages:
            ids += [*(self.spelling.joiner if ids else ()), *own]
        return ids

    def _around(self, asked: Asked, contexts: Sequence[Sequence[torch.Tensor]]) -> torch.Tensor:
        pieces = [self.text(self.spelling.before)]
        for turn, context in zip(_turns(asked), contexts, strict=True):
            after = turn.question if context else turn.question[len(self.spelling.joiner) :]
            rest = [*turn.answer, *self.spelling.between] if turn is not asked else []
            pieces += [*context, self.text([*after, *rest])]
        kind = next((context[0].dtype for context in contexts if context), pieces[0].dtype)
        return torch.cat([piece.to(kind) for piece in pieces])


def _turns(asked: Asked) -> list[Asked]:
    return [*asked.shots, asked]


Encode = Callable[[Sequence[Ids], int], list[torch.Tensor]]
"""Vectors of passages at a factor, special ones included."""


class Measure:
    """The surprise at answers, and at what follows passages, that were kept out of training: nats per token.

    What the model makes of no context, of the full text and of mean-pooled embeddings does not change with training: it
    is taken once.

    Args:
        setting: with the model.
        source: what was kept out.
    """

    def __init__(self, setting: Setting, source: Source) -> None:
        self.model, self.source, self.prompts = setting.model, source, Prompts(setting)
        self._fixed: dict[str, float] = {}

    def __call__(self, encode: Encode, factors: Sequence[int], *, texts: bool = True) -> dict[str, float]:
        """Means over rows, by `answer/none`, `answer/full`, `answer/pooled 4x`, `answer/4x`, `text/none`, …."""
        prompts, found = self.prompts, dict[str, float]()
        begin = prompts.text(prompts.spelling.begin)
        asked = [(own, own.answer) for own in self.source.held_questions]
        pairs = [(own, following) for own, following in self.source.held_texts if texts]
        with torch.no_grad():
            if not self._fixed:
                self._fixed |= self._mean("answer/none", [(prompts.question(own, []), ids) for own, ids in asked])
                self._fixed |= self._mean("answer/full", [(prompts.full(own), ids) for own, ids in asked])
                self._fixed |= self._mean("text/full", [(self._after(begin, own), ids) for own, ids in pairs])
                bare = [(begin, ids) if len(begin) else (prompts.text(ids[:1]), ids[1:]) for _, ids in pairs]
                self._fixed |= self._mean("text/none", bare)
                for factor in factors:
                    means = [(prompts.question(own, self._pooled(own.passages, factor)), ids) for own, ids in asked]
                    self._fixed |= self._mean(f"answer/pooled {factor}x", means)
            for factor in factors:
                rows = [(prompts.question(own, encode(own.passages, factor)), ids) for own, ids in asked]
                found |= self._mean(f"answer/{factor}x", rows)
                after = [(torch.cat([begin, encode([own], factor)[0]]), ids) for own, ids in pairs]
                found |= self._mean(f"text/{factor}x", after)
        return {**self._fixed, **found}

    def _pooled(self, passages: Sequence[Ids], factor: int) -> list[torch.Tensor]:
        embedded = [self.prompts.text(ids)[None] for ids in passages]
        return [(averaging([own.shape[1]], factor, own) @ own)[0] for own in embedded]

    def _after(self, begin: torch.Tensor, ids: Ids) -> torch.Tensor:
        return torch.cat([begin, self.prompts.text(ids)])

    def _mean(self, name: str, rows: Sequence[tuple[torch.Tensor, Ids]]) -> dict[str, float]:
        if not rows:
            return {}
        losses = [float(read_loss(self.model, [context], [ids])) for context, ids in rows]
        return {name: sum(losses) / len(losses)}
