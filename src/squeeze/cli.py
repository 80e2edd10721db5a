"""The command `squeeze`. Results go to standard output, everything for people to standard error."""

from __future__ import annotations

import json
import os
import re
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from squeeze.bench_cli import bench
from squeeze.cache_cli import cache_app
from squeeze.console import Bar, method_options, one_line, one_place, summary
from squeeze.errors import ConfigError, CorruptError, SqueezeError

if TYPE_CHECKING:
    from squeeze.types import Compressed

_UsageError: type[Exception] = typer.BadParameter.__mro__[2]  # ClickException, wherever this typer keeps click
_BROKEN_PIPE = 141  # what a shell reports for a program that a closed pipe ended
_INTERRUPTED = 130
_LONE = re.compile("[\ud800-\udfff]")

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: it starts in a third of the time
    help="Shortens what a retriever found before a language model reads it, under a hard token budget.",
    epilog="Errors are one line on standard error, with exit code 2.",
)
app.add_typer(cache_app, name="cache")
app.command()(bench)


class Format(StrEnum):
    """How a result is written."""

    text = "text"
    json = "json"
    html = "html"


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        from squeeze import __version__

        typer.echo(f"squeeze {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def compress(  # noqa: PLR0913 - typer reads the options from the parameters
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE|FOLDER|-",
            help="Text, Markdown, or JSONL with a passage a line; folders are read whole; - is standard input.",
            show_default=False,
        ),
    ] = None,
    query: Annotated[str | None, typer.Option("--query", "-q", help="The question.", show_default=False)] = None,
    max_tokens: Annotated[
        int | None, typer.Option(metavar="N", help="Tokens that the result may have.", show_default=False)
    ] = None,
    keep: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Share of the tokens to keep, 0 to 1.", show_default=False)
    ] = None,
    method: Annotated[str, typer.Option(metavar="NAME", help="See `squeeze methods`.")] = "edu",
    tokenizer: Annotated[
        str, typer.Option(metavar="NAME", help="estimate, a tiktoken encoding, or hf: with a folder or hub name.")
    ] = "estimate",
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="An option of the method; may be repeated.", show_default=False),
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="What to write.")] = Format.text,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where to write it; - is standard output.")
    ] = "-",
    jsonl: Annotated[
        bool, typer.Option("--jsonl", help="Read every input as JSONL: strings, or objects with a text.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No table and no progress; only errors.")] = False,
) -> None:
    """Shorten passages to a token budget and write what is kept."""
    from squeeze import Budget, load
    from squeeze.files import check_target, read_passages, write_file
    from squeeze.registry import method_class

    budget, options = Budget(max_tokens, keep), method_options(option or [])
    if form is Format.text and method_class(method).output in ("soft", "both"):
        raise ConfigError(f"the result of {method!r} holds vectors, which have no text; write it with --format json")
    if output != "-":
        check_target(output)
    if not inputs and sys.stdin.isatty():
        raise ConfigError("nothing to read; give files or folders, or - for standard input")
    passages = read_passages(inputs or ["-"], sys.stdin.buffer, lines=jsonl)
    compressor = load(method, tokenizer=tokenizer, **options)
    with Bar(show=not quiet) as bar:
        result = compressor.compress(passages, query, budget=budget, progress=bar)
    data = _render(result, form)
    if output == "-":
        _emit(data, followed=not quiet)
    else:
        write_file(output, data)
    if not quiet:
        summary(result, _notes(result, form, limited=budget != Budget() or result.coding is not None))


@app.command()
def restore(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="What `squeeze compress --format json` wrote.")],
    jsonl: Annotated[
        bool,
        typer.Option("--jsonl", help="A passage a line, with title, id and metadata; else plain text."),
    ] = False,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where to write it; - is standard output.")
    ] = "-",
) -> None:
    """Write the original passages of a lossless result."""
    from squeeze.files import check_target, read_text, write_file
    from squeeze.render import JOINER

    if output != "-":
        check_target(output)
    result = _result(read_text(file, sys.stdin.buffer), file)
    texts = result.restore()
    if jsonl:
        fields = [(p.title, p.id, dict(p.metadata)) for p in result.passages]
        rows = [
            {"text": text, "title": title, "id": name, "metadata": metadata}
            for text, (title, name, metadata) in zip(texts, fields, strict=True)
        ]
        data = "".join(json.dumps(row) + "\n" for row in rows).encode("ascii")
    else:
        data = _LONE.sub("\ufffd", JOINER.join(texts)).encode()
        if _LONE.search("".join(texts)):
            typer.echo("lone surrogates, which UTF-8 cannot hold, are written as U+FFFD; --jsonl keeps them", err=True)
    if output == "-":
        _emit(data)
    else:
        write_file(output, data)


@app.command()
def profile(
    model: Annotated[str, typer.Option(metavar="FOLDER", help="A Hugging Face model with safetensors.")],
    length: Annotated[
        list[int] | None,
        typer.Option(metavar="N", help="A prompt length to measure; may be repeated.", show_default=False),
    ] = None,
    price: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="input_price or output_price of a million tokens, or cached_discount; may be repeated.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where to write it; - is standard output.")
    ] = "-",
    quiet: Annotated[bool, typer.Option("--quiet", help="No table and no progress; only errors.")] = False,
) -> None:
    """Measure what a model takes to read and to write, for `squeeze.advise`."""
    from squeeze.profiling import profile_command

    data = profile_command(model, length or [], method_options(price or []), output, show=not quiet)
    if data:
        _emit(data)


@app.command()
def methods(
    markdown: Annotated[bool, typer.Option("--markdown", help="As a Markdown table.")] = False,
) -> None:
    """List the methods."""
    rows = _methods()
    heads = ("name", "family", "output", "needs", "what it does")
    if markdown:
        cells = [heads, ("---",) * len(heads), *((f"`{row[0]}`", *row[1:]) for row in rows)]
        _emit("".join("| " + " | ".join(c.replace("|", "\\|") for c in line) + " |\n" for line in cells).encode())
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*heads)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)


def main(arguments: list[str] | None = None) -> None:
    """Runs the command and exits: 0, 2 after an error, 130 after Ctrl-C; `bench` has codes of its own.

    Args:
        arguments: what stands behind the name of the command; None takes it from the system.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        code = app(arguments, prog_name="squeeze", standalone_mode=False)
    except _UsageError as error:
        code = _fail(error.format_message() if hasattr(error, "format_message") else str(error))
    except (SqueezeError, OSError) as error:
        code = _fail(str(error))
    except (KeyboardInterrupt, typer.Abort):
        code = _INTERRUPTED
    sys.exit(code if isinstance(code, int) else 0)


def _result(text: str, name: str) -> Compressed:
    """The result that a file holds."""
    from squeeze.types import Compressed

    try:
        return Compressed.from_dict(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise CorruptError(f"{name} holds no result of `squeeze compress --format json`: {error}") from None


def _render(result: Compressed, form: Format) -> bytes:
    if form is Format.json:
        return (json.dumps(result.to_dict(), allow_nan=False) + "\n").encode("ascii")
    text = result.to_html() if form is Format.html else result.text
    return _LONE.sub("\ufffd", text).encode()


def _emit(data: bytes, *, followed: bool = False) -> None:
    """Writes bytes to standard output as they are; a terminal gets a line break at the end.

    So does a file that is standard error as well (`2>&1`), where something `followed` by the numbers would run into it.
    """
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        if not data.endswith(b"\n") and (sys.stdout.isatty() or (followed and data and one_place())):
            sys.stdout.buffer.write(b"\n")
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the flush at exit must not fail again
        raise typer.Exit(_BROKEN_PIPE) from None


def _notes(result: Compressed, form: Format, *, limited: bool) -> list[str]:
    """What there is to say beside the numbers and the warnings."""
    notes = [] if limited else ["no limit is given, so nothing had to go; set --max-tokens or --keep"]
    if not result.tokens_before:
        notes = ["the input is empty"]
    if form is Format.text and _LONE.search(result.text):
        notes.append("lone surrogates, which UTF-8 cannot hold, are written as U+FFFD; --format json keeps them")
    return notes


def _methods() -> list[tuple[str, str, str, str, str]]:
    """Name, family, output, what it needs, and summary of every method."""
    from squeeze import available
    from squeeze.registry import method_class

    rows = []
    for name in available():
        try:
            cls = method_class(name)
        except SqueezeError as error:  # one method that cannot be imported must not hide the others
            rows.append((name, "", "", "", str(error)))
            continue
        summary = (cls.__doc__ or "").strip().partition("\n")[0]
        rows.append((name, cls.family, cls.output, cls.needs or "core", summary))
    return rows


def _fail(message: str) -> int:
    typer.echo(f"squeeze: {one_line(message)}", err=True)
    return 2


if __name__ == "__main__":
    main()
