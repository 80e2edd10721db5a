"""Units that say again what another passage says: copies of passages and the overlap of chunk windows."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from squeeze.score.base import Corpus

_LEAST = 24
"""UTF-8 bytes below which equal text may be chance: "See also:", "Yes, it is"."""


def duplicates(corpus: Corpus, *, titled: bool = False) -> NDArray[np.bool_]:
    """Which units repeat what another passage says, (units,).

    Marked are, comparing text without the white space at its ends:

    - every unit of a passage whose whole text is that of an earlier one;
    - the units at the start of a passage that are the end of an earlier one, as overlapping chunk windows give;
    - sentences and clauses that stand in an earlier passage;
    - a first unit that is the end of a longer unit of another passage, and a last unit that is the beginning of one:
      the sentences that a chunk window cut.

    Short texts are left alone, and so is a unit that an unmarked one needs (a heading, a header row, a main clause),
    unless its whole passage is a copy. The time is that of sorting the units.

    Args:
        corpus: the units.
        titled: whether titles are printed; then equal text under two titles says two things.
    """
    copies = _copied_passages(corpus, titled)
    marked = _repeated_units(corpus, titled) | _leading_runs(corpus, titled) | _cut_units(corpus)
    _release_needed(corpus, marked)
    marked |= copies[corpus.passage]
    return marked


def _copied_passages(corpus: Corpus, titled: bool) -> NDArray[np.bool_]:
    seen: set[tuple[str, str]] = set()
    copies = np.zeros(len(corpus.passages), dtype=np.bool_)
    for index, passage in enumerate(corpus.passages):
        key = (passage.title.strip() if titled else "", passage.text.strip())
        copies[index] = key in seen
        seen.add(key)
    return copies


def _repeated_units(corpus: Corpus, titled: bool) -> NDArray[np.bool_]:
    """Prose units whose text an earlier passage has as a unit."""
    titles = [passage.title.strip() if titled else "" for passage in corpus.passages]
    first: dict[tuple[str, str], int] = {}
    marked = np.zeros(len(corpus), dtype=np.bool_)
    for index, (passage, text, prose) in enumerate(
        zip(corpus.passage.tolist(), corpus.texts, _prose(corpus), strict=True)
    ):
        marked[index] = first.setdefault((titles[passage], text), passage) < passage and prose and _long(text)
    return marked


def _leading_runs(corpus: Corpus, titled: bool) -> NDArray[np.bool_]:
    """Units that begin a passage and, in the same order, end an earlier one, whatever their kind."""
    marked = np.zeros(len(corpus), dtype=np.bool_)
    texts = corpus.texts
    ends: dict[tuple[str, str], int] = {}  # last unit of the passages seen so far, by title and text
    for passage, (start, end) in zip(corpus.passages, _ranges(corpus), strict=True):
        title = passage.title.strip() if titled else ""
        window = {(title, text): index for index, text in enumerate(texts[start:end], start)}
        for key in window.keys() & ends.keys():
            run = texts[start : window[key] + 1]
            last = ends[key] + 1
            fits = len(run) <= corpus.piece[last - 1] + 1
            if fits and texts[last - len(run) : last] == run and _long("".join(run)):
                marked[start : start + len(run)] = True
        if end > start:
            ends[title, texts[end - 1]] = end - 1
    return marked


def _cut_units(corpus: Corpus) -> NDArray[np.bool_]:
    """First and last units that a longer unit of another passage ends or begins with."""
    marked = np.zeros(len(corpus), dtype=np.bool_)
    texts = corpus.texts
    homes: dict[str, int] = {}
    for text, passage in zip(texts, corpus.passage.tolist(), strict=True):
        homes[text] = passage if homes.get(text, passage) == passage else -1
    ordered = sorted(homes)
    mirrored = sorted(text[::-1] for text in homes)
    prose = _prose(corpus)
    for passage, (start, end) in enumerate(_ranges(corpus)):
        if end > start and prose[start] and _long(texts[start]):
            longer = _longer(texts[start][::-1], mirrored)[::-1]
            marked[start] |= longer != texts[start] and homes[longer] != passage
        if end > start and prose[end - 1] and _long(texts[end - 1]):
            longer = _longer(texts[end - 1], ordered)
            marked[end - 1] |= longer != texts[end - 1] and homes[longer] != passage
    return marked


def _longer(text: str, ordered: list[str]) -> str:
    """The next of the sorted texts that begins with `text` and is longer; `text` itself when there is none.

    A number that goes on is another number: "a limit of 40" says nothing of what "a limit of 400" says.
    """
    at = bisect_right(ordered, text)
    if at == len(ordered) or not ordered[at].startswith(text):
        return text
    return text if text[-1].isdigit() and ordered[at][len(text)].isdigit() else ordered[at]


def _release_needed(corpus: Corpus, marked: NDArray[np.bool_]) -> None:
    """Unmarks what unmarked units need, and what that needs in turn."""
    for start, end in _ranges(corpus):
        pieces = corpus.layouts[int(corpus.passage[start])].pieces if end > start else ()
        waiting = (
            [index for index in range(end - start) if not marked[start + index]] if marked[start:end].any() else []
        )
        while waiting:
            for needed in pieces[waiting.pop()].needs:
                if marked[start + needed]:
                    marked[start + needed] = False
                    waiting.append(needed)


def _ranges(corpus: Corpus) -> Iterator[tuple[int, int]]:
    """First unit and the one after the last of every passage."""
    start = 0
    for layout in corpus.layouts:
        yield start, start + len(layout.pieces)
        start += len(layout.pieces)


def _prose(corpus: Corpus) -> list[bool]:
    return [piece.prose for layout in corpus.layouts for piece in layout.pieces]


def _long(text: str) -> bool:
    return len(text.encode("utf-8", "surrogatepass")) >= _LEAST
