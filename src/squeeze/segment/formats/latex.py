"""LaTeX: sections, environments and maths whole, paragraphs by sentences."""

from __future__ import annotations

import re
from dataclasses import replace

from squeeze.segment.blocks import Block, Format, UnitKind
from squeeze.segment.formats._latex_blocks import read
from squeeze.segment.layout import Layout
from squeeze.segment.sentences import language_in
from squeeze.segment.tree import build

_SAMPLE = 8000  # characters that decide the format
_SIGNS = re.compile(
    r"(?P<sure>\\documentclass\b|\\begin\{(?:document|equation|align|figure|table|tabular|itemize|enumerate|theorem|lemma"
    r"|proof|abstract|gather|eqnarray|definition|verbatim|lstlisting|cases|array|matrix|center|quote)\*?\}"
    r"|\\(?:sub){0,2}section\*?\{|\\chapter\*?\{|\\usepackage\b)"
    r"|(?P<command>\\(?:cite[tp]?|ref|eqref|label|emph|textbf|textit|texttt|footnote|caption|item|paragraph"
    r"|url)\b[*~]?[\[{ ])"
    r"|(?P<maths>\$[^$\n]{0,200}\\[a-zA-Z]+[^$\n]{0,200}\$|\\[(\[][^\n]{1,300}?\\[)\]])"
)
_WEIGHTS = {"sure": 0.6, "command": 0.2, "maths": 0.15}


class Latex(Format):
    """Environments whole; a sentence ends nowhere inside maths."""

    def detect(self, text: str) -> float:
        """By commands and environments that other formats do not use; maths alone also stands in Markdown."""
        sure, commands = 0.0, 0
        for match in _SIGNS.finditer(text, 0, _SAMPLE):
            sure += _WEIGHTS[match.lastgroup or "maths"]
            commands += match.lastgroup != "maths"
            if sure >= 1 and commands:
                return 0.93
        return min(sure, 0.93) if commands else 0.0

    def blocks(self, text: str) -> list[Block]:
        """Headings, environments, and sentences (paragraphs where they hold no maths)."""
        return read(text, language_in(text))[0]

    def layout(self, text: str, name: str, unit: UnitKind) -> Layout:
        """The layout; what opens an environment needs what closes it, and the other way round."""
        blocks, pairs = read(text, language_in(text))
        layout = build(text, blocks, name=name, unit=unit, gap=self.gap)
        index_of = {piece.start: index for index, piece in enumerate(layout.pieces)}
        pieces = list(layout.pieces)
        for pair in pairs:
            indices = [index_of.get(blocks[block].start, -1) for block in pair]
            for one, other in (indices, indices[::-1]):
                if min(indices) >= 0:
                    pieces[one] = pieces[one]._replace(needs=tuple(sorted({*pieces[one].needs, other})))
        return replace(layout, pieces=tuple(pieces))


FORMAT = Latex()
