"""Trains the contrastive head of a `ram` encoder alone: minutes on a CPU.

    python -m squeeze.train.ram_head --model FOLDER --data FILE ... --out FOLDER [--layers 2]

A row of FILE is `{question, answers, documents: [{title, text, is_gold}]}`; rows in which no gold document has an
answer are skipped. The layers stay as they are, so the mean states of questions and segments are computed once
(`means.npz` in OUT, used again if it is there), and the head is fitted to them: first shift and scale from the states'
mean and spread, then everything by the multi-positive contrastive loss. A tenth of the rows is kept out; the epoch that
is best on them is the one that stays. OUT holds the checkpoint, in half precision, and `head.json`.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from squeeze.bench.machine import write_report
from squeeze.bench.rows import read_rows, row_passages
from squeeze.errors import ConfigError
from squeeze.soft.models import load_hf_tokenizer, load_model
from squeeze.soft.ram import RamEncoder, RamSettings
from squeeze.tokens import load_tokenizer
from squeeze.train.ram_losses import Lesson, contrastive, lesson

MEANS = "means.npz"


@dataclass(frozen=True)
class Means:
    """Mean states of rows.

    Attributes:
        questions: (rows, width).
        segments: of all rows, (segments, width).
        positive: (segments,).
        at: where the segments of each row start, and where the last end, (rows + 1,).
    """

    questions: torch.Tensor
    segments: torch.Tensor
    positive: torch.Tensor
    at: list[int]

    def row(self, index: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Question, segments and positives of a row."""
        own = slice(self.at[index], self.at[index + 1])
        return self.questions[index], self.segments[own], self.positive[own]


def picked(own: Lesson, gold: Sequence[bool], others: int, chance: random.Random) -> list[int]:
    """Segments of a row to learn from: its positives, the others of gold passages, and some of the rest."""
    passage = [at for at, _, _ in own.found.segments]
    near = [at for at in range(len(passage)) if own.positive[at] or gold[passage[at]]]
    rest = [at for at in range(len(passage)) if not (own.positive[at] or gold[passage[at]])]
    return sorted([*near, *chance.sample(rest, min(others, len(rest)))])


def lessons(files: Sequence[str], tokenizer: Any, width: int, most: int) -> list[tuple[Lesson, list[bool]]]:
    """The rows of files in which an answer stands in a gold passage; answers elsewhere do not count."""
    spells, found = load_tokenizer(tokenizer), []
    for path in files:
        taken = 0
        for row in read_rows(path):
            if most and taken == most:
                break
            gold = [bool(document.get("is_gold")) for document in row["documents"]]
            own = lesson(spells, row["question"], row["answers"], row_passages(row), width)
            right = torch.tensor([gold[at] for at, _, _ in own.found.segments], dtype=torch.bool)
            own.positive.logical_and_(right)
            if own.positive.any() and not own.positive.all() and own.question:
                found.append((own, gold))
                taken += 1
    if len(found) < 10:
        raise ConfigError(f"{len(found)} rows have an answer in a gold document; allowed: 10 and more")
    return found


def means_of(encoder: RamEncoder, rows: Sequence[tuple[Lesson, list[bool]]], others: int, seed: int) -> Means:
    """The mean states of the rows' questions and of segments to learn from."""
    chance, questions, segments, positive, at = random.Random(seed), [], [], [], [0]
    for number, (own, gold) in enumerate(rows):
        use = picked(own, gold, others, chance)
        found = encoder.means([own.question, *(own.rows[index].ids for index in use)])
        questions.append(found[0])
        segments.append(found[1:])
        positive.append(own.positive[use])
        at.append(at[-1] + len(use))
        if number % 200 == 199:
            print(f"{number + 1} of {len(rows)} rows", flush=True)
    return Means(torch.stack(questions), torch.cat(segments), torch.cat(positive), at)


def standardised(encoder: RamEncoder, means: Means, rows: Sequence[int]) -> None:
    """Sets shift and scale of both sides from the states of rows: cosines then compare what tells rows apart."""
    own = torch.cat([means.row(index)[1] for index in rows])
    scale = 1 / (own.std(0) + 1e-3)
    with torch.no_grad():
        encoder.told.shift.copy_(own.mean(0))
        encoder.asked.shift.copy_(means.questions[list(rows)].mean(0))
        encoder.told.scale.copy_(scale)
        encoder.asked.scale.copy_(scale)


def loss_of(encoder: RamEncoder, means: Means, rows: Sequence[int], temperature: float) -> torch.Tensor:
    """The contrastive loss of rows, a scalar."""
    scores, positive = [], []
    for index in rows:
        question, segments, right = means.row(index)
        scores.append(encoder.told(segments) @ encoder.asked(question))
        positive.append(right)
    return contrastive(scores, positive, temperature)


def fit(encoder: RamEncoder, means: Means, given: argparse.Namespace) -> list[dict[str, float]]:
    """Trains the head; returns what each epoch reached, before any training first."""
    order = list(range(len(means.questions)))
    random.Random(given.seed).shuffle(order)
    held, rest = order[: max(1, len(order) // 10)], order[max(1, len(order) // 10) :]
    trained = [*encoder.asked.parameters(), *encoder.told.parameters()]

    def measured(epoch: int) -> dict[str, float]:
        with torch.no_grad():
            return {"epoch": epoch, "held": float(loss_of(encoder, means, held, given.temperature))}

    log = [measured(-1)]  # as it is made
    standardised(encoder, means, rest)
    log.append(measured(0))  # shifted and scaled alone
    optimizer = torch.optim.AdamW(trained, lr=given.rate, weight_decay=given.decay)
    best, chance = [value.detach().clone() for value in trained], random.Random(given.seed)
    for epoch in range(1, given.epochs + 1):
        chance.shuffle(rest)
        losses = []
        for start in range(0, len(rest), given.batch):
            optimizer.zero_grad()
            loss = loss_of(encoder, means, rest[start : start + given.batch], given.temperature)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            losses.append(float(loss.detach()))
        log.append(measured(epoch) | {"loss": sum(losses) / len(losses)})
        print({name: round(value, 4) for name, value in log[-1].items()}, flush=True)
        if log[-1]["held"] <= min(row["held"] for row in log):
            best = [value.detach().clone() for value in trained]
    with torch.no_grad():
        for value, own in zip(trained, best, strict=True):
            value.copy_(own)
    return log


def stored(path: Path, make: Any) -> Means:
    """The means in a file, or fresh ones, which are put there."""
    if not path.is_file():
        means: Means = make()
        half = {name: getattr(means, name).half().numpy() for name in ("questions", "segments")}
        np.savez(path, positive=means.positive.numpy(), at=np.array(means.at), **half)
    with np.load(path, allow_pickle=False) as found:
        return Means(
            torch.from_numpy(found["questions"].astype(np.float32)),
            torch.from_numpy(found["segments"].astype(np.float32)),
            torch.from_numpy(found["positive"]),
            found["at"].tolist(),
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--data", nargs="+", required=True, metavar="FILE")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--rank", type=int, default=64)
    parser.add_argument("--hidden", type=int, default=256, help="width of the alignment layer, which stays untrained")
    parser.add_argument("--blank", default=" ...", help="text whose mean embedding untrained vectors are")
    parser.add_argument("--rows", type=int, default=0, help="most rows of each file; 0 for all")
    parser.add_argument("--others", type=int, default=18, help="segments of other passages that a row is told from")
    parser.add_argument("--segment-tokens", type=int, default=48)
    parser.add_argument("--temperature", type=float, default=0.1)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--rate", type=float, default=5e-4)
    parser.add_argument("--decay", type=float, default=0.01)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    torch.set_num_threads(given.threads)
    given.out.mkdir(parents=True, exist_ok=True)
    tokenizer, model = load_hf_tokenizer(given.model), load_model(given.model).float()
    encoder = RamEncoder(model, RamSettings(given.layers, rank=given.rank, hidden=given.hidden), seed=given.seed)
    encoder.blank(load_tokenizer(tokenizer).encode(given.blank))

    def make() -> Means:
        return means_of(
            encoder, lessons(given.data, tokenizer, given.segment_tokens, given.rows), given.others, given.seed
        )

    means = stored(given.out / MEANS, make)
    print(f"{len(means.questions)} rows, {len(means.segments)} segments, {int(means.positive.sum())} positive")
    log = fit(encoder, means, given)
    for row in log:
        print({name: round(value, 4) for name, value in row.items()})
    encoder.half().save_pretrained(given.out)
    settings = {**vars(given), "model": Path(given.model).name, "data": [Path(path).name for path in given.data]}
    settings.pop("out")
    write_report(given.out / "head.json", "squeeze.train.ram_head", log, rows_used=len(means.questions), **settings)


if __name__ == "__main__":
    main()
