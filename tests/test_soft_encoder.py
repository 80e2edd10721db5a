"""The ARC-style encoder: which layers run how, what is pooled where, what depends on what."""

from __future__ import annotations

import copy
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from squeeze.errors import ConfigError, InputError
from squeeze.soft import ArcEncoder, ArcSettings
from squeeze.soft.layers import Cut
from squeeze.soft.pooling import averaging, group_sizes, groups
from squeeze.soft.seeds import seeded
from squeeze.soft.tiny import byte_tokenizer, tiny_model

KINDS = ["llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text"]
IDS = list(range(5, 45))


def encoder_of(kind: str = "llama", **settings: object) -> ArcEncoder:
    model = tiny_model(kind=kind)
    return ArcEncoder.from_model(model, ArcSettings(**{"layers": 2, "chunk": 32, **settings})).eval()


@given(st.integers(0, 3000), st.integers(1, 40))
def test_groups_are_balanced_and_tile_the_tokens(tokens: int, factor: int) -> None:
    sizes = group_sizes(tokens, factor)
    assert sum(sizes) == tokens and len(sizes) == groups(tokens, factor) == -(-tokens // factor)
    assert sizes == sorted(sizes, reverse=True)
    if sizes:
        assert max(sizes) - min(sizes) <= 1 and 1 <= max(sizes) <= factor
        assert sizes == [len(part) for part in torch.arange(tokens).tensor_split(len(sizes))]


def test_averaging_gives_the_mean_of_each_group() -> None:
    states = torch.randn(2, 9, 3)
    means = averaging([9, 5], 4, states) @ states
    assert torch.allclose(means[0], torch.stack([states[0, s].mean(0) for s in (slice(3), slice(3, 6), slice(6, 9))]))
    assert torch.allclose(means[1, 0], states[1, :3].mean(0)) and torch.allclose(means[1, 1], states[1, 3:5].mean(0))
    assert not means[1, 2].any()


@pytest.mark.parametrize("kind", KINDS)
def test_every_token_sees_every_other_in_every_layer(kind: str) -> None:
    cut = Cut(tiny_model(kind=kind), 2, shared=True).eval()
    embeds = cut.embedded(torch.tensor([IDS[:12]])).detach().requires_grad_()
    states = cut.states(embeds)
    (grad,) = torch.autograd.grad(states[0, 0].sum(), embeds)
    assert (grad[0].abs().sum(-1) > 0).all(), "the first token looks at all later ones: no causal mask"


@pytest.mark.parametrize("kind", KINDS)
def test_the_pooling_layer_with_one_token_per_group_is_the_models_own_layer(kind: str) -> None:
    cut = Cut(tiny_model(kind=kind), 2, shared=True).eval()
    embeds = cut.embedded(torch.tensor([IDS[:12]]))
    states = cut.states(embeds)
    layer, positions = cut.layers[-1], torch.arange(12)[None]
    rotation = cut.rotation(states, positions, layer)
    own = layer(states, attention_mask=None, position_ids=positions, position_embeddings=rotation)
    assert torch.allclose(cut.last(states, states), own, atol=1e-5)


def test_queries_are_pooled_before_the_norm_and_keys_are_not_pooled() -> None:
    """The last layer of a Llama model, written out once more."""
    encoder = encoder_of()
    cut, layer = encoder.cut, encoder.cut.layers[-1]
    attention = layer.self_attn
    states = cut.states(cut.embedded(torch.tensor([IDS[:10]])))[0]
    pooled = torch.stack([states[:4].mean(0), states[4:7].mean(0), states[7:].mean(0)])
    query = attention.q_proj(layer.input_layernorm(pooled)).view(3, 4, 8)
    key = attention.k_proj(layer.input_layernorm(states)).view(10, 2, 8)
    value = attention.v_proj(layer.input_layernorm(states)).view(10, 2, 8)

    def turn(vector: torch.Tensor, position: int) -> torch.Tensor:
        angle = position / 10000 ** (torch.arange(4) / 4)
        left, right = vector[:4], vector[4:]
        return torch.cat([left * angle.cos() - right * angle.sin(), right * angle.cos() + left * angle.sin()])

    mixed = torch.zeros(3, 4, 8)
    for group in range(3):
        for head in range(4):
            turned = turn(query[group, head], group)
            scores = torch.stack([turned @ turn(key[token, head // 2], token) for token in range(10)]) / 8**0.5
            mixed[group, head] = scores.softmax(0) @ value[:, head // 2]
    out = pooled + attention.o_proj(mixed.flatten(1))
    out = out + layer.mlp(layer.post_attention_layernorm(out))
    head = encoder.heads["decoder"]
    expected = out @ head.first.weight.T @ head.second.weight.T
    assert torch.allclose(encoder.encode(IDS[:10], 4), expected, atol=1e-5)


def test_the_tail_counts_and_short_passages_make_one_vector() -> None:
    encoder = encoder_of()
    assert encoder.encode(IDS[:3], 8).shape == (1, 32)
    assert encoder.encode(IDS[:17], 8).shape == (3, 32)
    changed = [*IDS[:16], 200]
    assert not torch.equal(encoder.encode(IDS[:17], 8), encoder.encode(changed, 8))
    assert [encoder.count(tokens, 8) for tokens in (0, 1, 8, 9, 32, 33, 64)] == [0, 2, 2, 3, 5, 6, 9]


@pytest.mark.parametrize("kind", KINDS)
def test_batches_agree_with_single_passages(kind: str) -> None:
    encoder = encoder_of(kind)
    passages = [IDS[:10], IDS[:3], IDS, IDS[5:12]]
    for ids, vectors in zip(passages, encoder.encode_batch(passages, 4, task="cont"), strict=True):
        alone = [encoder.encode(piece, 4) for piece in encoder.chunks(ids)]
        assert vectors.shape[0] == encoder.count(len(ids), 4)
        assert torch.allclose(vectors, torch.cat([*alone, encoder.special("cont")]), atol=1e-4)


def test_layers_with_a_window_look_both_ways_inside_it() -> None:
    model = tiny_model(kind="mistral", sliding_window=4)
    cut = Cut(model, 2, shared=True).eval()
    embeds = cut.embedded(torch.tensor([IDS[:12]])).detach().requires_grad_()
    (grad,) = torch.autograd.grad(cut.states(embeds)[0, 6].sum(), embeds)
    seen = (grad[0].abs().sum(-1) > 0).tolist()
    assert seen == [3 <= at <= 9 for at in range(12)]


def test_special_vectors_are_ones_in_encoder_width_and_pass_the_projector() -> None:
    encoder = encoder_of()
    head = encoder.heads["decoder"]
    assert torch.equal(head.cont, torch.ones(32)) and torch.equal(head.rec, torch.ones(32))
    with torch.no_grad():
        head.rec.mul_(2)
    assert torch.allclose(encoder.special("rec"), 2 * encoder.special("cont"))
    assert torch.allclose(encoder.special("cont")[0], head(torch.ones(32)))
    assert all("bias" not in name for name, _ in head.named_parameters())
    bare = encoder_of(special=False)
    assert bare.special("cont").shape == (0, 32) and bare.count(8, 8) == 1


def test_decoders_have_projectors_and_special_vectors_of_their_own() -> None:
    encoder = encoder_of()
    first = encoder.encode(IDS[:8], 4)
    encoder.add_decoder("wide", 48, seed=1)
    assert torch.equal(encoder.encode(IDS[:8], 4, decoder="decoder"), first)
    assert encoder.encode(IDS[:8], 4, decoder="wide").shape == (2, 48)
    with pytest.raises(ConfigError, match="decoder"):
        encoder.encode(IDS[:8], 4)
    with pytest.raises(ConfigError, match="wide"):
        encoder.add_decoder("wide", 48)


def test_adapters_share_the_models_weights_and_leave_them_alone() -> None:
    pytest.importorskip("peft")
    model = tiny_model()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    encoder = ArcEncoder.from_model(model, ArcSettings(layers=1, lora=4))
    trained = {name for name, value in encoder.named_parameters() if value.requires_grad}
    assert trained and all("lora_" in name or name.startswith("heads.") for name in trained)
    base = encoder.cut.layers[0].self_attn.q_proj.base_layer.weight
    assert base.data_ptr() == model.model.layers[0].self_attn.q_proj.weight.data_ptr()
    optimizer = torch.optim.SGD([p for p in encoder.parameters() if p.requires_grad], lr=1.0)
    encoder.encode_batch([IDS[:8]], 4, task="cont")[0].sum().backward()
    optimizer.step()
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(value.requires_grad and value.grad is None for value in model.parameters())


def test_full_tuning_copies_the_weights() -> None:
    model = tiny_model()
    encoder = ArcEncoder.from_model(model, ArcSettings(layers=1))
    assert all(value.requires_grad for value in encoder.parameters())
    with torch.no_grad():
        for value in encoder.parameters():
            value.add_(1)
    assert torch.equal(model.model.embed_tokens.weight, tiny_model().model.embed_tokens.weight)


@pytest.mark.parametrize("lora", [0, 2])
def test_encoding_leaves_the_language_model_as_it_was(lora: int) -> None:
    model = tiny_model()
    ids = torch.tensor([IDS[:12]])
    state = {name: value.clone() for name, value in model.state_dict().items()}
    flags = [(name, value.requires_grad) for name, value in model.named_parameters()]
    with torch.no_grad():
        before = model(input_ids=ids).logits
    model.train()
    encoder = ArcEncoder.from_model(model, ArcSettings(layers=2, lora=lora)).eval()
    encoder.encode(byte_tokenizer().encode("Pumps need oil."), 8)
    assert model.training and all(module.training for module in model.modules())
    model.eval()
    with torch.no_grad():
        after = model(input_ids=ids).logits
    assert torch.equal(before, after)
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())
    assert [(name, value.requires_grad) for name, value in model.named_parameters()] == flags


def test_a_mean_of_token_embeddings_can_be_added() -> None:
    encoder = encoder_of(residual="mean")
    means = averaging([8], 4, torch.zeros(1, 8, 1)) @ encoder.cut.embedded(torch.tensor([IDS[:8]]))
    assert torch.allclose(encoder.encode(IDS[:8], 4), means[0], atol=1e-6)  # the projector starts at zero
    head = encoder.heads["decoder"]
    with torch.no_grad():
        head.second.weight.copy_(torch.randn(head.second.weight.shape))
    plain = copy.deepcopy(encoder)
    plain.settings = ArcSettings(layers=2, chunk=32)
    assert not torch.allclose(plain.encode(IDS[:8], 4), torch.zeros(2, 32))
    assert torch.allclose(encoder.encode(IDS[:8], 4), plain.encode(IDS[:8], 4) + means[0], atol=1e-5)
    with pytest.raises(ConfigError, match="residual"):
        encoder.add_decoder("wide", 48)


def test_rare_tokens_stand_for_their_group_at_first_and_weights_are_trained() -> None:
    encoder = encoder_of(residual="salient")
    assert encoder.salience is not None
    table = encoder.cut.embed.weight.detach()
    table[:, 0] = torch.arange(1, len(table) + 1).log()  # what real embeddings tell of how rare a token is
    encoder.salience.start(encoder.cut.embed, len(table))
    ids = torch.tensor([[3, 200, 5, 4, 250, 2, 1, 6]])
    embedded = encoder.cut.embedded(ids)
    mean = averaging([8], 4, embedded)
    weights = encoder.salience(embedded, encoder.cut.states(embedded), mean)
    assert torch.allclose(weights.sum(-1), torch.ones(1, 2), atol=1e-5)
    assert weights[0].argmax(-1).tolist() == [1, 4]
    assert not weights[0][mean[0] == 0].any()
    encoder(ids, 4).square().sum().backward()
    assert encoder.salience.embedding.grad is not None and encoder.salience.embedding.grad.abs().sum() > 0
    assert "salience.embedding" in encoder.own_state()


def test_adapters_can_be_left_to_the_last_layers() -> None:
    encoder = encoder_of(lora=2, adapted=1)
    layers = {name.split(".")[1] for name, _ in encoder.cut.named_parameters() if "lora_" in name}
    assert layers == {"1"}


def test_vectors_depend_on_the_seed_alone_and_random_state_stays() -> None:
    torch.manual_seed(3)
    state = torch.get_rng_state()
    first, second = encoder_of(), encoder_of()
    assert torch.equal(torch.get_rng_state(), state)
    assert first.fingerprint() == second.fingerprint()
    assert torch.equal(first.encode(IDS[:20], 2), second.encode(IDS[:20], 2))
    with seeded(1):
        drawn = torch.randn(3)
    with seeded(1):
        assert torch.equal(torch.randn(3), drawn)


def test_sixteen_threads_agree() -> None:
    encoder = encoder_of()
    expected = encoder.encode(IDS[:30], 4)
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(5):
            if not torch.equal(encoder.encode(IDS[:30], 4), expected):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("ids", [[], list(range(33)), [261], [-1]])
def test_chunks_that_cannot_be_read_are_named(ids: list[int]) -> None:
    with pytest.raises(InputError, match="token"):
        encoder_of().encode(ids, 4)


@pytest.mark.parametrize(
    "wrong",
    [
        {"layers": 0},
        {"layers": True},
        {"layers": 2, "factors": ()},
        {"layers": 2, "factors": (4, 2)},
        {"layers": 2, "factors": (0,)},
        {"layers": 2, "chunk": 0},
        {"layers": 2, "lora": -1},
        {"layers": 2, "special": 1},
    ],
)
def test_settings_are_checked(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=r"allowed|switches"):
        ArcSettings(**wrong)


def test_models_that_cannot_be_cut_are_named() -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    with pytest.raises(ConfigError, match="gpt2"):
        Cut(GPT2LMHeadModel(GPT2Config(n_layer=1, n_embd=8, n_head=2, vocab_size=20)), 1, shared=True)
    with pytest.raises(ConfigError, match="1 to 2"):
        Cut(tiny_model(), 3, shared=True)
