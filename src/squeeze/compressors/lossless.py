"""Repeated phrases said once, in a form that any model can read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

from squeeze.base import Coded, Lossless
from squeeze.coding import json_table, overlap
from squeeze.coding.phrases import Listed, entries, list_phrases, spell_out
from squeeze.errors import ConfigError, CorruptError
from squeeze.registry import register
from squeeze.render import JOINER

_OVERLAP = ("keep", "merge")
_CLEARLY = 0.9  # share of the tokens of JSON below which its short form wins whatever phrases do


@register("lossless")
class LosslessText(Lossless):
    """Repeated phrases said once in a short list in front; every passage comes back byte for byte.

    Markers are characters that the texts do not have and that cost least in the tokenizer. Phrases begin and end at
    words, unless that would cost more than a hundredth of the tokens. JSON passages are written without white space,
    and with lists of alike objects as tables, where that is shorter. A model that reads the result may miscount how
    often a phrase occurs: it sees it once.
    """

    def __init__(
        self, *, tokenizer: Any = "estimate", min_saving: float = 0.0, overlap: Literal["keep", "merge"] = "keep"
    ) -> None:
        """Takes the tokenizer of the model that reads the result.

        Args:
            tokenizer: what counts tokens; phrases are made of its tokens where it tells where they begin, else of
                words.
            min_saving: share of the tokens, 0 to 1, that must be saved; an input where less is saved passes through.
            overlap: "merge" joins passages that are overlapping windows of one text (24 characters and more) before
                phrases are listed, so that the text goes on from one to the next; "keep" leaves that to the list.
        """
        super().__init__(tokenizer=tokenizer)
        number = isinstance(min_saving, int | float) and not isinstance(min_saving, bool)
        if not (number and math.isfinite(min_saving) and 0 <= min_saving <= 1):
            raise ConfigError(f"min_saving is {min_saving!r}; allowed: a number from 0 to 1")
        if overlap not in _OVERLAP:
            raise ConfigError(f"overlap is {overlap!r}; allowed: {' or '.join(map(repr, _OVERLAP))}")
        self.min_saving = float(min_saving)
        self.overlap = overlap

    @classmethod
    def example(cls) -> Self:
        """An instance with its defaults."""
        return cls()

    def encode(self, texts: Sequence[str]) -> Coded:
        """The list of markers as header, the texts with markers in them as bodies."""
        joined = overlap.join(texts) if self.overlap == "merge" else overlap.Joined(tuple(texts))
        leads = None
        data: dict[str, Any] = {}
        if joined.windows:
            data["windows"] = [[list(pieces), start, end] for pieces, start, end in joined.windows]
            shown = [at for at, (pieces, _, _) in enumerate(joined.windows) if pieces[0] == at]
            leads = tuple(JOINER if at in shown[1:] else "" for at in range(len(texts)))
        listed, layouts = self._listed(joined.texts, leads)
        if layouts:
            data["json"] = layouts
        if listed.marks:
            data["marks"], data["sizes"] = list(listed.marks), list(listed.sizes)
        return Coded(listed.header, listed.bodies, data, leads)

    @classmethod
    def decode(cls, coded: Coded) -> tuple[str, ...]:
        """The texts that `encode` was given.

        Raises:
            CorruptError: it does not decode.
        """
        texts = list(spell_out(coded.bodies, cls.entries(coded)))
        layouts = coded.data.get("json", {})
        if not isinstance(layouts, Mapping):
            raise CorruptError(f"the layouts of JSON texts are {type(layouts).__name__}; allowed: an object")
        for at, layout in layouts.items():
            texts[int(at)] = json_table.lengthen(texts[int(at)], layout)
        return overlap.part(texts, coded.data.get("windows"))

    @classmethod
    def entries(cls, coded: Coded) -> dict[str, str]:
        """What each marker stands for.

        Raises:
            CorruptError: the list and the markers do not fit each other.
        """
        marks, sizes = coded.data.get("marks", []), coded.data.get("sizes", [])
        if not (isinstance(marks, list) and all(isinstance(mark, str) and mark for mark in marks)):
            raise CorruptError(f"the markers of a coded text are {marks!r}; allowed: a list of strings")
        if not (isinstance(sizes, list) and all(type(size) is int for size in sizes)):
            raise CorruptError(f"the sizes of phrases are {sizes!r}; allowed: a list of whole numbers")
        return entries(coded.header, marks, sizes)

    def _listed(self, texts: Sequence[str], leads: Sequence[str] | None) -> tuple[Listed, dict[str, Any]]:
        """The texts with phrases listed, JSON in the form that is shorter in the end; and the layouts of that form."""
        short, layouts, before, after = list(texts), dict[str, Any](), 0, 0
        for at, text in enumerate(texts):
            found = json_table.shorten(text)
            if found is None:
                continue
            whole, packed = self.count(text), self.count(found[0])
            if packed < whole:
                short[at], layouts[str(at)] = found
                before, after = before + whole, after + packed
        if not layouts:
            return list_phrases(texts, self.tokenizer), {}
        listed = list_phrases(short, self.tokenizer)
        if after < _CLEARLY * before:
            return listed, layouts
        other = list_phrases(texts, self.tokenizer)
        return (listed, layouts) if self._tokens(listed, leads) <= self._tokens(other, leads) else (other, {})

    def _tokens(self, listed: Listed, leads: Sequence[str] | None) -> int:
        joiners = (JOINER,) * len(listed.bodies) if leads is None else leads
        pieces = [lead + body for lead, body in zip(joiners[1:], listed.bodies[1:], strict=True)]
        return self.count(listed.header + "".join([*listed.bodies[:1], *pieces]))
