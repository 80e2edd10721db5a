"""The paper's choice of phrases, longest first (arXiv 2506.00307): what `squeeze.coding.select` is compared with."""

from __future__ import annotations

from collections.abc import Sequence

from squeeze.coding.select import Phrase


def longest_first(ids: Sequence[int], longest: int) -> list[Phrase]:
    """The phrases that the paper's algorithm codes, in its order.

    Every sequence of 2 to `longest` ids whose occurrences (left to right, without overlap) make an entry pay is a
    candidate. From the longest to the shortest, each is counted again in what is still free, and coded if it still
    pays. Among candidates of one length the paper leaves the order open; here the one that begins first goes first.
    """
    tokens = list(ids)
    used = bytearray(len(tokens))
    chosen: list[Phrase] = []
    for length in range(min(longest, len(tokens) // 2), 1, -1):
        places: dict[tuple[int, ...], list[int]] = {}
        for start in range(len(tokens) - length + 1):
            places.setdefault(tuple(tokens[start : start + length]), []).append(start)
        for starts in places.values():
            if _saving(len(starts), length) < 1:
                continue
            free = _free(starts, length, used)
            saving = _saving(len(free), length)
            if saving > 0:
                chosen.append(Phrase(length, tuple(free), saving))
                for start in free:
                    used[start : start + length] = b"\x01" * length
    return chosen


def _saving(count: int, length: int) -> int:
    return length * count - 1 - length - count


def _free(starts: list[int], length: int, used: bytearray) -> list[int]:
    free: list[int] = []
    end = 0
    for start in starts:
        if start >= end and used.find(1, start, start + length) < 0:
            free.append(start)
            end = start + length
    return free
