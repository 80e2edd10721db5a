"""Training data of soft tokens as token ids in `.npy` files: what a machine without the texts can train from."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from squeeze.errors import ConfigError, CorruptError

INFO = "ids.json"
FORMAT = "squeeze.ids"
VERSION = 1


class Ragged:
    """Rows of whole numbers, of different lengths, in one array.

    Args:
        flat: all rows one after the other.
        at: where each row starts, and where the last ends; one number more than there are rows.
    """

    def __init__(self, flat: np.ndarray[Any, Any], at: np.ndarray[Any, Any]) -> None:
        self.flat, self.at = flat, at

    @classmethod
    def of(cls, rows: Iterable[Sequence[int]], kind: str) -> Ragged:
        """Rows as an array of a numpy type."""
        kept = [np.asarray(row, dtype=kind) for row in rows]
        at = np.zeros(len(kept) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in kept], out=at[1:])
        return cls(np.concatenate(kept) if kept else np.zeros(0, dtype=kind), at)

    def __len__(self) -> int:
        return len(self.at) - 1

    def __getitem__(self, row: int) -> list[int]:
        found: list[int] = self.flat[self.at[row] : self.at[row + 1]].tolist()
        return found

    def size(self, row: int) -> int:
        """Numbers in a row."""
        return int(self.at[row + 1] - self.at[row])


@dataclass(frozen=True, slots=True)
class Spelling:
    """What else the tokenizer says.

    Attributes:
        vocabulary: ids that there are.
        print: 16 hex digits of how the tokenizer spells; data and model must agree in it.
        begin: ids of the begin mark, where there is one.
        before: ids of a prompt before its context.
        joiner: ids between two passages.
        end: id that ends an answer; -1 for none.
        between: ids between an answer and the next context.
    """

    vocabulary: int
    print: str
    begin: tuple[int, ...]
    before: tuple[int, ...]
    joiner: tuple[int, ...]
    end: int
    between: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Prepared:
    """Texts and questions as ids.

    Attributes:
        spelling: of the tokenizer.
        texts: ids of running texts.
        cuts: where sentences start in each of them, 0 left out.
        documents: ids of the documents of all questions, one question after the other.
        gold: whether each document holds the answer.
        owners: for each question its documents' numbers: the first of them, and the first of the next question.
        questions: ids that follow a context: joiner, question, opening of the answer.
        answers: ids of the answers.
        sources: rows taken and left out, by file name.
    """

    spelling: Spelling
    texts: Ragged
    cuts: Ragged
    documents: Ragged
    gold: np.ndarray[Any, Any]
    owners: np.ndarray[Any, Any]
    questions: Ragged
    answers: Ragged
    sources: dict[str, dict[str, int]]

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes the arrays, and last the JSON that makes them whole.

        Raises:
            ConfigError: the folder cannot be written to, or the disk is full.
        """
        target = Path(folder)
        info = {"format": FORMAT, "version": VERSION, "spelling": asdict(self.spelling), "sources": self.sources}
        try:
            target.mkdir(parents=True, exist_ok=True)
            (target / INFO).unlink(missing_ok=True)
            for name, array in self._arrays().items():
                np.save(target / f"{name}.npy", array, allow_pickle=False)
            (target / INFO).write_text(json.dumps(info, indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"the ids cannot be written to {target}: {error}") from error

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Prepared:
        """What `save` wrote; large arrays stay on disk until they are looked at.

        Raises:
            ConfigError: the folder holds no ids.
            CorruptError: a file is missing, or does not hold what it should.
        """
        place = Path(folder)
        if not (place / INFO).is_file():
            raise ConfigError(f"{place} has no {INFO}; make it with --prepare {place}")
        try:
            info = json.loads((place / INFO).read_text(encoding="utf-8"))
            if (info["format"], info["version"]) != (FORMAT, VERSION):
                raise ValueError(f"it is {info['format']!r}, version {info['version']!r}")
            given: dict[str, Any] = {
                key: tuple(value) if isinstance(value, list) else value for key, value in info["spelling"].items()
            }
            arrays = {path.stem: np.load(path, mmap_mode="r", allow_pickle=False) for path in place.glob("*.npy")}
            ragged = {name: Ragged(arrays[name], arrays[f"{name}_at"]) for name in _RAGGED}
            found = cls(
                spelling=Spelling(**given),
                gold=arrays["gold"],
                owners=arrays["owners"],
                sources=info["sources"],
                **ragged,
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CorruptError(f"the ids in {place} do not read: {error}; make them again with --prepare") from error
        found._check(place)
        return found

    def _arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        arrays = {"gold": self.gold, "owners": self.owners}
        for name in _RAGGED:
            rows = getattr(self, name)
            arrays |= {name: rows.flat, f"{name}_at": rows.at}
        return arrays

    def _check(self, place: Path) -> None:
        alike = [(self.texts, self.cuts), (self.questions, self.answers)]
        whole = all(len(one) == len(other) for one, other in alike) and len(self.owners) == len(self.questions) + 1
        whole = whole and len(self.gold) == len(self.documents) == (int(self.owners[-1]) if len(self.owners) else 0)
        for rows in (getattr(self, name) for name in _RAGGED):
            whole = whole and int(rows.at[-1]) == len(rows.flat)
        for rows in (self.texts, self.documents, self.questions, self.answers):
            whole = whole and (not len(rows.flat) or int(rows.flat.max()) < self.spelling.vocabulary)
        if not whole:
            raise CorruptError(f"the ids in {place} do not fit together; make them again with --prepare")


_RAGGED = tuple(field.name for field in fields(Prepared) if field.type == "Ragged")
