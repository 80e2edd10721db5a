"""The cache of vectors: keys, damage, many writers, the size limit, and folders that cannot be written to."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from safetensors.torch import save

from squeeze.errors import ConfigError, CorruptError, InputError
from squeeze.soft import store as store_module
from squeeze.soft.cache import VectorCache, cache_key
from squeeze.soft.store import Entry, FolderStore, Store


def vectors(number: int, rows: int = 2, width: int = 3) -> torch.Tensor:
    return torch.full((rows, width), float(number)) + torch.arange(width) / 8


def entry_path(cache: VectorCache, key: str) -> Path:
    """The file of the one entry that a fresh cache with this key alone would have."""
    (found,) = cache.store.root.rglob("*.safetensors")
    return found


def never() -> torch.Tensor:
    raise AssertionError("computed although the entry is there")


def files_under(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_everything_that_changes_the_vector_changes_the_key() -> None:
    base = {
        "ids": [5, 6],
        "model": "m",
        "revision": "r1",
        "tokenizer": "t",
        "factor": 4,
        "dtype": "float32",
        "query": None,
        "pooling": "mean",
        "version": "1",
    }
    other = {
        "ids": [56],
        "model": "m2",
        "revision": "r2",
        "tokenizer": "t2",
        "factor": 8,
        "dtype": "bfloat16",
        "query": "oil",
        "pooling": "last",
        "version": "2",
    }
    keys = {cache_key(**{**base, field: value}) for field, value in other.items()}
    assert len({cache_key(**base), *keys}) == 1 + len(other)
    assert cache_key(**dict(reversed(base.items()))) == cache_key(**base)
    assert len({cache_key(factor=value) for value in (4, "4", 4.5, None, True, [4])}) == 6


def test_lone_surrogates_have_keys_of_their_own() -> None:
    halves = ["Bad half \ud83d here.", "Bad half \ude00 here.", "Bad half ? here.", "Bad half \ufffd here."]
    keys = [cache_key(text=text, model="m") for text in halves]
    assert len(set(keys)) == 4 and all(key.isascii() and len(key) == 64 for key in keys)


def test_fields_that_have_no_one_form_are_named() -> None:
    with pytest.raises(InputError, match="not allowed"):
        cache_key(ids={1, 2})
    with pytest.raises(InputError, match="not allowed"):
        cache_key(scale=float("nan"))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_vectors_come_back_bit_for_bit(dtype: torch.dtype, tmp_path: Path) -> None:
    given_vectors = torch.randn(5, 7, generator=torch.Generator().manual_seed(0)).to(dtype)
    VectorCache(tmp_path).put("k", given_vectors.requires_grad_())
    found = VectorCache(tmp_path).get("k")
    assert found is not None and found.dtype == dtype and torch.equal(found, given_vectors) and not found.requires_grad
    VectorCache(tmp_path).put("t", given_vectors.detach().T)  # not contiguous
    assert torch.equal(VectorCache(tmp_path).get("t"), given_vectors.T)
    VectorCache(tmp_path).put("none", torch.zeros(0, 7, dtype=dtype))
    assert VectorCache(tmp_path).get("none").shape == (0, 7)


DAMAGE: list[Callable[[bytes], bytes]] = [
    lambda raw: raw[: len(raw) // 2],
    lambda raw: b"",
    lambda raw: b"\x00" * len(raw),
    lambda raw: raw[:-1] + bytes([raw[-1] ^ 1]),
    lambda raw: b"not a cache entry",
    lambda raw: raw + b"more",
    lambda raw: raw.replace(b"F32", b"I32"),
    lambda raw: raw.replace(b"[2,3]", b"[3,2]"),
    lambda raw: b"\xff" * 8 + raw[8:],
    lambda raw: pickle.dumps({"vectors": 1}),
    lambda raw: save({"vectors": torch.ones(2, 3)}),
    lambda raw: save({"vectors": torch.ones(2, 3)}, {"format": "squeeze.vectors/1"}),
]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_entry_is_a_miss_and_is_repaired(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    expected = VectorCache(tmp_path).get_or_compute("k1", lambda: vectors(1))
    path = entry_path(VectorCache(tmp_path), "k1")
    path.write_bytes(damage(path.read_bytes()))
    assert VectorCache(tmp_path).get("k1") is None
    assert torch.equal(VectorCache(tmp_path).get_or_compute("k1", lambda: vectors(1)), expected)
    assert torch.equal(VectorCache(tmp_path).get_or_compute("k1", never), expected)


@given(st.data())
def test_no_flipped_bit_and_no_cut_is_served(data: st.DataObject) -> None:
    store = MemoryStore()
    cache = VectorCache(store)
    cache.put("k", vectors(3))
    ((name, raw),) = store.held.items()
    at = data.draw(st.integers(0, len(raw) * 8 - 1))
    changed = bytearray(raw)
    changed[at // 8] ^= 1 << at % 8
    store.held[name] = bytes(changed) if data.draw(st.booleans()) else raw[: at // 8]
    found = cache.get("k")
    assert found is None or torch.equal(found, vectors(3))


KEYS = ["../escape", "/etc/x", "a/../../b", "..\\..\\w", "a\x00b", "x" * 300, "名前", "CON", ".", "..", "", "a b"]
KEYS += ["~/.bashrc", "k\n", "\ud800", "\udfff"]


def test_keys_cannot_leave_the_root(tmp_path: Path) -> None:
    root = tmp_path / "deep" / "root"
    cache = VectorCache(root)
    for number, key in enumerate(KEYS):
        cache.put(key, vectors(number))
    assert all(torch.equal(cache.get(key), vectors(number)) for number, key in enumerate(KEYS))
    assert len(files_under(tmp_path)) == len(KEYS)
    assert all(path.resolve().is_relative_to(root.resolve()) for path in files_under(tmp_path))
    for name in ("../x", "x", "A" * 64, "a" * 64 + "\n"):
        with pytest.raises(ConfigError, match="64 hex digits"):
            cache.store.read(name)


def test_an_entry_of_another_key_is_a_miss(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path)
    cache.put("theirs", vectors(7))
    theirs = entry_path(cache, "theirs")
    cache.put("ours", vectors(1))
    (ours,) = [path for path in files_under(tmp_path) if path != theirs]
    ours.write_bytes(theirs.read_bytes())
    assert cache.get("ours") is None
    assert torch.equal(cache.get_or_compute("ours", lambda: vectors(1)), vectors(1))
    assert torch.equal(cache.get("theirs"), vectors(7))


def test_vectors_of_another_shape_or_dtype_are_a_miss_and_are_replaced(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path)
    wanted = {"shape": (2, 3), "dtype": torch.float32}
    for wrong in (vectors(1).half(), vectors(1).double(), vectors(1, rows=3), vectors(1, width=4)):
        cache.put("k", wrong)
        assert cache.get("k", **wanted) is None
        assert torch.equal(cache.get_or_compute("k", lambda: vectors(2), **wanted), vectors(2))
        assert torch.equal(cache.get("k", **wanted), vectors(2))


def test_what_is_no_sound_vector_is_not_kept(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path)
    for wrong in (torch.ones(3), torch.ones(2, 3, dtype=torch.long), [[1.0]]):
        with pytest.raises(InputError, match="vectors, width"):
            cache.put("k", wrong)
    with pytest.raises(CorruptError, match="finite"):
        cache.put("k", torch.tensor([[float("nan")]]))
    with pytest.raises(InputError, match="key"):
        cache.get(7)
    assert not files_under(tmp_path)


def write_all(root: str, numbers: list[int]) -> None:
    cache = VectorCache(root)
    for number in numbers:
        cache.put(f"segment {number}", vectors(number, rows=10, width=64))


def test_two_writers_and_a_killed_one_lose_and_tear_nothing(tmp_path: Path) -> None:
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("needs fork")
    fork, count = multiprocessing.get_context("fork"), 2000
    forth, back = list(range(count)), list(range(count))[::-1]
    writers = [fork.Process(target=write_all, args=(str(tmp_path), order)) for order in (forth, back)]
    killed = fork.Process(target=write_all, args=(str(tmp_path), (forth[1000:] + forth[:1000]) * 50))
    for process in (killed, *writers):
        process.start()
    while sum(1 for _ in FolderStore(tmp_path).entries()) < 200:
        time.sleep(0.01)
    os.kill(killed.pid, signal.SIGKILL)
    cache = VectorCache(tmp_path)
    while any(process.is_alive() for process in writers):  # a reader meanwhile sees whole entries or none
        for number in range(0, count, 100):
            found = cache.get(f"segment {number}")
            assert found is None or torch.equal(found, vectors(number, rows=10, width=64))
    for process in (killed, *writers):
        process.join()
    assert [process.exitcode for process in (killed, *writers)] == [-signal.SIGKILL, 0, 0]
    cache = VectorCache(tmp_path)
    torn = [n for n in forth if not torch.equal(cache.get(f"segment {n}"), vectors(n, rows=10, width=64))]
    assert not torn and (cache.hits, cache.misses) == (count, 0) and cache.stat().entries == count


def test_threads_share_a_cache(tmp_path: Path) -> None:
    cache, wrong = VectorCache(tmp_path, max_bytes=20_000), list[int]()

    def work(start: int) -> None:
        for number in range(start, start + 20):
            key = number % 25
            if not torch.equal(cache.get_or_compute(f"k{key}", lambda key=key: vectors(key)), vectors(key)):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(start,)) for start in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and cache.hits + cache.misses == 160


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    VectorCache(tmp_path).put("size", vectors(0))
    size = VectorCache(tmp_path).stat().bytes
    VectorCache(tmp_path).prune(0)
    cache = VectorCache(tmp_path, max_bytes=3 * size)
    for number in range(3):
        cache.put(f"k{number}", vectors(number))
        age(cache.store, f"k{number}", 100 - number)
    assert cache.get("k0") is not None  # used now, so k1 is the oldest
    cache.put("k3", vectors(3))
    assert [cache.get(f"k{number}") is not None for number in range(4)] == [True, False, True, True]
    assert cache.stat() == (3, 3 * size)
    for number in range(40):
        VectorCache(tmp_path, max_bytes=3 * size).put(f"other {number}", vectors(number))
        assert cache.stat().bytes <= 3 * size
    cache.put("huge", torch.ones(100, 100))  # alone it is more than the limit, so it pushes nothing out
    assert cache.get("huge") is None and cache.stat().entries == 3


def age(store: FolderStore, key: str, seconds: int) -> None:
    (path,) = [p for p in store.root.rglob("*.safetensors") if torch.equal(VectorCache(store).get(key), read_one(p))]
    then = time.time() - seconds
    os.utime(path, (then, then))


def read_one(path: Path) -> torch.Tensor:
    from safetensors.torch import load_file

    return load_file(path)["vectors"]


def test_prune_leaves_foreign_files_and_writers_alone(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path)
    for number in range(6):
        cache.put(f"k{number}", vectors(number))
    shard = entry_shard(tmp_path)
    foreign = [tmp_path / "notes.txt", tmp_path / "model.safetensors", shard / "readme", shard / ".hidden"]
    for path in foreign:
        path.write_bytes(b"mine")
    (tmp_path / "folder").mkdir()
    (shard / ("a" * 64 + ".safetensors")).mkdir()
    fresh, old = shard / ".0123.abc.part", shard / ".4567.abc.part"
    for path in (fresh, old):
        path.write_bytes(b"half an en")
    os.utime(old, (1, 1))
    assert cache.stat().entries == 6
    gone = cache.prune(0)
    assert gone.entries == 6 and gone.bytes > 0 and gone.unfinished == 1 and cache.stat() == (0, 0)
    assert all(path.read_bytes() == b"mine" for path in foreign) and fresh.exists() and not old.exists()
    assert cache.prune() == (0, 0, 0)


def entry_shard(root: Path) -> Path:
    return files_under(root)[0].parent


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the super-user may write anywhere")
def test_a_root_that_may_only_be_read_serves_and_says_so_on_writing(tmp_path: Path) -> None:
    VectorCache(tmp_path).put("k", vectors(1))
    folders = [tmp_path, *(path for path in tmp_path.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o500)
    try:
        check_read_only(VectorCache(tmp_path), tmp_path)
    finally:
        for folder in folders:
            folder.chmod(0o700)


def check_read_only(cache: VectorCache, root: Path) -> None:
    assert torch.equal(cache.get("k"), vectors(1))
    with pytest.raises(ConfigError, match="read_only=True"):
        cache.put("other", vectors(2))
    reading = VectorCache(root, read_only=True)
    assert torch.equal(reading.get_or_compute("other", lambda: vectors(2)), vectors(2))
    assert reading.get("other") is None
    with pytest.raises(ConfigError, match="read_only"):
        reading.prune(0)


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), OSError(30, "Read-only file system")])
def test_a_disk_that_takes_nothing_is_named_and_nothing_is_left(
    error: OSError, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = VectorCache(tmp_path)
    cache.put("k", vectors(1))

    def full(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(store_module.os, "replace", full)
    with pytest.raises(ConfigError, match=str(error.strerror)):
        cache.put("other", vectors(2))
    with pytest.raises(ConfigError, match=str(error.strerror)):
        cache.put("k", vectors(2))
    monkeypatch.undo()
    monkeypatch.setattr(store_module.tempfile, "mkstemp", full)
    with pytest.raises(ConfigError, match=str(error.strerror)):
        cache.put("other", vectors(2))
    check_read_only(cache, tmp_path)
    monkeypatch.undo()
    assert len(files_under(tmp_path)) == 1
    assert torch.equal(cache.get("k"), vectors(1)) and cache.get("other") is None


def test_roots_and_limits_are_checked(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError, match="no folder"):
        VectorCache(tmp_path / "file")
    with pytest.raises(ConfigError, match="cannot be written"):
        VectorCache(tmp_path / "file" / "below").put("k", vectors(1))
    for wrong in (-1, True, 1.5, "9"):
        with pytest.raises(ConfigError, match="max_bytes"):
            VectorCache(tmp_path, max_bytes=wrong)
    for wrong in (7, b"x", [tmp_path]):
        with pytest.raises(InputError, match="cache"):
            VectorCache.of(wrong)
    assert VectorCache.of(None) is None and VectorCache.of(cache := VectorCache(tmp_path)) is cache
    assert not (tmp_path / "new").exists() and VectorCache(tmp_path / "new").get("k") is None
    assert VectorCache(tmp_path / "new").stat() == (0, 0) and not (tmp_path / "new").exists()


class MemoryStore:
    """A store that is no folder."""

    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}
        self.clock = 0
        self.used: dict[str, int] = {}

    def read(self, name: str) -> bytes | None:
        self._use(name)
        return self.held.get(name)

    def write(self, name: str, data: bytes) -> None:
        self._use(name)
        self.held[name] = data

    def delete(self, name: str) -> None:
        self.held.pop(name, None)

    def entries(self) -> Iterator[Entry]:
        return iter([Entry(name, len(data), self.used[name]) for name, data in self.held.items()])

    def sweep(self) -> int:
        return 0

    def _use(self, name: str) -> None:
        self.clock += 1
        self.used[name] = self.clock


def test_another_store_fits_and_a_cache_is_pickled_with_it(tmp_path: Path) -> None:
    assert isinstance(MemoryStore(), Store) and isinstance(FolderStore(tmp_path), Store)
    cache = VectorCache(MemoryStore(), max_bytes=1000)
    for number in range(9):
        cache.put(f"k{number}", vectors(number))
    assert 1 <= cache.stat().entries < 9 and cache.stat().bytes <= 1000 and cache.get("k8") is not None
    again = pickle.loads(pickle.dumps(cache))
    assert again.max_bytes == 1000 and torch.equal(again.get("k8"), vectors(8))
