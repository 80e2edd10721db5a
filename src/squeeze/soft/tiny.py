"""A two-layer random language model and a byte tokenizer, built in code: for tests, examples and documentation."""

from __future__ import annotations

from typing import Any

from squeeze.errors import need
from squeeze.soft.seeds import seeded

TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
"""The chat template of the byte tokenizer."""


def byte_tokenizer() -> Any:
    """A Hugging Face tokenizer whose ids are bytes (1 to 256 of them), then `<s>`, `</s>` and three role marks."""
    tokenizers, transformers = need("tokenizers", extra="soft"), need("transformers", extra="soft")
    special = ["<s>", "</s>", "<|system|>", "<|user|>", "<|assistant|>"]
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    inner = tokenizers.Tokenizer(tokenizers.models.BPE({letter: i for i, letter in enumerate(alphabet)}, []))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = tokenizers.decoders.ByteLevel()
    inner.add_special_tokens(special)
    inner.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", inner.token_to_id("<s>"))]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, bos_token="<s>", eos_token="</s>", pad_token="</s>", chat_template=TEMPLATE
    )


def tiny_model(seed: int = 0, kind: str = "llama", **changes: Any) -> Any:
    """A random causal model of two layers and width 32, in eval mode.

    Args:
        seed: of the weights.
        kind: `llama`, `mistral`, `qwen2`, `qwen3`, `gemma`, `gemma2` or `gemma3_text`.
        changes: settings that differ from the defaults.
    """
    transformers = need("transformers", extra="soft")
    settings: dict[str, Any] = {
        "vocab_size": 261,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": 4096,
        "initializer_range": 0.2,  # with the usual 0.02 such a small model hardly looks at its input
        "pad_token_id": 257,
        "bos_token_id": 256,
        "eos_token_id": 257,
        "tie_word_embeddings": False,
    }
    config = transformers.AutoConfig.for_model(kind, **{**settings, **changes})
    with seeded(seed):
        return transformers.AutoModelForCausalLM.from_config(config).eval()
