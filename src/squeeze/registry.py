"""Methods by name: found by the file names of `squeeze.compressors`, by entry points, or registered at run time."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import threading
import traceback
from collections.abc import Callable
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from squeeze.errors import ConfigError, SqueezeError, UnknownMethodError, nearest

if TYPE_CHECKING:
    from squeeze.base import Compressor

    C = TypeVar("C", bound=type[Compressor])

ENTRY_POINTS = "squeeze.compressors"
"""Group of entry points under which other distributions offer methods: name -> class."""

_classes: dict[str, type[Compressor]] = {}
_lock = threading.RLock()


def register(name: str) -> Callable[[C], C]:
    """A class decorator that makes a compressor available under `name`.

    Raises:
        ConfigError: another class has the name already.
    """

    def add(cls: C) -> C:
        with _lock:
            known = _classes.get(name)
            if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
                raise ConfigError(f"method {name!r} is already registered by {known.__module__}.{known.__qualname__}")
            cls.name = name
            _classes[name] = cls
        return cls

    return add


def available() -> list[str]:
    """Names of all methods, sorted. Imports none of them."""
    import squeeze.compressors as package

    files = {module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_")}
    return sorted(files | set(_classes) | {point.name for point in entry_points(group=ENTRY_POINTS)})


def method_class(name: str) -> type[Compressor]:
    """The class of a method, imported on first use.

    Raises:
        UnknownMethodError: no method has the name.
        MissingDependencyError: the method needs an extra that is not installed.
        ConfigError: its file cannot be imported, or registers another name.
    """
    if not isinstance(name, str):
        raise ConfigError(f"method is {name!r}; allowed: a name, one of {', '.join(available())}")
    with _lock:
        if name not in _classes:
            _import(name)
        return _classes[name]


def _import(name: str) -> None:
    if name not in available():
        raise UnknownMethodError(f"no method is called {name!r}; {nearest(name, available())}")
    for point in entry_points(group=ENTRY_POINTS):
        if point.name == name:
            register(name)(_imported(point.load, name, point.value))
            return
    file = f"squeeze/compressors/{name}.py"
    _imported(partial(importlib.import_module, f"squeeze.compressors.{name}"), name, file)
    if name not in _classes:
        raise ConfigError(f"{file} registers no method called {name!r}; name the file like its method")


def _imported(load: Callable[[], Any], name: str, source: str) -> Any:
    """What `load` gives; a fault of the code that it runs, which may be anybody's, as a ConfigError of one line."""
    try:
        return load()
    except SqueezeError:
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = "" if isinstance(error, SyntaxError) else f" ({Path(last.filename).name}, line {last.lineno})"
        raise ConfigError(
            f"method {name!r} cannot be imported from {source}: {type(error).__name__}: {error}{place}; "
            "mend it, or take it away"
        ) from error


def load(name: str, *, tokenizer: Any = "estimate", **options: Any) -> Compressor:
    """A compressor of that method.

    Args:
        name: name of the method, one of `available()`.
        tokenizer: what counts tokens (see `squeeze.tokens.load_tokenizer`).
        options: the method's own options, the keyword arguments of its class.

    Raises:
        UnknownMethodError: no method has the name.
        ConfigError: the method has no such option, or does not allow its value.
    """
    cls = method_class(name)
    allowed = option_names(cls)
    for option in options:
        if option not in allowed:
            raise ConfigError(f"method {name!r} has no option {option!r}; {nearest(option, allowed)}")
    return cls(tokenizer=tokenizer, **options)


def option_names(cls: type[Compressor]) -> list[str]:
    """Names of the options that a method takes besides the tokenizer, its own first."""
    names: dict[str, None] = {}
    for base in cls.__mro__:
        if "__init__" in vars(base):
            parameters = inspect.signature(base).parameters.values()
            names |= dict.fromkeys(p.name for p in parameters if p.kind is not p.VAR_KEYWORD)
            if not any(p.kind is p.VAR_KEYWORD for p in parameters):
                break
    names |= dict.fromkeys(cls.shared_options)
    names.pop("tokenizer", None)
    return list(names)
