"""CSV: rows whole, each with the header; commas, semicolons and bars separate."""

from __future__ import annotations

from squeeze.segment.formats._separated import Separated

FORMAT = Separated(",;|")
