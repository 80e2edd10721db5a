"""How `ram` is trained: to read answers from text and vectors, and to rank first what holds them (arXiv 2602.01840).

A step draws questions and the share of segments that stays text. The loss is that of the answer plus `--contrast` times
the contrastive one. The reader stays as it is, or learns through adapters of its own (`--reader-lora`), which are saved
beside the encoder, in the folder `reader`; `squeeze.soft.ram_files.adapt_reader` puts them on a model.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from squeeze.bench.soft_rows import ASK
from squeeze.errors import ConfigError
from squeeze.mixing import LEFT, TEXT, States
from squeeze.soft.models import load_hf_tokenizer
from squeeze.soft.ram import RamEncoder, RamSettings, Read
from squeeze.soft.ram_files import ReaderAdapters
from squeeze.tokens import Tokenizer, load_tokenizer
from squeeze.train.losses import read_loss
from squeeze.train.ram_losses import Lesson, context_embeds, contrastive, kept, lesson
from squeeze.train.soft_data import Asked
from squeeze.train.soft_method import Batch, Prompts, Roles, Setting, Source
from squeeze.types import Passage

MEASURED = (4, 8)
"""One in so many segments stays text when it is measured."""


class Ram:
    """Trains a `RamEncoder` for the model that it stands on.

    Args:
        setting: `options.start` is a checkpoint to go on from; without it the encoder is made from `layers`, `lora` and
            what `set` names.
    """

    def __init__(self, setting: Setting) -> None:
        options = setting.options
        self.options, self.model = options, setting.model
        self.encoder = self._encoder(setting)
        self.factors: tuple[int, ...] = tuple(sorted(set(options.factors or MEASURED)))
        self.source, self.prompts = Source(setting), Prompts(setting)
        if not self.source.questions:
            raise ConfigError("ram learns from answers to questions; give --data")
        if not 0 < options.keep_least <= options.keep_most <= 1:
            raise ConfigError(
                f"--keep-least is {options.keep_least} and --keep-most {options.keep_most}; allowed: above 0, at most 1"
            )
        self.spells: Tokenizer = load_tokenizer(load_hf_tokenizer(options.model))
        self._lesson = lru_cache(maxsize=4096)(self._fresh_lesson)
        self._fixed: dict[str, float] = {}
        self.adapters = ReaderAdapters(self.model, options.reader_lora) if options.reader_lora else None
        if self.adapters is not None and options.start is not None and (Path(options.start) / "reader").is_dir():
            self.adapters.read(Path(options.start) / "reader")
        parts = {"encoder": self.encoder, **({"reader": self.model} if self.adapters else {})}
        self.trainee: nn.Module = nn.ModuleDict(parts)

    def roles(self) -> Roles:
        """Adapters of the encoder and of the reader; maps of the alignment layer; contrastive head; blank and gate."""
        found: Roles = {"layers": [], "heads": [], "ranking": [], "other": []}
        for name, value in self.encoder.named_parameters():
            if value.requires_grad:
                part = name.partition(".")[0]
                role = "heads" if value.ndim > 1 else "other"
                found[{"cut": "layers", "asked": "ranking", "told": "ranking"}.get(part, role)].append((name, value))
        if self.adapters is not None:
            found["layers"] += [(f"reader.{name}", value) for name, value in self.adapters.parameters().items()]
        return found

    def draw(self, step: int, chance: random.Random) -> Batch:
        """Questions, and the share of segments that stays text."""
        asked = self.source.asked(self.options.batch, chance)
        share = chance.uniform(self.options.keep_least, self.options.keep_most)
        context = sum(len(ids) for own in asked for ids in own.passages)
        return Batch("mixed", round(1 / share), (asked, share), context, sum(len(own.answer) for own in asked))

    def loss(self, batch: Batch) -> torch.Tensor:
        """Cross-entropy of the answers, and the contrastive loss."""
        asked, share = batch.rows
        contexts, scores, positive = [], [], []
        for one in asked:
            own, read = self._read(one)
            contexts.append(self._context(one, own, read, kept(read.scores, share)))
            scores.append(read.scores)
            positive.append(own.positive)
        answers = [one.answer for one in asked]
        told: torch.Tensor = read_loss(self.model, contexts, answers, learning=self.adapters is not None)
        ranked = contrastive(scores, positive, self.options.temperature)
        return told + float(self.options.contrast) * ranked

    def measure(self) -> dict[str, float]:
        """Surprise at held-out answers after nothing and after the full text, as at the start, and after mixtures.

        `answer/4x text` is after what stays text alone: what vectors are worth is the difference.
        """
        held = self.source.held_questions
        if not held:
            return {}
        if not self._fixed:
            bare = [self._around(one, None, self._alone(one)) for one in held]
            full = [self._around(one, self.prompts.text(self.prompts.joined(one)), one.question) for one in held]
            self._fixed = {"answer/none": self._mean(bare, held), "answer/full": self._mean(full, held)}
        read = [self._read(one) for one in held]
        found = {}
        for factor in self.factors:
            chosen = [kept(has.scores, 1 / factor) for _, has in read]
            alone = [np.where(own == TEXT, TEXT, LEFT).astype(np.int8) for own in chosen]
            for name, states in (("", chosen), (" text", alone)):
                rows = zip(held, read, states, strict=True)
                contexts = [self._context(one, own, has, state) for one, (own, has), state in rows]
                found[f"answer/{factor}x{name}"] = self._mean(contexts, held)
        ranking = contrastive(
            [has.scores for _, has in read], [own.positive for own, _ in read], self.options.temperature
        )
        return {**self._fixed, **found, "ranking/held": float(ranking)}

    def save(self, folder: Path) -> None:
        """Writes the encoder, and the reader's adapters where it has some."""
        if self.adapters is not None:
            self.adapters.save(folder / "reader")
        self.encoder.save_pretrained(folder)

    def _read(self, one: Asked) -> tuple[Lesson, Read]:
        own = self._lesson(tuple(map(tuple, one.passages)), tuple(one.question), tuple(one.answer))
        return own, self.encoder(own.question or None, own.rows)

    def _fresh_lesson(
        self, passages: tuple[tuple[int, ...], ...], question: tuple[int, ...], answer: tuple[int, ...]
    ) -> Lesson:
        end = self.prompts.spelling.end
        asked = self.spells.decode(question).partition(ASK)[0].strip()
        answers = [self.spells.decode([token for token in answer if token != end])]
        given = [Passage(self.spells.decode(ids)) for ids in passages]
        return lesson(self.spells, asked, answers, given, self.options.segment_tokens)

    def _alone(self, one: Asked) -> list[int]:
        """A question that follows no context."""
        return one.question[len(self.prompts.spelling.joiner) :]

    def _context(self, one: Asked, own: Lesson, read: Read, states: States) -> torch.Tensor:
        if not states.any():
            return self._around(one, None, self._alone(one))
        context = context_embeds(own, read, states, self.spells, self.prompts.text)
        return self._around(one, context, one.question)

    def _around(self, one: Asked, context: torch.Tensor | None, question: Sequence[int]) -> torch.Tensor:
        before, after = self.prompts.text(self.prompts.spelling.before), self.prompts.text(question)
        pieces = [before, *([] if context is None else [context.to(before)]), after]
        return torch.cat(pieces)

    def _mean(self, contexts: Sequence[torch.Tensor], asked: Sequence[Asked]) -> float:
        pairs = zip(contexts, asked, strict=True)
        return sum(float(read_loss(self.model, [own], [one.answer])) for own, one in pairs) / len(contexts)

    def _encoder(self, setting: Setting) -> RamEncoder:
        options = setting.options
        if options.start is not None:
            return RamEncoder.from_pretrained(options.start, setting.model)
        shape: dict[str, Any] = {"layers": options.layers, "lora": options.lora, **setting.shape()}
        try:
            return RamEncoder(setting.model, RamSettings(**shape), seed=options.seed)
        except TypeError as error:
            raise ConfigError(f"--set: {error}; allowed: the fields of RamSettings") from None
