"""Who gets how much: hand-worked shares, and totals that are exact for every budget."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from squeeze.allocate import Allocator, Dast, Expand, TopK, Uniform, apportion
from squeeze.errors import ConfigError, InputError
from squeeze.policy import SequentialPolicy

ALLOCATORS: list[Allocator] = [
    Uniform(),
    Uniform(minimum=3),
    TopK(),
    TopK(skim=4),
    Dast(),
    Dast(alpha=1.0, sign=-1, temperature=0.1, minimum=2),
    Expand(),
    Expand(p=1.0),
    Expand(p=0.0, skim=2),
]
sized = st.lists(st.tuples(st.integers(0, 300), st.floats(-5, 5)), max_size=12)


@pytest.mark.parametrize("allocator", ALLOCATORS, ids=repr)
def test_totals_are_exact_for_every_budget(allocator: Allocator) -> None:
    sizes, scores = [120, 3, 0, 77, 500, 41], [0.2, 0.9, 0.5, 0.5, 0.1, 0.7]
    for budget in range(2001):
        shares = allocator.share(sizes, scores, budget)
        assert int(shares.sum()) == min(budget, sum(sizes))
        assert (shares >= 0).all() and (shares <= sizes).all()


@pytest.mark.parametrize("allocator", ALLOCATORS, ids=repr)
def test_totals_are_exact_for_any_segments(allocator: Allocator) -> None:
    @given(sized, st.integers(0, 2000))
    def check(segments: list[tuple[int, float]], budget: int) -> None:
        sizes, scores = [size for size, _ in segments], [score for _, score in segments]
        shares = allocator.share(sizes, scores, budget)
        assert shares.shape == (len(sizes),) and int(shares.sum()) == min(budget, sum(sizes))
        assert (shares >= 0).all() and (shares <= np.array(sizes, dtype=int)).all()

    check()


def test_largest_remainders_worked_by_hand() -> None:
    # 10 over weights 5:3:1 is 5.56, 3.33, 1.11: floors 5, 3, 1; the one left goes to the remainder .56
    assert apportion([5, 3, 1], [99, 99, 99], 10).tolist() == [6, 3, 1]
    # the first can only take 2: the other 8 are shared 3:1
    assert apportion([5, 3, 1], [2, 99, 99], 10).tolist() == [2, 6, 2]
    assert apportion([0, 0], [9, 9], 5).tolist() == [3, 2]
    assert apportion([1, 1, 1], [9, 9, 9], 2, minimum=1).tolist() == [1, 1, 0]
    assert apportion([], [], 7).tolist() == []


@pytest.mark.parametrize("weight", [1e308, 5e-324, 1.0])
def test_any_finite_weight_is_shared_by(weight: float) -> None:
    assert apportion([weight, weight, 0.0], [9, 9, 9], 9).tolist() == [5, 4, 0]
    assert apportion([weight, weight, 0.0], [2, 2, 9], 9).tolist() == [2, 2, 5]


def test_too_little_for_all_minimums_serves_the_highest_weight_first() -> None:
    assert apportion([1, 2, 3], [9, 9, 9], 5, minimum=2).tolist() == [1, 2, 2]
    assert Uniform(minimum=2).share([9, 9, 9], [0.1, 0.3, 0.2], 3).tolist() == [0, 2, 1]


def test_top_k_keeps_whole_segments_and_skims_the_others() -> None:
    sizes, scores = [50, 50, 50, 50], [0.1, 0.9, 0.3, 0.8]
    assert TopK().share(sizes, scores, 102).tolist() == [1, 50, 1, 50]
    assert TopK().share(sizes, scores, 110).tolist() == [1, 50, 9, 50]
    assert TopK().share(sizes, scores, 3).tolist() == [0, 1, 1, 1]
    assert TopK(skim=0).share(sizes, [1, 1, 1, 1], 60).tolist() == [50, 10, 0, 0]


def test_expand_reopens_within_its_share() -> None:
    sizes, scores = [50, 50, 50, 50], [0.1, 0.9, 0.3, 0.8]
    # 4 vectors; half of 120 may be reopened: one segment whole (49 more), a second does not fit; 67 go to the others
    shares = Expand(p=0.5).share(sizes, scores, 120)
    assert shares[1] == 50 and shares.sum() == 120 and max(shares[[0, 2, 3]]) - min(shares[[0, 2, 3]]) <= 1
    assert Expand(p=0.0).share(sizes, scores, 8).tolist() == [2, 2, 2, 2]


def test_dast_blends_local_and_global() -> None:
    sizes = [100, 100]
    assert Dast(alpha=0).share(sizes, [0, np.log(3)], 40).tolist() == [10, 30]
    assert Dast((np.log(3), 0.0), alpha=1).share(sizes, [0, 9], 40).tolist() == [30, 10]
    assert Dast((np.log(3), 0.0), alpha=1, sign=-1).share(sizes, [0, 9], 40).tolist() == [10, 30]
    assert Dast((np.log(3), 0.0), alpha=0.5).share(sizes, [0, np.log(3)], 40).tolist() == [20, 20]


@pytest.mark.parametrize("allocator", ALLOCATORS, ids=repr)
def test_wrong_numbers_are_named(allocator: Allocator) -> None:
    for sizes, scores, budget in [
        ([1, 2], [0.5], 3),
        ([1, -2], [0.5, 0.5], 3),
        ([1, 2], [0.5, float("nan")], 3),
        ([1, 2], [0.5, 0.5], -1),
        ([1.5, 2], [0.5, 0.5], 3),
    ]:
        with pytest.raises(InputError):
            allocator.share(sizes, scores, budget)  # type: ignore[arg-type]


def test_settings_are_checked() -> None:
    for make in (
        lambda: Dast(alpha=2),
        lambda: Dast(sign=0),  # type: ignore[arg-type]
        lambda: Dast(temperature=0),
        lambda: Expand(p=-0.1),
    ):
        with pytest.raises(ConfigError):
            make()


def test_a_policy_learns_to_pick_two_that_differ() -> None:
    """The reward asks for one segment of each of two kinds: no fixed ranking can earn it, only looking back can."""
    rng = np.random.default_rng(0)
    policy = SequentialPolicy(3)

    def task() -> tuple[np.ndarray, list[int]]:
        kinds = rng.permutation([0, 0, 0, 1, 1, 1, 2, 2, 2]).tolist()
        return np.eye(3)[kinds], kinds

    def reward(kinds: list[int], picked: list[int]) -> float:
        return float({kinds[i] for i in picked} == {0, 1})

    def success() -> float:
        return float(np.mean([reward(kinds, policy.best(rows, 2)) for rows, kinds in (task() for _ in range(100))]))

    before = success()
    for _ in range(3000):
        rows, kinds = task()
        policy.learn(rows, 2, lambda picked, kinds=kinds: reward(kinds, picked), rng, 0.3)  # type: ignore[misc]
    assert before < 0.5 and success() == 1.0


def test_log_probabilities_and_gradients_are_right() -> None:
    rng = np.random.default_rng(1)
    policy, rows = SequentialPolicy(4), rng.normal(size=(6, 4))
    policy.linear, policy.pair = rng.normal(size=4), rng.normal(size=(4, 4))
    picked, logp = policy.sample(rows, 3, rng)
    assert len(set(picked)) == 3 and logp < 0

    def log_probability(linear: np.ndarray, pair: np.ndarray) -> float:
        other = SequentialPolicy(4)
        other.linear, other.pair = linear, pair
        total, left = 0.0, list(range(6))
        for place, index in enumerate(picked):
            context = rows[picked[:place]].mean(axis=0) if place else np.zeros(4)
            logits = {i: rows[i] @ linear + rows[i] @ pair @ context for i in left}
            total += logits[index] - np.log(sum(np.exp(v) for v in logits.values()))
            left.remove(index)
        return float(total)

    assert np.isclose(logp, log_probability(policy.linear, policy.pair))
    step_linear, step_pair = policy.gradient(rows, picked)
    for index in np.ndindex(4):
        bump = np.zeros(4)
        bump[index] = 1e-6
        slope = (log_probability(policy.linear + bump, policy.pair) - logp) / 1e-6
        assert np.isclose(slope, step_linear[index], atol=1e-4)
    bump = np.zeros((4, 4))
    bump[1, 2] = 1e-6
    assert np.isclose((log_probability(policy.linear, policy.pair + bump) - logp) / 1e-6, step_pair[1, 2], atol=1e-4)


def test_a_policy_refuses_what_it_cannot_use() -> None:
    policy, rng = SequentialPolicy(2), np.random.default_rng(0)
    with pytest.raises(InputError, match="shape"):
        policy.best(np.zeros((3, 5)), 1)
    with pytest.raises(InputError, match="NaN"):
        policy.best(np.array([[np.nan, 0.0]]), 1)
    with pytest.raises(InputError, match="reward"):
        policy.learn(np.eye(2), 1, lambda picked: float("inf"), rng, 0.1)
    assert policy.best(np.eye(2), 9) == [0, 1] and policy.best(np.zeros((0, 2)), 3) == []
