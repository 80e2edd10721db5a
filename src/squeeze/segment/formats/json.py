"""JSON documents: members and items at the outermost levels where choosing helps, so that the output parses."""

from __future__ import annotations

import re

from squeeze.segment.blocks import Block, Format, UnitKind
from squeeze.segment.chunks import filled_lines, parts
from squeeze.segment.formats._json_scan import Container, Member, is_json, scan
from squeeze.segment.framed import Builder
from squeeze.segment.layout import Layout, Node, Piece

_SMALL = 200  # characters without white space, about 60 tokens: what is not longer stays whole
_RUN = 80  # characters of neighbouring short items of an array that make one unit
_NAMING = 100  # characters that the member which names its object may have
_LINE = 300  # characters of a line of broken JSON that stays whole
_SAMPLE = 4000  # characters that decide the format

_VALUE = r'(?:"(?:[^"\\\n\r]|\\.)*+"|-?\d[\d.eE+-]*+|true|false|null|NaN|-?Infinity)'
_START = re.compile(
    rf'\s*+(?:\{{\s*+(?:\}}\s*+\Z|"(?:[^"\\]|\\.)*+"\s*+:)|\[\s*+(?:\]\s*+\Z|[\[{{]|{_VALUE}\s*+(?:,|\]\s*+\Z)))'
)
_END = re.compile(r"[}\]]\s*+\Z")
_FRAGMENT = re.compile(
    rf'[ \t]*+(?:[{{\[]|[}}\]]+,?|(?:"(?:[^"\\\n]|\\.)*+"[ \t]*+:[ \t]*+)?(?:{_VALUE}|[{{\[]|\{{\}}|\[\]),?)[ \t]*+$'
)
_KEY = re.compile(r'[{,\s]"[^"\\\n]{1,60}"\s?: ?(?=["\d\[{tfn-])')
_KEY_EVERY = 80  # characters in which torn JSON has a key at least once
_NAMES = re.compile(r'"(?:[\w-]*[_-])?(?:id|key|name|title|uuid|slug|label)"\s*+:', re.IGNORECASE)


class Json(Format):
    """Members and items, opened level by level until they are some tens of tokens long."""

    gap = "none"

    def detect(self, text: str) -> float:
        """By the first tokens and the last bracket; a torn piece of JSON by the shape of its lines."""
        if _START.match(text, 0, _SAMPLE) and _END.search(text, max(0, len(text) - 200)):
            return 0.95
        keys = len(_KEY.findall(text, 0, _SAMPLE))
        if keys > 4 and keys * _KEY_EVERY > min(len(text), _SAMPLE):
            return 0.85
        sample = [line for line in text[:_SAMPLE].splitlines() if line.strip()][:60]
        if len(text) > _SAMPLE and len(sample) > 1:
            sample.pop()
        keyed = sum('":' in line for line in sample)
        fitting = sum(_FRAGMENT.match(line) is not None for line in sample)
        return 0.85 if len(sample) > 3 and keyed * 4 > len(sample) and fitting > 0.85 * len(sample) else 0.0

    def blocks(self, text: str) -> list[Block]:
        """The lines of a text that is no JSON, very long ones in parts."""
        return [
            Block(start, end, "line", prose=False)
            for line in filled_lines(text)
            for start, end in parts(text, line, _LINE)
        ]

    def layout(self, text: str, name: str, unit: UnitKind) -> Layout:
        """Members and items with their brackets; lines when the text does not parse."""
        if not is_json(text):
            from squeeze.segment.tree import build

            return build(text, self.blocks(text), name=name, unit=unit, gap="line")
        root = scan(text, _SMALL)
        if root is None or not root.members:
            document = Node(0, len(text), "document", -1, 0)
            return Layout(name, (document,), (Piece(0, len(text), "record", 0, prose=False),), self.gap)
        builder = Builder(len(text))
        _emit(text, root, builder)
        return builder.build(name, self.gap, "{left} of {all} members of a JSON document were left out")


def _emit(text: str, root: Container, builder: Builder) -> None:
    """Adds the pieces of a container that is opened. A stack of its own, so that no depth is too deep."""
    builder.open(root.members[0].start, "array" if root.array else "object")
    stack = [(root, 0, _naming(text, root, record=True), len(text))]
    names: list[tuple[int, ...]] = [()]
    while stack:
        container, at, naming, end = stack.pop()
        members = container.members
        while at < len(members):
            first = at
            at += 1
            member = members[first]
            if member.inside is None and container.array:
                at = _run(members, first)
            last = at == len(members)
            after = members[at - 1].end if last else members[at].start
            if member.inside is not None:
                inner = member.inside
                builder.open(inner.members[0].start, "array" if inner.array else "object", names[-1])
                stack.append((container, at, naming, end))
                stack.append((inner, 0, _naming(text, inner, record=container.array), after))
                names.append(())
                break
            index = builder.leaf(members[at - 1].end, after, "item" if container.array else "member", names[-1])
            if first == naming:
                names[-1] = (index,)
        else:
            names.pop()
            builder.close(len(text) if not stack else container.end, end)


def _run(members: list[Member], first: int) -> int:
    """The index after the last of the short items from `first` on that make one unit."""
    size, at = members[first].size, first + 1
    while at < len(members) and members[at].inside is None and size + members[at].size <= _RUN:
        size += members[at].size
        at += 1
    return at


def _naming(text: str, container: Container, *, record: bool) -> int:
    """The index of the member that tells which object this is; -1 for none."""
    if container.array or not record:
        return -1
    short = [i for i, member in enumerate(container.members[:4]) if not member.inside and member.size <= _NAMING]
    named = [i for i in short if _NAMES.match(text, container.members[i].start)]
    if named:
        return named[0]
    nested = any(member.inside for member in container.members)
    return 0 if nested and short[:1] == [0] else -1


FORMAT = Json()
