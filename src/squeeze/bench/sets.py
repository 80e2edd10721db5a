"""What a benchmark run reads: sets of rows with a question, its answers and documents; what is left out is counted.

A row counts when it can say something: its answer stands in a gold document and in no other (elsewhere it may survive
by luck), or it names strings that must be kept, or its answer is a long text whose words can be looked for.
"""

from __future__ import annotations

import gzip
import io
import json
import pathlib
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from squeeze.bench.baselines import bm25_order
from squeeze.bench.survival import Row, answers, fold
from squeeze.errors import ConfigError, CorruptError
from squeeze.files import read_passages, text_files
from squeeze.types import Passage

Given = tuple[Any, str, str]
"""The value of a line, why it has none where it has none, and its place."""

EXPECTED = frozenset({"answer_in_several_documents"})
"""Reasons to leave a row out that are no fault of the data."""

TOP = 20
"""Documents of a folder that a question is asked about, the best by BM25."""


@dataclass(slots=True)
class Set:
    """Rows that are measured together.

    Attributes:
        name: from the name of the file or folder.
        rows: those that count, in the order of the file.
        skipped: how many were left out, by reason.
        measure: what its quality is: `gold`, `must` or `cover`.
        places: where the first row left out stands, by reason.
    """

    name: str
    rows: list[Row] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    measure: str = "gold"
    places: dict[str, str] = field(default_factory=dict)


def read_sets(data: Sequence[str], *, questions: str = "", rows: int = 0, top: int = TOP) -> list[Set]:
    """The sets of files of rows, and of folders of documents with a file of questions.

    Args:
        data: `.jsonl` or `.jsonl.gz` files, or folders.
        questions: what is asked about each folder: `{question, answer or answers, file or files}`, a line each.
        rows: the most that are taken of each set; all when 0.
        top: the most documents of a folder that go with a question.

    Raises:
        ConfigError: a file or folder that is not there, or a folder without questions.
        CorruptError: a file that is not gzip or not UTF-8.
    """
    found: list[Set] = []
    taken = Counter[str]()
    for given in data:
        path = pathlib.Path(given)
        if path.is_dir():
            if not questions:
                raise ConfigError(f"{given} is a folder; say what is asked about it with --questions FILE")
            lines = _asked(path, pathlib.Path(questions), top)
            name = path.resolve().name
        else:
            lines = _lines(path)
            name = path.name.split(".")[0] or path.name
        taken[name] += 1
        found.append(_fill(Set(name if taken[name] == 1 else f"{name} ({taken[name]})"), lines, rows))
    return found


def checked(row: Any) -> tuple[Row | None, str]:
    """A row as the measures need it, and why it is left out where it is.

    Gold documents that a row does not mark are those that hold an answer; whether the answer stands in a gold document
    and in how many others is looked up unless `extra` says so.
    """
    if not isinstance(row, dict):
        return None, "not_an_object"
    if not isinstance(row.get("question"), str) or not row["question"].strip():
        return None, "no_question"
    documents = _documents(row.get("documents"))
    if documents is None:
        return None, "no_documents"
    extra = dict(row["extra"]) if isinstance(row.get("extra"), dict) else {}
    wanted = _strings(row.get("answers", row.get("answer")))
    must = _strings(extra.get("must_keep", row.get("must_keep")))
    extra["must_keep"] = must
    out: Row = {"id": str(row.get("id", "")), "question": row["question"], "answers": wanted}
    out |= {"documents": documents, "extra": extra}
    _place_answers(out)
    if not (answers(out) or must or (is_long(out) and wanted)):
        return None, _why(out)
    return out, ""


def is_long(row: Row) -> bool:
    """Whether the answer is a text of its own, of which only words can be looked for."""
    return bool(row["extra"].get("long_form") or row["extra"].get("summary"))


def measure_of(rows: Sequence[Row]) -> str:
    """What a set's quality is: the measure that most of its rows can be judged by."""
    gold = sum(bool(answers(row)) for row in rows)
    must = sum(bool(row["extra"]["must_keep"]) for row in rows)
    if must > 2.5 * gold:
        return "must"
    return "gold" if gold >= 20 or not any(is_long(row) for row in rows) else "cover"


def _fill(into: Set, lines: Iterator[Given], most: int) -> Set:
    for given, trouble, place in lines:
        row, reason = (None, trouble) if trouble else checked(given)
        if row is None:
            into.skipped[reason] += 1
            into.places.setdefault(reason, place)
            continue
        into.rows.append(row | {"id": row["id"] or str(len(into.rows))})
        if len(into.rows) == most:
            break
    into.measure = measure_of(into.rows)
    return into


def _lines(path: pathlib.Path) -> Iterator[Given]:
    """The values of a file's lines; where a line has none, why."""
    if not path.is_file():
        raise ConfigError(f"no data file {str(path)!r}; give .jsonl or .jsonl.gz files, or a folder with --questions")
    try:
        with path.open("rb") as plain, gzip.open(plain) if path.suffix == ".gz" else plain as file:
            for number, line in enumerate(io.TextIOWrapper(file, encoding="utf-8", newline="\n"), 1):
                if not line.strip():
                    continue
                try:
                    yield json.loads(line.removeprefix("\ufeff")), "", f"line {number}"
                except (ValueError, RecursionError):
                    yield None, "not_json", f"line {number}"
    except UnicodeDecodeError as error:
        raise CorruptError(f"{path}: not UTF-8 ({error.reason} at byte {error.start})") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise CorruptError(f"{path}: not a whole gzip file ({error})") from None


def _asked(folder: pathlib.Path, questions: pathlib.Path, top: int) -> Iterator[Given]:
    """A row for each question: the best documents of the folder by BM25, in the order of their paths."""
    passages: list[Passage] = []
    for file in text_files(folder):
        if file.resolve() == questions.resolve():
            continue
        try:
            passages += read_passages([str(file)], io.BytesIO())
        except CorruptError:
            yield None, "unreadable_document", file.relative_to(folder).as_posix()
    order = bm25_order(passages)
    ids = [pathlib.Path(one.id.partition(", line ")[0]).relative_to(folder).as_posix() for one in passages]
    names = set(ids)
    for given, trouble, place in _lines(questions):
        if trouble or not isinstance(given, dict) or not isinstance(given.get("question"), str):
            yield given, trouble, place
            continue
        files = _strings(given.get("files", given.get("file")))
        if files and not any(_is_named(name, files) for name in names):
            yield None, "no_such_document", f"{place}: {', '.join(files)}"
            continue
        chosen = sorted(order(given["question"])[: top or None])
        documents = []
        for index in chosen:
            name = ids[index]
            document = {"id": name, "title": passages[index].title, "text": passages[index].text}
            documents.append(document | ({"is_gold": _is_named(name, files)} if files else {}))
        yield {"answers": given.get("answer"), **given, "documents": documents}, "", place


def _is_named(name: str, files: Sequence[str]) -> bool:
    """Whether a document of a folder is one of those files."""
    return any(name == file or name.endswith(f"/{file}") for file in files)


def first(number: int, place: str) -> str:
    """The place of the first of some rows."""
    return place if number == 1 else f"the first: {place}"


def _documents(given: Any) -> list[dict[str, Any]] | None:
    """The documents with text, title and id as strings; None where they are none."""
    if not isinstance(given, list) or not given:
        return None
    out = []
    for document in given:
        if not isinstance(document, dict) or not isinstance(document.get("text"), str):
            return None
        names = {key: str(document.get(key) or "") for key in ("id", "title")}
        gold = {"is_gold": bool(document["is_gold"])} if "is_gold" in document else {}
        out.append({**names, "text": document["text"], **gold})
    return out


def _strings(given: Any) -> list[str]:
    """A string or a list of strings as a list, without what is blank or no string."""
    items = given if isinstance(given, list) else [given]
    return [item for item in items if isinstance(item, str) and item.strip()]


def _place_answers(row: Row) -> None:
    """Fills in which documents are gold, and where the answer stands, unless the row says so."""
    wanted = [folded for folded in map(fold, row["answers"]) if folded]
    documents, extra = row["documents"], row["extra"]
    marked = any("is_gold" in document for document in documents)
    if marked and {"answer_in_gold", "non_gold_with_answer"} <= extra.keys():
        return
    holds = [any(answer in text for answer in wanted) for text in (fold(d["text"]) for d in documents)]
    if not marked:
        for document, gold in zip(documents, holds, strict=True):
            document["is_gold"] = gold
    both = [(bool(document.get("is_gold")), held) for document, held in zip(documents, holds, strict=True)]
    extra.setdefault("answer_in_gold", any(gold and held for gold, held in both))
    extra.setdefault("non_gold_with_answer", sum(held and not gold for gold, held in both))


def _why(row: Row) -> str:
    """Why a row says nothing."""
    if not any(map(fold, row["answers"])):
        return "no_answer"
    if not row["extra"].get("answer_in_gold", True):
        return "answer_not_in_documents"
    return "answer_in_several_documents"
