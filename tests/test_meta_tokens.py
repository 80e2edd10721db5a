"""`meta_tokens`: ids to ids and back."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from squeeze.compressors.meta_tokens import decode, encode
from squeeze.errors import ConfigError, CorruptError, InputError

many = settings(
    max_examples=20_000 if os.environ.get("SQUEEZE_MANY") else 2_000,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
OPEN, CLOSE = 1000, 1001
RESERVED = range(1000, 1500)
TOP = 2**63 - 1

runs = st.builds(
    lambda pieces: [i for block, times in pieces for _ in range(times) for i in block],
    st.lists(st.tuples(st.lists(st.integers(995, 1010), max_size=6), st.integers(0, 12)), max_size=8),
)
plain_runs = st.builds(lambda ids: [i - 995 for i in ids], runs)
any_ids = st.lists(st.integers(0, TOP) | st.integers(995, 1010), max_size=60)
pools = st.sampled_from(
    [
        range(1000, 1500),
        range(1000, 1002),
        range(1000, 1003),
        range(1004, 996, -2),
        [1003, 1001, 1000],
        range(0, TOP, 3),
    ]
)


@many
@given(st.one_of(runs, plain_runs, any_ids), pools, st.integers(0, 5))
def test_every_input_comes_back(ids: list[int], reserved: Any, seed: int) -> None:
    coded = encode(ids, reserved=reserved, seed=seed)
    assert decode(coded, reserved=reserved) == ids
    holds_reserved = any(i in reserved for i in ids)
    assert len(coded) <= len(ids) + (2 if holds_reserved else 0)
    assert all(type(i) is int for i in coded)
    assert coded == encode(ids, reserved=reserved, seed=seed)


@many
@given(st.one_of(runs, plain_runs))
def test_coded_ids_can_be_coded_again(ids: list[int]) -> None:
    once = encode(ids, reserved=RESERVED)
    twice = encode(once, reserved=RESERVED)
    assert decode(decode(twice, reserved=RESERVED), reserved=RESERVED) == ids


@many
@given(st.lists(st.sampled_from([0, 1, 2, 3, OPEN, CLOSE, 1002, 1003, 1004]), max_size=24))
def test_any_ids_decode_to_something_or_are_refused(coded: list[int]) -> None:
    try:
        ids = decode(coded, reserved=RESERVED)
    except CorruptError:
        return
    assert decode(encode(ids, reserved=RESERVED), reserved=RESERVED) == ids


def test_the_layout_is_the_papers() -> None:
    ids = [*range(5), 50, *range(5), 51, *range(5)]
    opening, marker, *phrase, closing, one, sep, two, sep2, three = encode(ids, reserved=RESERVED, seed=3)
    assert (opening, closing, sep, sep2) == (OPEN, CLOSE, 50, 51)
    assert phrase == [0, 1, 2, 3, 4]
    assert marker == one == two == three and marker in RESERVED[2:]


def test_entries_stand_in_the_order_of_their_first_use() -> None:
    short, long = list(range(20, 26)), list(range(10))
    ids = [i for at in range(4) for i in [*short, 100 + at, *long, 200 + at]]
    coded = encode(ids, reserved=RESERVED)
    first, second = coded[1], coded[8]
    assert coded == [OPEN, first, *short, second, *long, CLOSE] + [
        i for at in range(4) for i in (first, 100 + at, second, 200 + at)
    ]


@pytest.mark.parametrize(
    ("ids", "most"),
    [
        ([1, 2, 3, 4] * 2, 8),  # one entry saves 1, its delimiters cost 2
        ([1, 2] * 3, 6),
        (list(range(6)) * 20, 29),
        (list(range(50)) * 3, 56),
        ([7] * 20, 12),
        ([], 0),
        ([5], 1),
        (list(range(300)), 300),
    ],
)
def test_worked_examples(ids: list[int], most: int) -> None:
    coded = encode(ids, reserved=RESERVED)
    assert len(coded) <= most
    assert decode(coded, reserved=RESERVED) == ids
    if most == len(ids):
        assert coded == ids


def test_markers_are_drawn_by_the_seed_alone_from_the_whole_pool() -> None:
    ids = [i for at in range(40) for i in [*range(10 * (at % 8), 10 * (at % 8) + 10), 500 + at]]
    drawn = [encode(ids, reserved=RESERVED, seed=seed)[1] for seed in range(60)]
    assert encode(ids, reserved=RESERVED, seed=4) == encode(list(ids), reserved=list(RESERVED), seed=4)
    assert len(set(drawn)) > 40 and min(drawn) < 1150 and max(drawn) > 1350


def test_a_small_pool_codes_what_saves_most() -> None:
    big, small = list(range(30)), list(range(40, 45))
    ids = [i for at in range(4) for i in [*big, 100 + at, *small, 200 + at]]
    coded = encode(ids, reserved=range(1000, 1003))
    assert coded[:2] == [1000, 1002] and coded[2:32] == big
    assert decode(coded, reserved=range(1000, 1003)) == ids
    assert encode(ids, reserved=[1000, 1001]) == ids
    sizes = [len(encode(ids, reserved=range(1000, 1000 + n))) for n in range(2, 6)]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("size", [100_000, 50_000])
def test_a_long_run_is_nearly_free(size: int) -> None:
    ids = [7] * size
    coded = encode(ids, reserved=range(1000, 3000))
    assert len(coded) <= 0.10 * size
    assert decode(coded, reserved=range(1000, 3000)) == ids


def test_a_million_ids() -> None:
    for ids in ([7] * 1_000_000, list(range(1000)) * 1000):
        coded = encode(ids, reserved=range(1000, 3000))
        assert len(coded) <= 3000
        assert decode(coded, reserved=range(1000, 3000)) == ids


base = [10 + at % 7 for at in range(60)]


@pytest.mark.parametrize(
    "ids",
    [
        [1002, 1, 2, 3] * 10,
        [OPEN, 1, CLOSE] * 8,
        [1100, 1, 2] * 8,
        [1002, *base],
        [*base, 1499],
        [OPEN],
        [OPEN, OPEN],
        [OPEN, CLOSE],
        [OPEN, OPEN, CLOSE],
        [OPEN, CLOSE, OPEN, CLOSE],
        [OPEN, 1002, 5, 6, CLOSE, 1002, 1002],
        [OPEN, OPEN, 1002, 5, 6, CLOSE, 1002, 1002],
        list(RESERVED),
        list(RESERVED) * 3,
        list(range(2000)) * 3,
    ],
)
def test_reserved_ids_in_the_input_come_back(ids: list[int]) -> None:
    coded = encode(ids, reserved=RESERVED)
    assert decode(coded, reserved=RESERVED) == ids
    assert len(coded) <= len(ids) + 2


def test_one_reserved_id_does_not_cost_the_gain() -> None:
    ids = [*range(30), 1300, *range(30), *range(30)]
    coded = encode(ids, reserved=RESERVED)
    assert coded[:2] == [OPEN, OPEN] and len(coded) < 45
    assert decode(coded, reserved=RESERVED) == ids


def test_every_id_of_a_vocabulary_meta_ids_included() -> None:
    ids = list(range(300)) * 3
    for reserved in (range(301, 2301), range(200, 300), [7, 9, 11, 250]):
        assert decode(encode(ids, reserved=reserved), reserved=reserved) == ids


def test_arrays_and_generators_of_ids() -> None:
    ids = list(range(20)) * 3
    expected = encode(ids, reserved=RESERVED)
    for given_ids in (np.array(ids), np.array(ids, dtype=np.uint16), tuple(ids), iter(ids), [np.int64(i) for i in ids]):
        assert encode(given_ids, reserved=np.arange(1000, 1500)) == expected
    assert decode(np.array(expected), reserved=RESERVED) == ids


@pytest.mark.parametrize("bad", [-1, 2**63, 2**70, 1.0, 1.5, "3", None, True, [1]])
def test_what_is_no_token_id_is_named(bad: Any) -> None:
    for call in (encode, decode):
        with pytest.raises(InputError, match="position 2"):
            call([0, 1, bad], reserved=RESERVED)


@pytest.mark.parametrize("bad", ["123", 5, None, np.int64(3)])
def test_what_is_no_sequence_of_ids_is_refused(bad: Any) -> None:
    with pytest.raises(InputError, match="sequence"):
        encode(bad, reserved=RESERVED)


@pytest.mark.parametrize("reserved", [[], [5], range(0), [1, 2, 3, 2]])
def test_a_pool_without_delimiters_or_with_doubles_is_refused(reserved: Any) -> None:
    for call in (encode, decode):
        with pytest.raises(ConfigError, match="allowed"):
            call([1, 2, 3], reserved=reserved)


@pytest.mark.parametrize("reserved", [range(-3, 10), range(2**63, 2**63 + 9), [1, -2], ["a", "b"]])
def test_reserved_ids_out_of_range_are_refused(reserved: Any) -> None:
    with pytest.raises(InputError, match="reserved"):
        encode([1, 2, 3], reserved=reserved)


@pytest.mark.parametrize(
    ("coded", "why"),
    [
        ([OPEN], "does not end"),
        ([OPEN, 1002, 5, 6, 1002, 1002], "does not end"),
        ([OPEN, 5, 6, CLOSE, 1, 2], "begin with a meta-token"),
        ([OPEN, OPEN, CLOSE, 1, 2], "begin with a meta-token"),
        ([OPEN, 1002, CLOSE, 1002, 1002], "at least two"),
        ([OPEN, 1002, 5, CLOSE, 1002, 1002], "at least two"),
        ([OPEN, 1002, 5, 6, 1002, 7, 8, CLOSE, 1002, 1002], "two entries"),
        ([OPEN, 1002, 5, 6, OPEN, 7, 8, CLOSE, 1002, 1002], "delimiter"),
        ([OPEN, 1002, 5, 6, CLOSE, 1002, 1003, 1002], "1003 at position 6"),
        ([OPEN, 1002, 5, 6, CLOSE, 1002, 1002, CLOSE], "1001 at position 7"),
        ([OPEN, 1002, 5, 6, CLOSE, 1002], "used 1 times"),
        ([1, 2, 1002, 3], "1002 at position 2"),
        ([1, OPEN, 3], "1000 at position 1"),
    ],
)
def test_corrupt_ids_are_refused_by_name(coded: list[int], why: str) -> None:
    with pytest.raises(CorruptError, match=why):
        decode(coded, reserved=RESERVED)


def test_every_cut_of_a_dictionary_is_noticed() -> None:
    ids = [i for at in range(9) for i in [*range(10 * (at % 3), 10 * (at % 3) + 8), 500 + at]]
    coded = encode(ids, reserved=RESERVED)
    for stop in range(1, coded.index(CLOSE) + 1):
        with pytest.raises(CorruptError):
            decode(coded[:stop], reserved=RESERVED)
