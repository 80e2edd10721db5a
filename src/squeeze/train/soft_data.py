"""From `.jsonl` files to ids, and from ids to what a training step is made of."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

import numpy as np

from squeeze.base.soft import PROBE
from squeeze.bench.rows import read_rows
from squeeze.bench.soft_rows import choose, prompt_of, usable
from squeeze.errors import ConfigError
from squeeze.segment import split
from squeeze.soft.prompt import JOINER, SLOT, begin_ids, plain_ids, split_prompt
from squeeze.train.soft_ids import Prepared, Ragged, Spelling

LEAST = 16
"""Tokens that a text must have to be trained on."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What is taken from the files.

    Attributes:
        rows: most rows of each file; 0 for all.
        answer: most tokens of an answer; rows with longer ones are left out.
        context: most tokens of a context; rows whose gold passages alone are longer are left out.
        others: most documents without the answer that are kept with a question.
    """

    rows: int = 0
    answer: int = 32
    context: int = 600
    others: int = 8


def spelling_of(tokenizer: Any, vocabulary: int) -> Spelling:
    """What data has to know of a tokenizer."""
    before, after = split_prompt(tokenizer, prompt_of(tokenizer, "?"), context=True)
    probe = repr((plain_ids(tokenizer, PROBE), before, after, vocabulary))
    return Spelling(
        vocabulary=vocabulary,
        print=hashlib.sha256(probe.encode()).hexdigest()[:16],
        begin=tuple(begin_ids(tokenizer)),
        before=tuple(before),
        joiner=tuple(plain_ids(tokenizer, JOINER)),
        end=-1 if tokenizer.eos_token_id is None else int(tokenizer.eos_token_id),
        between=tuple(_between(tokenizer)),
    )


def _between(tokenizer: Any) -> list[int]:
    """The ids between an answer and the next context: what the openings after two unlike answers end with alike."""
    if not getattr(tokenizer, "chat_template", None):
        return plain_ids(tokenizer, JOINER)
    sides = []
    for word in ("Oak", "seven"):
        turns = [{"role": "user", "content": "?"}, {"role": "assistant", "content": word}]
        sides.append(split_prompt(tokenizer, [*turns, {"role": "user", "content": [SLOT, "?"]}], context=True)[0])
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(reversed(sides[0]), reversed(sides[1]), strict=False))
    return [one for one, _ in alike][::-1]


def prepare(
    tokenizer: Any, vocabulary: int, texts: Sequence[str], data: Sequence[str], limits: Limits | None = None
) -> Prepared:
    """Texts and questions of files as ids.

    Args:
        tokenizer: the model's.
        vocabulary: ids that the model has embeddings for.
        texts: files with rows `{text, title}`.
        data: files with rows `{question, answers, documents: [{title, text, is_gold}]}`.
        limits: what is left out.

    Raises:
        ConfigError: no such file, or one without a text, or without a question that has an answer in a gold document.
        CorruptError: a line is not a JSON object.
    """
    limits = limits or Limits()
    kind = "uint16" if vocabulary <= 1 << 16 else "uint32"
    spelling, sources = spelling_of(tokenizer, vocabulary), dict[str, dict[str, int]]()
    ids, cuts = list[np.ndarray[Any, Any]](), list[list[int]]()
    for path in texts:
        for own, places in _texts(tokenizer, path, limits, sources):
            ids.append(np.asarray(own, dtype=kind))
            cuts.append(places)
    rows = [row for path in data for row in _questions(tokenizer, path, limits, sources)]
    owners = np.cumsum([0, *(len(row.documents) for row in rows)], dtype=np.int64)
    return Prepared(
        spelling=spelling,
        texts=Ragged.of(ids, kind),  # type: ignore[arg-type]
        cuts=Ragged.of(cuts, "uint32"),
        documents=Ragged.of((document for row in rows for document in row.documents), kind),
        gold=np.array([own for row in rows for own in row.gold], dtype=bool),
        owners=owners,
        questions=Ragged.of((row.question for row in rows), kind),
        answers=Ragged.of((row.answer for row in rows), kind),
        sources=sources,
    )


@dataclass(frozen=True, slots=True)
class _Row:
    documents: list[list[int]]
    gold: list[bool]
    question: list[int]
    answer: list[int]


def _texts(
    tokenizer: Any, path: str, limits: Limits, sources: dict[str, dict[str, int]]
) -> Iterator[tuple[list[int], list[int]]]:
    taken = seen = 0
    for row in read_rows(path):
        if limits.rows and taken == limits.rows:
            break
        seen += 1
        text = row.get("text")
        own, cuts = sentence_ids(tokenizer, text) if isinstance(text, str) else ([], [])
        if len(own) >= LEAST:
            taken += 1
            yield own, cuts
    _count(path, taken, seen, sources)
    if not taken:
        raise ConfigError(f"{path} has no text of {LEAST} tokens; allowed: rows {{text, title}}")


def sentence_ids(tokenizer: Any, text: str) -> tuple[list[int], list[int]]:
    """The ids of a text, and where its sentences start in them, 0 left out; white space goes with what follows it."""
    ids, cuts, start = list[int](), list[int](), 0
    for span in [*split(text)[1:], (len(text), len(text))]:
        end = len(text[: span[0]].rstrip()) if span[0] < len(text) else len(text)
        if end > start:
            if ids:
                cuts.append(len(ids))
            ids += plain_ids(tokenizer, text[start:end])
            start = end
    return ids, cuts


def _questions(tokenizer: Any, path: str, limits: Limits, sources: dict[str, dict[str, int]]) -> list[_Row]:
    found, seen = list[_Row](), 0
    for row in read_rows(path):
        if limits.rows and len(found) == limits.rows:
            break
        seen += 1
        made = _row(tokenizer, row, limits) if usable(row) else None
        if made is not None:
            found.append(made)
    _count(path, len(found), seen, sources)
    if not found:
        raise ConfigError(
            f"{path} has no question with an answer of at most {limits.answer} tokens and gold documents of at most "
            f"{limits.context}; allowed: rows {{question, answers, documents: [{{text, is_gold}}]}}"
        )
    return found


def _row(tokenizer: Any, row: dict[str, Any], limits: Limits) -> _Row | None:
    answer = plain_ids(tokenizer, row["answers"][0].strip())
    if not 1 <= len(answer) <= limits.answer:
        return None
    documents, gold, others = list[list[int]](), list[bool](), 0
    for document in row["documents"]:
        own, right = plain_ids(tokenizer, str(document.get("text") or "")), bool(document.get("is_gold"))
        if own and (right or (others < limits.others and len(own) <= limits.context)):
            documents.append(own)
            gold.append(right)
            others += not right
    if not any(gold) or sum(len(own) for own, right in zip(documents, gold, strict=True) if right) > limits.context:
        return None
    _, after = split_prompt(tokenizer, prompt_of(tokenizer, row["question"]), context=True)
    return _Row(documents, gold, after, answer)


def _count(path: str, taken: int, seen: int, sources: dict[str, dict[str, int]]) -> None:
    sources[Path(path).name] = {"taken": taken, "left_out": seen - taken}


@dataclass(frozen=True, slots=True)
class Asked:
    """A context, a question and its answer as ids.

    Attributes:
        passages: of the context, in order.
        question: what follows them.
        answer: the answer.
        shots: questions with contexts and answers that stand before it.
    """

    passages: tuple[list[int], ...]
    question: list[int]
    answer: list[int]
    shots: tuple[Asked, ...] = ()

    @property
    def every(self) -> list[list[int]]:
        """All passages in reading order, those of its shots first."""
        return [ids for one in (*self.shots, self) for ids in one.passages]


def questions_apart(prepared: Prepared, held: int, seed: int) -> tuple[list[int], list[int]]:
    """Numbers of the questions to train on, and of those kept out; no gold document is on both sides."""
    groups: dict[bytes, list[int]] = {}
    for number in range(len(prepared.questions)):
        span = range(int(prepared.owners[number]), int(prepared.owners[number + 1]))
        key = b"|".join(np.asarray(prepared.documents[at]).tobytes() for at in span if prepared.gold[at])
        groups.setdefault(key, []).append(number)
    order = list(groups.values())
    random.Random(seed).shuffle(order)
    kept = list[int]()
    while order and len(kept) < min(held, len(prepared.questions) // 4):
        kept += order.pop()
    return sorted(number for group in order for number in group), sorted(kept)


def texts_apart(prepared: Prepared, held: int, seed: int) -> tuple[list[int], list[int]]:
    """Numbers of the texts to train on, and of those kept out."""
    order = list(range(len(prepared.texts)))
    random.Random(seed).shuffle(order)
    most = min(held, len(order) // 4)
    return sorted(order[most:]), sorted(order[:most])


def draw_question(prepared: Prepared, number: int, most: int, chance: random.Random) -> Asked:
    """A question with its gold documents among others, at most so many tokens of context (or its gold ones alone)."""
    first, last = int(prepared.owners[number]), int(prepared.owners[number + 1])
    sizes = [prepared.documents.size(at) for at in range(first, last)]
    gold = [bool(own) for own in prepared.gold[first:last]]
    least = sum(size for size, own in zip(sizes, gold, strict=True) if own)
    joiner = len(prepared.spelling.joiner)
    own = choose(sizes, gold, max(most, least + joiner * sum(gold)), chance, joiner)
    passages = tuple(prepared.documents[first + at] for at in own)
    return Asked(passages, prepared.questions[number], prepared.answers[number])


def draw_text(
    prepared: Prepared, number: int, passage: int, following: int, chance: random.Random
) -> tuple[list[int], list[int]]:
    """A passage of about so many tokens and at most so many that follow it; both start where a sentence does.

    Where a sentence alone is longer than that, the passage ends inside it.
    """
    ids = prepared.texts[number]
    start, end = _passage(prepared, number, passage, chance)
    return ids[start:end], ids[end : end + following]


def draw_recall(
    prepared: Prepared, number: int, passage: int, following: int, chance: random.Random
) -> tuple[list[int], list[int], list[int]]:
    """A passage of about so many tokens, the first words of one of its sentences, and at most so many that follow them.

    Only who knows the passage can go on as it does.
    """
    ids = prepared.texts[number]
    start, end = _passage(prepared, number, passage, chance)
    bounds = [start, *(cut for cut in prepared.cuts[number] if start < cut < end), end]
    sentences = [pair for pair in pairwise(bounds) if pair[1] - pair[0] >= LEAST]
    first, last = chance.choice(sentences) if sentences else (start, end)
    cue = first + chance.randint(LEAST // 4, max(LEAST // 4, (last - first) // 2))
    return ids[start:end], ids[first:cue], ids[cue : min(last, cue + following)]


def _passage(prepared: Prepared, number: int, passage: int, chance: random.Random) -> tuple[int, int]:
    """Where a passage of about so many tokens starts and ends in a text."""
    ids, cuts = prepared.texts[number], prepared.cuts[number]
    last, least = len(ids) - LEAST // 2, LEAST // 4
    start = chance.choice([0, *(cut for cut in cuts if cut + passage <= last)])
    near = [cut for cut in cuts if start + least <= cut <= min(start + passage + passage // 4, last)]
    return start, min(near, key=lambda cut: abs(cut - start - passage)) if near else min(start + passage, last)
