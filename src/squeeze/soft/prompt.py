"""Prompts as token ids around one slot, the place where the context goes.

The slot is an object, never text, so nothing that a user types can stand for it; in a rendered chat template it is a
mark that occurs nowhere in the messages. What a user typed is plain text: special-token text in it makes no special
token.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Literal

from squeeze.counters import plain
from squeeze.errors import ConfigError, InputError
from squeeze.tokens import load_tokenizer

JOINER = "\n\n"


class Slot:
    """The place in a prompt where the context goes."""

    def __repr__(self) -> str:
        return "SLOT"


SLOT: Final = Slot()
"""The place in a prompt where the context goes: `[{"role": "user", "content": [SLOT, "\\n\\nWhen?"]}]`."""

Messages = Sequence[Mapping[str, Any]]
Prompt = str | tuple[str, str] | Messages
"""Text that follows the context; text before and after it; or chat messages."""

Piece = tuple[str, bool]
"""Text, and whether it is the template's own (special tokens in it are meant)."""


def plain_ids(tokenizer: Any, text: str) -> list[int]:
    """The ids of a text, special-token text being plain text, nothing added."""
    return load_tokenizer(tokenizer).encode(text) if text else []


def begin_ids(tokenizer: Any) -> list[int]:
    """The begin mark, in the form in which the tokenizer adds it by itself; empty where it adds none."""
    begin = tokenizer.bos_token_id
    return [begin] if begin is not None and begin in _added(tokenizer) else []


def prompt_ids(
    tokenizer: Any,
    *,
    text: str | None = None,
    messages: Messages | None = None,
    position: Literal["start", "after_soft"] = "start",
) -> list[int]:
    """The ids of a prompt without a context, with exactly one begin mark where the model wants one.

    Args:
        tokenizer: a Hugging Face tokenizer.
        text: plain text; or
        messages: chat messages, for which the model's template is used.
        position: `after_soft` for text that follows other parts, which gets no begin mark.
    """
    if (text is None) == (messages is None):
        raise ConfigError("give text or messages, one of them")
    if text is not None:
        return [*(begin_ids(tokenizer) if position == "start" else []), *plain_ids(tokenizer, text)]
    before, after = split_prompt(tokenizer, messages or [], context=False, reply=False)
    return [*before, *after]


def split_prompt(tokenizer: Any, prompt: Prompt, *, context: bool, reply: bool = True) -> tuple[list[int], list[int]]:
    """The ids before and after the slot.

    Args:
        tokenizer: a Hugging Face tokenizer.
        prompt: see `Prompt`. A chat without `SLOT` gets it at the start of its last user message.
        context: whether there is a context to put there; without one, joiners are left out.
        reply: whether a chat ends with the opening of the assistant's turn.

    Raises:
        InputError: the prompt is of another type.
        ConfigError: more than one slot, no user message, or a model without a chat template.
    """
    if isinstance(prompt, str):
        lead = JOINER if context and prompt else ""
        return begin_ids(tokenizer), plain_ids(tokenizer, lead + prompt)
    sides = [piece for piece in prompt if isinstance(piece, str)] if isinstance(prompt, Sequence) else []
    if isinstance(prompt, tuple) and len(prompt) == 2 == len(sides):
        return [*begin_ids(tokenizer), *plain_ids(tokenizer, sides[0])], plain_ids(tokenizer, sides[1])
    messages = [piece for piece in prompt if isinstance(piece, Mapping)] if isinstance(prompt, Sequence) else []
    if messages and len(messages) == len(prompt):
        return _chat(tokenizer, messages, context, reply)
    raise InputError(f"prompt is {type(prompt).__name__}; allowed: a str, two of them in a tuple, or chat messages")


def _chat(tokenizer: Any, messages: Messages, context: bool, reply: bool) -> tuple[list[int], list[int]]:
    if not getattr(tokenizer, "chat_template", None):
        raise ConfigError("the tokenizer has no chat template; give the prompt as text")
    contents = [_content(message) for message in messages]
    slots = sum(piece is SLOT for pieces in contents for piece in pieces)
    if slots > 1:
        raise ConfigError(f"the messages have {slots} slots; allowed: one")
    if not slots:
        users = [index for index, message in enumerate(messages) if message.get("role") == "user"]
        if not users:
            raise ConfigError("the messages have no SLOT and no user message to put the context into")
        typed = "".join(str(piece) for piece in contents[users[-1]])
        contents[users[-1]] = [SLOT, JOINER + typed if context and typed else typed]
    marks = _marks(tokenizer, contents)
    marked = [
        {**message, "content": "".join(marks.get(piece, str(piece)) for piece in pieces)}
        for message, pieces in zip(messages, contents, strict=True)
    ]
    rendered: str = tokenizer.apply_chat_template(marked, tokenize=False, add_generation_prompt=reply)
    before, found, after = rendered.partition(marks[SLOT])
    if not found or marks[SLOT] in after:
        raise ConfigError("the chat template does not print each message once, so the context has no one place in it")
    originals = {mark: str(piece) for piece, mark in marks.items() if piece is not SLOT}
    ids = [_template_ids(tokenizer, side, originals) for side in (before, after)]
    begin = begin_ids(tokenizer)
    return [*(begin if begin and ids[0][:1] != begin else []), *ids[0]], ids[1]


def _content(message: Mapping[str, Any]) -> list[str | Slot]:
    content = message.get("content", "")
    pieces = [content] if isinstance(content, str | Slot) else content
    if not isinstance(pieces, list | tuple) or not all(isinstance(piece, str | Slot) for piece in pieces):
        raise InputError("content of a message is neither a str nor a list of str and SLOT")
    joined: list[str | Slot] = []
    for piece in pieces:
        if isinstance(piece, str) and joined and isinstance(joined[-1], str):
            joined[-1] += plain(piece)  # looked at as one, so that no special token hides in a seam
        else:
            joined.append(plain(piece) if isinstance(piece, str) else piece)
    return joined


def _marks(tokenizer: Any, contents: Sequence[Sequence[str | Slot]]) -> dict[str | Slot, str]:
    """A mark for the slot, and one for every typed text that a tokenizer would take for special tokens."""
    typed = [piece for pieces in contents for piece in pieces if isinstance(piece, str)]
    everything = "".join(typed) + str(tokenizer.chat_template)
    number = 0
    while f"squeezemark{number}x" in everything:
        number += 1
    stem = f"squeezemark{number}x"
    special = [str(token) for token in tokenizer.get_added_vocab()]
    risky = [text for text in dict.fromkeys(typed) if any(token in text for token in special)]
    marks: dict[str | Slot, str] = {text: f"{stem}{index}q" for index, text in enumerate(risky)}
    return {**marks, SLOT: f"{stem}slotq"}


def _template_ids(tokenizer: Any, rendered: str, originals: Mapping[str, str]) -> list[int]:
    ids: list[int] = []
    for text, own in _split(rendered, originals):
        ids += tokenizer.encode(text, add_special_tokens=False) if own and text else plain_ids(tokenizer, text)
    return ids


def _split(rendered: str, originals: Mapping[str, str]) -> Iterator[Piece]:
    """The rendered text in pieces: the template's with harmless messages, and typed text to be taken literally."""
    rest = rendered
    while True:
        places = sorted((rest.find(mark), mark) for mark in originals if mark in rest)
        if not places:
            break
        at, mark = places[0]
        yield rest[:at], True
        yield originals[mark], False
        rest = rest[at + len(mark) :]
    yield rest, True


@lru_cache(maxsize=32)
def _added(tokenizer: Any) -> tuple[int, ...]:
    """What the tokenizer puts around a text by itself."""
    return tuple(tokenizer.encode("", add_special_tokens=True))
