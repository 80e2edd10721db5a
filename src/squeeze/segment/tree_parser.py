"""The seam for trees that a language model makes: a protocol, and a parser that asks window by window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from squeeze.errors import ConfigError, CorruptError
from squeeze.segment.outline import OutlineNode, read_outline

_PROMPT = """Write the outline of the numbered text below. One line for each heading or sentence that opens a section:
as many # as it is deep, the number of the unit in brackets, and the unit word for word. Begin with depth 1, go down by
one level at a time, keep the order of the text, and name no unit twice. Write nothing else.

{text}
"""

_TRIES = 10
"""How often a window is made smaller and tried again."""

_STEP = 16
"""The share of the window that a try takes off is one in this many."""


@runtime_checkable
class TreeParser(Protocol):
    """Gives the outline of a document. It must be deterministic and thread-safe."""

    def parse(self, units: Sequence[str]) -> list[OutlineNode]:
        """The nodes of the outline in reading order.

        Args:
            units: the texts of the units of the document, in order.

        Raises:
            CorruptError: there is no usable outline.
        """
        ...


class ModelTreeParser:
    """An outline from a language model, after LingoEDU (arXiv 2512.14244).

    What the model writes is checked line by line (`read_outline`), so that an outline names nothing that the document
    does not have. A document that is longer than a window is read window by window: everything from the last heading of
    depth 1 on is dropped, and the next window begins there. A window of which nothing can be used is tried again with
    fewer units, up to ten times; one for which the model writes nothing has no headings.

    Args:
        generate: the model, `prompt -> output`.
        count: length of a text in the model's tokens.
        window: tokens that the numbered units of one prompt may have, at least 1.
        prompt: the prompt, with `{text}` where the numbered units go.
        strict: refuse an output with a single line that is wrong, instead of that line.

    Raises:
        ConfigError: the window is not a whole number from 1 up, or the prompt has no place for the text.
    """

    def __init__(
        self,
        generate: Callable[[str], str],
        *,
        count: Callable[[str], int] = len,
        window: int = 32_768,
        prompt: str = _PROMPT,
        strict: bool = False,
    ) -> None:
        if type(window) is not int or window < 1:
            raise ConfigError(f"window is {window!r}; allowed: a whole number from 1 up")
        if "{text}" not in prompt:
            raise ConfigError("prompt has no {text}; put it where the numbered units go")
        self._generate, self._count, self._window = generate, count, window
        self._prompt, self._strict = prompt, strict

    def parse(self, units: Sequence[str]) -> list[OutlineNode]:
        """The nodes of the outline in reading order; none for a document without units.

        Raises:
            CorruptError: of some window nothing could be used in any size.
        """
        numbered = [f"[{index}] {' '.join(unit.split())}" for index, unit in enumerate(units)]
        sizes = [self._count(line) for line in numbered]
        found: list[OutlineNode] = []
        low = 0
        while low < len(units):
            nodes, high = self._read(units, numbered, sizes, (low, found[-1].depth if found else 0))
            tops = [node.start for node in nodes if node.depth == 1]
            restart = tops[-1] if high < len(units) and tops and tops[-1] > low else high
            found += [node for node in nodes if node.start < restart]
            low = restart
        return _joined(found, len(units))

    def _read(
        self, units: Sequence[str], numbered: list[str], sizes: list[int], begin: tuple[int, int]
    ) -> tuple[list[OutlineNode], int]:
        """The nodes of the window that begins at this unit below this depth, and where the window ends."""
        low, depth = begin
        room, fault = self._window, CorruptError("nothing was tried")
        for _ in range(_TRIES):
            high = _end(sizes, low, room)
            output = self._generate(self._prompt.replace("{text}", "\n".join(numbered[low:high])))
            try:
                nodes = read_outline(output, units, window=(low, high), depth=depth, strict=self._strict)
            except CorruptError as error:
                fault, nodes = error, []
            if nodes or not output.strip():
                return nodes, high
            room -= max(1, self._window // _STEP)
        raise CorruptError(f"the model gave no usable outline of the units from {low} on ({fault})") from fault


def _end(sizes: list[int], low: int, room: int) -> int:
    """The unit after the last that fits, at least one further on."""
    high, used = low + 1, sizes[low]
    while high < len(sizes) and used + sizes[high] <= room:
        used += sizes[high]
        high += 1
    return high


def _joined(nodes: list[OutlineNode], length: int) -> list[OutlineNode]:
    """The nodes of all windows with ends that hold for the whole document."""
    out: list[OutlineNode] = []
    following: list[tuple[int, int]] = []
    for node in reversed(nodes):
        while following and following[-1][0] > node.depth:
            following.pop()
        out.append(node._replace(end=following[-1][1] if following else length))
        following.append((node.depth, node.start))
    return out[::-1]
