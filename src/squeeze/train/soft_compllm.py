"""How `compllm` is trained: to be in the states of the full text while it gives its own answers (arXiv 2509.19228)."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence
from pathlib import Path

import torch

from squeeze.errors import ConfigError
from squeeze.soft.compllm import CompEncoder, CompSettings
from squeeze.train.losses import Ids, answer_states, distillation, own_answers
from squeeze.train.soft_data import Asked, draw_question
from squeeze.train.soft_method import Batch, Measure, Prompts, Roles, Setting, Source

ANSWERS = "answers.jsonl"
"""The teacher's answers, in the folder of the run: they are the dearest part of a step and made once."""


class CompLLM:
    """Trains a `CompEncoder` for the model that it stands on.

    Args:
        setting: `options.start` is a checkpoint to go on from; without it the encoder is made from `lora`, `factors`
            (one of them) and what `set` names.
    """

    def __init__(self, setting: Setting) -> None:
        options = setting.options
        self.options, self.model = options, setting.model
        self.encoder = self._encoder(setting)
        self.trainee = self.encoder
        self.factors: tuple[int, ...] = (self.encoder.settings.factor,)
        self.source, self.prompts = Source(setting), Prompts(setting)
        self._measure = Measure(setting, self.source)
        if not self.source.questions:
            raise ConfigError("compllm learns from answers to questions; give --data")
        self._answers = Answers(setting.out / ANSWERS, self.encoder.base)

    def roles(self) -> Roles:
        """The adapters, and the linear layer."""
        found: Roles = {"layers": [], "heads": [], "other": []}
        for name, value in self.encoder.named_parameters():
            if value.requires_grad:
                found["heads" if name.startswith("head.") else "layers"].append((name, value))
        return found

    def draw(self, step: int, chance: random.Random) -> Batch:
        """Questions, each always with the same context, so that the teacher answers it once."""
        numbers = [chance.choice(self.source.questions) for _ in range(self.options.batch)]
        asked = [self._asked(number) for number in numbers]
        context = sum(len(ids) for own in asked for ids in own.passages)
        return Batch("distillation", self.factors[0], asked, context, 0)

    def loss(self, batch: Batch) -> torch.Tensor:
        """The distance of the states at the tokens of the teacher's answers, in every layer."""
        answers = [self._answer(own) for own in batch.rows]
        with torch.no_grad():
            teacher = answer_states(self.model, [self.prompts.full(own) for own in batch.rows], answers)
        vectors = iter(self._encode([ids for own in batch.rows for ids in own.passages], batch.factor))
        contexts = [self.prompts.question(own, [next(vectors) for _ in own.passages]) for own in batch.rows]
        return distillation(teacher, answer_states(self.model, contexts, answers))  # type: ignore[no-any-return]

    def measure(self) -> dict[str, float]:
        """Surprise at held-out answers: nothing, everything, vectors."""
        return self._measure(self._encode, self.factors, texts=False)

    def save(self, folder: Path) -> None:
        """Writes the adapters and the linear layer."""
        self.encoder.save_pretrained(folder)

    def _asked(self, number: int) -> Asked:
        chance = random.Random(f"{self.options.seed} {number}")
        most = chance.randint(min(self.options.shortest, self.options.context), self.options.context)
        return draw_question(self.source.prepared, number, most, chance)

    def _answer(self, asked: Asked) -> list[int]:
        ids = [*self.prompts.spelling.before, *self.prompts.joined(asked), *asked.question]
        found = self._answers.get(ids)
        if found is None:
            found = own_answers(self.model, [ids], max_new_tokens=self.options.answer)[0]
            self._answers.put(ids, found)
        return found

    def _encode(self, passages: Sequence[Ids], factor: int) -> list[torch.Tensor]:
        cut = [self.encoder.segments(ids) for ids in passages]
        vectors = iter(self.encoder([segment for segments in cut for segment in segments]))
        return [torch.cat([next(vectors) for _ in segments]) for segments in cut]

    def _encoder(self, setting: Setting) -> CompEncoder:
        options = setting.options
        if options.start is not None:
            return CompEncoder.from_pretrained(options.start, setting.model)
        factors = options.factors or [2]
        if len(factors) != 1:
            raise ConfigError(f"--factors is {factors}; allowed for compllm: one of them, its vectors serve no other")
        try:
            settings = CompSettings(**{"factor": factors[0], "lora": options.lora or 16, **setting.shape()})
        except TypeError as error:
            raise ConfigError(f"--set: {error}; allowed: the fields of CompSettings") from None
        return CompEncoder(setting.model, settings, seed=options.seed)


class Answers:
    """Answers of a model by what it read, kept in a file; a line that a broken run left half is passed over.

    Args:
        path: the file, made when there is something to keep.
        model: fingerprint of the model.
    """

    def __init__(self, path: Path, model: str) -> None:
        self.path, self.model = path, model
        self._kept: dict[str, list[int]] = {}
        for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
            try:
                row = json.loads(line)
                self._kept[row["key"]] = [int(token) for token in row["ids"]]
            except (ValueError, KeyError, TypeError):
                continue

    def get(self, ids: Ids) -> list[int] | None:
        """The answer to ids, or None."""
        return self._kept.get(self._key(ids))

    def put(self, ids: Ids, answer: list[int]) -> None:
        """Keeps an answer.

        Raises:
            ConfigError: the file cannot be written to.
        """
        key = self._key(ids)
        self._kept[key] = answer
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write("\n" * self._broken() + json.dumps({"key": key, "ids": answer}) + "\n")
        except OSError as error:
            raise ConfigError(f"the answers cannot be written to {self.path}: {error}") from error

    def _broken(self) -> bool:
        if not self.path.is_file() or not self.path.stat().st_size:
            return False
        with self.path.open("rb") as file:
            file.seek(-1, 2)
            return file.read(1) != b"\n"

    def _key(self, ids: Ids) -> str:
        return hashlib.sha256(f"{self.model} {list(ids)}".encode()).hexdigest()[:32]
