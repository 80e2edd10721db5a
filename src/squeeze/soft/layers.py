"""The first layers of a Hugging Face causal model, run without the causal mask; the last of them may pool its queries.

The layers are those of the model itself (its own classes), so every family of the Llama shape works: Llama, Mistral,
Qwen 2 and 3, Gemma 1 to 3. Only the layer that pools is written out here, because its queries and its keys come from
different states.
"""

from __future__ import annotations

import copy
import inspect
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from squeeze.errors import ConfigError

LINEAR = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
"""Names of the linear maps of a layer: what adapters are put on."""

_LAYER = ("self_attn", "mlp", "input_layernorm", "post_attention_layernorm")
_ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj", "head_dim", "scaling")
_NOT_READ = ("hidden_size_per_layer_input",)


def base_model(model: Any) -> Any:
    """The stack of layers inside a causal language model.

    Raises:
        ConfigError: the model is not of the shape that can be cut.
    """
    inner = getattr(model, "model", model)
    inner = getattr(inner, "language_model", inner)
    kind = getattr(getattr(model, "config", None), "model_type", type(model).__name__)
    layers = getattr(inner, "layers", None)
    if layers is None or not hasattr(inner, "embed_tokens") or not hasattr(inner, "rotary_emb"):
        raise ConfigError(f"a {kind} model cannot be cut; allowed: causal models of the Llama, Qwen and Gemma kind")
    missing = [name for name in _LAYER if not hasattr(layers[0], name)]
    missing += [name for name in _ATTENTION if not missing and not hasattr(layers[0].self_attn, name)]
    if missing or any(getattr(inner.config, name, 0) for name in _NOT_READ):
        detail = f"its layers have no {missing[0]}" if missing else "each layer has embeddings of its own"
        raise ConfigError(f"a {kind} model cannot be cut: {detail}; allowed: the Llama, Qwen and Gemma kinds")
    return inner


class Cut(nn.Module):
    """The embedding and the first layers of a model, bidirectional: every token sees every other one.

    Args:
        model: a causal language model; it is not changed.
        layers: how many of its layers to keep.
        shared: whether weights are shared with the model (and frozen here) instead of copied.
    """

    def __init__(self, model: Any, layers: int, *, shared: bool) -> None:
        super().__init__()
        inner = base_model(model)
        if type(layers) is not int or not 1 <= layers <= len(inner.layers):
            raise ConfigError(f"layers is {layers!r}; allowed: a whole number from 1 to {len(inner.layers)}")
        memo: dict[int, Any] = {id(inner.config): _settings(inner.config, layers)}
        for parameter in [*inner.embed_tokens.parameters(), *inner.layers[:layers].parameters()]:
            value = parameter.detach() if shared else parameter.detach().clone()
            memo[id(parameter)] = nn.Parameter(value, requires_grad=not shared)
        self.config: Any = memo[id(inner.config)]
        self.embed: nn.Module = copy.deepcopy(inner.embed_tokens, memo)
        self.layers = nn.ModuleList(copy.deepcopy(layer, memo) for layer in inner.layers[:layers])
        self.rotary: nn.Module = copy.deepcopy(inner.rotary_emb, memo)
        for layer in self.layers:
            attention: Any = layer.self_attn
            attention.is_causal = False
            if hasattr(layer, "gradient_checkpointing"):
                setattr(layer, "gradient_checkpointing", False)  # noqa: B010
        self._by_kind = "layer_type" in inspect.signature(type(self.rotary).forward).parameters

    @property
    def width(self) -> int:
        """Size of the hidden states."""
        return int(self.config.hidden_size)

    def compute_buffers(self) -> None:
        """Computes what settings alone determine (rotary frequencies, the embedding's scale), after a build on meta."""
        self.rotary = type(self.rotary)(self.config)
        embed: Any = self.embed
        for name, _ in list(embed.named_buffers()):
            setattr(embed, name, torch.tensor(float(embed.scalar_embed_scale)))

    def embedded(self, ids: torch.Tensor) -> torch.Tensor:
        """Input embeddings of token ids, (batch, tokens) -> (batch, tokens, width), scaled as the model does."""
        return self.embed(ids)  # type: ignore[no-any-return]

    def states(self, hidden: torch.Tensor, lengths: list[int] | None = None) -> torch.Tensor:
        """What the last kept layer gets, (batch, tokens, width).

        Args:
            hidden: input embeddings, (batch, tokens, width); sequences stand at the left.
            lengths: tokens of each sequence; None where all fill their row.
        """
        positions = torch.arange(hidden.shape[1], device=hidden.device)[None]
        padding = padding_mask(lengths, hidden)
        for layer in self.layers[:-1]:
            mask = self._window(layer, hidden, padding)
            hidden = layer(
                hidden,
                attention_mask=mask,
                position_ids=positions,
                position_embeddings=self.rotation(hidden, positions, layer),
            )
        return hidden

    def last(self, hidden: torch.Tensor, queries: torch.Tensor, lengths: list[int] | None = None) -> torch.Tensor:
        """The last kept layer with the given queries, (batch, groups, width).

        The queries are also the residual stream; keys and values come from the hidden states. Queries are rotated to
        the positions 0, 1, … of the groups, keys to those of the tokens.

        Args:
            hidden: states from `states`, (batch, tokens, width).
            queries: pooled states, (batch, groups, width).
            lengths: tokens of each sequence; None where all fill their row.
        """
        layer: Any = self.layers[-1]
        device = hidden.device
        for_queries = self.rotation(hidden, torch.arange(queries.shape[1], device=device)[None], layer)
        for_keys = self.rotation(hidden, torch.arange(hidden.shape[1], device=device)[None], layer)
        mixed = _attend(
            layer.self_attn,
            layer.input_layernorm(queries),
            layer.input_layernorm(hidden),
            (for_queries, for_keys),
            padding_mask(lengths, hidden),
        )
        if hasattr(layer, "pre_feedforward_layernorm"):  # Gemma 2 and 3 norm what comes out of each half, too
            queries = queries + layer.post_attention_layernorm(mixed)
            grown = layer.mlp(layer.pre_feedforward_layernorm(queries))
            return queries + layer.post_feedforward_layernorm(grown)  # type: ignore[no-any-return]
        queries = queries + mixed
        return queries + layer.mlp(layer.post_attention_layernorm(queries))  # type: ignore[no-any-return]

    def rotation(self, hidden: torch.Tensor, positions: torch.Tensor, layer: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Cosines and sines of rotary positions, each (batch, positions, head width)."""
        if self._by_kind:
            return self.rotary(hidden, positions, layer.self_attn.layer_type)  # type: ignore[no-any-return]
        return self.rotary(hidden, positions)  # type: ignore[no-any-return]

    @staticmethod
    def _window(layer: Any, hidden: torch.Tensor, padding: torch.Tensor | None) -> torch.Tensor | None:
        """The mask of a layer, with the window of those that look at near tokens only."""
        attention = layer.self_attn
        window = getattr(attention, "sliding_window", getattr(attention.config, "sliding_window", None))
        tokens = hidden.shape[1]
        if not window or tokens <= window:
            return padding
        at = torch.arange(tokens, device=hidden.device)
        far = (at[:, None] - at[None, :]).abs() >= window
        mask = torch.zeros(tokens, tokens, dtype=hidden.dtype, device=hidden.device)
        mask = mask.masked_fill(far, torch.finfo(hidden.dtype).min)[None, None]
        return mask if padding is None else torch.minimum(mask, padding)


def padding_mask(lengths: list[int] | None, hidden: torch.Tensor) -> torch.Tensor | None:
    """What hides padding when added to attention scores, (batch, 1, 1, tokens); None where there is no padding."""
    if lengths is None or all(length == hidden.shape[1] for length in lengths):
        return None
    at = torch.arange(hidden.shape[1], device=hidden.device)[None]
    out = at >= torch.tensor(lengths, device=hidden.device)[:, None]
    mask = torch.zeros(out.shape, dtype=hidden.dtype, device=hidden.device)
    return mask.masked_fill(out, torch.finfo(hidden.dtype).min)[:, None, None]


def _settings(config: Any, layers: int) -> Any:
    """A copy of the model's settings for so many layers, with an attention that honours our masks."""
    own = copy.deepcopy(config)
    own.num_hidden_layers = layers
    if getattr(own, "layer_types", None):
        own.layer_types = list(own.layer_types)[:layers]
    own._attn_implementation = "eager" if getattr(own, "attn_logit_softcapping", None) else "sdpa"
    return own


def _attend(
    attention: Any,
    queries: torch.Tensor,
    states: torch.Tensor,
    rotations: tuple[tuple[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]],
    mask: torch.Tensor | None,
) -> torch.Tensor:
    """Attention of normed queries, (batch, groups, width), over normed states, (batch, tokens, width)."""
    query = _heads(attention.q_proj(queries), attention.head_dim)
    key = _heads(attention.k_proj(states), attention.head_dim)
    value = _heads(attention.v_proj(states), attention.head_dim)
    if hasattr(attention, "q_norm"):
        query, key = attention.q_norm(query), attention.k_norm(key)
    query, key = _rotate(query, *rotations[0]), _rotate(key, *rotations[1])
    cap = getattr(attention, "attn_logit_softcapping", None)
    if cap:
        repeats = query.shape[1] // key.shape[1]
        key, value = key.repeat_interleave(repeats, 1), value.repeat_interleave(repeats, 1)
        scores = torch.tanh(query @ key.transpose(2, 3) * (attention.scaling / cap)) * cap
        scores = scores if mask is None else scores + mask
        mixed = torch.softmax(scores, -1, dtype=torch.float32).to(value.dtype) @ value
    else:
        mixed = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, scale=attention.scaling, enable_gqa=query.shape[1] != key.shape[1]
        )
    return attention.o_proj(mixed.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]


def _heads(states: torch.Tensor, width: int) -> torch.Tensor:
    """(batch, tokens, heads · head width) -> (batch, heads, tokens, head width)."""
    return states.view(*states.shape[:2], -1, width).transpose(1, 2)


def _rotate(states: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
    left, right = states.chunk(2, -1)
    return states * cosine[:, None] + torch.cat((-right, left), -1) * sine[:, None]
