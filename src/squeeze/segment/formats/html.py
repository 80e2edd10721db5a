"""HTML pages and XML: elements whose removal leaves the rest balanced; what nobody sees goes first."""

from __future__ import annotations

import re

from squeeze.segment.blocks import Block, Format, UnitKind
from squeeze.segment.formats._html_emit import emit
from squeeze.segment.formats._html_tree import read
from squeeze.segment.layout import Layout

_SAMPLE = 6000  # characters that decide the format
_KNOWN = (
    "html|head|body|title|meta|link|script|style|div|span|p|a|ul|ol|li|dl|dt|dd|table|thead|tbody|tr|td|th|h[1-6]|section|article"
    "|nav|header|footer|main|aside|form|input|button|select|option|label|img|br|hr|pre|code|em|strong|b|i|u|small|sup|sub"
    "|blockquote|figure|figcaption|svg|iframe|noscript|center|font|caption|colgroup|col|details|summary|template"
)
_DOCTYPE = re.compile(
    r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.{0,2000}?-->\s*)?<(?:!doctype\s+html|html[\s>])", re.IGNORECASE | re.DOTALL
)
_TAG = re.compile(rf"</?(?:{_KNOWN})(?:\s[^<>]*)?/?>", re.IGNORECASE)
_FIRST = re.compile(rf"\s*</?(?:{_KNOWN})(?:\s[^<>]*)?/?>", re.IGNORECASE)
_LAST = re.compile(rf"</?(?:{_KNOWN})(?:\s[^<>]*)?/?>\s*\Z|<[^<>]*\Z", re.IGNORECASE)


_XML = re.compile(r"\s*(?:<\?xml\b[^>]*>\s*)?(?:<!--.{0,2000}?-->\s*)?<([A-Za-z_][\w.:-]*)(?:\s[^<>]*)?>", re.DOTALL)
_XML_END = re.compile(r"</([A-Za-z_][\w.:-]*)\s*>\s*\Z")


def _is_xml(text: str) -> bool:
    """Whether the text is one element that HTML does not have, or says that it is XML."""
    first = _XML.match(text)
    if not first or _DOCTYPE.match(text):
        return False
    last = _XML_END.search(text, max(0, len(text) - 200))
    whole = last is not None and last.group(1) == first.group(1) and text.count("<", 0, _SAMPLE) > 3
    return whole and not _FIRST.match(text)


class Html(Format):
    """Short elements whole; long ones opened, so that their tags come with whatever is kept of them."""

    gap = "none"

    def detect(self, text: str) -> float:
        """By a document type, or by tags at both ends and in between."""
        if _DOCTYPE.match(text) or _is_xml(text):
            return 0.98
        tags = sum(1 for _ in _TAG.finditer(text, 0, _SAMPLE))
        length = min(len(text), _SAMPLE)
        if _FIRST.match(text) and tags > 1 and (tags > 20 or tags * 300 > length):
            return 0.92 if _LAST.search(text, max(0, len(text) - 400)) or tags * 120 > length else 0.0
        return 0.7 if tags > 7 and tags * 100 > length else 0.0

    def blocks(self, text: str) -> list[Block]:
        """The pieces of the layout as blocks, without their frames."""
        return [Block(p.start, p.end, p.kind, prose=p.prose) for p in self.layout(text, "html", "sentence").pieces]

    def layout(self, text: str, name: str, unit: UnitKind) -> Layout:
        """Elements with the tags around them. A table row needs its header, a definition its term."""
        xml = _is_xml(text)
        return emit(text, read(text, xml=xml), name, xml=xml)


FORMAT = Html()
