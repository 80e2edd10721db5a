"""What lines of source code look like, in the languages that are common in repositories."""

from __future__ import annotations

import re

_OPENING = (
    r"(?:async )?def \w+\s*[(\[]",
    r"class \w+\s*(?:\(.*|\{|:\s*$)",
    r"@\w[\w.]*(?:\(.*)?$",
    r"(?:export |default |async )*function\b ?\w*\s*\(",
    r"(?:pub(?:\(\w+\))? )?(?:fn \w+[<(]|(?:struct|enum|impl|trait|mod)\b.*[{;]$)",
    r"func (?:\(\w+ \*?\w+\) )?\w+\(",
    r"#include\b",
    r"#!/\S",
    r"package [\w.]+;?$",
    r"type \w+ (?:struct|interface|func)\b",
    r"(?:class|module) [A-Z]\w*(?: < [A-Z][\w:]*)?$",
    r"(?:public|private|protected|static|final|virtual|override)\s+[\w<>\[\], ]+[({;=]",
)
_INNER = (
    r"(?:from [\w.]+ )?import [\w.*{(]",
    r"return\b[^.]*$",
    r"(?:if|elif|for|while|with|try|except|else|finally|match|case)\b[^.?!]*:\s*(?:#.*)?$",
    r"raise \w+",
    r"#(?:define|ifdef|ifndef|endif|pragma)\b",
    r"(?:pub )?use [\w:]+::",
    r"def \w+[?!]?$",
    r"(?:SELECT|INSERT INTO|DELETE FROM|CREATE TABLE|ALTER TABLE|FROM|(?:LEFT |INNER )?JOIN|WHERE|(?:ORDER|GROUP) BY)"
    r" [\w.\"*(]",
    r"(?:end|fi|done|esac|then|do)$",
    r"(?:export )?(?:const|let|var) [\w{\[][^=]*=",
    r"(?:self|this)\.\w+\b",
    r"[\w.\[\]\"']+(?:: ?[\w\[\], .|\"']+)? (?:[-+*/|&%]|<<|>>|//|\*\*)?:?= ?\S",
    r"[\w.]+\([^()]*\)[;,]?$",
    r"[\w.]+\($",
    r"(?:assert|yield|await) \w",
    r"\w+\(.*\) ?\{$",
    r"[}\])]+[;,)]*$",
    r".*[{;]\s*$",
    r".*=> ?[{(]?$",
)

DEFINITION = re.compile(rf"[ \t]*(?:{'|'.join(_OPENING)})")
"""A line that opens a definition."""

STRONG = re.compile(rf"[ \t]*(?:{'|'.join(_OPENING + _INNER)})")
"""A line that only code has."""

NEUTRAL = re.compile(
    r"[ \t]*(?:#|//|/\*|\*|'''|r?\"\"\"|[\w\"'*]+(?:=[^=].*|: ?\S.*)?,$|[\"'][\w./@-]+[\"']$"
    r"|(?:\.{3}|pass|break|continue)$)"
)
"""A line that says nothing: comments, items of lists."""

SENTENCE = re.compile(r"[ \t]*[A-Z\"“'(][^(){}=;_]*[a-z][.!?:,]?[\"”']?$")
"""A line that reads like prose."""
