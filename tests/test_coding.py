"""Repeats, the choice among them, and markers in their place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from squeeze.bench.longest_first import longest_first
from squeeze.coding.repeats import find_repeats
from squeeze.coding.select import Costs, Phrase, select
from squeeze.coding.suffixes import dense, suffix_order
from squeeze.coding.swap import by_first_use, expand, swap

few = st.lists(st.integers(0, 3), max_size=60)
streams = st.one_of(
    few,
    st.lists(st.integers(-5, 2**62), max_size=40),
    st.builds(lambda block, times: block * times, st.lists(st.integers(0, 9), max_size=12), st.integers(0, 12)),
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 30))).map(lambda runs: [i for i, n in runs for _ in range(n)]),
)
CHOICES: list[Callable[[list[int]], list[Phrase]]] = [
    select,
    lambda ids: select(ids, order="share"),
    lambda ids: select(ids, order="saving"),
    lambda ids: longest_first(ids, 8),
]


def positions(ids: list[int], phrase: tuple[int, ...]) -> list[int]:
    return [at for at in range(len(ids) - len(phrase) + 1) if tuple(ids[at : at + len(phrase)]) == phrase]


def check(ids: list[int], phrases: list[Phrase], costs: Costs) -> None:
    """Occurrences are equal, ascending and apart, and the stated saving is the true one."""
    weights = np.ones(len(ids), dtype=int) if costs.weights is None else np.asarray(costs.weights)
    used: Counter[int] = Counter()
    for length, starts, saving in phrases:
        assert len({tuple(ids[start : start + length]) for start in starts}) == 1
        assert all(b - a >= length for a, b in pairwise(starts))
        used.update(at for start in starts for at in range(start, start + length))
        weight = int(weights[starts[0] : starts[0] + length].sum())
        assert saving == len(starts) * (weight - costs.marker) - costs.entry - weight >= costs.least
    assert not used or max(used.values()) == 1


@given(streams)
def test_the_suffix_array_is_sorted_and_knows_what_neighbours_share(ids: list[int]) -> None:
    order, shared = suffix_order(dense(ids))
    suffixes = [ids[start:] for start in order.tolist()]
    assert suffixes == sorted(ids[start:] for start in range(len(ids)))
    for one, two, length in zip(suffixes, suffixes[1:], shared.tolist(), strict=False):
        assert one[:length] == two[:length] and one[length : length + 1] != two[length : length + 1]


@given(few, st.integers(1, 4))
def test_repeats_are_those_that_cannot_grow_without_losing_an_occurrence(ids: list[int], shortest: int) -> None:
    every = {tuple(ids[a:b]) for a in range(len(ids)) for b in range(a + shortest, len(ids) + 1)}
    counts = {phrase: len(positions(ids, phrase)) for phrase in every}
    follow = {phrase: {tuple(ids[at : at + len(phrase) + 1]) for at in positions(ids, phrase)} for phrase in every}
    expected = {phrase: count for phrase, count in counts.items() if count > 1 and len(follow[phrase]) > 1}
    found = find_repeats(ids, min_length=shortest)
    got = {}
    for left, right, length, floor in zip(found.left, found.right, found.length, found.floor, strict=True):
        places = found.order[left : right + 1].tolist()
        phrase = tuple(ids[places[0] : places[0] + length])
        assert sorted(places) == positions(ids, phrase)
        assert floor < length and (floor == 0 or len(positions(ids, phrase[:floor])) > len(places))
        got[phrase] = len(places)
    assert got.items() <= expected.items()
    # only links of a chain may be missing: a longer repeat has nine tenths of the occurrences
    for phrase in expected.keys() - got.keys():
        assert any(
            longer[: len(phrase)] == phrase and len(longer) > len(phrase) and count >= 0.9 * expected[phrase]
            for longer, count in expected.items()
        )


@pytest.mark.parametrize("ids", [[7] * 20_000, list(range(50)) * 400, ([7] * 300 + [8] * 300) * 30])
def test_self_overlapping_streams_have_few_candidates(ids: list[int]) -> None:
    found = find_repeats(ids)
    assert int(found.counts.sum()) <= 60 * len(ids)


@pytest.mark.parametrize("choose", CHOICES)
@given(ids=streams)
def test_choices_are_sound(choose: Callable[[list[int]], list[Phrase]], ids: list[int]) -> None:
    check(ids, choose(ids), Costs())


@given(st.lists(st.integers(0, 5), max_size=80), st.lists(st.integers(1, 6), min_size=6, max_size=6), st.data())
def test_choices_with_other_costs_are_sound(ids: list[int], weight: list[int], data: st.DataObject) -> None:
    costs = Costs(
        marker=data.draw(st.integers(1, 4)),
        entry=data.draw(st.integers(0, 6)),
        weights=[weight[i] for i in ids],
        least=data.draw(st.integers(1, 5)),
    )
    limit = data.draw(st.none() | st.integers(0, 3))
    order = data.draw(st.sampled_from(["best", "share", "saving"]))
    shortest = data.draw(st.integers(1, 4))
    phrases = select(ids, costs, limit=limit, min_length=shortest, order=order)
    check(ids, phrases, costs)
    assert limit is None or len(phrases) <= limit
    assert all(phrase.length >= shortest for phrase in phrases)
    assert phrases == select(ids, costs, limit=limit, min_length=shortest, order=order)
    best = sum(phrase.saving for phrase in select(ids, costs, limit=limit, min_length=shortest))
    assert best >= sum(phrase.saving for phrase in phrases)


@pytest.mark.parametrize(
    ("length", "count", "pays"),
    [(2, 3, False), (2, 4, True), (3, 2, False), (3, 3, True), (4, 2, True), (5, 2, True)],
)
def test_an_entry_is_made_exactly_where_it_pays(length: int, count: int, pays: bool) -> None:
    """N·K > 1 + N + K: two ids need four uses, three need three, four need two."""
    ids = [i for at in range(count) for i in [*range(length), 100 + at]]
    assert [(p.length, len(p.starts)) for p in select(ids)] == ([(length, count)] if pays else [])


def test_what_a_phrase_takes_is_not_counted_again() -> None:
    """`1 2` occurs six times, four of them inside the better phrase; the two that are left do not pay."""
    better = [1, 2, 3, 4, 5, 6]
    ids = [*better, 20, *better, 21, *better, 22, *better, 23, 1, 2, 24, 1, 2]
    assert [(p.length, len(p.starts)) for p in select(ids)] == [(6, 4)]


def test_a_repeat_that_lost_its_end_goes_on_as_its_prefix() -> None:
    """The short phrase saves more and takes the end of both long ones; what is left of them still pays."""
    long, short = list(range(10, 20)), [19, 1, 2, 3]
    ids = [*long, 1, 2, 3, 90, *long, 1, 2, 3, 91] + [i for at in range(40) for i in [*short, 100 + at]]
    lengths = sorted((p.length, len(p.starts)) for p in select(ids))
    assert lengths == [(4, 42), (9, 2)]


def test_a_limit_keeps_what_saves_most() -> None:
    big, small = list(range(10, 30)), [1, 2, 3]
    ids = [i for at in range(3) for i in [*big, 200 + at]] + [i for at in range(12) for i in [*small, 300 + at]]
    assert [p.length for p in select(ids, limit=1)] == [20]
    assert select(ids, limit=0) == []
    assert sorted(p.length for p in select(ids, limit=2)) == [3, 20]


def test_weights_and_overheads_decide() -> None:
    ids = [1, 2, 50, 1, 2, 51, 1, 2]
    assert select(ids) == []
    heavy = [4 if i < 10 else 1 for i in ids]
    assert select(ids, Costs(weights=heavy)) == [Phrase(2, (0, 3, 6), 3 * (8 - 1) - 1 - 8)]
    assert select(ids, Costs(marker=5, weights=heavy)) == []
    assert select(ids, Costs(entry=13, weights=heavy)) == []
    assert select(ids, Costs(weights=heavy, least=13)) == []


@given(streams)
def test_swapping_and_expanding_restore(ids: list[int]) -> None:
    phrases = by_first_use(select(ids))
    markers = [-100 - at for at in range(len(phrases))]
    entries = {m: ids[p.starts[0] : p.starts[0] + p.length] for m, p in zip(markers, phrases, strict=True)}
    body = swap(ids, phrases, markers)
    assert expand(body, entries) == ids
    assert len(body) + sum(map(len, entries.values())) + len(entries) == len(ids) - sum(p.saving for p in phrases)


@given(st.lists(st.integers(0, 3), max_size=200))
@settings(max_examples=300)
def test_choosing_by_share_seldom_loses_to_longest_first(ids: list[int]) -> None:
    """Greedy choices have no guarantee on tiny random streams; a tenth of the input is the margin."""
    ours = sum(phrase.saving for phrase in select(ids))
    assert ours >= sum(phrase.saving for phrase in longest_first(ids, 16)) - max(3, len(ids) // 10)
