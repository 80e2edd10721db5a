"""Tiny random models in folders, as transformers and sentence-transformers write them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from squeeze import Passage, segment
from squeeze.score.base import Corpus

WORDS = "the lamp was changed to electricity in 1931 lighthouse keeper house rye bread keeps week ferry runs twice day"
TEXTS = [
    "The lamp was changed to electricity in 1931. The keeper left. The house was sold.",
    "Rye bread keeps for a week. Bakers add caraway.",
    "The ferry runs twice a day. Tickets are sold on board. Bicycles travel free.",
]
QUERY = "When was the lamp of the lighthouse changed?"


def tokenizer() -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    letters = [chr(code) for code in range(33, 127)]
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *letters, *(f"##{letter}" for letter in letters)]
    names += [word for word in WORDS.split() if len(word) > 1]
    vocabulary = {name: index for index, name in enumerate(dict.fromkeys(names))}
    own = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    own.normalizer = normalizers.BertNormalizer(lowercase=True)
    own.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    own.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=own,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=64,
    )


def small(kind: str, folder: Path, labels: int = 1, **changes: Any) -> str:
    """A tiny random model with its tokenizer in a folder."""
    own = tokenizer()
    settings = {
        "vocab_size": len(own),
        "hidden_size": 16,
        "intermediate_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "max_position_embeddings": 64,
        "initializer_range": 0.2,
        "num_labels": labels,
    }
    torch.manual_seed(3)
    model = getattr(transformers, kind)(transformers.BertConfig(**(settings | changes)))
    model.save_pretrained(folder)
    own.save_pretrained(folder)
    return str(folder)


def described(
    folder: str, pooling: dict[str, Any], modules: Sequence[str] = ("Transformer", "Pooling"), **more: Any
) -> str:
    """The folder with what sentence-transformers writes beside a model."""
    place = Path(folder)
    listed = [
        {
            "idx": i,
            "name": str(i),
            "path": "" if i == 0 else f"{i}_{kind}",
            "type": f"sentence_transformers.models.{kind}",
        }
        for i, kind in enumerate(modules)
    ]
    (place / "modules.json").write_text(json.dumps(listed))
    (place / "1_Pooling").mkdir(exist_ok=True)
    (place / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 16} | pooling))
    (place / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": more.get("longest", 32)}))
    if "prompts" in more:
        (place / "config_sentence_transformers.json").write_text(json.dumps({"prompts": more["prompts"]}))
    return folder


MEAN = {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}
FIRST = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}


def corpus_of(*texts: str, titles: Sequence[str] = ()) -> Corpus:
    named = [*titles, *[""] * len(texts)]
    passages = [Passage(text, title=title) for text, title in zip(texts, named, strict=False)]
    return Corpus.of(passages, [segment.parse(passage.text) for passage in passages])
