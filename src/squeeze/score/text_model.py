"""Encoder models over many short texts: read once, fed in batches of like length, on the processor at bfloat16."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from squeeze.errors import ConfigError, nearest, need
from squeeze.score.model_files import trouble

Lengths = NDArray[np.int64]
Batches = Iterator[tuple[NDArray[np.int64], Any]]
T = TypeVar("T")

PRECISIONS = ("auto", "float32", "bfloat16")

_BATCH_TOKENS = 1024
"""Tokens of a batch, padding included: what is read stays near the processor, and calls cost little."""

_COUNT_FROM_PAD = ("roberta", "camembert", "mpnet")
"""Kinds of models whose first position is the one after that of padding."""

_KEPT = 4
_models: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
_lock = threading.Lock()


def kept(key: tuple[Any, ...], load: Callable[[], T]) -> T:
    """What `load` gives, loaded once for each key; the four keys used last are kept."""
    with _lock:
        if key not in _models:
            _models[key] = load()
            while len(_models) > _KEPT:
                _models.popitem(last=False)
        _models.move_to_end(key)
        found: T = _models[key]
        return found


def check_precision(precision: str) -> str:
    """The precision, if it is one of `PRECISIONS`.

    Raises:
        ConfigError: it is another.
    """
    if precision not in PRECISIONS:
        raise ConfigError(f"precision is {precision!r}; {nearest(str(precision), PRECISIONS)}")
    return precision


@dataclass(frozen=True)
class TextModel:
    """A loaded encoder and its tokenizer.

    Attributes:
        name: folder or hub name, for messages.
        model: the transformers model, in eval mode.
        tokenizer: its fast tokenizer, padding off, cut at the model's longest input.
        inputs: names of what the model takes.
        pad: id of the padding token.
        device: where it runs.
        half: whether matrix products run at bfloat16; norms, softmax and sums between layers stay at float32.
    """

    name: str
    model: Any
    tokenizer: Any
    inputs: tuple[str, ...]
    pad: int
    device: str
    half: bool

    @classmethod
    def load(cls, name: str, kind: str, *, folder: str, longest: int, device: str, precision: str) -> TextModel:
        """The model of a folder or hub name.

        Args:
            name: folder or hub name.
            kind: the auto class of transformers that reads it.
            folder: folder inside of it where the model lies, empty for the top.
            longest: longest input in tokens, 0 for what the tokenizer says.
            device: where torch puts it.
            precision: one of `PRECISIONS`.

        Raises:
            ConfigError: there is none, it is a pickle, it needs code of its own, it lacks weights of that kind, or has
                no fast tokenizer.
        """
        transformers = need("transformers", extra="neural")
        torch = need("torch", extra="neural")
        place = {"subfolder": folder} if folder else {}
        try:
            model, found = getattr(transformers, kind).from_pretrained(
                name, use_safetensors=True, dtype=torch.float32, output_loading_info=True, **place
            )
            tokenizer = transformers.AutoTokenizer.from_pretrained(name, **place)
            model = model.eval().to(device)
        except Exception as error:  # the tokenizer library raises bare Exception for files that do not read
            raise ConfigError(trouble(name, error)) from error
        lacking = sorted(key for key in found["missing_keys"] if kind != "AutoModel" or "pooler" not in key)
        if lacking:  # they would be random numbers; nothing here reads what an encoder's pooler gives
            raise ConfigError(
                f"the model {name!r} has no {', '.join(lacking[:3])}; allowed: one with all weights of a "
                f"{type(model).__name__}, such as a sentence-transformers "
                f"{'embedding model' if kind == 'AutoModel' else 'cross-encoder'}"
            )
        half = precision == "bfloat16" or (precision == "auto" and _has_bfloat16(torch, device))
        return cls(
            name=name,
            model=model,
            tokenizer=_fast(name, tokenizer, longest or _longest(model, tokenizer)),
            inputs=tuple(tokenizer.model_input_names),
            pad=int(tokenizer.pad_token_id or 0),
            device=device,
            half=half,
        )

    def batches(self, texts: Sequence[str] | Sequence[tuple[str, str]]) -> Batches:
        """Outputs of the model for all texts or pairs of texts, the shortest first.

        Yields:
            Indices of the texts, and the output of the model with the mask of its tokens, (texts, tokens).
        """
        torch = need("torch", extra="neural")
        found = self.tokenizer.encode_batch_fast(list(texts))
        lengths = np.fromiter((len(one.ids) for one in found), np.int64, len(found))
        with torch.inference_mode(), self._precision(torch):
            for chosen in by_length(lengths, _BATCH_TOKENS):
                given = self._inputs(torch, [found[index] for index in chosen.tolist()], lengths[chosen])
                yield chosen, (self.model(**given), given["attention_mask"])

    def _precision(self, torch: Any) -> AbstractContextManager[Any]:
        return torch.autocast(self.device.split(":")[0], dtype=torch.bfloat16) if self.half else nullcontext()

    def _inputs(self, torch: Any, found: Sequence[Any], lengths: Lengths) -> dict[str, Any]:
        mask = np.arange(int(lengths.max())) < lengths[:, None]

        def padded(rows: Iterator[Sequence[int]], pad: int) -> Any:
            values = np.full(mask.shape, pad, np.int64)
            values[mask] = np.concatenate([np.asarray(row, np.int64) for row in rows])
            return torch.from_numpy(values).to(self.device)

        given = {"input_ids": padded((one.ids for one in found), self.pad)}
        given["attention_mask"] = torch.from_numpy(mask.astype(np.int64)).to(self.device)
        if "token_type_ids" in self.inputs:
            given["token_type_ids"] = padded((one.type_ids for one in found), 0)
        return given


def by_length(lengths: Lengths, budget: int) -> Iterator[NDArray[np.int64]]:
    """Indices in batches, the shortest first, each of at most `budget` tokens with its padding, or of one text."""
    order = np.argsort(lengths, kind="stable")
    start = 0
    while start < len(order):
        ahead = lengths[order[start : start + budget]]
        area = np.maximum(ahead, 1) * np.arange(1, len(ahead) + 1)  # ascending, as the longest sets the width
        size = max(1, int(np.searchsorted(area, budget, side="right")))
        yield order[start : start + size]
        start += size


def checked(name: str, values: Any) -> NDArray[np.float32]:
    """A tensor as an array.

    Raises:
        ConfigError: a number in it is not finite.
    """
    found: NDArray[np.float32] = values.float().cpu().numpy()
    if not np.isfinite(found).all():
        raise ConfigError(
            f"the model {name!r} gave numbers that are not finite; allowed: finite numbers; "
            "take precision='float32', or another model"
        )
    return found


def _fast(name: str, tokenizer: Any, longest: int) -> Any:
    """The tokenizer of the `tokenizers` package behind one of transformers, a copy with settings of its own."""
    inner = getattr(tokenizer, "backend_tokenizer", None)
    if inner is None:
        raise ConfigError(f"the model {name!r} has no fast tokenizer; allowed: models with a tokenizer.json")
    own = type(inner).from_str(inner.to_str())
    own.no_padding()
    own.enable_truncation(max_length=longest)
    return own


def _longest(model: Any, tokenizer: Any) -> int:
    positions = int(getattr(model.config, "max_position_embeddings", 0) or 512)
    if any(kind in model.config.model_type for kind in _COUNT_FROM_PAD):
        positions -= int(model.config.pad_token_id or 0) + 1
    return max(8, min(positions, int(tokenizer.model_max_length)))


def _has_bfloat16(torch: Any, device: str) -> bool:
    """Whether bfloat16 is faster there: elsewhere it is emulated, and slower than float32."""
    if not device.startswith("cpu"):
        return device.startswith("cuda") and bool(torch.cuda.is_bf16_supported())
    tests = (getattr(torch.cpu, name, None) for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"))
    return any(test is not None and bool(test()) for test in tests)
