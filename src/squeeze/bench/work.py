"""The runs of a benchmark: every runner on every row at every share, rows split over processes, results in order."""

from __future__ import annotations

import concurrent.futures
import contextlib
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from squeeze.bench.rows import row_passages
from squeeze.bench.runners import Making, Output, Runner, Spec
from squeeze.bench.sets import Set
from squeeze.bench.survival import Row, answer_kept, answers, cover, fold, must_keep
from squeeze.errors import ConfigError, MissingDependencyError, SqueezeError
from squeeze.render import JOINER
from squeeze.tokens import load_tokenizer
from squeeze.types import Budget, Compressed, Passage

Progress = Callable[[int, int], None]

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(slots=True)
class Line:
    """What one runner did with one row at one share.

    Attributes:
        data: index of the set.
        row: index of the row in it.
        method: name of the runner.
        keep: share of the tokens that it was given; None for one without a limit.
        gold: whether an answer lies in a kept span of a gold document (where a runner gives only text: in the text).
        must: whether every string that must be kept is.
        cover: share of a long answer's word pairs in the text.
        before: tokens of the documents.
        tokens: tokens of the result.
        over: whether they are more than the limit.
        ms: milliseconds.
        by_text: whether evidence was looked for in the text, since the runner gave no spans.
        failed: why there is no result.
        text: what a reader reads, where one will.
        result: the same for a local reader, where it is no text.
        read: what a reader measured.
    """

    data: int
    row: int
    method: str
    keep: float | None
    gold: bool | None = None
    must: bool | None = None
    cover: float | None = None
    before: int = 0
    tokens: int = 0
    over: bool = False
    ms: float = 0.0
    by_text: bool = False
    failed: str = ""
    text: str | None = None
    result: Compressed | None = None
    read: dict[str, Any] = field(default_factory=dict)


class Plan(NamedTuple):
    """What is measured: what makes the runners, the shares, and whether texts are wanted back."""

    making: Making
    keeps: tuple[float, ...]
    texts: bool = False


class Chunk(NamedTuple):
    """Some rows of a set, for one process."""

    data: int
    first: int
    rows: list[Row]


class Done(NamedTuple):
    """The lines of a chunk, and which runners could not be made, with the reason."""

    lines: list[Line]
    missing: dict[str, str]


class Bench:
    """The runners of a process; each is made when it is first needed, and warmed up on the row at hand."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.count = load_tokenizer(plan.making.tokenizer).count
        self.runners: dict[str, Runner] = {}
        self.missing: dict[str, str] = {}

    def chunk(self, chunk: Chunk) -> Done:
        """Every runner on the rows of a chunk."""
        lines = []
        for at, row in enumerate(chunk.rows, chunk.first):
            documents = row_passages(row)
            before = self.count(JOINER.join(document.text for document in documents))
            for spec in self.plan.making.specs:
                runner = self.runner(spec, documents, row["question"])
                if runner is None or (runner.most is not None and at >= runner.most):
                    continue
                for keep in self.plan.keeps if runner.limited else (None,):
                    line = Line(chunk.data, at, spec.label, keep, before=before)
                    self.measure(line, runner, row, documents)
                    lines.append(line)
        return Done(lines, dict(self.missing))

    def runner(self, spec: Spec, documents: Sequence[Passage], question: str) -> Runner | None:
        """The runner of a spec; None where it cannot be made here."""
        if spec.label in self.missing:
            return None
        if spec.label not in self.runners:
            try:
                made = self.plan.making.make(spec)
            except MissingDependencyError as error:
                self.missing[spec.label] = str(error)
                return None
            self.runners[spec.label] = made
            with contextlib.suppress(Exception):  # the row is run again, and what is wrong with it is counted there
                made.run(documents, question, 50)
        return self.runners[spec.label]

    def measure(self, line: Line, runner: Runner, row: Row, documents: Sequence[Passage]) -> None:
        """Fills a line."""
        limit = Budget(keep=line.keep).limit(line.before)
        limit = line.before if limit is None else limit
        started = time.perf_counter()
        try:
            output = runner.run(documents, row["question"], limit)
        except SqueezeError as error:
            line.failed = type(error).__name__
            return
        except Exception as error:  # a package of somebody else may raise anything; the other rows still count
            line.failed = f"{type(error).__module__}.{type(error).__qualname__}".removeprefix("builtins.")
            return
        line.ms = (time.perf_counter() - started) * 1000 if output.ms is None else output.ms
        line.tokens = output.tokens if output.tokens is not None else self.count(output.text) if output.text else 0
        line.over = line.tokens > limit
        judge(line, output, row)
        if self.plan.texts:
            line.text, line.result = output.text, output.result


def judge(line: Line, output: Output, row: Row) -> None:
    """Fills in whether the evidence is kept: in the spans, or in the text where a runner gives no spans."""
    text = fold(output.text or "")
    if output.kept is not None:
        line.gold = answer_kept(row, output.kept) if answers(row) else None
        line.must = must_keep(row, output.kept)
    elif output.text is not None:
        line.by_text = True
        line.gold = any(answer in text for answer in answers(row)) if answers(row) else None
        strings = row["extra"]["must_keep"]
        line.must = all(fold(item) in text for item in strings) if strings else None
    if output.text is not None:
        line.cover = cover(row, output.text)


def run(sets: Sequence[Set], plan: Plan, *, workers: int = 1, progress: Progress | None = None) -> Done:
    """The lines of all rows, in the order of sets, rows, runners and shares, whatever the number of processes.

    Raises:
        ConfigError: a runner does not allow its options.
        SqueezeError: a process ended without a word.
    """
    size = max(1, min(8, sum(len(one.rows) for one in sets) // (workers * 4)))
    chunks = [
        Chunk(data, first, one.rows[first : first + size])
        for data, one in enumerate(sets)
        for first in range(0, len(one.rows), size)
    ]
    total, finished = sum(len(chunk.rows) for chunk in chunks), 0
    found: dict[int, Done] = {}
    for at, done in _serial(chunks, plan) if workers == 1 or len(chunks) < 2 else _spread(chunks, plan, workers):
        found[at] = done
        finished += len(chunks[at].rows)
        if progress is not None:
            progress(finished, total)
    missing = {name: why for at in sorted(found) for name, why in found[at].missing.items()}
    return Done([line for at in sorted(found) for line in found[at].lines], missing)


def _serial(chunks: Sequence[Chunk], plan: Plan) -> Iterator[tuple[int, Done]]:
    bench = Bench(plan)
    for at, chunk in enumerate(chunks):
        yield at, bench.chunk(chunk)


def _spread(chunks: Sequence[Chunk], plan: Plan, workers: int) -> Iterator[tuple[int, Done]]:
    """The chunks as they are done, in processes that start afresh: forks and threads do not go together."""
    fresh = multiprocessing.get_context("spawn")
    with (
        _one_thread_each(),
        concurrent.futures.ProcessPoolExecutor(
            min(workers, len(chunks)), mp_context=fresh, initializer=_begin, initargs=(plan,)
        ) as pool,
    ):
        waiting = {pool.submit(_work, chunk): at for at, chunk in enumerate(chunks)}
        try:
            for future in concurrent.futures.as_completed(waiting):
                yield waiting[future], future.result()
        except BrokenProcessPool as error:
            raise SqueezeError(
                "a process of the run ended without a word, most often for want of memory; try --workers 1"
            ) from error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


@contextlib.contextmanager
def _one_thread_each() -> Iterator[None]:
    """Numeric libraries of the processes started inside use one thread, unless the caller said otherwise."""
    added = [name for name in _THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(added, "1"))
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


_bench: Bench | None = None


def _begin(plan: Plan) -> None:
    global _bench
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one ends it
    _bench = Bench(plan)


def _work(chunk: Chunk) -> Done:
    if _bench is None:
        raise ConfigError("the process has no plan")
    return _bench.chunk(chunk)
