"""The reader: a language model that answers from compressed passages, its weights as they are."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, cast

import torch

from squeeze.errors import BudgetError, ConfigError, InputError, need
from squeeze.soft.fingerprint import model_fingerprint, model_part
from squeeze.soft.inputs import (
    Inputs,
    Row,
    evaluating,
    ids_row,
    join,
    pad_left,
    positions_of,
    prepare_embeds,
    vectors_row,
)
from squeeze.soft.prompt import Prompt, plain_ids, split_prompt
from squeeze.types import Compressed, SoftPart, TextPart

Context = Compressed | str | None
"""What is read: a result of any compressor, plain text, or nothing."""

_OURS = ("inputs_embeds", "input_ids", "attention_mask", "position_ids", "streamer", "max_length", "max_new_tokens")


class Reader:
    """Puts compressed passages and a prompt before a model, as `inputs_embeds`, and reads the answer.

    Args:
        model: a Hugging Face causal language model; its dtype and device are followed, its weights never touched.
        tokenizer: its Hugging Face tokenizer.
    """

    def __init__(self, model: Any, tokenizer: Any) -> None:
        for name in ("get_input_embeddings", "generate", "config"):
            if not hasattr(model, name):
                raise InputError(f"model is {type(model).__name__}; allowed: a Hugging Face causal language model")
        if not hasattr(tokenizer, "bos_token_id"):
            raise InputError(f"tokenizer is {type(tokenizer).__name__}; allowed: a Hugging Face tokenizer")
        self.model, self.tokenizer = model, tokenizer

    @cached_property
    def fingerprint(self) -> str:
        """What names the model; only vectors made for it are read."""
        return model_fingerprint(self.model)

    def inputs_embeds(
        self, compressed: Context | Sequence[Context], prompt: Prompt | Sequence[Prompt], *, reply: bool = True
    ) -> Inputs:
        """The context and the prompt as embeddings, with attention mask and position ids.

        Args:
            compressed: one context, or a list of them for a batch.
            prompt: text after the context, a tuple of text before and after it, or chat messages with one `SLOT`; for
                a list of contexts a list of as many prompts.
            reply: whether a chat ends with the opening of the assistant's turn.

        Raises:
            ConfigError: vectors of another model or width, or a prompt that has no one place for the context.
            CorruptError: vectors that are no finite numbers.
            BudgetError: more positions than the model reads.
        """
        rows = self.rows(compressed, prompt, reply=reply)
        self._check_length(rows, 0)
        return pad_left(rows)

    def to_prompt_embeds(self, compressed: Context, prompt: Prompt) -> str:
        """The context and the prompt as vLLM's `prompt_embeds` takes them (see `squeeze.soft.export`)."""
        encoded: str = need("squeeze.soft.export", extra="soft").to_prompt_embeds(self, compressed, prompt)
        return encoded

    def rows(
        self, compressed: Context | Sequence[Context], prompt: Prompt | Sequence[Prompt], *, reply: bool = True
    ) -> list[Row]:
        """The rows that `inputs_embeds` pads into a batch."""
        return [self._row(context, one, reply) for context, one in _pairs(compressed, prompt)]

    def generate(
        self,
        compressed: Context | Sequence[Context],
        prompt: Prompt | Sequence[Prompt],
        *,
        max_new_tokens: int = 64,
        **options: Any,
    ) -> Any:
        """The answer as text; for a list of contexts a list of answers.

        Args:
            compressed: see `inputs_embeds`.
            prompt: see `inputs_embeds`.
            max_new_tokens: most tokens of the answer.
            options: further options of the model's `generate`, `do_sample` and `temperature` say; greedy without any.
        """
        ids = self.generate_ids(self.rows(compressed, prompt), max_new_tokens=max_new_tokens, **options)
        texts = [self.tokenizer.decode(one, skip_special_tokens=True) for one in ids]
        return texts if isinstance(compressed, list | tuple) else texts[0]

    def generate_ids(self, rows: Sequence[Row], *, max_new_tokens: int, **options: Any) -> list[list[int]]:
        """The new ids of each row, without what was put before them."""
        self._check_length(rows, _new_tokens(max_new_tokens))
        inputs = pad_left(rows)
        return generate_ids(
            self.model, inputs.inputs_embeds, inputs.attention_mask, max_new_tokens=max_new_tokens, **options
        )

    def stream(self, compressed: Context, prompt: Prompt, *, max_new_tokens: int = 64, **options: Any) -> Iterator[str]:
        """The answer in pieces, as they are made; leaving the loop early stops the model.

        Arguments are those of `generate`, for one context; they are checked at once.
        """
        rows = self.rows(compressed, prompt)
        self._check_length(rows, _new_tokens(max_new_tokens))
        _check_options(options)
        criteria = options.pop("stopping_criteria", ())
        inputs, stop, failed = pad_left(rows), threading.Event(), list[BaseException]()
        streamer = need("transformers", extra="soft").TextIteratorStreamer(
            self.tokenizer, skip_prompt=True, skip_special_tokens=True
        )

        def stopped(ids: torch.Tensor, _scores: Any, **_: Any) -> torch.Tensor:
            return torch.full((len(ids),), stop.is_set(), device=ids.device)

        def work() -> None:
            try:
                generate_ids(
                    self.model,
                    inputs.inputs_embeds,
                    inputs.attention_mask,
                    max_new_tokens=max_new_tokens,
                    streamer=streamer,
                    stopping_criteria=[*criteria, stopped],
                    **options,
                )
            except BaseException as error:  # handed to whoever reads the stream
                failed.append(error)
                streamer.end()

        thread = threading.Thread(target=work, daemon=True, name="squeeze stream")

        def pieces() -> Iterator[str]:
            thread.start()
            try:
                yield from (piece for piece in streamer if piece)
            finally:
                stop.set()
            thread.join()
            if failed:
                raise failed[0]

        return pieces()

    def answer_logprobs(self, compressed: Context, prompt: Prompt, answer: str) -> list[float]:
        """The natural log-probability of each token of an answer, given the context, the prompt and what precedes it.

        Raises:
            ConfigError: the answer is empty.
        """
        ids = plain_ids(self.tokenizer, answer)
        if not ids:
            raise ConfigError("the answer is empty; give at least one word")
        row = join([self._row(compressed, prompt, True), ids_row(self.model, ids)])
        self._check_length([row], 0)
        inputs = pad_left([row])
        with torch.no_grad(), evaluating(self.model):
            logits = self.model(inputs_embeds=inputs.inputs_embeds, use_cache=False, logits_to_keep=len(ids) + 1).logits
        scores = torch.log_softmax(logits[0, -len(ids) - 1 : -1].float(), -1)
        return [float(scores[at, token]) for at, token in enumerate(ids)]

    def answer_logprob(self, compressed: Context, prompt: Prompt, answer: str) -> float:
        """The natural log-probability of the whole answer: the sum of `answer_logprobs`."""
        return sum(self.answer_logprobs(compressed, prompt, answer))

    def _row(self, context: Context, prompt: Prompt, reply: bool) -> Row:
        pieces = self._context(context)
        before, after = split_prompt(self.tokenizer, prompt, context=bool(pieces), reply=reply)
        rows = [ids_row(self.model, before)] if before else []
        rows += pieces
        rows += [ids_row(self.model, after)] if after else []
        if not rows:
            raise ConfigError("there is neither a context nor a prompt; give one of them")
        return join(rows)

    def _context(self, context: Context) -> list[Row]:
        if context is None or context == "":
            return []
        if isinstance(context, str):
            return [ids_row(self.model, plain_ids(self.tokenizer, context))]
        if not isinstance(context, Compressed):
            raise InputError(f"compressed is {type(context).__name__}; allowed: Compressed, str or None")
        rows: list[Row] = []
        text = ""
        for part in context.parts:
            text += part.lead + (part.text if isinstance(part, TextPart) else "")
            if isinstance(part, SoftPart):
                self._check_fingerprint(part)
                rows += [ids_row(self.model, plain_ids(self.tokenizer, text))] if text else []
                rows.append(vectors_row(self.model, part.vectors))
                text = ""
        return [*rows, ids_row(self.model, plain_ids(self.tokenizer, text))] if text else rows

    def _check_fingerprint(self, part: SoftPart) -> None:
        if model_part(part.fingerprint) != self.fingerprint:
            raise ConfigError(
                f"the vectors of passage {part.passage} are for the model {model_part(part.fingerprint)!r}; "
                f"this one is {self.fingerprint!r}: compress with this model, or read with that one"
            )

    def _check_length(self, rows: Sequence[Row], new: int) -> None:
        most = positions_of(self.model)
        longest = max(len(row.embeds) for row in rows)
        if most is not None and longest + new > most:
            raise BudgetError(
                f"context and prompt take {longest} positions and the answer {new}; the model reads {most}: "
                "compress to a smaller budget",
                reached=longest + new,
                limit=most,
            )


def generate_ids(
    model: Any,
    embeds: torch.Tensor,
    mask: torch.Tensor | None = None,
    *,
    max_new_tokens: int,
    **options: Any,
) -> list[list[int]]:
    """The new token ids that a model makes after input embeddings, one list per row, padding cut off.

    Args:
        model: a Hugging Face causal language model; it is left in the mode it is in.
        embeds: (batch, positions, width), in any dtype; checked as `prepare_embeds` does.
        mask: 1 for what is read, (batch, positions); None where all is.
        max_new_tokens: most new tokens.
        options: further options of the model's `generate`; greedy without any.
    """
    _check_options({name: value for name, value in options.items() if name != "streamer"})
    if not options.get("do_sample"):
        options = {"temperature": None, "top_p": None, "top_k": None, **options, "do_sample": False}
    end = options.get("eos_token_id", model.generation_config.eos_token_id)
    ends = {end} if isinstance(end, int) else set(end or ())
    options.setdefault("pad_token_id", next(iter(sorted(ends)), 0))
    embeds = prepare_embeds(model, embeds)
    if mask is None:
        mask = torch.ones(embeds.shape[:2], dtype=torch.long, device=embeds.device)
    with torch.no_grad(), evaluating(model):
        made = model.generate(
            inputs_embeds=embeds, attention_mask=mask, max_new_tokens=_new_tokens(max_new_tokens), **options
        )
    return [_to_end(row, ends) for row in made.tolist()]


def _check_options(options: Mapping[str, Any]) -> None:
    taken = sorted(set(options) & set(_OURS))
    if taken:
        raise ConfigError(f"{taken[0]} cannot be given here; the reader sets it (max_new_tokens limits the answer)")


def _to_end(ids: list[int], ends: set[int]) -> list[int]:
    """The ids up to the first end mark, which is left in."""
    return next((ids[: at + 1] for at, token in enumerate(ids) if token in ends), ids)


def _new_tokens(given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise ConfigError(f"max_new_tokens is {given!r}; allowed: a whole number from 1 up")
    return given


def _pairs(compressed: Any, prompt: Any) -> list[tuple[Context, Prompt]]:
    """Contexts with their prompts: one of each, or as many of both."""
    if not isinstance(compressed, list | tuple):
        return [(compressed, prompt)]
    prompts = cast("Sequence[Prompt]", prompt)
    if not isinstance(prompt, list | tuple) or len(prompt) != len(compressed) or not compressed:
        raise ConfigError(f"{len(compressed)} contexts need a list of as many prompts, at least one")
    return list(zip(compressed, prompts, strict=True))
