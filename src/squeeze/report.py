"""A result as HTML for people: a self-contained page, or a fragment for a notebook. Neither needs script or network."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from html import escape
from importlib import resources
from itertools import groupby

from squeeze.account import Row, State, Stretch, blocks, rows_of, vectors, within
from squeeze.types import Compressed, SoftPart

FRAGMENT_CHARS = 200_000
"""Characters of passages that a fragment shows; notebooks refuse or crawl with much more."""

FRAGMENT_PASSAGES = 200
"""Passages that a fragment lists."""

_STATES: Mapping[State, str] = {
    "kept": "kept",
    "coded": "kept in coded form",
    "soft": "kept as vectors",
    "out": "left out",
}
_REASONS = {
    "score": "by its score",
    "needed": "a kept unit needs it",
    "min_keep": "min_keep asks for it",
    "all": "everything fits",
    "cut": "cut at a word, there was no room for all of it",
    "budget": "the budget was spent",
    "duplicate": "the same text is kept elsewhere",
    "below_min_score": "its score is below min_score",
}
# Control characters, the marks that turn text around, byte order marks, and surrogates, which UTF-8 cannot hold.
_UNSEEN = re.compile("\r\n|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def page(result: Compressed) -> str:
    """One self-contained HTML page: kept text marked, dropped text dimmed, scores on hover, tokens as bars."""
    title = f"squeeze: {result.query}" if result.query else "squeeze"
    return "".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            '<meta name="color-scheme" content="light dark">\n',
            f"<title>{_attribute(title)}</title>\n<style>{_css()}</style>\n</head>\n",
            '<body class="squeeze-page">\n',
            *_body(result, links=True),
            "</body>\n</html>\n",
        ]
    )


def fragment(result: Compressed) -> str:
    """The same as a piece of HTML for a notebook of any theme; a long input is shown in part, and says so."""
    return "".join([f"<style>{_css()}</style>\n", *_body(result, links=False)])


def _body(result: Compressed, links: bool) -> Iterator[str]:
    rows = rows_of(result)
    shown = rows if links else _first(rows, result)
    yield f'<{"main" if links else "div"} class="squeeze-report">\n'
    yield from _head(result)
    yield from _bars(shown, result, links)
    yield from _legend({stretch.state for row in shown for stretch in row.stretches})
    yield '<div class="sq-passages">\n'
    room = None if links else FRAGMENT_CHARS
    for row in shown:
        yield from _passage(row, result, links, room)
        room = None if room is None else room - len(result.passages[row.passage].text)
    yield "</div>\n"
    if len(shown) < len(rows):
        yield _rest(len(rows) - len(shown), "passage")
    yield from _prompt(result, None if links else FRAGMENT_CHARS)
    yield f"</{'main' if links else 'div'}>\n"


def _head(result: Compressed) -> Iterator[str]:
    query = _text(result.query) if result.query and result.query.strip() else "<i>no query</i>"
    yield f'<header>\n<div class="sq-query" dir="auto">{query}</div>\n<dl class="sq-numbers">\n'
    milliseconds = result.seconds * 1000
    for name, value in (
        ("tokens before", f"{result.tokens_before:,}"),
        ("tokens after", f"{result.tokens_after:,}"),
        ("kept", f"{result.kept:.1%}" if result.tokens_before else "–"),
        ("time", f"{milliseconds:,.1f} ms" if milliseconds < 100 else f"{milliseconds:,.0f} ms"),
        ("method", result.method),
        ("tokenizer", result.tokenizer),
    ):
        yield f"<div><dt>{name}</dt><dd>{_text(value)}</dd></div>\n"
    yield "</dl>\n"
    if result.warnings:
        yield '<ul class="sq-warnings">\n'
        for notice in result.warnings:
            place = "" if notice.passage is None else f" (passage {notice.passage})"
            yield f"<li><b>{_text(notice.code)}</b> {_text(notice.message)}{place}</li>\n"
        yield "</ul>\n"
    yield "</header>\n"


def _bars(rows: Sequence[Row], result: Compressed, links: bool) -> Iterator[str]:
    """A bar per passage: its length is the tokens before, the filled part the tokens after."""
    if not rows:
        yield '<p class="sq-note">There were no passages.</p>\n'
        return
    most = max(max(row.before, row.after) for row in rows) or 1
    yield f'<details class="sq-bars"{" open" * (len(rows) <= 30)}>\n<summary>Tokens per passage</summary>\n'
    labels = [_label(result, row.passage) for row in rows]
    folder = _folder(labels)
    for row, label in zip(rows, labels, strict=True):
        widest = max(row.before, row.after)
        fill = f"{row.after / widest:.1%}" if widest else "0%"
        tag, end = (f'a href="#p{row.passage}"', "a") if links else ("div", "div")
        yield (
            f'<{tag} class="sq-bar"><bdi class="sq-name">{_text(label[folder:])}</bdi>'
            f'<span class="sq-track"><span style="width:{widest / most:.1%}"><span style="width:{fill}"></span></span>'
            f'</span><span class="sq-count">{row.after:,.0f} of {row.before:,.0f}</span></{end}>\n'
        )
    yield "</details>\n"


def _legend(states: set[State]) -> Iterator[str]:
    yield '<div class="sq-legend">'
    for state in ("kept", "coded", "soft"):
        if state in states:
            yield f'<mark class="sq-{state}">{_STATES[state]}</mark> '
    if "out" in states:
        yield (
            '<del>left out</del> <span><i class="sq-gap" data-n="18"></i> 18 tokens are left out here</span> '
            '<label><input type="checkbox" class="sq-hide"> hide what was left out</label>'
        )
    yield "</div>\n"


def _passage(row: Row, result: Compressed, links: bool, room: int | None) -> Iterator[str]:
    passage = result.passages[row.passage]
    anchor = f' id="p{row.passage}"' if links else ""
    opened = " open" * (row.after > 0 or len(result.passages) == 1)
    label = f'<code class="sq-id">{_text(passage.id)}</code>' if passage.id and passage.title else ""
    yield (
        f'<details class="sq-passage"{anchor}{opened}><summary><span class="sq-index">{row.passage}</span> '
        f'<bdi class="sq-title">{_name(result, row.passage)}</bdi> {label} '
        f'<span class="sq-count">{row.after:,.0f} of {row.before:,.0f} tokens</span></summary>\n'
    )
    text = passage.text
    shown = row.stretches
    if room is not None and room < len(text):
        text = text[:room]
        shown = [stretch for stretch in shown if stretch.start < room]
    yield '<div class="sq-text">' if text else '<div class="sq-text sq-note">empty'
    gaps = deque(_gaps(shown, text))
    for block in within(shown, blocks(text)):
        yield '<div dir="auto" lang="">'
        yield from _stretches(block, text, gaps)
        yield "</div>"
    yield "</div>\n"
    if len(text) < len(passage.text):
        yield _rest(len(passage.text) - len(text), "character")
    yield "</details>\n"


def _gaps(stretches: Iterable[Stretch], text: str) -> Iterator[tuple[int, str]]:
    """Where something was left out, ascending, and the sign that stands there."""
    for state, group in groupby(stretches, key=lambda stretch: stretch.state):
        if state == "out":
            run = list(group)
            tokens = sum(stretch.unit.tokens for stretch in run if stretch.unit is not None)
            line = " sq-line" * ("\n" in text[run[0].start : run[-1].end])
            label = f"{_count(tokens, 'token')} left out" if tokens else "left out"
            yield run[0].start, f'<i class="sq-gap{line}" title="{label}" data-n="{tokens or ""}"></i>'


def _stretches(stretches: Iterable[Stretch], text: str, gaps: deque[tuple[int, str]]) -> Iterator[str]:
    """The stretches of one block; takes the signs of its gaps from `gaps`."""
    for stretch in stretches:
        if gaps and gaps[0][0] <= stretch.start:
            yield gaps.popleft()[1]
        if isinstance(stretch.part, SoftPart) and stretch.part.start == stretch.start:
            yield _badge(stretch.part)
        shown = _text(text[stretch.start : stretch.end])
        if stretch.state == "space":
            yield shown
            continue
        tag = "del" if stretch.state == "out" else "mark"
        kind = "" if stretch.state in ("kept", "out") else f' class="sq-{stretch.state}"'
        yield f'<{tag}{kind} title="{_reason(stretch)}">{shown}</{tag}>'


def _reason(stretch: Stretch) -> str:
    """What hovering over a stretch says."""
    unit, state = stretch.unit, _STATES[stretch.state]
    if unit is None:
        return state
    why = _REASONS.get(unit.reason, unit.reason)
    if unit.kept == (stretch.state != "out"):
        state = f"{state}: {why}"
    return _attribute(f"score {unit.score:.3g} · {state} · {_count(unit.tokens, 'token')}")


def _prompt(result: Compressed, limit: int | None) -> Iterator[str]:
    """The rendered result as it goes into the prompt."""
    yield (
        f'<details class="sq-prompt"><summary>What goes into the prompt '
        f'<span class="sq-count">{_count(result.tokens_after, "token")}</span></summary>\n<div class="sq-text">'
    )
    text, badges = "", []
    if any(isinstance(part, SoftPart) for part in result.parts):
        for part in result.parts:
            badges.append(_text(part.lead) + (_badge(part) if isinstance(part, SoftPart) else _text(part.text)))
    else:
        text = result.text
    for start, end in blocks(text[:limit]):
        yield f'<div dir="auto" lang="">{_text(text[start:end])}{"".join(badges)}</div>'
    yield "</div>\n"
    if limit is not None and len(text) > limit:
        yield _rest(len(text) - limit, "character")
    yield "</details>\n"


def _badge(part: SoftPart) -> str:
    count = _count(vectors(part), "vector")
    return f'<span class="sq-badge" title="{_attribute(part.fingerprint)}">{count}</span>'


def _first(rows: Sequence[Row], result: Compressed) -> Sequence[Row]:
    """The rows that a fragment shows."""
    chars = 0
    for count, row in enumerate(rows[:FRAGMENT_PASSAGES]):
        if chars >= FRAGMENT_CHARS:
            return rows[:count]
        chars += len(result.passages[row.passage].text)
    return rows[:FRAGMENT_PASSAGES]


def _name(result: Compressed, index: int) -> str:
    return _text(_label(result, index))


def _label(result: Compressed, index: int) -> str:
    passage = result.passages[index]
    return passage.title.strip() or passage.id or f"Passage {index}"


def _folder(labels: Sequence[str]) -> int:
    """The length of the folder that all paths begin with: a bar has room for little, and cuts at the end."""
    shared = os.path.commonprefix(labels) if len(labels) > 1 else ""  # noqa: RUF071 - paths of any system, or titles
    return max(shared.rfind("/"), shared.rfind("\\")) + 1


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _rest(number: int, noun: str) -> str:
    return f'<p class="sq-note">{_count(number, f"more {noun}")}: <code>to_html()</code> shows all.</p>\n'


def _text(text: str) -> str:
    """HTML that shows the text: markup escaped, characters that cannot be seen shown as marked stand-ins."""
    return _UNSEEN.sub(lambda found: _stand_in(found[0], True), escape(text))


def _attribute(text: str) -> str:
    """The text for an attribute or a page title."""
    return _UNSEEN.sub(lambda found: _stand_in(found[0], False), escape(text))


def _stand_in(character: str, markup: bool) -> str:
    if character == "\r\n":
        return "\n"
    code = ord(character)
    line = "\n" * (character == "\r")
    return f'<b class="sq-unseen">U+{code:04X}</b>{line}' if markup else f"U+{code:04X}"


@lru_cache(maxsize=1)
def _css() -> str:
    return resources.files("squeeze").joinpath("data/report.css").read_text(encoding="utf-8")
