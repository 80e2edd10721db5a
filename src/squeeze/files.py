"""Passages from files, folders and streams, and results written whole or not at all; what the command line needs."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from squeeze.errors import ConfigError, CorruptError
from squeeze.types import Passage

STDIN = "-"

_PROSE = (".txt", ".text", ".md", ".markdown", ".rst", ".adoc", ".org", ".tex", ".html", ".htm", ".xhtml")
_DATA = (".log", ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".xml", ".yaml", ".yml", ".toml", ".ini", ".cfg")
_CODE = (
    ".py",
    ".pyi",
    ".js",
    ".mjs",
    ".jsx",
    ".ts",
    ".tsx",
    ".java",
    ".kt",
    ".scala",
    ".c",
    ".h",
    ".cc",
    ".cpp",
    ".hpp",
)
_MORE = (".cs", ".go", ".rs", ".rb", ".php", ".swift", ".sh", ".sql", ".r", ".jl", ".lua", ".pl")
TEXT_SUFFIXES = frozenset(_PROSE + _DATA + _CODE + _MORE)
"""Ends of the names of files that are read from a folder; a file given by name is read whatever its name."""

LINES_SUFFIXES = frozenset({".jsonl", ".ndjson"})
"""Ends of the names of files with one passage a line."""

_FIELDS = ("text", "title", "id", "metadata")


def read_passages(names: Sequence[str], stdin: BinaryIO, *, lines: bool = False) -> list[Passage]:
    """The passages of files, folders and standard input, in the order given; a folder's files sorted by path.

    Args:
        names: paths, or `-` for standard input.
        stdin: what `-` reads.
        lines: whether every input is JSONL, one passage a line; else the name's end says so.

    Raises:
        ConfigError: nothing of that name, a folder without text files, or a file that the system does not let us read.
        CorruptError: bytes that are not UTF-8, or a line that is no passage; the message has the place.
    """
    if list(names).count(STDIN) > 1:
        raise ConfigError("standard input (-) is given twice; it can be read once")
    passages: list[Passage] = []
    for name in names:
        if name == STDIN:
            passages += _parse("standard input", read_text(name, stdin), lines)
            continue
        for path in text_files(Path(name)):
            data = read_text(str(path), stdin)
            passages += _parse(str(path), data, lines or path.suffix.lower() in LINES_SUFFIXES)
    return passages


def read_text(name: str, stdin: BinaryIO) -> str:
    """The text of a file, or of standard input for `-`.

    Raises:
        ConfigError: the system does not let us read it.
        CorruptError: it is not UTF-8.
    """
    if name == STDIN:
        return _read("standard input", stdin)
    with _named(name), Path(name).open("rb") as file:
        return _read(name, file)


def check_target(name: str) -> None:
    """Returns when a file of that name could be written, so that long work is not lost.

    Raises:
        ConfigError: it is a folder, or lies in none.
    """
    path = Path(name)
    if path.is_dir():
        raise ConfigError(f"{name} is a folder; give the name of a file")
    if not path.parent.is_dir():
        raise ConfigError(f"{path.parent} is no folder, so {name} cannot be written")


def write_file(name: str, data: bytes) -> None:
    """Writes a file through a temporary one beside it: other programs see the old content or the new, never a part.

    Raises:
        ConfigError: the system does not let us write it. The old content is still there.
    """
    check_target(name)
    with _named(name):
        path = Path(os.path.realpath(name))  # a link stays a link; what it points to is replaced
        mode = path.stat().st_mode if path.exists() else None
        if mode is not None and not stat.S_ISREG(mode):
            path.write_bytes(data)  # a device or a pipe has no content to keep
            return
        draft = path.with_name(f".{path.name[:100]}.{os.getpid()}.part")
        try:
            with draft.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if mode is not None:
                draft.chmod(stat.S_IMODE(mode))
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)


@contextlib.contextmanager
def _named(name: str) -> Iterator[None]:
    """Turns the system's errors about a file into ours, with its name."""
    try:
        yield
    except OSError as error:
        raise ConfigError(f"{name}: {error.strerror or error}") from None


def _read(name: str, file: BinaryIO) -> str:
    with _named(name):
        data = file.read()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        known = "it looks like UTF-16; " if wide else ""
        how = f"convert it first, such as with iconv -f {'UTF-16' if wide else 'WINDOWS-1252'} -t UTF-8"
        skip = "" if name == "standard input" else ", or leave it out: name the files to read and not their folder"
        place = f"byte 0x{data[error.start]:02x} at offset {error.start}"
        raise CorruptError(f"{name}: {place} is not UTF-8; {known}{how}{skip}") from None


def text_files(path: Path) -> Iterator[Path]:
    """The file itself, or the text files under a folder, hidden ones left out."""
    if not path.is_dir():
        yield path
        return
    found: list[Path] = []

    def fail(error: OSError) -> None:
        raise ConfigError(f"{error.filename}: {error.strerror}")

    for folder, below, files in os.walk(path, onerror=fail):
        below[:] = [name for name in below if not name.startswith(".")]
        found += [Path(folder, name) for name in files if not name.startswith(".")]
    texts = sorted((file for file in found if file.suffix.lower() in TEXT_SUFFIXES), key=lambda file: file.parts)
    if not texts:
        raise ConfigError(
            f"{path}: no text file in this folder ({len(found)} other files); name the files to read them"
        )
    yield from texts


def _parse(name: str, text: str, lines: bool) -> list[Passage]:
    if not lines:
        return [Passage(text, id=name)]
    rows = text.removeprefix("\ufeff").split("\n")  # only \n ends a line: JSON strings may hold the other line breaks
    return [_passage(row, f"{name}, line {i}") for i, row in enumerate(rows, 1) if row.strip()]


def _passage(line: str, where: str) -> Passage:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise CorruptError(f"{where}: not JSON: {error}") from None
    if isinstance(data, str):
        return Passage(data, id=where)
    if not isinstance(data, dict):
        raise CorruptError(f"{where}: {type(data).__name__}; allowed: a string, or an object with a text")
    if not isinstance(data.get("text"), str):
        raise CorruptError(f"{where}: the object has no string 'text'; its keys: {', '.join(data) or 'none'}")
    metadata = data.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise CorruptError(f"{where}: metadata is {type(metadata).__name__}; allowed: an object")
    others = {key: value for key, value in data.items() if key not in _FIELDS}
    return Passage(
        data["text"], _label(data, "title", where), _label(data, "id", where) or where, {**others, **metadata}
    )


def _label(data: dict[str, Any], key: str, where: str) -> str:
    value = data.get(key)
    if value is None:
        return ""
    if isinstance(value, str | int) and not isinstance(value, bool):
        return str(value)
    raise CorruptError(f"{where}: {key} is {type(value).__name__}; allowed: a string")
