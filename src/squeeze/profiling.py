"""Measures what a model takes to read and to write: the body of `squeeze profile`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from squeeze.costs import Profile
from squeeze.errors import ConfigError, nearest, need

LENGTHS = (64, 256, 1024, 2048)
"""Prompt lengths that are measured unless others are given."""

PRICES = ("cached_discount", "input_price", "output_price")

Progress = Callable[[int, int], None]
Clock = Callable[[], float]


def measure(
    folder: str,
    *,
    lengths: Sequence[int] | None = None,
    new_tokens: int = 8,
    repeats: int = 3,
    progress: Progress | None = None,
    clock: Clock = time.perf_counter,
    **prices: Any,
) -> Profile:
    """The profile of a Hugging Face model on this machine. Needs the extra `soft`.

    Of every length a prompt of random tokens is read and a few tokens are written; the fastest of the repeats counts,
    since whatever else runs can only add.

    Args:
        folder: the model's folder, with safetensors.
        lengths: prompt lengths in tokens; by default those of `LENGTHS` that the model can read.
        new_tokens: tokens written after each prompt.
        repeats: how often each length is measured.
        progress: called with (lengths done, lengths in all).
        clock: what tells the seconds; `time.process_time` on a machine that others use too.
        prices: further fields of the profile (`input_price`, `output_price`, `cached_discount`).

    Raises:
        ConfigError: the model does not load, a number is not allowed, or a length is more than the model can read.
        MissingDependencyError: torch or transformers is not installed.
    """
    from squeeze.soft.models import load_model

    sizes = sorted({_whole("lengths", length) for length in (LENGTHS if lengths is None else lengths)})
    if not sizes:
        raise ConfigError("lengths is empty; give at least one")
    _whole("new_tokens", new_tokens)
    _whole("repeats", repeats)
    Profile(**{"input_price": 0.0, **prices})  # wrong prices are named before anything is measured
    model = load_model(folder)
    most = getattr(model.config, "max_position_embeddings", None)
    if most is not None and lengths is None:
        sizes = [size for size in sizes if size + new_tokens <= most] or [max(1, most - new_tokens)]
    if most is not None and sizes[-1] + new_tokens > most:
        raise ConfigError(f"a length is {sizes[-1]}; the model reads up to {most - new_tokens} tokens before an answer")
    run(model, min(sizes[0], 16), 1, clock)
    prefill, decode = [], []
    for done, size in enumerate(sizes, 1):
        times = [run(model, size, new_tokens, clock) for _ in range(repeats)]
        prefill.append((size, min(read for read, _ in times)))
        decode.append((size, min(write for _, write in times)))
        if progress is not None:
            progress(done, len(sizes))
    name = str(getattr(model.config, "_name_or_path", "") or folder)
    return Profile(prefill=tuple(prefill), decode=tuple(decode), model=name.rstrip("/").rsplit("/", 1)[-1], **prices)


def run(model: Any, prompt: int, answer: int, clock: Clock = time.perf_counter) -> tuple[float, float]:
    """Seconds to read a prompt of so many random tokens, and seconds for each token written after it."""
    torch = need("torch", extra="soft")
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, int(model.config.vocab_size), (1, prompt), generator=generator).to(model.device)
    with torch.inference_mode():
        started = clock()
        out = model(input_ids=ids, use_cache=True, logits_to_keep=1)
        token = out.logits[:, -1:].argmax(-1)
        int(token)  # waits for the device
        read = clock() - started
        started = clock()
        for _ in range(answer):
            out = model(input_ids=token, cache=out.get("cache") or out.get("past_key_values"), use_cache=True)
            token = out.logits[:, -1:].argmax(-1)
        int(token)
    return read, (clock() - started) / answer


def profile_command(
    folder: str, lengths: Sequence[int], prices: dict[str, Any], output: str, *, show: bool = True
) -> bytes | None:
    """What `squeeze profile` writes to standard output; None when it went into a file.

    Raises:
        ConfigError: as `measure`, or the file cannot be written.
    """
    from squeeze.console import Bar, rows
    from squeeze.files import check_target, write_file

    unknown = sorted(set(prices) - set(PRICES))
    if unknown:
        raise ConfigError(f"--price {unknown[0]}; {nearest(unknown[0], PRICES)}")
    if output != "-":
        check_target(output)
    with Bar(show=show) as bar:
        found = measure(folder, lengths=lengths or None, progress=bar, **prices)
    if show:
        rows(("tokens", "read per second", "written per second"), table(found))
    data = found.to_json().encode()
    if output == "-":
        return data
    write_file(output, data)
    return None


def table(profile: Profile) -> list[tuple[str, str, str]]:
    """Rows for people: tokens of the prompt, tokens read a second, tokens written a second."""
    writes = dict(profile.decode)
    return [
        (f"{tokens:,}", f"{tokens / seconds:,.0f}", f"{1 / writes[tokens]:,.1f}") for tokens, seconds in profile.prefill
    ]


def _whole(name: str, value: Any) -> int:
    if type(value) is not int or value < 1:
        raise ConfigError(f"{name} has {value!r}; allowed: whole numbers from 1 up")
    return value
