"""Where a vector cache keeps its entries: the protocol of a store, and the store that is a folder."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from squeeze.errors import ConfigError, InputError

_NAME = re.compile(r"[0-9a-f]{64}")
_SHARD = re.compile(r"[0-9a-f]{2}")
_SUFFIX = ".safetensors"
_PART = ".part"
_LONGEST = 1 << 30  # bytes; whatever is longer was not written by a cache and takes no memory
_ABANDONED = 3600  # seconds after which an unfinished file belongs to nobody who is still writing


class Entry(NamedTuple):
    """An entry of a store: its name, its bytes, and when it was last written or read, in nanoseconds."""

    name: str
    size: int
    used: int


@runtime_checkable
class Store(Protocol):
    """What a cache needs of a store; a bucket or a key-value server fits as well as a folder does.

    Names are 64 hex digits. A write is seen whole or not at all. Content is checked by the cache, not by the store.
    """

    def read(self, name: str) -> bytes | None:
        """The content of an entry, which counts as used now; None where there is none that can be read."""

    def write(self, name: str, data: bytes) -> None:
        """Puts an entry in place of any that was there; `ConfigError` where that cannot be done."""

    def delete(self, name: str) -> None:
        """Removes an entry, if it is there."""

    def entries(self) -> Iterator[Entry]:
        """All entries, in any order."""

    def sweep(self) -> int:
        """Removes what writers left that were killed long ago; how many pieces that were."""


class FolderStore:
    """A folder with one file per entry, in 256 folders by the first two digits of the name.

    Files are written aside and put in place in one step, so several processes may write and any of them may be killed.
    Whatever else lies in the folder is left alone.

    Args:
        root: the folder; made by the first write.

    Raises:
        ConfigError: there is something else than a folder at that place.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        if not isinstance(root, str | os.PathLike):
            raise InputError(f"root of a cache is {type(root).__name__}; allowed: the path of a folder")
        self.root = Path(root).expanduser().absolute()
        if self.root.exists() and not self.root.is_dir():
            raise ConfigError(f"{self.root} is no folder; give one for the cache, or a name that is free")

    def path(self, name: str) -> Path:
        """The file of an entry."""
        if not _NAME.fullmatch(name):
            raise ConfigError(f"entry name {name!r} is not allowed; allowed: 64 hex digits")
        return self.root / name[:2] / f"{name}{_SUFFIX}"

    def read(self, name: str) -> bytes | None:
        """The content of an entry, which counts as used now; None where there is none that can be read."""
        path = self.path(name)
        try:
            found = path.stat()
            if not stat.S_ISREG(found.st_mode) or found.st_size > _LONGEST:
                return None
            data = path.read_bytes()
        except OSError:
            return None
        with contextlib.suppress(OSError):  # in a folder that may not be written to, nothing is evicted either
            os.utime(path)
        return data

    def write(self, name: str, data: bytes) -> None:
        """Puts an entry in place of any that was there.

        Raises:
            ConfigError: the folder cannot be written to, or the disk is full; nothing of the entry is left behind.
        """
        path = self.path(name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, aside = tempfile.mkstemp(prefix=f".{name[:16]}.", suffix=_PART, dir=path.parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(data)  # not synced to the disk: what a power cut tears, the checksum finds
                os.replace(aside, path)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(aside)
                raise
        except OSError as error:
            raise ConfigError(
                f"the cache {self.root} cannot be written to: {error.strerror or error}; make room or set its "
                "permissions, give another folder, or open it with read_only=True"
            ) from error

    def delete(self, name: str) -> None:
        """Removes an entry, if it is there.

        Raises:
            ConfigError: the folder cannot be written to.
        """
        try:
            self.path(name).unlink(missing_ok=True)
        except OSError as error:
            raise ConfigError(f"{self.path(name)} cannot be removed: {error.strerror or error}") from error

    def entries(self) -> Iterator[Entry]:
        """All entries, in any order; other files are passed over."""
        for file in self._files():
            name = file.name.removesuffix(_SUFFIX)
            if not file.name.endswith(_SUFFIX) or not _NAME.fullmatch(name):
                continue
            with contextlib.suppress(FileNotFoundError):  # another process may have removed it just now
                found = file.stat(follow_symlinks=False)
                if stat.S_ISREG(found.st_mode):
                    yield Entry(name, found.st_size, found.st_mtime_ns)

    def sweep(self) -> int:
        """Removes unfinished files that are an hour old; how many."""
        oldest, count = time.time() - _ABANDONED, 0
        for file in self._files():
            if file.name.startswith(".") and file.name.endswith(_PART):
                with contextlib.suppress(OSError):
                    if file.stat(follow_symlinks=False).st_mtime < oldest:
                        os.unlink(file.path)
                        count += 1
        return count

    def _files(self) -> Iterator[os.DirEntry[str]]:
        for shard in _listed(self.root):
            if _SHARD.fullmatch(shard.name) and shard.is_dir(follow_symlinks=False):
                yield from _listed(shard.path)


def _listed(folder: str | os.PathLike[str]) -> list[os.DirEntry[str]]:
    """What lies in a folder; nothing where there is none."""
    try:
        with os.scandir(folder) as found:
            return list(found)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ConfigError(f"the cache folder {os.fspath(folder)} cannot be read: {error.strerror or error}") from error
