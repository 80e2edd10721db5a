"""A tool by which a model asks for what was left out: the loop of the latent-context paper (arXiv 2606.09659)."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from squeeze.errors import ConfigError, SqueezeError
from squeeze.render import JOINER
from squeeze.reopening import Stretch, stretches
from squeeze.tokens import load_tokenizer
from squeeze.types import Compressed, SoftPart

Message = dict[str, Any]
Answer = str | Mapping[str, Any]
Model = Callable[[list[Message], dict[str, Any] | None], Answer]
"""Takes messages and the schema of the tool (None when it may not ask any more) and gives an answer or arguments."""


class ExpandTool:
    """Gives a model the source of numbered parts of a result, as often as its rounds allow.

    A passage of which nothing was kept has a number too, behind those of the parts. What a model asks wrongly (a part
    that is not there, one round too many) is answered with a sentence for the model and never raises. One tool serves
    one conversation.

    Attributes:
        result: the result that is read.
        rounds: how often the model may ask.
        pieces: the stretch of source behind each number.
        opened: the numbers that were reopened, in order.
    """

    def __init__(
        self,
        result: Compressed,
        *,
        rounds: int = 5,
        max_tokens: int | None = None,
        tokenizer: Any = "estimate",
        name: str = "expand",
    ) -> None:
        """Takes a result and the limits.

        Args:
            result: what a compressor returned.
            rounds: how often the model may ask, 0 or more.
            max_tokens: tokens that all reopened texts may have together; None for no limit.
            tokenizer: what counts them (see `squeeze.tokens.load_tokenizer`).
            name: what the tool is called in the schema.

        Raises:
            ConfigError: a limit is negative or no whole number, or the name is no identifier.
        """
        if not isinstance(result, Compressed):
            raise ConfigError(f"result is {type(result).__name__}; allowed: what a compressor returned")
        for label, value in (("rounds", rounds), ("max_tokens", max_tokens)):
            if value is not None and (type(value) is not int or value < 0):
                raise ConfigError(f"{label} is {value!r}; allowed: a whole number from 0 up")
        if not isinstance(name, str) or not name.isidentifier():
            raise ConfigError(f"name is {name!r}; allowed: a name of letters, digits and _")
        self.result, self.rounds, self.name = result, rounds, name
        shown = {part.passage for part in result.parts}
        dropped = [Stretch(at, 0, len(p.text)) for at, p in enumerate(result.passages) if at not in shown]
        self.pieces: tuple[Stretch, ...] = (*stretches(result), *(piece for piece in dropped if piece.end))
        self.opened: list[int] = []
        self._room, self._count = max_tokens, load_tokenizer(tokenizer).count
        self._asked = 0
        self._lock = threading.Lock()

    @property
    def rounds_left(self) -> int:
        """How often the model may still ask."""
        return self.rounds - self._asked

    @property
    def schema(self) -> dict[str, Any]:
        """The tool as a JSON function schema: name, description, parameters."""
        return {
            "name": self.name,
            "description": (
                "Gives the full source text of one numbered part of the context, with what was left out around it. "
                f"May be called {self.rounds} times."
            ),
            "parameters": {
                "type": "object",
                "properties": {
                    "part": {
                        "type": "integer",
                        "description": "The number of the part, as it stands in brackets before it.",
                        "minimum": 0,
                        "maximum": max(0, len(self.pieces) - 1),
                    }
                },
                "required": ["part"],
            },
        }

    @property
    def text(self) -> str:
        """The context with the number of each part before it, and the numbers of passages that were left out.

        Raises:
            NotTextError: the result holds soft tokens.
        """
        out = list[str]()
        texts = () if not self.result.text else self.result.parts
        for number, part in enumerate(texts):
            assert not isinstance(part, SoftPart)
            out.append(f"{part.lead}[{number}] {part.text}")
        whole = "".join(out)
        for number in range(len(self.result.parts), len(self.pieces)):
            passage = self.result.passages[self.pieces[number].passage]
            about = f": {' '.join(passage.title.split())}" if passage.title.strip() else ""
            whole += f"{JOINER if whole else ''}[{number}] (left out{about})"
        return whole

    def __call__(self, part: Any = None) -> str:
        """The source of a part, or a sentence that says why there is none."""
        with self._lock:
            return self._answer(part)

    def call(self, arguments: str | Mapping[str, Any]) -> str:
        """The same for the arguments of a tool call: a mapping, or its JSON."""
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments)
            except ValueError:
                arguments = {}
        return self(arguments.get("part") if isinstance(arguments, Mapping) else None)

    def run(self, model: Model, question: str) -> str:
        """The model's answer, after it has reopened what it wanted.

        The model gets the messages so far and the schema. It answers with a str, or with arguments for the tool, which
        are answered in a further message. Without rounds left it gets None for the schema, and has to answer.

        Raises:
            SqueezeError: it asks for the tool without having one.
        """
        messages: list[Message] = [
            {"role": "system", "content": f"Context, in numbered parts:\n\n{self.text}"},
            {"role": "user", "content": question},
        ]
        while True:
            schema = self.schema if self.rounds_left > 0 else None
            said = model([dict(message) for message in messages], schema)
            if isinstance(said, str):
                return said
            if schema is None:
                raise SqueezeError(f"the model asked for {self.name!r} after its {self.rounds} rounds")
            messages.append({"role": "assistant", "name": self.name, "arguments": said})
            messages.append({"role": "tool", "name": self.name, "content": self.call(said)})

    def _answer(self, part: Any) -> str:
        if self.rounds_left <= 0:
            return f"No rounds left: {self.name} may be called {self.rounds} times. Answer with what you have."
        self._asked += 1
        number = int(part) if isinstance(part, str) and part.strip().isdecimal() else part
        if type(number) is not int or not 0 <= number < len(self.pieces):
            return f"There is no part {part!r}; allowed: {_numbers(self.pieces)}."
        if number in self.opened:
            return f"Part {number} was reopened already; its text stands above."
        passage, start, end = self.pieces[number]
        text = self.result.passages[passage].text[start:end]
        if self._room is not None:
            size = self._count(text) if text else 0
            if size > self._room:
                return f"Part {number} has {size} tokens; {self._room} may still be reopened. Ask for a shorter one."
            self._room -= size
        self.opened.append(number)
        return text


def _numbers(pieces: Sequence[Stretch]) -> str:
    return f"a whole number from 0 to {len(pieces) - 1}" if pieces else "none, as the context is empty"
