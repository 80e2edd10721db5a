"""Trains the encoders of soft tokens for a language model, which itself stays as it is.

    python -m squeeze.train.soft --method arc --model FOLDER --text FILE ... --data FILE ... --out FOLDER
    python -m squeeze.train.soft --model FOLDER --text FILE ... --data FILE ... --prepare IDS
    python -m squeeze.train.soft --method arc --model FOLDER --ids IDS --out FOLDER --device cuda --dtype bf16
    python -m squeeze.train.soft --model FOLDER --out FOLDER --resume

OUT gets the checkpoint, which `squeeze.load(METHOD, model=…, checkpoint=OUT)` reads, the state to go on from
(`state.safetensors`), `log.jsonl`, `curve.png` and `training.json`. `--prepare` writes ids alone, which travel to a
machine without the texts. A run that is stopped (Ctrl-C, SIGTERM, `--minutes`) saves and goes on with `--resume`, with
the options that it was started with; on a CPU its losses are then those of an unbroken run. Learning rates rise over
`--warm-up` steps and fall as a cosine to `--floor` of themselves at `--steps`. How a method takes part: see
`squeeze.train.soft_method`. Needs the extras `soft` and `train`.
"""

from __future__ import annotations

import contextlib
import json
import signal
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from squeeze.bench.machine import write_report
from squeeze.errors import ConfigError, SqueezeError, need
from squeeze.soft.models import load_hf_tokenizer, load_model
from squeeze.train.soft_data import Limits, prepare, spelling_of
from squeeze.train.soft_ids import INFO, Prepared
from squeeze.train.soft_method import Setting
from squeeze.train.soft_options import parse, shaping
from squeeze.train.soft_run import Run
from squeeze.train.soft_state import STATE

REPORT = "training.json"


def ids_of(options: Namespace, tokenizer: Any, vocabulary: int) -> Prepared:
    """The ids of the run: those given, those it made before, or new ones from its files.

    Raises:
        ConfigError: there are none, or they are another tokenizer's.
    """
    folder = options.prepare or options.ids or options.out / "ids"
    if options.prepare or (options.ids is None and (options.text or options.data) and not options.resume):
        limits = Limits(options.rows, options.answer, options.context)
        prepare(tokenizer, vocabulary, options.text, options.data, limits).save(folder)
    elif not (folder / INFO).is_file():
        raise ConfigError("there is nothing to train on; give --text, --data, or --ids with what --prepare wrote")
    found = Prepared.load(folder)
    own = spelling_of(tokenizer, vocabulary)
    if own.print != found.spelling.print:
        raise ConfigError(f"the ids in {folder} are another tokenizer's than that of {options.model}: make them again")
    return found


@contextlib.contextmanager
def stopping() -> Iterator[list[int]]:
    """A list that gets a number when the program is asked to stop; asked again, it stops at once."""
    asked: list[int] = []
    before: dict[int, Any] = {}
    number: int

    def ask(number: int, _: Any) -> None:
        asked.append(number)
        signal.signal(number, before[number])

    with contextlib.suppress(ValueError):  # another thread than the main one gets no signals
        for number in (signal.SIGTERM, signal.SIGINT):
            before[number] = signal.signal(number, ask)
    try:
        yield asked
    finally:
        for number, own in before.items():
            signal.signal(number, own)


def bar() -> Any:
    """A progress bar with loss, speed and time left; silent where nobody watches."""
    progress = need("rich.progress", extra="train")
    console = need("rich.console", extra="train").Console(stderr=True)
    columns = ("{task.description}", progress.BarColumn(), progress.MofNCompleteColumn(), "{task.fields[figures]}")
    return progress.Progress(*columns, progress.TimeRemainingColumn(), console=console, disable=not console.is_terminal)


def train(run: Run, options: Namespace) -> str:
    """Steps until they are done, the time is up or the program is asked to stop; says which."""
    started, why = time.monotonic(), "done"
    with stopping() as asked, bar() as progress:
        shown = progress.add_task(options.method, total=options.steps, completed=run.step, figures="")
        if not run.step:
            run.measure()
        while run.step < options.steps:
            row = run.pass_over()
            run.log.add(**row)
            speed = (run.spent["context"] + run.spent["target"]) / max(run.spent["seconds"], 1e-9)
            progress.update(shown, completed=run.step, figures=f"loss {row['loss']:.3f}, {speed:,.0f} tokens/s")
            if asked or time.monotonic() - started > options.minutes * 60:
                why = "stopped" if asked else "time is up"
                break
            if run.step % options.every == 0 and run.step < options.steps:
                run.measure()
                run.save()
        if not asked:
            run.measure()
        run.save()
    return why


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains."""
    options = parse(arguments)
    torch.set_num_threads(options.threads)
    if options.curve and not options.prepare:
        need("matplotlib.figure", extra="train")
    tokenizer, model = load_hf_tokenizer(options.model), load_model(options.model)
    model = model.float().to(options.device).requires_grad_(False)
    if not options.prepare:
        options.out.mkdir(parents=True, exist_ok=True)
    if not options.prepare and not options.resume and (options.out / STATE).exists():
        raise ConfigError(f"{options.out} holds a run already; go on with --resume, or give another --out")
    prepared = ids_of(options, tokenizer, int(model.get_input_embeddings().weight.shape[0]))
    texts, documents = len(prepared.texts.flat), len(prepared.documents.flat)
    print(f"{len(prepared.texts)} texts of {texts} ids, {len(prepared.questions)} questions on {documents} ids")
    if options.prepare:
        return
    run = Run(options, Setting(options, model, prepared, options.out))
    why = train(run, options)
    summary = run.summary()
    write_report(
        options.out / REPORT, "squeeze.train.soft", summary, model=Path(options.model).name, **shaping(options)
    )
    print(json.dumps({key: value for key, value in summary.items() if key != "measured"}))
    print(f"{why} at step {run.step} of {options.steps}; {options.out} holds the checkpoint")


if __name__ == "__main__":
    try:
        main()
    except SqueezeError as error:
        raise SystemExit(f"{type(error).__name__}: {error}") from error
