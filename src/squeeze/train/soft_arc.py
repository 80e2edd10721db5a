"""How `arc` is trained: repeat passages, go on from them, answer questions about them (arXiv 2510.20535)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import torch

from squeeze.errors import ConfigError
from squeeze.soft.arc import ArcEncoder, ArcSettings
from squeeze.soft.fingerprint import model_fingerprint
from squeeze.train.distil import divergence
from squeeze.train.losses import Ids, Mix, Step, continuation, interleaved, reconstruction
from squeeze.train.soft_data import Asked
from squeeze.train.soft_method import Batch, Measure, Prompts, Roles, Setting, Source


class Arc:
    """Trains an `ArcEncoder` for the model that it is cut from.

    Args:
        setting: `options.start` is a checkpoint to go on from; without it the encoder is made from `layers`, `lora`,
            `factors` and what `set` names.
    """

    def __init__(self, setting: Setting) -> None:
        options = setting.options
        self.options, self.model = options, setting.model
        self.factors: tuple[int, ...] = tuple(sorted(set(options.factors or (2, 4, 8))))
        self.encoder = self._encoder(setting)
        self.trainee = self.encoder
        self.name = self.encoder.decoder(options.decoder)
        self.source, self.prompts = Source(setting), Prompts(setting)
        self._measure = Measure(setting, self.source)
        self.mix = Mix(self.factors, (self.name,), options.reconstruction)
        if not self.source.texts and not self.source.questions:
            raise ConfigError("there is nothing to train on; give --text, --data or both")

    def roles(self) -> Roles:
        """Kept layers or their adapters; projectors; special vectors and whatever else there is."""
        found: Roles = {"layers": [], "heads": [], "other": []}
        for name, value in self.encoder.named_parameters():
            if value.requires_grad and name.startswith("cut."):
                found["layers"].append((name, value))
            elif value.requires_grad and name.startswith("heads.") and value.ndim > 1:
                found["heads"].append((name, value))
            elif value.requires_grad:
                found["other"].append((name, value))
        return found

    def draw(self, step: int, chance: random.Random) -> Batch:
        """A share of questions, from a step on; of the rest shares that recall, repeat, and go on."""
        objective, factor, _ = self.mix.draw(chance)
        ask = chance.random() < self.options.qa_share and step >= self.options.qa_from
        if self.source.questions and (ask or not self.source.texts):
            asked = self.source.asked(self.options.batch, chance)
            context = sum(len(ids) for own in asked for ids in own.every)
            return Batch("question", factor, asked, context, sum(len(own.answer) for own in asked))
        if chance.random() < self.options.recall:
            cued = self.source.cued(self.options.batch, chance)
            context = sum(len(passage) for passage, _, _ in cued)
            return Batch("recall", factor, cued, context, sum(len(rest) for _, _, rest in cued))
        pairs = self.source.pairs(self.options.batch, chance)
        context = sum(len(passage) for passage, _ in pairs)
        target = context if objective == "reconstruction" else sum(len(following) for _, following in pairs)
        return Batch(objective, factor, pairs, context, target)

    def loss(self, batch: Batch) -> torch.Tensor:
        """Cross-entropy of the frozen decoder, mixed with its divergence from what it says after the full text."""
        step = Step(self.encoder, self.model, batch.factor, self.name)
        begin = self.prompts.spelling.begin
        if batch.kind == "question":
            return self._question(step, batch.rows)
        if batch.kind == "recall":
            return interleaved(step, [self._cued(*row) for row in batch.rows])  # type: ignore[no-any-return]
        passages, following = ([pair[side] for pair in batch.rows] for side in (0, 1))
        if batch.kind == "reconstruction":
            return reconstruction(step, passages, begin)  # type: ignore[no-any-return]
        if not self.options.distil:
            return continuation(step, passages, following, begin)  # type: ignore[no-any-return]
        before = self.prompts.text(begin)
        vectors = self._encode(passages, batch.factor)
        full = [torch.cat([before, self.prompts.text(own)]) for own in passages]
        own = [torch.cat([before.to(one), one]) for one in vectors]
        return divergence(self.model, full, own, following, self.options.distil)

    def measure(self) -> dict[str, float]:
        """Surprise at held-out answers and following text: nothing, everything, and each factor."""
        return self._measure(self._encode, self.factors)

    def save(self, folder: Path) -> None:
        """Writes the encoder."""
        self.encoder.save_pretrained(folder)

    def _question(self, step: Step, asked: Sequence[Asked]) -> torch.Tensor:
        if not self.options.distil:
            return interleaved(step, [self._shot(own) for own in asked])  # type: ignore[no-any-return]
        vectors = iter(self._encode([ids for own in asked for ids in own.every], step.factor))
        contexts = [self.prompts.question(own, [next(vectors) for _ in own.every]) for own in asked]
        full, answers = [self.prompts.full(own) for own in asked], [own.answer for own in asked]
        if self.options.distil_question:  # what the decoder expects while it reads the question tells of the context
            sizes = [len(own.question) for own in asked]
            full, contexts = (_without(rows, sizes) for rows in (full, contexts))
            answers = [[*own.question, *own.answer] for own in asked]
        return divergence(self.model, full, contexts, answers, self.options.distil)

    def _shot(self, asked: Asked) -> list[tuple[Literal["text", "passage"], Ids]]:
        spelling = self.prompts.spelling
        pieces: list[tuple[Literal["text", "passage"], Ids]] = [("text", spelling.before)]
        for turn in (*asked.shots, asked):
            pieces += [("passage", ids) for ids in turn.passages]
            rest = [*turn.answer, *spelling.between] if turn is not asked else []
            pieces.append(("text", [*turn.question, *rest]))
        return [*pieces, ("text", asked.answer)]

    def _cued(self, passage: Ids, cue: Ids, rest: Ids) -> list[tuple[Literal["text", "passage"], Ids]]:
        spelling = self.prompts.spelling
        return [
            ("text", spelling.before),
            ("passage", passage),
            ("text", [*spelling.joiner, *cue]),
            ("text", rest),
        ]

    def _encode(self, passages: Sequence[Ids], factor: int) -> list[torch.Tensor]:
        return self.encoder.encode_batch(passages, factor, task="cont", decoder=self.name)

    def _encoder(self, setting: Setting) -> ArcEncoder:
        options, model = setting.options, setting.model
        if options.start is None:
            shape = {"layers": options.layers, "lora": options.lora, "factors": self.factors, **setting.shape()}
            try:
                settings = ArcSettings(**shape)
            except TypeError as error:
                raise ConfigError(f"--set: {error}; allowed: the fields of ArcSettings") from None
            return ArcEncoder.from_model(model, settings, seed=options.seed)
        encoder = ArcEncoder.from_pretrained(options.start, model)
        known, own = encoder.decoders[encoder.decoder(options.decoder)].fingerprint, model_fingerprint(model)
        if known not in ("", own):
            raise ConfigError(f"{options.start} was made for the model {known}; this is {own}: give that model")
        return encoder


def _without(rows: Sequence[torch.Tensor], sizes: Sequence[int]) -> list[torch.Tensor]:
    """Rows without so many of their last positions."""
    return [row[:-size] for row, size in zip(rows, sizes, strict=True)]
