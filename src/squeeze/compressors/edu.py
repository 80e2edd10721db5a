"""`edu`: units of the passages picked by score, with what they need, under a hard budget."""

from __future__ import annotations

from squeeze.base import ByScorer
from squeeze.registry import register


@register("edu")
class Edu(ByScorer):
    """Sentences or clauses by score, each with what it needs (heading, table header, lead-in), in source order.

    After the EDU-based compressor LingoEDU (arXiv 2512.14244): a tree of discourse units with exact anchors, units
    ranked against the query over all passages together, a hard token budget, headings kept, output in source order.
    The tree comes from rules here and not from a language model.
    """
