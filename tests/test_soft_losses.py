"""What soft tokens are trained on: losses fall, vectors carry their passage, the decoder stays as it is."""

from __future__ import annotations

import random

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from squeeze.errors import ConfigError
from squeeze.soft import ArcEncoder, ArcSettings, generate_ids, text_embeds
from squeeze.soft.tiny import tiny_model
from squeeze.train.losses import Mix, Step, continuation, frozen, interleaved, read_loss, reconstruction

BEGIN = [1]


def decoder(seed: int = 0) -> object:
    return tiny_model(
        seed, vocab_size=64, hidden_size=64, intermediate_size=128, head_dim=16, pad_token_id=0, bos_token_id=1
    )


def passages(count: int, length: int) -> list[list[int]]:
    return torch.randint(3, 64, (count, length), generator=torch.Generator().manual_seed(0)).tolist()


def step_of(model: object, **settings: object) -> Step:
    encoder = ArcEncoder.from_model(model, ArcSettings(**{"layers": 2, "factors": (2, 4), **settings}))
    return Step(encoder, model, 2)


def train(step: Step, loss: object, steps: int) -> tuple[float, float]:
    optimizer = torch.optim.Adam([p for p in step.encoder.parameters() if p.requires_grad], lr=3e-3)
    values = []
    for _ in range(steps):
        value = loss()
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        values.append(float(value.detach()))
    return values[0], values[-1]


def test_sixty_four_tokens_are_repeated_exactly_after_training() -> None:
    model, given = decoder(), passages(8, 8)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    flags = [value.requires_grad for value in model.parameters()]
    step = step_of(model)
    first, last = train(step, lambda: reconstruction(step, given, BEGIN), 120)
    assert last < 0.3 * first
    begin = text_embeds(model, torch.tensor([BEGIN]))[0].detach()
    for ids in given:
        vectors = torch.cat([begin, step.encoder.encode(ids, 2), step.encoder.special("rec").detach()])
        assert generate_ids(model, vectors[None], max_new_tokens=8, eos_token_id=None) == [ids]
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(value.grad is None for value in model.parameters())
    assert [value.requires_grad for value in model.parameters()] == flags


@pytest.mark.parametrize("settings", [{}, {"lora": 4}, {"residual": "salient"}])
def test_the_loss_of_going_on_falls(settings: dict[str, object]) -> None:
    model, given, following = decoder(), passages(6, 9), passages(6, 5)[::-1]
    step = step_of(model, **settings)
    first, last = train(step, lambda: continuation(step, given, following, BEGIN), 40)
    assert last < 0.8 * first


def test_the_loss_of_the_last_answer_falls_and_no_other_text_counts() -> None:
    model, (one, two, answer) = decoder(), passages(3, 6)
    step = step_of(model)
    shots = [[("text", BEGIN), ("passage", one), ("text", [5, 6]), ("passage", two), ("text", answer[:2])]]
    first, last = train(step, lambda: interleaved(step, shots), 40)
    assert last < 0.5 * first
    context = torch.cat(
        [
            text_embeds(model, torch.tensor([BEGIN]))[0],
            *step.encoder.encode_batch([one], 2, task="cont"),
            text_embeds(model, torch.tensor([[5, 6]]))[0],
            *step.encoder.encode_batch([two], 2, task="cont"),
        ]
    )
    alone = read_loss(model, [context], [answer[:2]]).item()
    assert interleaved(step, shots).item() == pytest.approx(alone, abs=1e-4)
    with pytest.raises(ConfigError, match="answer"):
        interleaved(step, [[("passage", one)]])


def test_the_loss_is_the_mean_over_target_tokens_whatever_their_number() -> None:
    model = decoder()
    contexts = [text_embeds(model, torch.tensor([ids]))[0].detach() for ids in ([3, 4, 5], [6], [7, 8])]
    targets = [[9, 10], [11, 12, 13, 14], [15]]
    total, count = 0.0, 0
    for context, ids in zip(contexts, targets, strict=True):
        total += float(read_loss(model, [context], [ids])) * len(ids)
        count += len(ids)
    assert float(read_loss(model, contexts, targets)) == pytest.approx(total / count, abs=1e-4)
    for wrong in ([], [[9], [], [15]]):
        with pytest.raises(ConfigError, match="row"):
            read_loss(model, contexts, wrong)


def test_the_task_chooses_the_special_vector_that_is_trained() -> None:
    model, given = decoder(), passages(2, 6)
    step = step_of(model)
    head = step.encoder.heads["decoder"]
    reconstruction(step, given).backward()
    assert head.rec.grad is not None and head.cont.grad is None
    step.encoder.zero_grad(set_to_none=True)
    continuation(step, given, given).backward()
    assert head.cont.grad is not None and head.rec.grad is None


def test_a_new_decoder_trains_its_head_alone() -> None:
    model, other, given = decoder(), decoder(seed=5), passages(4, 6)
    step = step_of(model)
    step.encoder.add_decoder("other", 64, seed=2)
    step.encoder.train_heads_only("other")
    before = {name: value.clone() for name, value in step.encoder.state_dict().items()}
    new = Step(step.encoder, other, 2, "other")
    first, last = train(new, lambda: continuation(new, given, given[::-1], BEGIN), 20)
    assert last < first
    changed = {name for name, value in step.encoder.state_dict().items() if not torch.equal(value, before[name])}
    assert changed and all(name.startswith("heads.other.") for name in changed)


def test_steps_are_drawn_with_their_shares() -> None:
    mix, chance = Mix((2, 4, 8), ("one", "two"), 0.2), random.Random(0)
    drawn = [mix.draw(chance) for _ in range(3000)]
    share = sum(objective == "reconstruction" for objective, _, _ in drawn) / len(drawn)
    assert 0.17 < share < 0.23
    assert {factor for _, factor, _ in drawn} == {2, 4, 8} and {name for _, _, name in drawn} == {"one", "two"}


def test_freezing_is_undone() -> None:
    model = decoder().train()
    model.lm_head.weight.requires_grad_(False)
    flags = [value.requires_grad for value in model.parameters()]
    with frozen(model):
        assert not any(value.requires_grad for value in model.parameters()) and not model.training
    assert [value.requires_grad for value in model.parameters()] == flags and model.training
