"""The commands `squeeze cache`: encode a corpus ahead, say what a cache holds, make room in it."""

from __future__ import annotations

import os
import re
import sys
from typing import Annotated, Any

import typer

from squeeze.errors import ConfigError, need

_BYTES = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}

cache_app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Vectors that are encoded once and read for every later question.",
)

_Root = Annotated[str, typer.Argument(metavar="CACHE", help="The folder of the vectors.", show_default=False)]
_Limit = Annotated[
    str | None,
    typer.Option("--max-bytes", metavar="SIZE", help="The most that it may hold: 500M, 20G.", show_default=False),
]


@cache_app.command()
def warm(  # noqa: PLR0913 - typer reads the options from the parameters
    root: _Root,
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="FILE|FOLDER|-", help="What will be compressed later.", show_default=False),
    ],
    method: Annotated[str, typer.Option(metavar="NAME", help="A method whose result is vectors.")] = "compllm",
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="model=…, checkpoint=…; may be repeated.", show_default=False),
    ] = None,
    factor: Annotated[
        list[int] | None,
        typer.Option(metavar="N", help="Tokens per vector, where the checkpoint has several.", show_default=False),
    ] = None,
    batch: Annotated[int, typer.Option(metavar="N", help="Pieces encoded side by side.")] = 16,
    max_bytes: _Limit = None,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="Read every input as JSONL.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no count; only errors.")] = False,
) -> None:
    """Encode passages into a cache; what is there already is passed over."""
    from squeeze.console import Bar, method_options
    from squeeze.files import read_passages
    from squeeze.registry import load, method_class

    if method_class(method).output != "soft":
        raise ConfigError(f"the result of {method!r} holds no vectors that could be kept; allowed: compllm, arc")
    options = method_options(option or [])
    if "cache" in options:
        raise ConfigError("--option cache; the folder is the first argument")
    texts = [passage.text for passage in read_passages(inputs, sys.stdin.buffer, lines=jsonl)]
    encode, caches = need("squeeze.soft.encode", extra="soft"), need("squeeze.soft.cache", extra="soft")
    cache = caches.VectorCache(root, max_bytes=_size(max_bytes))
    compressor = load(method, cache=cache, **options)
    with Bar(show=not quiet) as bar:
        done = encode.warm(compressor, texts, factors=factor, batch=batch, progress=bar)
    if not quiet:
        typer.echo(encode.told(done))


@cache_app.command()
def stat(root: _Root) -> None:
    """Say what a cache holds."""
    held = _opened(root).stat()
    typer.echo(f"{held.entries:,} entries, {held.bytes:,} bytes")


@cache_app.command()
def prune(root: _Root, max_bytes: _Limit = None) -> None:
    """Remove what was not used for longest until the rest fits, and what interrupted writers left."""
    gone = _opened(root).prune(_size(max_bytes))
    typer.echo(f"{gone.entries:,} entries, {gone.bytes:,} bytes and {gone.unfinished:,} unfinished files removed")


def _opened(root: str) -> Any:
    """The cache of a folder that is there."""
    if not os.path.isdir(root):
        raise ConfigError(f"{root} is no folder; give the one that `squeeze cache warm` filled")
    return need("squeeze.soft.cache", extra="soft").VectorCache(root)


def _size(given: str | None) -> int | None:
    """Bytes of a size such as `500M`, in powers of 1024."""
    if given is None:
        return None
    found = _BYTES.fullmatch(given.strip())
    if found is None:
        raise ConfigError(f"--max-bytes {given!r}; allowed: a number of bytes, or one with K, M, G or T behind it")
    return int(float(found[1]) * 1024 ** _UNITS[found[2].lower()])
