"""What commands share: options of a method as they are typed; the progress bar, the table of numbers, notes."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from squeeze.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

    from squeeze.types import Compressed


class Bar:
    """A progress bar on a terminal, for work that takes longer than a second; called with steps done and in all."""

    def __init__(self, name: str = "compressing", *, show: bool) -> None:
        self._name = name
        self._show = show and sys.stderr.isatty()
        self._started = time.monotonic()
        self._bar: Any = None

    def __call__(self, done: int, total: int) -> None:
        """Shows the steps done, once the work has taken long enough for a bar."""
        if not self._show or (self._bar is None and time.monotonic() - self._started < 1):
            return
        if self._bar is None:
            from rich.progress import Progress

            self._bar = Progress(console=_stderr(), transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self._name, total=total)
        self._bar.update(self._task, completed=done, total=total)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()


def summary(result: Compressed, notes: list[str]) -> None:
    """The table of numbers and the warnings, on standard error."""
    from rich.table import Table
    from rich.text import Text

    console = _stderr()
    table = Table("tokens before", "tokens after", "kept", "milliseconds", "method", "tokenizer")
    numbers = (
        f"{result.tokens_before:,}",
        f"{result.tokens_after:,}",
        f"{result.kept:.1%}" if result.tokens_before else "–",
        f"{result.seconds * 1000:,.1f}",
    )
    table.add_row(*numbers, Text(result.method), Text(result.tokenizer))
    console.print(table)
    warnings = [f"{notice.code}: {notice.message}" + place(result, notice.passage) for notice in result.warnings]
    for note in warnings + notes:
        console.print(Text(one_line(note)), soft_wrap=True)


def method_options(given: list[str]) -> dict[str, Any]:
    """Options of the method by name; a value is JSON, or else a string as it stands."""
    options: dict[str, Any] = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not (equals and name.isidentifier()):
            raise ConfigError(f"--option {item!r}; allowed: a name, =, and a JSON value or a string")
        if name in options:
            raise ConfigError(f"--option {name} is given twice")
        if name in ("name", "tokenizer"):
            raise ConfigError(f"--option {name}; use {'--method' if name == 'name' else '--tokenizer'}")
        try:
            options[name] = json.loads(value)
        except ValueError:
            options[name] = value
    return options


def rows(heads: tuple[str, ...], cells: Sequence[tuple[str, ...]]) -> None:
    """A table of numbers, on standard error."""
    from rich.table import Table

    table = Table(*heads)
    for line in cells:
        table.add_row(*line)
    _stderr().print(table)


def place(result: Compressed, passage: int | None) -> str:
    """The passage that a warning is about, for the end of its line."""
    if passage is None:
        return ""
    name = result.passages[passage].id or result.passages[passage].title
    return f" (passage {passage}{': ' if name else ''}{name})"


def one_place() -> bool:
    """Whether standard output and standard error go to the same file or pipe."""
    try:
        return os.path.samestat(os.fstat(sys.stdout.fileno()), os.fstat(sys.stderr.fileno()))
    except (OSError, ValueError):  # a stream that is no file
        return False


def one_line(text: str) -> str:
    """The text on one line, with what a terminal would obey written out."""
    joined = " ".join(part for part in text.split("\n") if part.strip())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in joined)


def _stderr() -> Console:
    from rich.console import Console

    return Console(stderr=True, highlight=False)
