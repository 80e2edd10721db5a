"""A corpus at a time: the vectors of all passages of files and folders, put into a cache ahead of the questions.

    python -m squeeze.soft.encode FOLDER --cache vectors/ --method compllm --model NAME --checkpoint NAME

Pieces are encoded side by side with others of their length. Whatever is in the cache already is passed over, so a run
that was interrupted goes on where it stopped, and several may share the work.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import Any, NamedTuple

from squeeze.errors import ConfigError, SqueezeError

_WINDOW = 4096  # pieces that are sorted by length together; the memory that this takes is bounded by it


class Warmed(NamedTuple):
    """What was done: passages read, different pieces in them, those found in the cache, those encoded."""

    passages: int
    pieces: int
    found: int
    encoded: int


def warm(
    compressor: Any,
    texts: Sequence[str],
    *,
    factors: Sequence[int] | None = None,
    batch: int = 16,
    progress: Callable[[int, int], None] | None = None,
) -> Warmed:
    """Puts the vectors of all texts into the compressor's cache.

    Args:
        compressor: a method of the soft kind, loaded with `cache=`.
        texts: what will be compressed later, passage by passage.
        factors: tokens per vector to encode for; None for the least compression that the checkpoint can.
        batch: pieces encoded side by side; 1 gives bit for bit what `compress` computes by itself, more are faster and
            agree with it up to rounding.
        progress: called with texts done and in all.

    Raises:
        ConfigError: there is no cache that can be written to, or a factor that the checkpoint was not trained for.
    """
    wanted = _checked(compressor, factors, batch)
    seen: set[str] = set()
    found = encoded = 0
    for done, window in _windows(compressor, texts):
        for factor in wanted:
            fresh = {compressor.cache_key(piece, factor): piece for piece in window}
            fresh = {key: piece for key, piece in fresh.items() if key not in seen}
            seen.update(fresh)
            missing = {
                key: piece
                for key, piece in fresh.items()
                if compressor.cache.get(key, **compressor.expected(piece, factor)) is None
            }
            _encode(compressor, missing, factor, batch)
            found, encoded = found + len(fresh) - len(missing), encoded + len(missing)
        if progress is not None:
            progress(done, len(texts))
    return Warmed(len(texts), len(seen), found, encoded)


def _checked(compressor: Any, factors: Sequence[int] | None, batch: int) -> list[int]:
    if getattr(compressor, "cache", None) is None or compressor.cache.read_only:
        raise ConfigError(f"{compressor.name} has no cache that can be written to; load it with cache=FOLDER")
    if type(batch) is not int or batch < 1:
        raise ConfigError(f"batch is {batch!r}; allowed: a whole number from 1 up")
    unknown = sorted(set(factors or ()) - set(compressor.factors))
    if unknown:
        raise ConfigError(f"factor is {unknown[0]}; this checkpoint was trained for {list(compressor.factors)}")
    return list(dict.fromkeys(factors or compressor.factors[:1]))


def _windows(compressor: Any, texts: Sequence[str]) -> Iterator[tuple[int, list[Sequence[int]]]]:
    """Pieces of some texts at a time, with the number of texts done by then."""
    window: list[Sequence[int]] = []
    for done, text in enumerate(texts, 1):
        window += compressor.pieces(compressor.ids(text))
        if len(window) >= _WINDOW or done == len(texts):
            yield done, window
            window = []


def _encode(compressor: Any, missing: dict[str, Sequence[int]], factor: int, batch: int) -> None:
    ordered = sorted(missing, key=lambda key: len(missing[key]))
    for _, alike in groupby(ordered, key=lambda key: len(missing[key])):
        for keys in _batched(alike, batch):
            pieces = [missing[key] for key in keys]
            many = len(pieces) > 1
            encoded = compressor.encode_alike(pieces, factor) if many else [compressor.encode(pieces[0], factor)]
            for key, vectors in zip(keys, encoded, strict=True):
                compressor.cache.put(key, vectors)


def _batched(keys: Iterable[str], size: int) -> Iterator[list[str]]:
    rest = iter(keys)
    while taken := list(islice(rest, size)):
        yield taken


def main(arguments: Sequence[str] | None = None) -> None:
    """Encodes files and folders into a cache."""
    from squeeze.console import Bar, one_line
    from squeeze.files import read_passages
    from squeeze.registry import load
    from squeeze.soft.cache import VectorCache

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inputs", nargs="+", metavar="FILE|FOLDER")
    parser.add_argument("--cache", required=True, help="folder of the vectors; made if need be")
    parser.add_argument("--model", required=True, help="folder or hub name of the language model")
    parser.add_argument("--checkpoint", required=True, help="folder or hub name of the encoder")
    parser.add_argument("--method", default="compllm", help="compllm or arc")
    parser.add_argument("--factor", type=int, action="append", help="tokens per vector; may be repeated")
    parser.add_argument("--batch", type=int, default=16, help="pieces encoded side by side")
    parser.add_argument("--max-bytes", type=int, help="the most that the cache may hold")
    parser.add_argument("--device", help="where to encode, cuda say")
    given = parser.parse_args(arguments)
    try:
        texts = [passage.text for passage in read_passages(given.inputs, sys.stdin.buffer)]
        cache = VectorCache(given.cache, max_bytes=given.max_bytes)
        options = {"model": given.model, "checkpoint": given.checkpoint, "device": given.device, "cache": cache}
        compressor = load(given.method, **options)
        with Bar(show=True) as bar:
            done = warm(compressor, texts, factors=given.factor, batch=given.batch, progress=bar)
    except SqueezeError as error:
        parser.error(one_line(str(error)))
    sys.stdout.write(told(done) + "\n")


def told(done: Warmed) -> str:
    """What was done, in a line."""
    return (
        f"{done.passages:,} passages, {done.pieces:,} different pieces: {done.found:,} were in the cache, "
        f"{done.encoded:,} encoded"
    )


if __name__ == "__main__":
    main()
