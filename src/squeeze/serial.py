"""Results as JSON-ready values, and back. Vectors travel as safetensors bytes, so reading a file never runs code."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, get_args

from squeeze.errors import CorruptError, InputError, SqueezeError, need
from squeeze.types import Compressed, Notice, Passage, SoftPart, Span, TextPart, Unit, WarningCode

FORMAT = "squeeze.compressed"
VERSION = 1

_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")  # JSON would read these two code points back as one
_UNIT_FIELDS = tuple(field.name for field in fields(Unit))


def to_dict(result: Compressed) -> dict[str, Any]:
    """The result as dicts, lists, strings, numbers, booleans and None.

    Raises:
        InputError: metadata or coding holds a value that JSON does not know.
        MissingDependencyError: there are vectors to write, and safetensors is not installed.
    """
    return {
        "format": FORMAT,
        "version": VERSION,
        "method": result.method,
        "tokenizer": result.tokenizer,
        "query": None if result.query is None else _write_text(result.query),
        "tokens_before": int(result.tokens_before),
        "tokens_after": int(result.tokens_after),
        "seconds": float(result.seconds),
        "passages": [_write_passage(passage, f"passages[{i}]") for i, passage in enumerate(result.passages)],
        "parts": [_write_part(part) for part in result.parts],
        "units": [
            [int(u.passage), int(u.start), int(u.end), int(u.tokens), float(u.score), bool(u.kept), str(u.reason)]
            for u in result.all_units
        ],
        "warnings": [
            {"code": notice.code, "message": _write_text(notice.message), "passage": notice.passage}
            for notice in result.warnings
        ],
        "coding": None if result.coding is None else _plain(result.coding, "coding", InputError),
    }


def from_dict(data: Mapping[str, Any]) -> Compressed:
    """The result that `to_dict` wrote.

    Raises:
        CorruptError: a field is missing or of the wrong type, or a span lies outside of its passage; the message names
            the field.
        MissingDependencyError: there are vectors to read, and safetensors (or the torch they were made with) is not
            installed.
    """
    if not isinstance(data, Mapping):
        raise CorruptError(f"a result is {type(data).__name__}; allowed: the dict that to_dict gave")
    if data.get("format") != FORMAT:
        raise CorruptError(f"format is {data.get('format')!r}; allowed: {FORMAT!r}")
    if data.get("version") != VERSION:
        raise CorruptError(f"version is {data.get('version')!r}; this squeeze reads version {VERSION}")
    top = _Fields(data, "")
    passages = tuple(_read_passage(_Fields(item, f"passages[{i}]")) for i, item in enumerate(top.items("passages")))
    coding = top.get("coding", Mapping, none=True)
    return Compressed(
        passages=passages,
        query=top.text("query", none=True),
        parts=tuple(_read_part(_Fields(item, f"parts[{i}]"), passages) for i, item in enumerate(top.items("parts"))),
        all_units=tuple(_read_unit(item, f"units[{i}]", passages) for i, item in enumerate(top.items("units"))),
        tokens_before=top.count("tokens_before"),
        tokens_after=top.count("tokens_after"),
        seconds=top.number("seconds"),
        tokenizer=top.get("tokenizer", str),
        method=top.get("method", str),
        warnings=tuple(
            _read_notice(_Fields(item, f"warnings[{i}]"), passages) for i, item in enumerate(top.items("warnings"))
        ),
        coding=None if coding is None else _plain(coding, "coding", CorruptError),
    )


class _Fields:
    """One JSON object whose fields are checked as they are read; `where` names it in errors."""

    def __init__(self, data: Any, where: str) -> None:
        if not isinstance(data, Mapping):
            raise CorruptError(f"{where} is {type(data).__name__}; allowed: an object")
        self.data, self.where = data, where

    def name(self, key: str) -> str:
        return f"{self.where}.{key}" if self.where else key

    def get(self, key: str, kind: Any, *, none: bool = False) -> Any:
        if key not in self.data:
            raise CorruptError(f"{self.name(key)} is missing")
        value = self.data[key]
        if value is None and none:
            return None
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise CorruptError(f"{self.name(key)} is {_short(value)}; allowed: {_kind(kind)}{' or null' * none}")
        return value

    def items(self, key: str) -> Sequence[Any]:
        value: Sequence[Any] = self.get(key, list | tuple)
        return value

    def text(self, key: str, *, none: bool = False) -> Any:
        value = self.get(key, str | Mapping, none=none)
        return value if value is None else _read_text(value, self.name(key))

    def count(self, key: str, most: int | None = None) -> int:
        value: int = self.get(key, int)
        if value < 0 or (most is not None and value > most):
            raise CorruptError(
                f"{self.name(key)} is {value}; allowed: 0 {'and more' if most is None else f'to {most}'}"
            )
        return value

    def number(self, key: str) -> float:
        value = float(self.get(key, int | float))
        if not (math.isfinite(value) and value >= 0):
            raise CorruptError(f"{self.name(key)} is {value}; allowed: a finite number from 0 up")
        return value

    def passage(self, passages: Sequence[Passage]) -> int:
        if not passages:
            raise CorruptError(f"{self.name('passage')} is given, but there are no passages")
        return self.count("passage", len(passages) - 1)


def _write_text(text: str) -> Any:
    """The text itself, or an object with its bytes where JSON would not give the same characters back."""
    if not _PAIR.search(text):
        return text
    return {"utf8": base64.b64encode(text.encode("utf-8", "surrogatepass")).decode("ascii")}


def _read_text(value: Any, where: str) -> str:
    if isinstance(value, str):
        return value
    if set(value) != {"utf8"} or not isinstance(value["utf8"], str):
        raise CorruptError(f"{where} is {_short(value)}; allowed: a string, or an object with the string 'utf8'")
    try:
        return _base64(value["utf8"], where).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise CorruptError(f"{where}.utf8 is not UTF-8: {error.reason} at byte {error.start}") from None


def _plain(value: Any, where: str, error: type[SqueezeError]) -> Any:
    """A copy of JSON-like values, made of dicts and lists only."""
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item, f"{where}[{i}]", error) for i, item in enumerate(value)]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _plain(item, f"{where}[{key!r}]", error) for key, item in value.items()}
    raise error(
        f"{where} is {_short(value)}, which JSON cannot hold; "
        "allowed: None, booleans, finite numbers, strings, lists, and dicts with string keys"
    )


def _write_passage(passage: Passage, where: str) -> dict[str, Any]:
    return {
        "text": _write_text(passage.text),
        "title": _write_text(passage.title),
        "id": _write_text(passage.id),
        "metadata": _plain(passage.metadata, f"{where}.metadata", InputError),
        "overhead": passage.overhead,
    }


def _read_passage(item: _Fields) -> Passage:
    return Passage(
        text=item.text("text"),
        title=item.text("title"),
        id=item.text("id"),
        metadata=_plain(item.get("metadata", Mapping), item.name("metadata"), CorruptError),
        overhead=item.count("overhead"),
    )


def _write_part(part: TextPart | SoftPart) -> dict[str, Any]:
    common: dict[str, Any] = {"passage": int(part.passage), "start": int(part.start), "end": int(part.end)}
    if isinstance(part, SoftPart):
        kind, data = _write_vectors(part.vectors)
        vectors = {"library": kind, "safetensors": base64.b64encode(data).decode("ascii")}
        common |= {"lead": _write_text(part.lead), "fingerprint": part.fingerprint, "vectors": vectors}
        return {"type": "soft", **common}
    sources = None if part.sources is None else [[int(start), int(end)] for start, end in part.sources]
    common |= {"lead": _write_text(part.lead), "text": _write_text(part.text)}
    return {"type": "text", **common, "sources": sources}


def _read_part(item: _Fields, passages: Sequence[Passage]) -> TextPart | SoftPart:
    kind = item.get("type", str)
    passage = item.passage(passages)
    source = passages[passage].text
    end = item.count("end", len(source))
    start = item.count("start", end)
    lead = item.text("lead")
    if kind == "soft":
        vectors = _read_vectors(_Fields(item.get("vectors", Mapping), item.name("vectors")))
        return SoftPart(passage, start, end, vectors, item.get("fingerprint", str), lead)
    if kind != "text":
        raise CorruptError(f"{item.name('type')} is {kind!r}; allowed: 'text', 'soft'")
    text = item.text("text")
    pairs = item.get("sources", list | tuple, none=True)
    if pairs is None:
        if source[start:end] != text:
            raise CorruptError(f"{item.name('text')} differs from characters {start} to {end} of passage {passage}")
        return TextPart(passage, start, end, text, lead)
    return TextPart(passage, start, end, text, lead, _read_spans(pairs, item.name("sources"), len(source)))


def _read_spans(pairs: Sequence[Any], where: str, size: int) -> tuple[Span, ...]:
    """Ascending spans that do not overlap, inside a passage of `size` characters."""
    spans: list[Span] = []
    for i, pair in enumerate(pairs):
        if not (isinstance(pair, list | tuple) and len(pair) == 2 and all(type(edge) is int for edge in pair)):
            raise CorruptError(f"{where}[{i}] is {_short(pair)}; allowed: a start and an end")
        least = spans[-1][1] if spans else 0
        if not least <= pair[0] <= pair[1] <= size:
            raise CorruptError(f"{where}[{i}] is {pair[0]} to {pair[1]}; allowed: ascending, within {least} to {size}")
        spans.append((pair[0], pair[1]))
    return tuple(spans)


def _read_unit(item: Any, where: str, passages: Sequence[Passage]) -> Unit:
    if not isinstance(item, list | tuple) or len(item) != len(_UNIT_FIELDS):
        raise CorruptError(f"{where} is {_short(item)}; allowed: a list of {', '.join(_UNIT_FIELDS)}")
    unit = _Fields(dict(zip(_UNIT_FIELDS, item, strict=True)), where)
    passage = unit.passage(passages)
    end = unit.count("end", len(passages[passage].text))
    start = unit.count("start", end)
    score = unit.number("score")
    if score > 1:
        raise CorruptError(f"{unit.name('score')} is {score}; allowed: 0 to 1")
    return Unit(passage, start, end, unit.count("tokens"), score, unit.get("kept", bool), unit.get("reason", str))


def _read_notice(item: _Fields, passages: Sequence[Passage]) -> Notice:
    code: Any = item.get("code", str)
    if code not in get_args(WarningCode):
        raise CorruptError(f"{item.name('code')} is {code!r}; allowed: {', '.join(get_args(WarningCode))}")
    passage = None if item.get("passage", int, none=True) is None else item.passage(passages)
    return Notice(code, item.text("message"), passage)


def _write_vectors(vectors: Any) -> tuple[str, bytes]:
    """Name of the library that the vectors belong to, and their safetensors bytes."""
    if type(vectors).__module__.partition(".")[0] == "torch":
        save = need("safetensors.torch", extra="soft").save
        return "torch", bytes(save({"vectors": vectors.detach().cpu().contiguous()}))
    import numpy

    array = numpy.asarray(vectors)
    array = numpy.ascontiguousarray(array.astype(array.dtype.newbyteorder("="), copy=False))
    return "numpy", bytes(need("safetensors.numpy", extra="soft").save({"vectors": array}))


def _read_vectors(item: _Fields) -> Any:
    library = item.get("library", str)
    if library not in ("numpy", "torch"):
        raise CorruptError(f"{item.name('library')} is {library!r}; allowed: 'numpy', 'torch'")
    data = _base64(item.get("safetensors", str), item.name("safetensors"))
    load = need(f"safetensors.{library}", extra="soft").load
    try:
        vectors = load(data)["vectors"]
    except Exception as error:  # safetensors has an error class of its own per reader; all of them mean bad bytes
        raise CorruptError(f"{item.name('safetensors')} does not decode: {error}") from None
    if vectors.ndim != 2:
        raise CorruptError(f"{item.name('safetensors')} has {vectors.ndim} axes; allowed: 2, (tokens, width)")
    return vectors


def _base64(text: str, where: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise CorruptError(f"{where} is not base64") from None


def _kind(kind: Any) -> str:
    names = {Mapping: "object", str: "string", int: "whole number", float: "number", bool: "true or false"}
    kinds = get_args(kind) or (kind,)
    return " or ".join(dict.fromkeys(names.get(one, "list") for one in kinds))


def _short(value: Any) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"
