"""The errors that squeeze raises, one tree with `SqueezeError` at the root.

    SqueezeError
    ├── ConfigError(ValueError)              an option or a limit that is not allowed
    │   └── UnknownMethodError(LookupError)  a method, scorer or format that nobody registered
    ├── InputError(TypeError)                a passage or a query of the wrong type
    ├── BudgetError(ValueError)              a limit that a method which may drop nothing cannot reach
    ├── CorruptError(ValueError)             coded text or a file that does not decode
    ├── NotTextError(TypeError)              text asked of a result that holds soft tokens
    ├── NotReversibleError(TypeError)        the original asked of a result that dropped text
    └── MissingDependencyError(ImportError)  a package of an extra is not installed

Each is also the builtin error of its kind, so `except ValueError` keeps working in code that does not know squeeze.
"""

from __future__ import annotations

import difflib
import importlib
import operator
from collections.abc import Iterable
from typing import Any


class SqueezeError(Exception):
    """The root: everything that squeeze raises on purpose."""


class ConfigError(SqueezeError, ValueError):
    """An option, limit or setting outside of what is allowed."""


class UnknownMethodError(ConfigError, LookupError):
    """A name that no method, scorer or format carries."""

    def __str__(self) -> str:  # LookupError subclasses may quote their argument; keep the sentence plain
        return str(self.args[0]) if self.args else ""


class InputError(SqueezeError, TypeError):
    """A passage, query or tokenizer of the wrong type."""


class BudgetError(SqueezeError, ValueError):
    """A limit that the method cannot reach without losing something it must keep.

    Attributes:
        reached: tokens of the shortest form found.
        limit: tokens that were allowed.
    """

    def __init__(self, message: str, *, reached: int, limit: int) -> None:
        super().__init__(message)
        self.reached = reached
        self.limit = limit

    def __reduce__(self) -> tuple[Any, ...]:
        return _budget_error, (self.args[0], self.reached, self.limit)


class CorruptError(SqueezeError, ValueError):
    """Coded text, a file or a checkpoint that does not decode."""


class NotTextError(SqueezeError, TypeError):
    """The result holds soft tokens, so it has no text form."""


class NotReversibleError(SqueezeError, TypeError):
    """The result dropped text, so the original cannot be made from it."""


class MissingDependencyError(SqueezeError, ImportError):
    """A package of an optional extra is needed and not installed."""


def _budget_error(message: str, reached: int, limit: int) -> BudgetError:
    return BudgetError(message, reached=reached, limit=limit)


def need(module: str, *, extra: str) -> Any:
    """The imported module.

    Raises:
        MissingDependencyError: it is not installed; the message is the pip line that installs it.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f'{module} is not installed; run: pip install "squeeze-rag[{extra}]"', name=module
        ) from error


def nearest(given: str, allowed: Iterable[str]) -> str:
    """A sentence that lists what is allowed and names the closest to what was given."""
    names = sorted(allowed)
    close = difflib.get_close_matches(given, names, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return f"allowed: {', '.join(names) or 'nothing'}.{hint}"


def whole(given: Any) -> int | None:
    """A whole number from 0 up of whatever kind (numpy has its own) as an int; None where it is something else."""
    try:
        number = -1 if isinstance(given, bool) else operator.index(given)
    except TypeError:
        return None
    return number if number >= 0 else None
