"""Texts cut into the pieces that phrases are made of: at the token starts of the tokenizer that counts, else at words.

Pieces are slices of the text, never decoded ids, so coding is exact whatever a tokenizer does to spaces, case or bytes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from squeeze.coding.suffixes import Ints
from squeeze.counters import HuggingFaceCounter, TiktokenCounter, plain
from squeeze.errors import ConfigError
from squeeze.tokens import Tokenizer, count_many

# a word with the space before it, a run of signs, one character of a script without spaces, white space
_WORD = re.compile(
    r" ?[^\W\d_\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]+| ?\d{1,3}| ?(?:[^\w\s]|_)+|\w|"
    r"\s+(?!\S)|\s"
)
_LONG = 64  # characters of a run of signs or spaces after which a piece ends, so that a run can repeat inside itself


@dataclass(frozen=True, slots=True)
class Cut:
    """Texts as one sequence of pieces, an empty piece after each text.

    Attributes:
        pieces: the slices in order; joined they are the texts.
        numbers: the same number for equal pieces, for the ends of texts numbers that do not repeat.
        weights: tokens of each piece, equal for equal pieces.
        known: the different pieces, by number.
    """

    pieces: list[str]
    numbers: Ints
    weights: Ints
    known: list[str]


def token_starts(tokenizer: Tokenizer, text: str) -> Ints | None:
    """The character at which each token of the text begins, ascending; None where a tokenizer does not tell.

    A token that begins inside a character counts as beginning at that character.
    """
    if isinstance(tokenizer, TiktokenCounter):
        return _tiktoken_starts(tokenizer, text)
    if isinstance(tokenizer, HuggingFaceCounter):
        offsets = tokenizer.vocabulary.encode(plain(text), add_special_tokens=False).offsets
        starts = np.fromiter((start for start, _ in offsets), dtype=np.int64, count=len(offsets))
        return _inside(np.maximum.accumulate(starts), text) if len(starts) else starts
    return _decoded_starts(tokenizer, text)


def cut(texts: Sequence[str], tokenizer: Tokenizer) -> Cut:
    """The texts in pieces: a token each (or the few tokens of one character), or a word each."""
    pieces: list[str] = []
    weights: list[Ints] = []
    end = np.zeros(1, dtype=np.int64)
    for text in texts:
        starts = token_starts(tokenizer, text) if text else None
        if text and starts is None:
            return _cut_words(texts, tokenizer)
        if starts is not None:
            edges, tokens = _edges(starts, len(text))
            pieces += [text[start:stop] for start, stop in zip(edges[:-1].data, edges[1:].data, strict=True)]
            weights.append(tokens)
        pieces.append("")
        weights.append(end)
    return _numbered(pieces, np.concatenate(weights) if weights else end[:0])


def _edges(starts: Ints, size: int) -> tuple[Ints, Ints]:
    """Where pieces begin, with the end of the text; and the tokens of each piece."""
    if not len(starts):
        return np.array([0, size]), np.ones(1, dtype=np.int64)
    first = np.flatnonzero(np.diff(starts, prepend=-1))
    tokens = np.diff(first, append=len(starts))
    edges = np.append(starts[first], size)
    edges[0] = 0
    return edges, tokens


def _cut_words(texts: Sequence[str], tokenizer: Tokenizer) -> Cut:
    pieces: list[str] = []
    for text in texts:
        for word in _WORD.findall(text):
            pieces += [word] if len(word) <= _LONG else [word[at : at + _LONG] for at in range(0, len(word), _LONG)]
        pieces.append("")
    known = list(dict.fromkeys(pieces))
    fixed = per_call(tokenizer)
    tokens = {piece: max(n - fixed, 0) for piece, n in zip(known, count_many(tokenizer, known), strict=True)}
    tokens[""] = 0
    return _numbered(pieces, np.fromiter((tokens[piece] for piece in pieces), dtype=np.int64, count=len(pieces)))


def per_call(tokenizer: Tokenizer) -> int:
    """Tokens that a counter adds to each call, whatever the text."""
    return max(2 * tokenizer.count("a.\n") - tokenizer.count("a.\na.\n"), 0)


def _numbered(pieces: list[str], weights: Ints) -> Cut:
    table: dict[str, int] = {}
    number = table.setdefault
    numbers = np.fromiter((number(piece, len(table)) for piece in pieces), dtype=np.int64, count=len(pieces))
    if "" in table:
        ends = np.flatnonzero(numbers == table[""])
        numbers[ends] = -1 - np.arange(len(ends))
    if not len(weights):
        return Cut(pieces, numbers, weights, [])
    # a piece may be cut into other tokens beside other neighbours; what it costs first stands for all
    _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    return Cut(pieces, numbers, weights[first][inverse.reshape(-1)], list(table))


def _tiktoken_starts(tokenizer: TiktokenCounter, text: str) -> Ints:
    ids = np.array(tokenizer.encode(text), dtype=np.int64)
    sizes = _token_sizes(tokenizer.vocabulary)[ids]
    starts: Ints = np.cumsum(sizes) - sizes
    if text.isascii():
        return starts
    data = np.frombuffer(plain(text).encode("utf-8"), dtype=np.uint8)
    character: Ints = np.cumsum((data & 0xC0) != 0x80) - 1
    return character[starts]


_sizes: dict[str, tuple[Any, Ints]] = {}


def _token_sizes(encoding: Any) -> Ints:
    """Bytes of each token by id, read once per encoding."""
    known = _sizes.get(encoding.name)
    if known is not None and known[0] is encoding:
        return known[1]
    sizes = np.zeros(encoding.max_token_value + 1, dtype=np.int64)
    tokens = encoding.token_byte_values()
    ids = [encoding.encode_single_token(token) for token in tokens]
    sizes[ids] = [len(token) for token in tokens]
    _sizes[encoding.name] = (encoding, sizes)
    return sizes


def _decoded_starts(tokenizer: Tokenizer, text: str) -> Ints | None:
    """Token starts by decoding the ids one by one, where that gives the text back exactly."""
    try:
        ids = tokenizer.encode(text)
    except ConfigError:
        return None
    words = {token: tokenizer.decode([token]) for token in dict.fromkeys(ids)}
    if "".join([words[token] for token in ids]) != text:
        return None
    sizes = np.fromiter((len(words[token]) for token in ids), dtype=np.int64, count=len(ids))
    return _inside(np.cumsum(sizes) - sizes, text)


def _inside(starts: Ints, text: str) -> Ints:
    """The starts, none behind the last character."""
    kept: Ints = np.minimum(starts, max(len(text) - 1, 0))
    return kept
