"""The import of published ARC-Encoder checkpoints, tried on tiny random ones that are written in their layouts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from safetensors.torch import save_file

from squeeze.errors import ConfigError, CorruptError
from squeeze.soft import ArcEncoder
from squeeze.soft.kyutai import Shape, import_arc_encoder

WIDTH, HEAD, HEADS, KEYS, INNER, LAYERS, WORDS = 32, 8, 4, 2, 48, 3, 70
SHAPE = Shape(head=HEAD, theta=10000.0, factor=4)


def tensors(decoders: int, special: bool = True) -> dict[str, torch.Tensor]:
    """A random encoder under the published names."""
    generator = torch.Generator().manual_seed(0)

    def drawn(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator) * 0.2

    made = {"embedder.tok_embeddings.weight": drawn(WORDS, WIDTH)}
    for layer in range(LAYERS):
        stem = f"embedder.layers.{layer}."
        made[stem + "attention.wq.weight"] = drawn(HEADS * HEAD, WIDTH)
        made[stem + "attention.wk.weight"] = drawn(KEYS * HEAD, WIDTH)
        made[stem + "attention.wv.weight"] = drawn(KEYS * HEAD, WIDTH)
        made[stem + "attention.wo.weight"] = drawn(WIDTH, HEADS * HEAD)
        made[stem + "attention_norm.weight"] = 1 + drawn(WIDTH)
        made[stem + "ffn_norm.weight"] = 1 + drawn(WIDTH)
        made[stem + "feed_forward.w1.weight"] = drawn(INNER, WIDTH)
        made[stem + "feed_forward.w2.weight"] = drawn(WIDTH, INNER)
        made[stem + "feed_forward.w3.weight"] = drawn(INNER, WIDTH)
    for number in range(decoders):
        if special:
            made[f"embedder.rec_tok.{number}.weight"] = drawn(1, WIDTH)
            made[f"embedder.cont_tok.{number}.weight"] = drawn(1, WIDTH)
        stem = f"bridge_module.{number}." if decoders > 1 else "bridge_module."
        made[stem + "layer1.weight"], made[stem + "layer2.weight"] = drawn(20, WIDTH), drawn(40, 20)
    return made


def settings(decoders: int, **changes: object) -> dict[str, object]:
    return {
        "embedder_args": {
            "causal_embedder": False,
            "compress_rates": [-4],
            "n_truncated_layers": 2,
            "pooling_module": {"pool_type": "mean_pooled_queries", "where": "before"},
            "rec_tok": True,
            "cont_tok": True,
            **changes,
        },
        "bridge_args": {"bridge_type": "multi_module" if decoders > 1 else "mlp", "in_dim": WIDTH, "out_dim": 40},
        "model_args": {"dim": WIDTH, "head_dim": HEAD, "rope_theta": 10000.0, "norm_eps": 1e-5},
    }


def hub_layout(folder: Path, decoders: int = 1, **changes: object) -> dict[str, torch.Tensor]:
    made = tensors(decoders)
    folder.mkdir(parents=True, exist_ok=True)
    save_file(made, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(settings(decoders, **changes)))
    return made


def training_layout(folder: Path, decoders: int = 1) -> dict[str, torch.Tensor]:
    made, told = tensors(decoders), settings(decoders)
    for part in ("embedder", "bridge_module"):
        (folder / part).mkdir(parents=True)
        own = {name.removeprefix(part + "."): value for name, value in made.items() if name.startswith(part)}
        save_file(own, folder / part / "consolidated.safetensors")
    info = {"embedder_params": told["embedder_args"], "bridge_module": told["bridge_args"], "param_dtype": "bfloat16"}
    (folder / "params.json").write_text(json.dumps(info))
    return made


def rotated(heads: torch.Tensor) -> torch.Tensor:
    """Neighbouring values turned together as complex numbers, (tokens, heads, head)."""
    pairs = torch.view_as_complex(heads.reshape(*heads.shape[:-1], -1, 2).contiguous())
    speeds = 10000.0 ** (-torch.arange(0, HEAD, 2).float() / HEAD)
    angles = torch.arange(len(heads))[:, None].float() * speeds
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)[:, None]).flatten(-2)


def norm(states: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return states * torch.rsqrt(states.pow(2).mean(-1, keepdim=True) + 1e-5) * weight


def by_hand(made: dict[str, torch.Tensor], ids: list[int], sizes: list[int], decoder: str) -> torch.Tensor:
    """The published computation of one passage with its `<Cont>`, written down plainly."""
    states = made["embedder.tok_embeddings.weight"][ids]
    for layer in range(LAYERS):
        own = {k.removeprefix(f"embedder.layers.{layer}."): v for k, v in made.items() if f"layers.{layer}." in k}
        queries = states
        if layer == LAYERS - 1:
            queries = torch.stack([part.mean(0) for part in states.split(sizes)])
        query = rotated(
            (norm(queries, own["attention_norm.weight"]) @ own["attention.wq.weight"].T).unflatten(1, (-1, HEAD))
        )
        source = norm(states, own["attention_norm.weight"])
        key = rotated((source @ own["attention.wk.weight"].T).unflatten(1, (-1, HEAD)))
        value = (source @ own["attention.wv.weight"].T).unflatten(1, (-1, HEAD))
        key, value = key.repeat_interleave(HEADS // KEYS, 1), value.repeat_interleave(HEADS // KEYS, 1)
        scores = torch.einsum("qhd,khd->hqk", query, key) / HEAD**0.5
        mixed = torch.einsum("hqk,khd->qhd", scores.softmax(-1), value).flatten(1)
        states = queries + mixed @ own["attention.wo.weight"].T
        grown = norm(states, own["ffn_norm.weight"])
        gate = torch.nn.functional.silu(grown @ own["feed_forward.w1.weight"].T) * (
            grown @ own["feed_forward.w3.weight"].T
        )
        states = states + gate @ own["feed_forward.w2.weight"].T
    number = decoder or "0"
    states = torch.cat([states, made[f"embedder.cont_tok.{number}.weight"]])
    stem = f"bridge_module.{decoder}." if decoder else "bridge_module."
    return states @ made[stem + "layer1.weight"].T @ made[stem + "layer2.weight"].T


@pytest.mark.parametrize("layout", [hub_layout, training_layout])
def test_vectors_are_those_of_the_published_computation(layout: object, tmp_path: Path) -> None:
    made = layout(tmp_path / "theirs")
    encoder = import_arc_encoder(tmp_path / "theirs", shape=SHAPE)
    ids = torch.randint(0, WORDS, (11,), generator=torch.Generator().manual_seed(1)).tolist()
    vectors = torch.cat([encoder.encode(ids, 4), encoder.special("cont")])
    assert torch.allclose(vectors, by_hand(made, ids, [4, 4, 3], ""), atol=1e-4)
    assert encoder.settings.factors == (4,) and encoder.settings.layers == LAYERS
    encoder.save_pretrained(tmp_path / "ours")
    again = ArcEncoder.from_pretrained(tmp_path / "ours")
    assert torch.equal(again.encode(ids, 4), encoder.encode(ids, 4))


@pytest.mark.parametrize("layout", [hub_layout, training_layout])
def test_each_decoder_gets_its_own_head(layout: object, tmp_path: Path) -> None:
    made = layout(tmp_path, decoders=2)
    encoder = import_arc_encoder(tmp_path, shape=SHAPE)
    assert list(encoder.decoders) == ["llama", "mistral"]
    ids = list(range(8))
    for number, name in enumerate(encoder.decoders):
        vectors = torch.cat([encoder.encode(ids, 4, decoder=name), encoder.special("cont", name)])
        assert torch.allclose(vectors, by_hand(made, ids, [4, 4], str(number)), atol=1e-4)
    with pytest.raises(ConfigError, match="2 decoders"):
        import_arc_encoder(tmp_path, decoders=["one"], shape=SHAPE)


def test_the_shape_is_read_from_the_json(tmp_path: Path) -> None:
    hub_layout(tmp_path)
    told, given = import_arc_encoder(tmp_path), import_arc_encoder(tmp_path, shape=SHAPE)
    assert told.settings == given.settings
    assert torch.equal(told.encode([1, 2, 3], 4), given.encode([1, 2, 3], 4))


@pytest.mark.parametrize(
    "change",
    [
        {"compress_rates": [-2, -2]},
        {"compress_rates": [16]},
        {"causal_embedder": True},
        {"memory_tokens": 8},
        {"pooling_module": {"pool_type": "last_pooled_queries", "where": "before"}},
        {"pooling_module": {"pool_type": "mean_pooled_queries", "where": "between"}},
    ],
)
def test_other_variants_are_refused(change: dict[str, object], tmp_path: Path) -> None:
    hub_layout(tmp_path, **change)
    with pytest.raises(ConfigError, match="variant"):
        import_arc_encoder(tmp_path)


def test_damage_is_named(tmp_path: Path) -> None:
    made = hub_layout(tmp_path)
    for wrong in ("embedder.layers.1.attention.wq.weight", "bridge_module.layer2.weight", "embedder.cont_tok.0.weight"):
        save_file({name: value for name, value in made.items() if name != wrong}, tmp_path / "model.safetensors")
        with pytest.raises(CorruptError):
            import_arc_encoder(tmp_path)
    save_file({**made, "embedder.extra.weight": torch.zeros(2)}, tmp_path / "model.safetensors")
    with pytest.raises(CorruptError, match="extra"):
        import_arc_encoder(tmp_path)
    save_file({"other": torch.zeros(2)}, tmp_path / "model.safetensors")
    with pytest.raises(CorruptError, match="no tensors"):
        import_arc_encoder(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"PK\x03\x04")
    with pytest.raises(CorruptError, match="pickle"):
        import_arc_encoder(tmp_path)
