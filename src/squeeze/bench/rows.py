"""Rows of benchmark and training data: `{question, answers, documents: [{id, title, text, is_gold}], extra}`."""

from __future__ import annotations

import gzip
import json
import os
import pathlib
from collections.abc import Iterator
from typing import Any

from squeeze.errors import ConfigError, CorruptError
from squeeze.types import Passage


def read_rows(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """The rows of a `.jsonl` or `.jsonl.gz` file.

    Raises:
        ConfigError: there is no such file.
        CorruptError: a line is not a JSON object; the message names file and line.
    """
    file = pathlib.Path(path)
    if not file.is_file():
        raise ConfigError(f"no data file {str(file)!r}")
    with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
            except ValueError as error:
                raise CorruptError(f"{file}, line {number}: not JSON ({error})") from error
            if not isinstance(row, dict):
                raise CorruptError(f"{file}, line {number}: {type(row).__name__}, not an object")
            yield row


def row_passages(row: dict[str, Any]) -> list[Passage]:
    """The documents of a row as passages."""
    return [
        Passage(document["text"], title=document.get("title") or "", id=str(document.get("id", "")))
        for document in row["documents"]
    ]
