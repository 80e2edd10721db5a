"""CompLLM: segments apart from each other, the model untouched, checkpoints, budgets, reading."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("peft")

import squeeze
from squeeze.errors import BudgetError, ConfigError, CorruptError, InputError
from squeeze.soft import CompEncoder, CompSettings, Reader
from squeeze.soft.compllm_files import load
from squeeze.soft.tiny import byte_tokenizer, tiny_model

IDS = list(range(5, 70))
KINDS = ["llama", "qwen3", "gemma2", "gemma3_text"]
TEXT = "The lamp was changed in 1931. Its oil came from the north by sea."


def moved(encoder: CompEncoder, seed: int = 0) -> CompEncoder:
    """The encoder with adapters that do something, as after training."""
    chance = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, value in encoder.named_parameters():
            if "lora_B" in name:
                value.copy_(torch.randn(value.shape, generator=chance) / 4)
    return encoder


def encoder_of(kind: str = "llama", **settings: object) -> tuple[CompEncoder, object]:
    model = tiny_model(kind=kind)
    return moved(CompEncoder(model, CompSettings(**{"lora": 2, **settings}))), model


def compllm(**settings: object) -> tuple[squeeze.Compressor, object]:
    encoder, model = encoder_of(**settings)
    return squeeze.load("compllm", model=model, checkpoint=encoder, tokenizer=byte_tokenizer()), model


@pytest.mark.parametrize("kind", KINDS)
def test_the_model_is_bit_for_bit_what_it_was(kind: str) -> None:
    model = tiny_model(kind=kind)
    state = {name: value.clone() for name, value in model.state_dict().items()}
    flags = [(name, value.requires_grad) for name, value in model.named_parameters()]
    ids = torch.tensor([IDS])
    with torch.no_grad():
        before = model(input_ids=ids).logits
    encoder = moved(CompEncoder(model.train(), CompSettings(lora=2)))
    assert model.training and not encoder.training
    optimizer = torch.optim.SGD([value for value in encoder.parameters() if value.requires_grad], lr=0.1)
    sum(vectors.square().sum() for vectors in encoder([IDS[:20], IDS[20:33]])).backward()
    optimizer.step()
    with torch.no_grad():
        assert torch.equal(model.eval()(input_ids=ids).logits, before)
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())
    assert [(name, value.requires_grad) for name, value in model.named_parameters()] == flags
    assert all(value.grad is None for value in model.parameters())


def test_the_weights_are_the_models_and_only_adapters_and_head_are_trained() -> None:
    encoder, model = encoder_of()
    own = encoder.inner.layers[0].self_attn.q_proj.base_layer.weight
    assert own.data_ptr() == model.model.layers[0].self_attn.q_proj.weight.data_ptr()
    trained = {name for name, value in encoder.named_parameters() if value.requires_grad}
    assert trained == set(encoder.own_state())
    assert {"head.weight", "head.bias"} < trained and all("lora_" in n or n.startswith("head.") for n in trained)


@pytest.mark.parametrize("kind", KINDS)
def test_vectors_are_last_states_behind_appended_end_marks(kind: str) -> None:
    """Written out once more, with the model's own adapters off: what a fresh encoder computes."""
    model = tiny_model(kind=kind)
    encoder = CompEncoder(model, CompSettings(lora=2))
    with torch.no_grad():
        states = model.model(input_ids=torch.tensor([IDS[:9] + [257] * 5])).last_hidden_state[0, 9:]
    assert torch.allclose(encoder.encode(IDS[:9]), encoder.head(states), atol=1e-5)


@pytest.mark.parametrize("factor", [1, 2, 3, 8, 40])
def test_every_segment_rounds_its_vectors_up(factor: int) -> None:
    encoder, _ = encoder_of(factor=factor)
    for tokens in (1, 2, 3, 19, 20, 21, 40, 47, 60):
        lengths = [len(encoder.encode(segment)) for segment in encoder.segments(IDS[:tokens])]
        assert lengths == [-(-len(segment) // factor) for segment in encoder.segments(IDS[:tokens])]
        assert sum(lengths) == encoder.count(tokens)
    assert encoder.count(0) == 0 and encoder.segments([]) == []


@pytest.mark.parametrize("kind", KINDS)
def test_batches_agree_with_single_segments(kind: str) -> None:
    encoder, _ = encoder_of(kind)
    segments = [IDS[:20], IDS[20:23], IDS[3:20], IDS[:1]]
    for ids, vectors in zip(segments, encoder.encode_batch(segments), strict=True):
        assert torch.allclose(vectors, encoder.encode(ids), atol=1e-4)


def test_changing_one_segment_leaves_the_others_bit_for_bit() -> None:
    compressor, _ = compllm()
    before = compressor.compress(TEXT).parts[0].vectors
    changed = TEXT[:25] + "X" + TEXT[26:]
    after = compressor.compress(changed).parts[0].vectors
    same = (before == after).all(-1).tolist()
    assert same == [not 10 <= row < 20 for row in range(len(before))]
    longer = compressor.compress([TEXT[:40], "Something else that is long enough."]).parts
    assert torch.equal(longer[0].vectors, before[:20])


def test_a_limit_that_the_segments_exceed_is_named() -> None:
    compressor, _ = compllm(segment=20, factor=3)
    vectors = 3 * 7 + 2  # 65 tokens: three segments of 20, each with 7 vectors, and 5 tokens with 2
    result = compressor.compress(TEXT, budget=vectors)
    assert len(TEXT) == 65 and result.tokens_after == vectors == len(result.parts[0].vectors)
    with pytest.raises(BudgetError) as caught:
        compressor.compress(TEXT, budget=vectors - 1)
    assert (caught.value.reached, caught.value.limit) == (vectors, vectors - 1)
    assert compressor.factors == (3,)


def test_a_mixture_of_text_and_vectors_is_read_at_positions_in_a_row() -> None:
    compressor, model = compllm()
    reader = Reader(model, byte_tokenizer())
    result = compressor.compress([TEXT, "Paint is blue, they say."])
    inputs = reader.inputs_embeds(result, ("Read this: ", " When?"))
    assert inputs.slots == (33 + 12,) and inputs.position_ids[0].tolist() == list(range(inputs.inputs_embeds.shape[1]))
    assert isinstance(reader.generate(result, "When?", max_new_tokens=3), str)
    with pytest.raises(ConfigError, match="model"):
        Reader(tiny_model(seed=5), byte_tokenizer()).inputs_embeds(result, "When?")


def test_checkpoints_hold_adapters_and_head_alone_and_come_back(tmp_path: Path) -> None:
    encoder, model = encoder_of(segment=10, factor=4)
    encoder.save_pretrained(tmp_path)
    again = CompEncoder.from_pretrained(tmp_path, model)
    assert again.settings == encoder.settings and again.fingerprint() == encoder.fingerprint() and not again.training
    assert torch.equal(again.encode(IDS[:10]), encoder.encode(IDS[:10]))
    compressor = squeeze.load("compllm", model=model, checkpoint=tmp_path, tokenizer=byte_tokenizer())
    assert compressor.compress(TEXT).tokens_after == 6 * 3 + 2
    half = load(tmp_path, tiny_model().to(torch.bfloat16))
    assert half.encode(IDS[:10]).dtype == torch.bfloat16
    with pytest.raises(ConfigError, match="made for"):
        load(tmp_path, tiny_model(seed=3))
    with pytest.raises(ConfigError, match="made for"):
        squeeze.load("compllm", model=tiny_model(seed=3), checkpoint=encoder, tokenizer=byte_tokenizer())


def test_damaged_checkpoints_are_named(tmp_path: Path) -> None:
    encoder, model = encoder_of()
    encoder.save_pretrained(tmp_path)
    info_path = tmp_path / "squeeze.json"
    sound = json.loads(info_path.read_text())
    for change in (
        {"format": "squeeze.arc"},
        {"version": 9},
        {"weights": "../weights.safetensors"},
        {"settings": {**sound["settings"], "lora": 4}},
        {"settings": {**sound["settings"], "segment": 0}},
        {"settings": {"segment": 20}},
        {"settings": {**sound["settings"], "factor": 4}},
        {"fingerprint": "0" * 16},
    ):
        info_path.write_text(json.dumps({**sound, **change}))
        with pytest.raises(CorruptError):
            load(tmp_path, model)
    info_path.write_text(json.dumps(sound))
    (weights,) = tmp_path.glob("*.safetensors")
    weights.write_bytes(weights.read_bytes()[:-20])
    with pytest.raises(CorruptError):
        load(tmp_path, model)
    weights.unlink()
    with pytest.raises(ConfigError, match="missing"):
        load(tmp_path, model)


@pytest.mark.parametrize("segments", [[], [[]], [list(range(21))], [[261]], [[-1]]])
def test_segments_that_cannot_be_read_are_named(segments: list[list[int]]) -> None:
    with pytest.raises(InputError, match=r"token|segment"):
        encoder_of()[0](segments)


@pytest.mark.parametrize("wrong", [{"segment": 0}, {"factor": True}, {"lora": 0}, {"alpha": 1.5}, {"end": -1}])
def test_settings_are_checked(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="allowed"):
        CompSettings(**wrong)


def test_what_is_missing_or_does_not_fit_is_named() -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    encoder, model = encoder_of()
    with pytest.raises(ConfigError, match="no default encoder"):
        squeeze.load("compllm", model=model)
    with pytest.raises(ConfigError, match="no default encoder"):
        squeeze.load("compllm", checkpoint=encoder)
    with pytest.raises(InputError, match="CompEncoder"):
        squeeze.load("compllm", model=model, checkpoint=7)
    with pytest.raises(InputError, match="model"):
        squeeze.load("compllm", model=7, checkpoint=encoder)
    with pytest.raises(ConfigError, match="end-of-sequence"):
        CompEncoder(model, CompSettings(end=261))
    with pytest.raises(ConfigError, match="gpt2"):
        CompEncoder(
            GPT2LMHeadModel(GPT2Config(n_layer=1, n_embd=8, n_head=2, vocab_size=20, eos_token_id=2)), CompSettings()
        )


def test_random_weights_follow_the_seed_alone() -> None:
    torch.manual_seed(3)
    state = torch.get_rng_state()
    one, two = CompEncoder(tiny_model(), CompSettings(lora=2)), CompEncoder(tiny_model(), CompSettings(lora=2))
    assert torch.equal(torch.get_rng_state(), state) and one.fingerprint() == two.fingerprint()
    assert CompEncoder(tiny_model(), CompSettings(lora=2), seed=1).fingerprint() != one.fingerprint()
