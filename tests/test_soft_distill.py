"""Distillation: what it measures, that its teacher is left alone, and that a tiny student learns."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("peft")

from squeeze.errors import ConfigError
from squeeze.soft import CompEncoder, CompSettings, text_embeds
from squeeze.soft.tiny import tiny_model
from squeeze.train.losses import Lesson, answer_states, distillation, distilled, own_answers, read_loss

BEGIN = [1]


def model_of(kind: str = "llama") -> object:
    return tiny_model(kind=kind, vocab_size=64, pad_token_id=0, bos_token_id=1, eos_token_id=2)


def embedded(model: object, ids: list[int]) -> torch.Tensor:
    return text_embeds(model, torch.tensor([ids]))[0].detach()


def drawn(count: int, length: int, seed: int = 0) -> list[list[int]]:
    return torch.randint(3, 64, (count, length), generator=torch.Generator().manual_seed(seed)).tolist()


def test_the_distance_is_smooth_l1_over_the_teachers_spread_summed_over_layers() -> None:
    chance = torch.Generator().manual_seed(0)
    teacher = [[torch.randn(3, 4, generator=chance) * scale for scale in (1, 5)] for _ in range(2)]
    student = [[torch.randn(3, 4, generator=chance) * 3 for _ in range(2)] for _ in range(2)]
    expected = 0.0
    for wanted, found in zip(teacher, student, strict=True):
        for aim, own in zip(wanted, found, strict=True):
            gap = (aim - own).abs().flatten().tolist()
            distance = sum(0.5 * g * g if g < 1 else g - 0.5 for g in gap) / len(gap)
            mean = aim.mean()
            expected += distance / float(((aim - mean) ** 2).mean().sqrt()) / 2
    assert float(distillation(teacher, student)) == pytest.approx(expected, rel=1e-5)
    assert float(distillation(teacher, teacher)) == 0
    flat = [[torch.zeros(1, 1)]]
    assert torch.isfinite(distillation(flat, [[torch.ones(1, 1)]]))


def test_the_teacher_and_its_spread_get_no_gradient() -> None:
    teacher = torch.randn(3, 4, generator=torch.Generator().manual_seed(0), requires_grad=True)
    student = torch.zeros(3, 4, requires_grad=True)
    distillation([[teacher]], [[student]]).backward()
    assert teacher.grad is None and student.grad.abs().sum() > 0


def test_rows_that_do_not_match_are_named() -> None:
    states = [[torch.ones(3, 4)]]
    for wrong in ([], [[torch.ones(2, 4)]], [[torch.ones(3, 4)] * 2], states * 2):
        with pytest.raises(ConfigError, match="same rows"):
            distillation(states, wrong)
    with pytest.raises(ConfigError, match="same rows"):
        distillation([], [])
    with pytest.raises(ConfigError, match="at least one token"):
        answer_states(model_of(), [torch.ones(2, 32)], [[]])


@pytest.mark.parametrize("kind", ["llama", "gemma2"])
def test_states_are_those_of_every_layer_at_the_answer(kind: str) -> None:
    model = model_of(kind)
    context, answers = drawn(2, 6), [[5, 6, 7], [8, 9]]
    found = answer_states(model, [embedded(model, context[0]), embedded(model, context[1][:3])], answers)
    for row, ids in enumerate([context[0] + answers[0], context[1][:3] + answers[1]]):
        with torch.no_grad():
            alone = model(input_ids=torch.tensor([ids]), output_hidden_states=True).hidden_states
        assert len(found[row]) == len(alone) - 1 == 2
        for layer, own in zip(alone[1:], found[row], strict=True):
            assert torch.allclose(layer[0, -len(answers[row]) :], own, atol=1e-4)


def test_answers_are_the_models_own() -> None:
    model = model_of()
    contexts = drawn(2, 5)
    for ids, answer in zip(contexts, own_answers(model, contexts, max_new_tokens=4), strict=True):
        said = list(ids)
        for token in answer:
            with torch.no_grad():
                assert int(model(input_ids=torch.tensor([said])).logits[0, -1].argmax()) == token
            said.append(token)
        assert len(answer) == 4 or answer[-1] == 2


def test_a_student_comes_nearer_and_finds_the_answer_likelier() -> None:
    model = model_of()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    contexts, questions = drawn(4, 13), drawn(4, 3, seed=1)
    full = [[*BEGIN, *c, *q] for c, q in zip(contexts, questions, strict=True)]
    answers = own_answers(model, full, max_new_tokens=5)
    lessons = [Lesson(c, q, a) for c, q, a in zip(contexts, questions, answers, strict=True)]
    encoder = CompEncoder(model, CompSettings(segment=8, lora=4))

    def likelihood() -> float:
        rows = []
        for lesson in lessons:
            vectors = [encoder.encode(segment) for segment in encoder.segments(lesson.context)]
            rows.append(torch.cat([embedded(model, BEGIN), *vectors, embedded(model, lesson.question)]))
        return -float(read_loss(model, rows, answers))

    likely = likelihood()
    optimizer = torch.optim.Adam([value for value in encoder.parameters() if value.requires_grad], lr=3e-3)
    values = []
    for _ in range(60):
        loss = distilled(encoder, model, lessons, BEGIN)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        values.append(float(loss.detach()))
    assert values[-1] < 0.6 * values[0] and likelihood() > likely + 0.2
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(value.grad is None for value in model.parameters())
