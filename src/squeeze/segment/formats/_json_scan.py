"""One pass over a JSON text that gives the containers worth opening, with offsets."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\],:]|[^\s{}\[\],:"]++', re.DOTALL)


@dataclass(slots=True)
class Member:
    """A member of an object or an item of an array.

    Attributes:
        start: first character of the key, or of the value of an item.
        value: first character of the value.
        end: character after the value.
        size: characters of its tokens, white space between them left out.
        inside: the value, when it is a container worth opening.
    """

    start: int
    value: int
    end: int = 0
    size: int = 0
    inside: Container | None = None


@dataclass(slots=True)
class Container:
    """An object or an array.

    Attributes:
        array: whether it is an array.
        start: its opening bracket.
        end: character after its closing bracket.
        size: characters of its tokens.
        members: its members or items.
    """

    array: bool
    start: int
    end: int = 0
    size: int = 0
    members: list[Member] = field(default_factory=list)


def is_json(text: str) -> bool:
    """Whether the text is one JSON value. Numbers of any length count, and the NaN that some programs write."""
    try:
        json.loads(text, parse_int=len, parse_float=len)
    except (ValueError, RecursionError):
        return False
    return True


def scan(text: str, small: int) -> Container | None:
    """The root container of a valid JSON text, None when the root is a scalar.

    Containers of at most `small` characters are not worth opening.
    """
    stack: list[Container] = []
    root: Container | None = None
    member: Member | None = None  # the one being read
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        mark = text[start]
        if mark in "}]":
            root = stack.pop()
            root.end = end
            root.size += end - start
            member = _closed(root, stack, small)
        elif mark == ",":
            member = None
        elif mark == ":":
            if member is not None:
                member.value = -1
        else:
            member = _begun(stack, member, start, end)
            if mark in "{[":
                stack.append(Container(mark == "[", start, size=1))
                member = None
    return root


def _begun(stack: list[Container], member: Member | None, start: int, end: int) -> Member | None:
    """The member that a key or a value belongs to; a scalar value ends it."""
    if not stack:
        return None
    stack[-1].size += end - start
    if member is None:
        member = Member(start, start)
        stack[-1].members.append(member)
    elif member.value < 0:
        member.value = start
    member.end = end
    member.size += end - start
    return member


def _closed(container: Container, stack: list[Container], small: int) -> Member | None:
    """Books a container that has just been closed in the member that it is the value of."""
    if container.size <= small:
        container.members = []
    if not stack:
        return None
    member = stack[-1].members[-1]
    stack[-1].size += container.size - 1  # its opening bracket is booked already
    member.size += container.size - 1
    member.end = container.end
    member.inside = container if container.members else None
    return member
