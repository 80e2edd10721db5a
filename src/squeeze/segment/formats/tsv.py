"""TSV: rows whole, each with the header."""

from __future__ import annotations

from squeeze.segment.formats._separated import Separated

FORMAT = Separated("\t")
