"""The command `squeeze bench`: what survives, on the user's own rows, beside plain baselines."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Annotated, Any

import typer

from squeeze.errors import ConfigError

KEEPS = "0.5,0.25,0.125"
NAMES = "edu,passages,lossless"


def bench(  # noqa: PLR0913 - typer reads the options from the parameters
    data: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DATA",
            help="Rows {question, answers, documents: [{id, title, text, is_gold}]}, .jsonl or .jsonl.gz, a set each; "
            "or a folder of documents.",
            show_default=False,
        ),
    ] = None,
    questions: Annotated[
        str,
        typer.Option(metavar="FILE", help="Questions about a folder: {question, answer, file}, a line each."),
    ] = "",
    methods: Annotated[
        str,
        typer.Option(metavar="NAMES", help="What to measure; options behind colons: edu:unit=sentence,passages."),
    ] = NAMES,
    keep: Annotated[str, typer.Option(metavar="SHARES", help="Shares of the tokens to keep.")] = KEEPS,
    reference: Annotated[str, typer.Option(metavar="NAME", help="What others are compared with.")] = "bm25",
    tokenizer: Annotated[
        str, typer.Option(metavar="NAME", help="estimate, a tiktoken encoding, or hf: with a folder or hub name.")
    ] = "estimate",
    rows: Annotated[int, typer.Option("--rows", "-n", min=0, metavar="N", help="Rows of each set; 0 for all.")] = 0,
    top: Annotated[
        int, typer.Option(min=0, metavar="N", help="Documents of a folder for a question, the best by BM25; 0 for all.")
    ] = 20,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the random baseline and the bootstrap.")] = 0,
    workers: Annotated[int, typer.Option(min=0, metavar="N", help="Processes; 0 for one for each core.")] = 0,
    reader: Annotated[
        str, typer.Option(metavar="MODEL", help="A local Hugging Face model that answers: a folder or hub name.")
    ] = "",
    reader_url: Annotated[
        str, typer.Option(metavar="URL", help="An OpenAI-compatible endpoint that answers; texts are sent there.")
    ] = "",
    reader_model: Annotated[str, typer.Option(metavar="NAME", help="The endpoint's name of the model.")] = "",
    reader_key_env: Annotated[
        str, typer.Option(metavar="VARIABLE", help="The environment variable that holds the endpoint's key.")
    ] = "",
    reader_timeout: Annotated[float, typer.Option(metavar="SECONDS", help="For one whole answer.")] = 60.0,
    reader_parallel: Annotated[int, typer.Option(min=1, metavar="N", help="Questions at a time.")] = 1,
    answer_tokens: Annotated[int, typer.Option(min=1, metavar="N", help="The most tokens of an answer.")] = 32,
    json_file: Annotated[
        str, typer.Option("--json", metavar="FILE", help="Write everything, row by row; - is standard output.")
    ] = "",
    plot: Annotated[
        str, typer.Option(metavar="FILE", help="Draw quality against tokens and time: .png, .svg or .pdf.")
    ] = "",
    show_list: Annotated[
        bool, typer.Option("--list", help="List what can be measured, and the programs that measure more.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no table.")] = False,
) -> None:
    """Measure on your own rows what is kept of the evidence, how many tokens, and how fast.

    Exit codes: 0 all is well; 1 a result was over its limit; 2 wrong usage; 3 it ran, but rows, answers or packages
    were skipped, and which is said.
    """
    if show_list:
        from squeeze.bench.show import console, listing

        listing(console())
        return
    if not data:
        raise ConfigError("no data; give files of rows, or a folder with --questions (--list names what is measured)")
    _check_targets(json_file, plot)
    reading = _reader(
        {"model": reader},
        {"url": reader_url, "model": reader_model, "key_env": reader_key_env, "timeout": reader_timeout},
        {"parallel": reader_parallel, "new_tokens": answer_tokens, "seed": seed},
    )
    settings: dict[str, Any] = {
        "data": tuple(data),
        "questions": questions,
        "methods": tuple(name for name in methods.split(",") if name.strip()),
        "keep": _shares(keep),
        "reference": reference,
        "tokenizer": tokenizer,
        "rows": rows,
        "top": top,
        "seed": seed,
        "workers": workers,
        "reader": {} if reading is None else {"name": reading.name, "answer_tokens": answer_tokens},
    }
    code = _run(settings, reading, (json_file, plot), quiet=quiet)
    if code:
        raise typer.Exit(code)


def _check_targets(json_file: str, plot: str) -> None:
    """Returns when what is asked for can be written, before anything is measured."""
    from squeeze.files import check_target

    for target in (json_file, plot):
        if target and target != "-":
            check_target(target)
    if plot:
        from squeeze.bench.plot import check_plot

        check_plot(plot)


def _run(settings: dict[str, Any], reader: Any, targets: tuple[str, str], *, quiet: bool) -> int:
    """Measures, writes and shows; the exit code."""
    from squeeze.bench import show
    from squeeze.bench.command import Options, to_json
    from squeeze.bench.command import bench as run
    from squeeze.files import write_file

    json_file, plot = targets
    with ExitStack() as stack:
        report = run(Options(**settings), reader=reader, progress=_bars(stack, show=not quiet))
    if json_file == "-":
        typer.echo(to_json(report), nl=False)
    elif json_file:
        write_file(json_file, to_json(report).encode())
    if plot:
        from squeeze.bench.plot import plot as draw

        draw(report, plot)
    if not quiet:
        show.table(report, show.console(stderr=json_file == "-"))
    show.left_out(report["skipped"], show.console(stderr=True), getattr(reader, "causes", None))
    return int(report["exit_code"])


def _reader(local: dict[str, Any], remote: dict[str, Any], both: dict[str, Any]) -> Any:
    """What answers the questions; None where nothing is asked for."""
    if local["model"] and remote["url"]:
        raise ConfigError("--reader and --reader-url; give one of them")
    if local["model"].startswith(("http://", "https://")):
        raise ConfigError(f"--reader is the address {local['model']!r}; give an endpoint as --reader-url")
    if local["model"]:
        from squeeze.bench.asking import LocalReader

        return LocalReader(local["model"], new_tokens=both["new_tokens"])
    if remote["url"]:
        from squeeze.bench.endpoint import Endpoint

        return Endpoint(**remote, **both)
    if remote["model"] or remote["key_env"]:
        raise ConfigError("--reader-model and --reader-key-env go with --reader-url")
    return None


def _shares(given: str) -> tuple[float, ...]:
    try:
        return tuple(dict.fromkeys(float(share) for share in given.split(",") if share.strip()))
    except ValueError:
        raise ConfigError(
            f"--keep {given!r}; allowed: numbers from 0 to 1 with commas between, such as {KEEPS}"
        ) from None


def _bars(stack: ExitStack, *, show: bool) -> Callable[[str], Callable[[int, int], None]]:
    """A progress bar for each phase; the one before it ends."""
    from squeeze.console import Bar

    def begin(name: str) -> Callable[[int, int], None]:
        stack.close()
        return stack.enter_context(Bar(name, show=show))

    return begin
