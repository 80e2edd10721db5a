"""A cache of vectors: what a segment or a chunk was encoded to, found again by everything that it depends on.

An entry is one small safetensors file with its own name and a checksum in it. What does not read, does not check, or
was written for another key is a miss, and the next write repairs it.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import torch

from squeeze.errors import ConfigError, CorruptError, InputError, need
from squeeze.soft.store import Entry, FolderStore, Store

FORMAT = "squeeze.vectors/1"
"""What an entry says that it is; part of every name, so that a change of format is a miss."""

_TENSOR = "vectors"
_LOOKS = 16  # times that the store's size is looked at while as many bytes are written as it may hold


class Size(NamedTuple):
    """What a cache holds: entries and their bytes."""

    entries: int
    bytes: int


class Pruned(NamedTuple):
    """What was removed: entries, their bytes, and unfinished files of writers that were killed."""

    entries: int
    bytes: int
    unfinished: int


def cache_key(**fields: Any) -> str:
    """A key that differs whenever one of the fields does, 64 hex digits; the order of the fields does not count.

    Args:
        fields: whatever changes the vectors: strings, numbers, truth values, None, and lists of them.

    Raises:
        InputError: a field of another kind.
    """
    try:
        text = json.dumps(fields, sort_keys=True, allow_nan=False)  # ASCII: half a surrogate pair is written out
    except (TypeError, ValueError) as error:
        raise InputError(f"a field of a cache key is not allowed: {error}; allowed: what JSON can hold") from None
    return hashlib.sha256(text.encode("ascii")).hexdigest()


class VectorCache:
    """Vectors by key, for many threads and many processes.

    Args:
        root: a folder, made when it is first written to, or a `Store`.
        max_bytes: the most that it may hold; what was not used for longest goes first. Processes that share a folder
            look at it now and then, so each may go over by a sixteenth. None for no limit.
        read_only: whether it is only read; what is missing is then computed and not kept.

    Attributes:
        hits: entries that were found since this object was made.
        misses: entries that were not.

    Raises:
        ConfigError: the root is no folder, or the limit is not allowed.
    """

    def __init__(
        self, root: str | os.PathLike[str] | Store, *, max_bytes: int | None = None, read_only: bool = False
    ) -> None:
        if max_bytes is not None and (type(max_bytes) is not int or max_bytes < 0):
            raise ConfigError(f"max_bytes is {max_bytes!r}; allowed: a whole number from 0 up, or None")
        self.store: Store = root if isinstance(root, Store) else FolderStore(root)
        self.max_bytes, self.read_only = max_bytes, read_only
        self.hits = self.misses = 0
        self._lock = threading.Lock()
        self._held: int | None = None  # bytes in the store, as far as this object knows
        self._written = 0  # bytes since it last looked

    def __reduce__(self) -> tuple[Any, ...]:
        return _opened, (self.store, self.max_bytes, self.read_only)

    @classmethod
    def of(cls, given: Any) -> Self | None:
        """The cache that an option names: a folder, a cache, or None."""
        if given is None or isinstance(given, cls):
            return given
        if not isinstance(given, str | os.PathLike | Store):
            raise InputError(f"cache is {type(given).__name__}; allowed: a folder, a VectorCache, a store, or None")
        return cls(given)

    def get(
        self, key: str, *, shape: tuple[int, int] | None = None, dtype: torch.dtype | None = None
    ) -> torch.Tensor | None:
        """The vectors of a key, (vectors, width), on the CPU; None where there are none, or others than asked for.

        Args:
            key: any string.
            shape: what they must have; None for any.
            dtype: what they must have; None for any.
        """
        name = _name(key)
        data = self.store.read(name)
        vectors = None if data is None else _decoded(name, data)
        if vectors is not None and (shape not in (None, tuple(vectors.shape)) or dtype not in (None, vectors.dtype)):
            vectors = None
        with self._lock:
            self.hits, self.misses = self.hits + (vectors is not None), self.misses + (vectors is None)
        return vectors

    def put(self, key: str, vectors: torch.Tensor) -> None:
        """Keeps vectors, (vectors, width), under a key; a cache that is only read keeps nothing.

        Raises:
            InputError: they are no matrix of floating-point numbers.
            CorruptError: one of them is not finite.
            ConfigError: the store cannot be written to, or is full.
        """
        name = _name(key)
        if not isinstance(vectors, torch.Tensor) or vectors.ndim != 2 or not vectors.is_floating_point():
            raise InputError("vectors to keep are a tensor of floating-point numbers, (vectors, width)")
        if not torch.isfinite(vectors).all():
            raise CorruptError("vectors with values that are no finite numbers are not kept; encode them again")
        if self.read_only:
            return
        data = _encoded(name, vectors)
        if self.max_bytes is None or len(data) <= self.max_bytes:
            self.store.write(name, data)
            self._make_room(len(data))

    def get_or_compute(
        self,
        key: str,
        compute: Callable[[], torch.Tensor],
        *,
        shape: tuple[int, int] | None = None,
        dtype: torch.dtype | None = None,
    ) -> torch.Tensor:
        """The vectors of a key; computed and kept where there are none as asked for (see `get` and `put`)."""
        vectors = self.get(key, shape=shape, dtype=dtype)
        if vectors is None:
            vectors = compute()
            self.put(key, vectors)
        return vectors

    def stat(self) -> Size:
        """What the cache holds."""
        sizes = [entry.size for entry in self.store.entries()]
        return Size(len(sizes), sum(sizes))

    def prune(self, max_bytes: int | None = None) -> Pruned:
        """Removes what was not used for longest until the rest fits, and what killed writers left.

        Args:
            max_bytes: the most to leave; None for the cache's own limit, if it has one.

        Raises:
            ConfigError: the store cannot be written to.
        """
        most = self.max_bytes if max_bytes is None else max_bytes
        if self.read_only:
            raise ConfigError("a cache opened with read_only=True removes nothing; open it without")
        with self._lock:
            gone = [] if most is None else self._evict(most)
        return Pruned(len(gone), sum(entry.size for entry in gone), self.store.sweep())

    def _make_room(self, size: int) -> None:
        if self.max_bytes is None:
            return
        with self._lock:
            self._written += size
            known = None if self._held is None else self._held + self._written
            if known is None or known > self.max_bytes or self._written * _LOOKS > self.max_bytes:
                self._evict(self.max_bytes)

    def _evict(self, most: int) -> list[Entry]:
        """Removes the entries that were not used for longest until at most so many bytes are left; what went."""
        entries = sorted(self.store.entries(), key=lambda entry: (entry.used, entry.name))
        held, gone = sum(entry.size for entry in entries), []
        for entry in entries:
            if held <= most:
                break
            self.store.delete(entry.name)
            held -= entry.size
            gone.append(entry)
        self._held, self._written = held, 0
        return gone


def _opened(store: Store, max_bytes: int | None, read_only: bool) -> VectorCache:
    return VectorCache(store, max_bytes=max_bytes, read_only=read_only)


def _name(key: str) -> str:
    """The name of a key's entry: a hash, whatever the key looks like."""
    if not isinstance(key, str):
        raise InputError(f"a cache key is {type(key).__name__}; allowed: a str")
    return hashlib.sha256(f"{FORMAT} {key}".encode("utf-8", "surrogatepass")).hexdigest()


def _encoded(name: str, vectors: torch.Tensor) -> bytes:
    tensor = vectors.detach().cpu().contiguous()
    raw = tensor.flatten().view(torch.uint8).numpy().tobytes()
    told = {"format": FORMAT, "entry": name, "checksum": _checksum(name, str(tensor.dtype), list(tensor.shape), raw)}
    data: bytes = need("safetensors.torch", extra="soft").save({_TENSOR: tensor}, told)
    return data


def _decoded(name: str, data: bytes) -> torch.Tensor | None:
    """The vectors of an entry; None where it is not whole, or not the entry of that name."""
    try:
        length = int.from_bytes(data[:8], "little")
        told = json.loads(data[8 : 8 + length])["__metadata__"]
        if told["format"] != FORMAT or told["entry"] != name:
            return None
        tensors = need("safetensors.torch", extra="soft").load(data)
        vectors: torch.Tensor = tensors[_TENSOR]
    except ImportError:
        raise
    except Exception:  # damaged bytes fail in as many ways as there are; whichever, the entry is a miss
        return None
    if vectors.ndim != 2 or len(tensors) != 1:
        return None
    checked = _checksum(name, str(vectors.dtype), list(vectors.shape), data[8 + length :])
    # The file's own memory is not aligned as torch aligns its own, and some kernels round by alignment.
    return vectors.clone() if checked == told.get("checksum") else None


def _checksum(name: str, dtype: str, shape: list[int], raw: bytes) -> str:
    digest = hashlib.sha256(f"{name} {dtype} {shape} ".encode("ascii"))
    digest.update(raw)
    return digest.hexdigest()
