"""Static token embeddings, read without a model: the input embeddings of a Hugging Face folder, or a `.npy` file."""

from __future__ import annotations

import json
import os
import re
import struct
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from squeeze.counters import HuggingFaceCounter, TiktokenCounter, plain
from squeeze.errors import ConfigError, CorruptError
from squeeze.tokens import Tokenizer, load_tokenizer

Ints = NDArray[np.int64]
Rows = NDArray[np.float32]

_INPUT = re.compile(r"(?:^|\.)(?:embed_tokens|wte|word_embeddings|tok_embeddings|embed_in|shared)\.weight$")
"""What model families call the tensor of their input embeddings."""

_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
_LONGEST_HEADER = 100_000_000


def token_starts(tokenizer: Tokenizer, text: str) -> tuple[Ints, Ints] | None:
    """The ids of a text and the character that each begins at, ascending; None where a tokenizer does not tell."""
    if isinstance(tokenizer, HuggingFaceCounter):
        found = tokenizer.vocabulary.encode(plain(text), add_special_tokens=False)
        starts = np.array([start for start, _ in found.offsets], dtype=np.int64)
        return np.array(found.ids, dtype=np.int64), np.maximum.accumulate(starts) if len(starts) else starts
    if isinstance(tokenizer, TiktokenCounter):
        ids = tokenizer.encode(text)
        sizes = [len(piece) for piece in tokenizer.vocabulary.decode_tokens_bytes(ids)]
        at = np.cumsum([0, *sizes[:-1]]) if sizes else np.zeros(0, dtype=np.int64)
        if not text.isascii():
            raw = np.frombuffer(plain(text).encode(), dtype=np.uint8)
            at = (np.cumsum((raw & 0xC0) != 0x80) - 1)[at]  # a token may begin inside a character
        return np.array(ids, dtype=np.int64), at.astype(np.int64)
    return None


class StaticTable:
    """Rows of an embedding matrix by token id. Only the rows asked for are read; one table serves many threads.

    Args:
        source: a folder with `tokenizer.json` and safetensors weights, or a `.npy` file, (tokens, width).
        tokenizer: whose ids number the rows of a `.npy` file; a folder has its own.

    Raises:
        ConfigError: there is no such file or folder, it holds no input embeddings, or the tokenizer has no ids.
        CorruptError: the file does not read, or is not a matrix of numbers.
    """

    def __init__(self, source: str | os.PathLike[str], tokenizer: Tokenizer) -> None:
        self.path = Path(source).expanduser()
        if self.path.is_dir():
            self.tokenizer = load_tokenizer(f"hf:{self.path}")
        elif self.path.is_file() and self.path.suffix == ".npy":
            self.tokenizer = tokenizer
        else:
            raise ConfigError(f"table is {os.fspath(source)!r}; allowed: a folder of a model, or a .npy file")
        if not isinstance(self.tokenizer, HuggingFaceCounter | TiktokenCounter):
            raise ConfigError(
                f"the tokenizer {self.tokenizer.name!r} has no token ids for the rows of {self.path.name}; "
                "give the tokenizer that the table was made with"
            )
        self._lock = threading.Lock()
        self._matrix: NDArray[Any] | None = None
        self.shape = self._opened().shape

    def __repr__(self) -> str:
        return f"<static table {self.path.name} {self.shape}>"

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "tokenizer": self.tokenizer, "shape": self.shape}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock(), _matrix=None)

    def encode(self, text: str) -> tuple[Ints, Ints]:
        """The ids of a text and the character that each begins at."""
        found = token_starts(self.tokenizer, text)
        assert found is not None  # settled when the table was made
        return found

    def rows(self, ids: Sequence[int] | Ints) -> Rows:
        """The embeddings of these ids, (ids, width).

        Raises:
            ConfigError: an id lies outside of the table: it was made with another tokenizer.
        """
        wanted = np.asarray(ids, dtype=np.int64)
        matrix = self._opened()
        if len(wanted) and int(wanted.max()) >= len(matrix):
            raise ConfigError(
                f"{self.path.name} has {len(matrix)} rows and no row for the token id {int(wanted.max())} of "
                f"{self.tokenizer.name}; give the tokenizer that the table was made with"
            )
        found = np.asarray(matrix[wanted])
        if found.dtype == np.uint16:  # bfloat16 is the upper half of a float32
            found = (found.astype(np.uint32) << 16).view(np.float32)
        rows: Rows = found.astype(np.float32)
        if not np.isfinite(rows).all():
            raise CorruptError(f"{self.path.name} holds values that are no finite numbers")
        return rows

    def _opened(self) -> NDArray[Any]:
        with self._lock:
            if self._matrix is None:
                self._matrix = _from_folder(self.path) if self.path.is_dir() else _from_npy(self.path)
            return self._matrix


def _from_npy(path: Path) -> NDArray[Any]:
    try:
        matrix = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise CorruptError(f"{path} does not read as an array: {error}") from None
    if matrix.ndim != 2 or 0 in matrix.shape or matrix.dtype.kind != "f":
        raise CorruptError(f"{path} holds {matrix.dtype} of shape {matrix.shape}; allowed: floats, (tokens, width)")
    found: NDArray[Any] = matrix
    return found


def _from_folder(folder: Path) -> NDArray[Any]:
    index = folder / "model.safetensors.index.json"
    files = sorted(folder.glob("*.safetensors"))
    if index.is_file():
        try:
            names: dict[str, str] = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptError(f"{index} does not read: {error!r}") from None
        files = [folder / Path(file).name for name, file in names.items() if _INPUT.search(name)]
    for file in files:
        header, base = _header(file)
        for name, entry in header.items():
            if _INPUT.search(name):
                return _tensor(file, name, entry, base)
    raise ConfigError(f"{folder} has no safetensors file with input embeddings; allowed: the folder of a model")


def _header(file: Path) -> tuple[dict[str, Any], int]:
    """What a safetensors file says about its tensors, and where their bytes begin."""
    try:
        with file.open("rb") as opened:
            (length,) = struct.unpack("<Q", opened.read(8))
            if length > _LONGEST_HEADER:
                raise ValueError(f"a header of {length} bytes")
            header = json.loads(opened.read(length))
        if not isinstance(header, dict):
            raise ValueError("the header is no object")
    except (OSError, ValueError, struct.error) as error:
        raise CorruptError(f"{file} is no safetensors file: {error}") from None
    return header, 8 + length


def _tensor(file: Path, name: str, entry: Any, base: int) -> NDArray[Any]:
    try:
        kind, shape, start = _TYPES[entry["dtype"]], tuple(entry["shape"]), base + int(entry["data_offsets"][0])
        if len(shape) != 2 or 0 in shape:
            raise ValueError(f"shape {shape}")
        return np.memmap(file, dtype=kind, mode="r", offset=start, shape=shape)
    except (KeyError, ValueError, TypeError, OSError) as error:
        raise CorruptError(f"{name!r} in {file} is no matrix of 16 to 64 bit floats: {error}") from None
