"""Imports the published ARC-Encoder checkpoints (`kyutai/ARC8_Encoder_Llama`, `_Mistral`, `_multi`).

Two layouts hold the same tensors: the hub's, one `model.safetensors` whose names start with `embedder.` and
`bridge_module.` beside a `config.json`, and the training code's, `params.json` beside `embedder/` and `bridge_module/`
with a `consolidated.safetensors` each. Their rotary embedding pairs neighbouring values; the Llama classes used here
pair the two halves of a head, so queries and keys are re-ordered once.

The encoder reads the ids of the Llama 3 tokenizer, whatever its decoder is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from squeeze.errors import ConfigError, CorruptError, need
from squeeze.soft.arc import ArcEncoder, ArcSettings, Base
from squeeze.soft.files import folder_of, read_info, read_tensors, shapes
from squeeze.soft.layers import Cut

_LAYER = re.compile(r"layers\.(\d+)\.(.+)")
_NAMES = {
    "attention.wq.weight": "self_attn.q_proj.weight",
    "attention.wk.weight": "self_attn.k_proj.weight",
    "attention.wv.weight": "self_attn.v_proj.weight",
    "attention.wo.weight": "self_attn.o_proj.weight",
    "attention_norm.weight": "input_layernorm.weight",
    "ffn_norm.weight": "post_attention_layernorm.weight",
    "feed_forward.w1.weight": "mlp.gate_proj.weight",
    "feed_forward.w2.weight": "mlp.down_proj.weight",
    "feed_forward.w3.weight": "mlp.up_proj.weight",
}
_ROTATED = ("attention.wq.weight", "attention.wk.weight")
_MAPS = {"layer1.weight": "first.weight", "layer2.weight": "second.weight"}


@dataclass(frozen=True, slots=True)
class Shape:
    """What the tensors themselves do not say; the defaults are Llama 3.2 3B's.

    Attributes:
        head: width of an attention head.
        theta: base of the rotary embedding, which the published code does not scale.
        eps: of the norms.
        factor: pooling factor.
    """

    head: int = 128
    theta: float = 500000.0
    eps: float = 1e-5
    factor: int = 8


def import_arc_encoder(
    source: str | os.PathLike[str], *, decoders: Sequence[str] = ("llama", "mistral"), shape: Shape | None = None
) -> ArcEncoder:
    """The encoder of a published checkpoint, in eval mode; save it with `save_pretrained(folder, tokenizer)`.

    Args:
        source: a folder in one of the two layouts, or a hub name.
        decoders: what its decoders are called, in the checkpoint's order; as many as it has are used.
        shape: what the tensors do not say; read from the checkpoint's JSON if left out.

    Raises:
        ConfigError: no such checkpoint, or a variant that is not supported (causal, pooled in several layers, …).
        CorruptError: a tensor is missing or of a wrong shape, or the file is no safetensors.
    """
    folder = folder_of(source)
    embedder, bridge, info = _files(folder)
    shape = shape or _shape(info)
    layers, special = _layers(embedder), any(name.startswith("cont_tok.") for name in embedder)
    heads = sorted({name.split(".")[0] if name[0].isdigit() else "" for name in bridge})
    names = ["decoder"] if heads == [""] and not decoders else list(decoders)[: len(heads)]
    if len(names) < len(heads):
        raise ConfigError(f"{folder} has {len(heads)} decoders; {len(names)} names are given")
    hidden = _size(bridge, f"{heads[0]}.layer1.weight".lstrip("."), folder)[0]
    settings = ArcSettings(layers, (shape.factor,), hidden=hidden, special=special)
    config = _config(embedder, layers, shape, folder)
    with torch.device("meta"):
        shell = need("transformers", extra="soft").LlamaForCausalLM(config)
    cut = Cut(shell, layers, shared=True)
    cut.compute_buffers()
    encoder = ArcEncoder(cut, settings, Base(True, "", {**config.to_dict(), "model_type": "llama"}))
    for name, head in zip(names, heads, strict=True):
        encoder.add_decoder(name, _size(bridge, f"{head}.layer2.weight".lstrip("."), folder)[0])
    state = {}
    for key, tensor in _tensors(embedder, bridge, shape.head):
        target = _target(key, heads, names)
        state[target] = tensor[0] if target.endswith((".rec", ".cont")) and tensor.ndim == 2 else tensor
    expected = {name: tuple(value.shape) for name, value in encoder.state_dict().items()}
    if {name: tuple(value.shape) for name, value in state.items()} != expected:
        odd = sorted({*expected} ^ {*state}) or sorted(
            name for name in state if tuple(state[name].shape) != expected[name]
        )
        raise CorruptError(f"{folder} does not hold what an encoder of {layers} layers needs; see {odd[0]!r}")
    encoder.load_state_dict(state, assign=True)
    return encoder.requires_grad_(True).eval()


@dataclass(frozen=True, slots=True)
class _File(Mapping[str, tuple[int, ...]]):
    """Names (without a prefix) and shapes of the tensors of a file."""

    path: Path
    prefix: str
    found: Mapping[str, tuple[int, ...]]

    def __getitem__(self, name: str) -> tuple[int, ...]:
        return self.found[name]

    def __iter__(self) -> Any:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)


def _files(folder: Path) -> tuple[_File, _File, dict[str, Any]]:
    """The encoder's tensors, the projectors', and what the checkpoint's JSON says, in one form for both layouts."""
    whole = folder / "model.safetensors"
    if whole.is_file():
        found = shapes(whole)
        parts = [
            _File(
                whole,
                prefix,
                {name.removeprefix(prefix): size for name, size in found.items() if name.startswith(prefix)},
            )
            for prefix in ("embedder.", "bridge_module.")
        ]
        info = read_info(folder, "config.json") if (folder / "config.json").is_file() else {}
    else:
        paths = [folder / name / "consolidated.safetensors" for name in ("embedder", "bridge_module")]
        parts = [_File(path, "", shapes(path)) for path in paths]
        info = read_info(folder, "params.json")
    if not all(parts):
        raise CorruptError(f"{folder} has no tensors of an encoder and a projector")
    return parts[0], parts[1], info


def _shape(info: Mapping[str, Any]) -> Shape:
    """The shape that the JSON tells; variants that pool otherwise are refused."""
    encoder = info.get("embedder_args") or info.get("embedder_params") or {}
    model = info.get("model_args") or {}
    rates = encoder.get("compress_rates", [-8])
    pooling = encoder.get("pooling_module") or {}
    supported = (
        isinstance(rates, list)
        and len(rates) == 1
        and isinstance(rates[0], int)
        and rates[0] < -1
        and not encoder.get("causal_embedder", False)
        and not encoder.get("memory_tokens", 0)
        and pooling.get("pool_type", "mean_pooled_queries") == "mean_pooled_queries"
        and pooling.get("where", "before") == "before"
    )
    if not supported:
        raise ConfigError(
            f"this variant is not supported (compress_rates {rates}, pooling {pooling}); allowed: bidirectional "
            "encoders that mean-pool the queries of the last layer by one factor"
        )
    given = Shape()
    return Shape(
        int(model.get("head_dim", given.head)),
        float(model.get("rope_theta") or given.theta),
        float(model.get("norm_eps", given.eps)),
        -rates[0],
    )


def _layers(embedder: _File) -> int:
    numbers = {int(found[1]) for found in map(_LAYER.fullmatch, embedder) if found}
    if numbers != set(range(len(numbers))) or not numbers:
        raise CorruptError(f"{embedder.path} holds the layers {sorted(numbers)}; allowed: 0, 1, … without a gap")
    return len(numbers)


def _size(file: _File, name: str, folder: Path) -> tuple[int, ...]:
    if name not in file.found or len(file.found[name]) != 2:
        raise CorruptError(f"{folder} lacks the matrix {file.prefix}{name}")
    return file.found[name]


def _config(embedder: _File, layers: int, shape: Shape, folder: Path) -> Any:
    """Settings of the Llama model that the encoder's layers make."""
    sizes = {name: _size(embedder, f"layers.0.{name}", folder) for name in _NAMES if not name.endswith("norm.weight")}
    vocabulary, width = _size(embedder, "tok_embeddings.weight", folder)
    queries, keys = sizes["attention.wq.weight"][0], sizes["attention.wk.weight"][0]
    if queries % shape.head or keys % shape.head:
        raise CorruptError(
            f"{folder}: {queries} query and {keys} key values are no multiples of the head, {shape.head}"
        )
    return need("transformers", extra="soft").LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        intermediate_size=sizes["feed_forward.w1.weight"][0],
        num_hidden_layers=layers,
        num_attention_heads=queries // shape.head,
        num_key_value_heads=keys // shape.head,
        head_dim=shape.head,
        rms_norm_eps=shape.eps,
        rope_parameters={"rope_theta": shape.theta, "rope_type": "default"},
        max_position_embeddings=131072,
        tie_word_embeddings=False,
    )


def _tensors(embedder: _File, bridge: _File, head: int) -> list[tuple[str, torch.Tensor]]:
    if embedder.path == bridge.path:
        read = read_tensors(embedder.path, shapes(embedder.path))
        named = list(read.items())
    else:
        named = [("embedder." + name, value) for name, value in read_tensors(embedder.path, embedder).items()]
        named += [("bridge_module." + name, value) for name, value in read_tensors(bridge.path, bridge).items()]
    return [(name, _halves(value, head) if name.endswith(_ROTATED) else value) for name, value in named]


def _target(name: str, heads: Sequence[str], decoders: Sequence[str]) -> str:
    """Our name of one of their tensors; a tensor that we do not know keeps its own, and is reported by it."""
    if name == "embedder.tok_embeddings.weight":
        return "cut.embed.weight"
    layer = _LAYER.fullmatch(name.removeprefix("embedder."))
    if layer and layer[2] in _NAMES:
        return f"cut.layers.{layer[1]}.{_NAMES[layer[2]]}"
    special = re.fullmatch(r"embedder\.(rec|cont)_tok\.(?:(\d+)\.)?weight", name)
    if special and int(special[2] or 0) < len(decoders):
        return f"heads.{decoders[int(special[2] or 0)]}.{special[1]}"
    bridge = re.fullmatch(r"bridge_module\.(?:(\d+)\.)?(layer[12]\.weight)", name)
    if bridge and (bridge[1] or "") in heads:
        return f"heads.{decoders[heads.index(bridge[1] or '')]}.{_MAPS[bridge[2]]}"
    return name


def _halves(weight: torch.Tensor, head: int) -> torch.Tensor:
    """A query or key matrix whose heads pair their two halves instead of neighbours."""
    return weight.view(-1, head // 2, 2, weight.shape[1]).transpose(1, 2).reshape(weight.shape)
