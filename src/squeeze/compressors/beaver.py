"""`beaver`: pages of a few dozen tokens by a lexical and a semantic score, grown to whole sentences."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Self

from squeeze.base import Selector
from squeeze.errors import ConfigError
from squeeze.pages import Blend, own_scores, page_scores, paginate, unit_scores
from squeeze.registry import register
from squeeze.score.base import Corpus, Scores
from squeeze.score.salience import salience
from squeeze.select import Choice
from squeeze.static_table import StaticTable

_CAP = 0.1
"""Share of the budget that the opening may take, and the close."""


@register("beaver")
class Beaver(Selector):
    """Pages near the query, with the opening and the close of the input: no model is run (arXiv 2603.19635).

    Passages are cut into pages of tokens; a page's score mixes the query's words in it, weighed by their rarity in
    the input, with the likeness of its token embeddings to the query's, where a table of them is given. Three
    selections share the budget: anchors (the opening), flow (what stands last, before the query) and flash (the
    best pages). A page grows to the ends of its sentences, rows or records as far as the budget allows, those first
    that hold the query's words, so the units of the result are those of every selector. Without a query, salience
    stands in for the score.

    The paper keeps four pages of the opening and four before the query, and counts the semantic score 0.7. Passages
    that a retriever found have no opening, and centred embeddings alone find less than words do: hence the defaults.
    """

    def __init__(
        self,
        *,
        table: str | os.PathLike[str] | None = None,
        page_tokens: int = 64,
        gamma: float = 0.7,
        semantic: float = 0.3,
        anchors: int = 1,
        flow: int = 1,
        **options: Any,
    ) -> None:
        """Takes the options of every selector and how pages are made and scored.

        Args:
            table: static embeddings: a folder of a Hugging Face model (tokenizer.json and safetensors, of which only
                the rows of the input's tokens are read), or a `.npy` file, (tokens, width), whose rows are numbered as
                `tokenizer` numbers them. None scores by words alone.
            page_tokens: most tokens of a page, 8 to 4096.
            gamma: share of the weighted mean in a page's vector; the rest is the maximum, 0 to 1.
            semantic: share of the semantic score where there is a table, 0 to 1.
            anchors: pages kept from the opening, within a tenth of the budget.
            flow: pages kept from the end, within a tenth of the budget.
            options: the options of `Selector`.

        Raises:
            ConfigError: an option outside of its range, or a table that is not there or fits no tokenizer.
            CorruptError: a table that does not read.
        """
        super().__init__(**options)
        for name, number, least, most in (
            ("page_tokens", page_tokens, 8, 4096),
            ("anchors", anchors, 0, 10**6),
            ("flow", flow, 0, 10**6),
        ):
            if type(number) is not int or not least <= number <= most:
                raise ConfigError(f"{name} is {number!r}; allowed: a whole number from {least} to {most}")
        for name, share in (("gamma", gamma), ("semantic", semantic)):
            if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
                raise ConfigError(f"{name} is {share!r}; allowed: a number from 0 to 1")
        self.page_tokens, self.anchors, self.flow = page_tokens, anchors, flow
        self.blend = Blend(float(gamma), float(semantic))
        self.table = None if table is None else StaticTable(table, self.tokenizer)

    @classmethod
    def example(cls) -> Self:
        """An instance with its defaults."""
        return cls()

    def score(self, corpus: Corpus, query: str | None) -> Scores:
        """The score of the best page that each unit lies in, and beside it what the unit itself has of the query."""
        if query is None:
            return salience(corpus)
        pages = paginate(corpus.passages, self.page_tokens, self.tokenizer, self.table)
        fits = page_scores(pages, corpus.passages, query, self.blend, self.table)
        near = unit_scores(corpus, pages, fits)
        scores: Scores = (near + own_scores(corpus, query) * near.max(initial=0.0)) / 2
        return scores

    def arranged(self, choice: Choice, limit: int) -> Sequence[int]:
        """Anchors and flow first, then flash."""
        allowed, sizes, cap = set(choice.order), choice.costs.unit, int(_CAP * limit)
        reading = sorted(allowed)
        first = _filled(reading, sizes, min(cap, self.anchors * self.page_tokens))
        last = _filled(reading[::-1], sizes, min(cap, self.flow * self.page_tokens))
        opened = dict.fromkeys([*first, *last])
        return [*opened, *(unit for unit in choice.order if unit not in opened)]


def _filled(units: Sequence[int], sizes: Sequence[int], room: int) -> list[int]:
    """The first of these units that fit together."""
    totals = accumulate(sizes[unit] for unit in units)
    return [unit for unit, total in zip(units, totals, strict=True) if total <= room]
