"""What a benchmark run compares: methods of squeeze, plain baselines and other packages, behind one small protocol.

Another package is one file in `squeeze.bench.peers`: a module of its name with a function
`runner(tokenizer: str, options: dict) -> Runner`, which raises `MissingDependencyError` where the package is not
installed. Nothing is listed by hand. Each process of a run makes a runner of its own; one that starts a program should
have it end when its input does, and give up on it by itself: an error is counted, a wait is not ended from here.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
import pkgutil
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

from squeeze.bench.baselines import PLAIN, Kept, shuffled
from squeeze.bench.survival import kept_spans
from squeeze.errors import ConfigError, UnknownMethodError, nearest
from squeeze.registry import available, load, method_class, option_names
from squeeze.render import JOINER
from squeeze.tokens import load_tokenizer
from squeeze.types import Budget, Compressed, Passage

Kind = Literal["method", "baseline", "peer"]

ALWAYS = ("full", "truncation", "random", "bm25", "bm25_passages")
"""The baselines of every run."""

METHODS = ("edu", "passages", "lossless")
"""The methods that are measured unless others are named."""

PEERS = "squeeze.bench.peers"


@dataclass(frozen=True, slots=True)
class Output:
    """What a runner made of some documents.

    Attributes:
        text: what a model would read; None for vectors.
        kept: kept spans of the documents; None where only the text is known, in which answers are looked for then.
        tokens: how many tokens it is; None to have the text counted with the tokenizer of the run.
        ms: milliseconds that count; None for those of the whole call.
        result: what a local reader takes in place of the text.
    """

    text: str | None
    kept: Kept | None = None
    tokens: int | None = None
    ms: float | None = None
    result: Compressed | None = None


class Runner(Protocol):
    """Something that shortens documents for a question. Derive from it to get the defaults.

    Attributes:
        name: how it is called in the tables.
        kind: whose it is. Only a peer may overrun the limit without failing the run.
        limited: whether it keeps to a limit; one that does not runs once for each row.
        most: the most rows of a set that it is run on; None for all.
    """

    name: str
    kind: Kind = "peer"
    limited: bool = True
    most: int | None = None

    def run(self, documents: Sequence[Passage], question: str, limit: int) -> Output:
        """What is kept of the documents in at most `limit` tokens."""
        ...


class Ours(Runner):
    """A registered method, through `squeeze.load`."""

    kind: Kind = "method"

    def __init__(self, name: str, tokenizer: str, method: str, options: dict[str, Any]) -> None:
        self.name = name
        self.compressor = load(method, tokenizer=tokenizer, **options)
        self.limited = self.compressor.family != "lossless"

    def run(self, documents: Sequence[Passage], question: str, limit: int) -> Output:
        """The result's text and spans, or its vectors; a lossless method gets no limit."""
        result = self.compressor.compress(documents, question, budget=Budget(limit) if self.limited else None)
        if self.compressor.output in ("soft", "both"):
            return Output(None, None, result.tokens_after, result=result)
        return Output(result.text, kept_spans(result))


class Plain(Runner):
    """A baseline that picks spans."""

    kind: Kind = "baseline"

    def __init__(self, name: str, tokenizer: str, choose: Callable[..., Kept]) -> None:
        self.name, self.choose = name, choose
        self.count = load_tokenizer(tokenizer).count

    def run(self, documents: Sequence[Passage], question: str, limit: int) -> Output:
        """The spans, a line each."""
        kept = self.choose(documents, question, limit, self.count)
        return Output("\n".join(documents[i].text[start:end].rstrip() for i, (start, end) in kept), kept)


class Full(Runner):
    """The input as it is."""

    name: str = "full"
    kind: Kind = "baseline"
    limited: bool = False

    def run(self, documents: Sequence[Passage], question: str, limit: int) -> Output:
        """Everything."""
        kept: Kept = [(index, (0, len(passage.text))) for index, passage in enumerate(documents) if passage.text]
        return Output(JOINER.join(passage.text for passage in documents), kept)


class Spec(NamedTuple):
    """What a method is called in a run, whose it is, and its options."""

    label: str
    name: str
    options: dict[str, Any]
    kind: Kind


@dataclass(frozen=True, slots=True)
class Making:
    """What makes the runners of a run, in each process."""

    tokenizer: str = "estimate"
    seed: int = 0
    specs: tuple[Spec, ...] = field(default=())

    def make(self, spec: Spec) -> Runner:
        """The runner of a spec.

        Raises:
            MissingDependencyError: a package it needs is not installed.
            ConfigError: an option is not allowed.
        """
        if spec.kind == "peer":
            module = importlib.import_module(f"{PEERS}.{spec.name}")
            runner: Runner = module.runner(self.tokenizer, dict(spec.options))
            runner.name = spec.label
            return runner
        if spec.kind == "method":
            return Ours(spec.label, self.tokenizer, spec.name, spec.options)
        if spec.name == "full":
            return Full()
        choose = PLAIN.get(spec.name) or functools.partial(shuffled, seed=self.seed)
        return Plain(spec.label, self.tokenizer, choose)


def peers() -> list[str]:
    """Names of the other packages that there is a file for, installed or not."""
    if importlib.util.find_spec(PEERS) is None:
        return []
    folder = importlib.import_module(PEERS).__path__
    return sorted(module.name for module in pkgutil.iter_modules(folder) if not module.name.startswith("_"))


def specs_of(given: Sequence[str], *, always: Sequence[str] = ALWAYS) -> tuple[Spec, ...]:
    """The specs of names such as `edu` or `edu:unit=sentence:scorer=bm25`, after those that are always in the run.

    Raises:
        UnknownMethodError: nothing has the name.
        ConfigError: an option that the method does not have.
    """
    made = {name: Spec(name, name, {}, "baseline") for name in always}
    for item in given:
        spec = _spec(item.strip())
        if made.get(spec.label, spec).options != spec.options:  # two paths that end in the same name
            spec = spec._replace(label=item.strip())
        made.setdefault(spec.label, spec)
    return tuple(made.values())


def check(spec: Spec) -> None:
    """Returns when the options of a method are ones that it has.

    Raises:
        ConfigError: it has no such option.
        MissingDependencyError: the method cannot be imported without an extra.
    """
    if spec.kind != "method":
        return
    allowed = option_names(method_class(spec.name))
    for option in spec.options:
        if option not in allowed:
            raise ConfigError(f"method {spec.name!r} has no option {option!r}; {nearest(option, allowed)}")


def _spec(item: str) -> Spec:
    name, *pieces = re.split(r":(?=\w+=)", item)
    options: dict[str, Any] = {}
    for piece in pieces:
        key, _, value = piece.partition("=")
        try:
            options[key] = json.loads(value)
        except ValueError:
            options[key] = value
    label = ":".join([name, *(_short(piece) for piece in pieces)])
    known: dict[str, Kind] = dict.fromkeys(peers(), "peer")
    known |= dict.fromkeys((*ALWAYS, *PLAIN), "baseline")
    known |= dict.fromkeys(available(), "method")
    if name not in known:
        raise UnknownMethodError(f"nothing to measure is called {name!r}; {nearest(name, known)}")
    if known[name] == "baseline" and options:
        raise ConfigError(f"{item!r}: the baseline {name!r} has no options")
    return Spec(label, name, options, known[name])


def short(value: str) -> str:
    """A value for people: of a path only the last name."""
    front, colon, path = value.rpartition(":")
    return front + colon + path.rstrip("/").rsplit("/", 1)[-1]


def _short(piece: str) -> str:
    key, _, value = piece.partition("=")
    return f"{key}={short(value)}"
