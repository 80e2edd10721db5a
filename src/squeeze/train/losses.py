"""What soft tokens are trained on: the frozen decoder's cross-entropy for text that follows vectors.

The objectives and their shares are those of ARC-Encoder (arXiv 2510.20535): repeat the passage after `<Rec>`, go on
after `<Cont>`, later answer questions between passages; and that of CompLLM (arXiv 2509.19228): be in the same states,
in every layer, at the tokens of an answer that the model itself gave from the full text. The gradient goes through the
decoder into the vectors; the decoder itself gets none.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch.nn import functional

from squeeze.errors import ConfigError
from squeeze.soft.arc import ArcEncoder
from squeeze.soft.compllm import CompEncoder
from squeeze.soft.inputs import text_embeds
from squeeze.soft.reader import generate_ids

Ids = Sequence[int]
Objective = Literal["reconstruction", "continuation"]
_IGNORED = -100
_LEAST_SPREAD = 1e-6


@dataclass(frozen=True, slots=True)
class Mix:
    """What a training step is drawn from.

    Attributes:
        factors: pooling factors, each as likely as the others.
        decoders: decoders of the encoder, each as likely as the others.
        reconstruction: share of steps that repeat the passage; the rest goes on from it.
    """

    factors: tuple[int, ...]
    decoders: tuple[str, ...]
    reconstruction: float = 0.2

    def draw(self, chance: random.Random) -> tuple[Objective, int, str]:
        """The objective, factor and decoder of one step."""
        objective: Objective = "reconstruction" if chance.random() < self.reconstruction else "continuation"
        return objective, chance.choice(self.factors), chance.choice(self.decoders)


@dataclass(frozen=True, slots=True)
class Step:
    """How passages are encoded in one step.

    Attributes:
        encoder: the encoder that is trained.
        model: the decoder, whose weights stay as they are.
        factor: pooling factor.
        decoder: the decoder's name in the encoder; None for the only one.
    """

    encoder: ArcEncoder
    model: Any
    factor: int
    decoder: str | None = None


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a student learns from its teacher, as ids.

    Attributes:
        context: what is read as vectors.
        question: what follows it as text.
        answer: what the teacher says to both as text (see `own_answers`).
    """

    context: Ids
    question: Ids
    answer: Ids


def reconstruction(step: Step, passages: Sequence[Ids], prefix: Ids = (), targets: Sequence[Ids] | None = None) -> Any:
    """Loss of repeating passages from their vectors and `<Rec>`: mean cross-entropy per token, a scalar tensor.

    Args:
        step: what encodes and what reads.
        passages: ids of the passages, as the encoder spells them.
        prefix: ids that stand before the vectors, a begin mark say.
        targets: ids of the same passages as the decoder spells them, where it spells otherwise.
    """
    vectors = step.encoder.encode_batch(passages, step.factor, task="rec", decoder=step.decoder)
    return _after(step, vectors, passages if targets is None else targets, prefix)


def continuation(step: Step, passages: Sequence[Ids], following: Sequence[Ids], prefix: Ids = ()) -> Any:
    """Loss of going on from passages given as vectors and `<Cont>`: mean cross-entropy per token, a scalar tensor.

    Args:
        step: what encodes and what reads.
        passages: ids of the passages, as the encoder spells them.
        following: ids of what follows each of them, as the decoder spells it.
        prefix: ids that stand before the vectors: a begin mark, text before the passage.
    """
    vectors = step.encoder.encode_batch(passages, step.factor, task="cont", decoder=step.decoder)
    return _after(step, vectors, following, prefix)


def interleaved(step: Step, shots: Sequence[Sequence[tuple[Literal["text", "passage"], Ids]]]) -> Any:
    """Loss of the last answer of prompts in which passages, given as vectors, alternate with text.

    Args:
        step: what encodes and what reads.
        shots: prompts; each a list of text and passages in reading order, of which the last is the answer, as text.

    Raises:
        ConfigError: a prompt that does not end with text.
    """
    passages = [ids for prompt in shots for kind, ids in prompt if kind == "passage"]
    vectors = iter(
        step.encoder.encode_batch(passages, step.factor, task="cont", decoder=step.decoder) if passages else []
    )
    contexts, targets = [], []
    for prompt in shots:
        if not prompt or prompt[-1][0] != "text" or not prompt[-1][1]:
            raise ConfigError("a prompt to train on ends with the text of its answer")
        pieces = [next(vectors) if kind == "passage" else _text(step, ids) for kind, ids in prompt[:-1]]
        contexts.append(torch.cat(pieces))
        targets.append(prompt[-1][1])
    return read_loss(step.model, contexts, targets)


def read_loss(model: Any, contexts: Sequence[torch.Tensor], targets: Sequence[Ids], *, learning: bool = False) -> Any:
    """Mean cross-entropy of target tokens, each row's after its context, a scalar tensor.

    Args:
        model: the decoder; neither its weights nor its flags change, and it gets no gradient.
        contexts: input embeddings of each row, (positions, width), with gradient.
        targets: ids of each row.
        learning: whether weights of the decoder that ask for a gradient, those of its adapters say, get one after all.

    Raises:
        ConfigError: a row without context or without target.
    """
    _check_rows(contexts, targets)
    most = max(len(ids) for ids in targets)
    labels = torch.full((len(targets), most), _IGNORED, device=contexts[0].device)
    for row, ids in enumerate(targets):
        labels[row, most - len(ids) :] = torch.tensor(list(ids))
    logits = forward_rows(model, contexts, targets, learning, logits_to_keep=most + 1).logits[:, :-1]
    return functional.cross_entropy(logits.flatten(0, 1).float(), labels.flatten(), ignore_index=_IGNORED)


def distillation(teacher: Sequence[Sequence[Any]], student: Sequence[Sequence[Any]]) -> Any:
    """How far a student's states are from its teacher's, as CompLLM measures it (arXiv 2509.19228), a scalar tensor.

    For each layer: Smooth-L1 (beta 1), averaged over answer tokens and width, over the standard deviation of the
    teacher's states of that layer; summed over layers, averaged over rows. The teacher gets no gradient, nor do its
    deviations.

    Args:
        teacher: states of each row and layer at the tokens of the answer, (tokens, width); see `answer_states`.
        student: states of the same rows, layers and tokens.

    Raises:
        ConfigError: the two are not of the same rows, layers and tokens.
    """
    shapes = [[[tuple(layer.shape) for layer in row] for row in states] for states in (teacher, student)]
    if shapes[0] != shapes[1] or not shapes[0] or not all(shapes[0]):
        raise ConfigError("teacher and student need the states of the same rows, layers and answer tokens")
    total = student[0][0].new_zeros((), dtype=torch.float32)
    for wanted, found in zip(teacher, student, strict=True):
        for layer, own in zip(wanted, found, strict=True):
            aim = layer.detach().float()
            spread = aim.std(correction=0).clamp(min=_LEAST_SPREAD)
            total = total + functional.smooth_l1_loss(own.float(), aim, beta=1.0) / spread
    return total / len(teacher)


def own_answers(model: Any, contexts: Sequence[Ids], *, max_new_tokens: int) -> list[list[int]]:
    """What the model itself answers to each context, as ids: what a student is taught to say.

    Args:
        model: the language model.
        contexts: ids of what stands before each answer: begin mark, text, question.
        max_new_tokens: most tokens of an answer; its end mark, where it has one, is kept.
    """
    table = [torch.tensor([list(ids)], dtype=torch.long) for ids in contexts]
    return [generate_ids(model, text_embeds(model, ids), max_new_tokens=max_new_tokens)[0] for ids in table]


def distilled(encoder: CompEncoder, model: Any, lessons: Sequence[Lesson], prefix: Ids = ()) -> Any:
    """Loss of reading contexts as vectors instead of as text (see `distillation`), a scalar tensor.

    Args:
        encoder: the encoder that is trained.
        model: the language model under it, teacher and reader at once; it gets no gradient.
        lessons: contexts, questions and the model's own answers to them.
        prefix: ids that stand before a context, a begin mark say.
    """
    answers = [lesson.answer for lesson in lessons]
    with torch.no_grad():
        full = [_embedded(model, [*prefix, *lesson.context, *lesson.question]) for lesson in lessons]
        teacher = answer_states(model, full, answers)
    cut = [encoder.segments(lesson.context) for lesson in lessons]
    vectors = iter(encoder([segment for segments in cut for segment in segments]))
    contexts = []
    for lesson, segments in zip(lessons, cut, strict=True):
        own = torch.cat([next(vectors) for _ in segments])
        pieces = [_embedded(model, prefix).to(own), own, _embedded(model, lesson.question).to(own)]
        contexts.append(torch.cat(pieces))
    return distillation(teacher, answer_states(model, contexts, answers))


def answer_states(model: Any, contexts: Sequence[torch.Tensor], answers: Sequence[Ids]) -> list[list[torch.Tensor]]:
    """The states of every layer at the tokens of each row's answer, each (tokens, width).

    The last layer's are those behind the model's final norm. The embeddings, which are the same for every reader of
    the answer, are left out.

    Args:
        model: the language model, which gets no gradient.
        contexts: input embeddings of what stands before each answer, (positions, width): text, vectors, or both.
        answers: ids of the answers.

    Raises:
        ConfigError: a row without context or without answer.
    """
    _check_rows(contexts, answers)
    layers = forward_rows(model, contexts, answers, output_hidden_states=True, logits_to_keep=1).hidden_states[1:]
    return [[layer[row, -len(ids) :] for layer in layers] for row, ids in enumerate(answers)]


@contextmanager
def frozen(model: Any) -> Iterator[None]:
    """Inside, a graph through the model leaves its weights out, and nothing is dropped at random."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    training = [module for module in model.modules() if module.training]
    for parameter in trained:
        parameter.requires_grad_(False)
    model.eval()
    try:
        yield
    finally:
        for parameter in trained:
            parameter.requires_grad_(True)
        for module in training:
            module.training = True


def _check_rows(contexts: Sequence[torch.Tensor], targets: Sequence[Ids]) -> None:
    whole = len(contexts) == len(targets) and all(len(ids) for ids in targets) and all(len(own) for own in contexts)
    if not targets or not whole:
        raise ConfigError("every row needs a context and a target of at least one token")


def forward_rows(
    model: Any, contexts: Sequence[torch.Tensor], targets: Sequence[Ids], learning: bool = False, **options: Any
) -> Any:
    """What the model makes of contexts and the targets behind them, padded at the left; frozen unless learning."""
    device = contexts[0].device
    longest = max(len(context) + len(ids) for context, ids in zip(contexts, targets, strict=True))
    mask = torch.zeros(len(targets), longest, dtype=torch.long, device=device)
    rows = []
    with nullcontext() if learning else frozen(model):
        for row, (context, ids) in enumerate(zip(contexts, targets, strict=True)):
            target = torch.tensor([list(ids)], device=device)
            embeds = torch.cat([context, text_embeds(model, target)[0].to(context.dtype)])
            rows.append(functional.pad(embeds, (0, 0, longest - len(embeds), 0)))
            mask[row, longest - len(embeds) :] = 1
        return model(
            inputs_embeds=torch.stack(rows).to(model.dtype),
            attention_mask=mask,
            position_ids=(mask.cumsum(1) - 1).clamp(min=0),
            use_cache=False,
            **options,
        )


def _after(step: Step, vectors: Sequence[torch.Tensor], targets: Sequence[Ids], prefix: Ids) -> Any:
    before = _text(step, prefix)
    return read_loss(step.model, [torch.cat([before, own]) for own in vectors], targets)


def _text(step: Step, ids: Ids) -> torch.Tensor:
    """Input embeddings of text, (tokens, width), without gradient and in the vectors' dtype."""
    return _embedded(step.model, ids).to(next(step.encoder.parameters()))


def _embedded(model: Any, ids: Ids) -> torch.Tensor:
    """Input embeddings of text, (tokens, width), without gradient."""
    with torch.no_grad():
        return text_embeds(model, torch.tensor([list(ids)], dtype=torch.long))[0]
