"""What `ram` is trained on: segments that hold an answer come first, and the answer is read from text and vectors.

Both losses are those of RAM (arXiv 2602.01840). The share of segments that stay text is drawn at every step, so that
one encoder serves all budgets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from squeeze import segment
from squeeze.mixing import TEXT, VECTOR, Mix, States, Stretched, stretched, titled_ids
from squeeze.render import Style
from squeeze.segment.layout import Layout
from squeeze.soft.ram import Read
from squeeze.soft.ram_layers import Row
from squeeze.tokens import Tokenizer
from squeeze.types import Passage, TextPart

Embed = Callable[[Sequence[int]], torch.Tensor]
"""Input embeddings of ids, (tokens, width)."""


@dataclass(frozen=True)
class Lesson:
    """A question with its passages in segments, and what they hold of its answers.

    Attributes:
        question: its ids.
        passages: of the context, in order.
        layouts: their segmentation.
        found: their segments.
        rows: the segments as the encoder reads them.
        positive: which segments overlap an answer, (segments,).
    """

    question: Sequence[int]
    passages: tuple[Passage, ...]
    layouts: tuple[Layout, ...]
    found: Stretched
    rows: list[Row]
    positive: torch.Tensor


def lesson(spells: Tokenizer, question: str, answers: Sequence[str], passages: Sequence[Passage], width: int) -> Lesson:
    """A question as `ram` sees it.

    Args:
        spells: the model's tokenizer.
        question: the question.
        answers: texts, any of which answers it.
        passages: of the context.
        width: tokens of a segment.
    """
    given = tuple(passages)
    layouts = tuple(segment.parse(passage.text) for passage in given)
    found = stretched(given, layouts, lambda texts: [len(spells.encode(text)) for text in texts], width)
    places = [_places(passage.text, answers) for passage in given]
    positive = [any(first < end and start < last for first, last in places[at]) for at, start, end in found.segments]
    return Lesson(
        question=spells.encode(question),
        passages=given,
        layouts=layouts,
        found=found,
        rows=[Row(*pair) for pair in titled_ids(spells, given, found.segments)],
        positive=torch.tensor(positive, dtype=torch.bool),
    )


def contrastive(
    scores: Sequence[torch.Tensor], positive: Sequence[torch.Tensor], temperature: float = 0.1
) -> torch.Tensor:
    """The multi-positive contrastive loss, a scalar: -log of the softmax share that positives have, mean over rows.

    Rows without a positive are skipped; where none has one, the loss is 0 and has a gradient of zeros.

    Args:
        scores: cosines of each row's segments, (segments,).
        positive: which of them are positive, (segments,).
        temperature: what cosines are divided by.
    """
    losses = []
    for own, right in zip(scores, positive, strict=True):
        if right.any():
            logits = own.float() / temperature
            losses.append(torch.logsumexp(logits, 0) - torch.logsumexp(logits[right.to(own.device)], 0))
    return torch.stack(losses).mean() if losses else torch.stack([own.float().sum() * 0 for own in scores]).sum()


def kept(scores: torch.Tensor, share: float) -> States:
    """What becomes of each segment when a share of them, rounded down, stays text: the best ones."""
    states = np.full(len(scores), VECTOR, dtype=np.int8)
    best = np.argsort(-scores.detach().float().cpu().numpy(), kind="stable")
    states[best[: int(share * len(best))]] = TEXT
    return states


def context_embeds(own: Lesson, read: Read, states: States, spells: Tokenizer, embed: Embed) -> torch.Tensor:
    """The context as the reader reads it: text in the gaps between vectors, with gradient, (positions, width)."""
    mix = Mix(own.passages, own.layouts, own.found, np.zeros(len(states)), Style(), len)
    pieces: list[torch.Tensor] = []
    text = ""
    for part in mix.parts(states, read.vectors):
        text += part.lead
        if isinstance(part, TextPart):
            text += part.text
            continue
        pieces += [embed(spells.encode(text)).to(read.vectors)] if text else []
        pieces.append(part.vectors)
        text = ""
    return torch.cat([*pieces, *([embed(spells.encode(text)).to(read.vectors)] if text else [])])


def _places(text: str, answers: Sequence[str]) -> list[tuple[int, int]]:
    """Where answers stand as whole words, whatever their case."""
    wanted = [re.escape(answer.strip()) for answer in answers if answer.strip()]
    if not wanted:
        return []
    found: Any = re.finditer(rf"(?<!\w)(?:{'|'.join(wanted)})(?!\w)", text, re.IGNORECASE)
    return [match.span() for match in found]
