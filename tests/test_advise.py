"""Does compressing pay: profiles, predictions and the command that measures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import squeeze
from squeeze.costs import Profile, between, time_at
from squeeze.errors import ConfigError, CorruptError

SLOW = Profile(prefill=((100, 1.0), (1000, 10.0)), decode=((100, 0.1),))
TEXT = "The lamp burned colza oil at first. Paint is blue. " * 20


def test_it_pays_to_read_less_and_the_numbers_add_up() -> None:
    advice = squeeze.advise(TEXT, "oil", profile=SLOW, keep=0.25, answer_tokens=10, prompt_tokens=50)
    assert advice.pays and advice.saves_time and advice.saves_money is None
    assert advice.tokens_without == 50 + advice.result.tokens_before
    assert advice.tokens_with == 50 + advice.result.tokens_after
    assert advice.seconds_without == pytest.approx(advice.tokens_without / 100 + 1)
    assert advice.seconds_with == pytest.approx(advice.tokens_with / 100 + 1 + advice.compressor_seconds)
    assert advice.compressor_seconds == advice.result.seconds > 0
    assert advice.reason.startswith("It pays: ") and "compressing is" in advice.reason


def test_the_compressors_own_time_counts() -> None:
    fast = Profile(prefill=((100, 1e-9), (1000, 1e-8)))
    advice = squeeze.advise(TEXT, "oil", profile=fast, keep=0.25)
    assert not advice.pays and advice.saves_time is False and advice.reason.startswith("It does not pay: ")


def test_nothing_saved_does_not_pay() -> None:
    assert not squeeze.advise(TEXT, "oil", profile={"input_price": 1.0}).pays
    assert not squeeze.advise([], profile=SLOW).pays
    assert not squeeze.advise("", profile={"input_price": 0.0}).pays


def test_a_cache_may_be_cheaper_than_compressing() -> None:
    prices = {"input_price": 3.0, "output_price": 15.0, "cached_discount": 0.9}
    fresh = squeeze.advise(TEXT, "oil", profile=prices, keep=0.25, answer_tokens=100)
    known = squeeze.advise(TEXT, "oil", profile=prices, keep=0.25, answer_tokens=100, cached=1.0)
    assert fresh.pays and fresh.saves_money and fresh.seconds_with is None
    assert not known.pays and known.price_with == fresh.price_with
    before = fresh.result.tokens_before
    assert fresh.price_without == pytest.approx((before * 3 + 100 * 15) / 1e6)
    assert known.price_without == pytest.approx((before * 0.3 + 100 * 15) / 1e6)


def test_time_and_price_that_disagree_do_not_pay() -> None:
    both = Profile(prefill=SLOW.prefill, input_price=3.0, cached_discount=0.9)
    advice = squeeze.advise(TEXT, "oil", profile=both, keep=0.5, cached=0.95, prompt_tokens=0)
    assert advice.saves_money is False and not advice.pays


def test_times_between_and_beyond_the_measured_lengths() -> None:
    points = ((100, 1.0), (200, 3.0))
    assert time_at(points, 150) == 2.0 and time_at(points, 100) == 1.0 and time_at(points, 0) == 0.0
    # a token takes 10 ms at 100 and 15 ms at 200, so 20 ms at 300
    assert time_at(points, 300) == pytest.approx(6.0)
    assert time_at(points, 60) == pytest.approx(0.2) and time_at(points, 10) == 0.0
    assert time_at(((100, 1.0),), 250) == 2.5
    assert between(points, 0) == 1.0 and between(points, 999) == 3.0


@given(
    st.lists(
        st.tuples(st.integers(1, 5000), st.floats(0, 100)), min_size=1, max_size=5, unique_by=lambda pair: pair[0]
    ),
    st.integers(0, 20_000),
)
def test_times_are_finite_and_not_negative(points: list[tuple[int, float]], tokens: int) -> None:
    profile = Profile(prefill=tuple(sorted(points)))
    seconds = profile.seconds(tokens, 10)
    assert seconds is not None and 0 <= seconds < float("inf")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"prefill": ((10, float("nan")),)}, "prefill"),
        ({"prefill": ((10, -1.0),)}, "prefill"),
        ({"prefill": ((10, float("inf")),)}, "prefill"),
        ({"prefill": ((10, 1.0), (10, 2.0))}, "ascending"),
        ({"prefill": ((0, 1.0),)}, "prefill"),
        ({"prefill": 7}, "prefill"),
        ({"prefill": ((1, 2, 3),)}, "prefill"),
        ({"prefill": ((10, 1.0),), "decode": ((10, float("nan")),)}, "decode"),
        ({"decode": ((10, 1.0),), "input_price": 1.0}, "decode"),
        ({"input_price": float("nan")}, "input_price"),
        ({"input_price": "free"}, "input_price"),
        ({"input_price": 1.0, "output_price": -1}, "output_price"),
        ({"input_price": 1.0, "cached_discount": 1.5}, "cached_discount"),
        ({"input_price": 1.0, "model": 3}, "model"),
        ({}, "needs"),
        ({"speed": 3}, "speed"),
        ([], "profile is list"),
    ],
)
def test_profiles_that_are_not_allowed_are_named(wrong: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        squeeze.advise("text", profile=wrong)


@pytest.mark.parametrize(
    "wrong", [{"answer_tokens": -1}, {"prompt_tokens": 1.5}, {"cached": float("nan")}, {"cached": 2}, {"keep": 3.0}]
)
def test_arguments_that_are_not_allowed_are_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        squeeze.advise("text", profile=SLOW, **wrong)


def test_a_profile_survives_its_file(tmp_path: Path) -> None:
    file = tmp_path / "profile.json"
    SLOW.save(file)
    assert Profile.of(file) == Profile.of(str(file)) == Profile.of(json.loads(file.read_text())) == SLOW
    file.write_text("{")
    with pytest.raises(CorruptError, match="JSON"):
        Profile.of(file)
    with pytest.raises(ConfigError, match="squeeze profile"):
        Profile.of(tmp_path / "none.json")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A decoder of two layers with random weights, saved."""
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("tiny")
    config = transformers.LlamaConfig(
        vocab_size=64,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=128,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return str(folder)


def test_a_model_is_profiled_from_the_command_line(tiny: str, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from squeeze.cli import app

    call = ["profile", "--model", tiny, "--length", "8", "--length", "32"]
    out = CliRunner().invoke(app, [*call, "--price", "input_price=2.5", "-o", str(tmp_path / "p.json")])
    assert out.exit_code == 0, (out.output, out.exception)
    assert "read per second" in out.stderr and out.stdout == ""
    profile = Profile.of(tmp_path / "p.json")
    assert [tokens for tokens, _ in profile.prefill] == [tokens for tokens, _ in profile.decode] == [8, 32]
    assert all(seconds > 0 for _, seconds in profile.prefill) and profile.input_price == 2.5
    plain = CliRunner().invoke(app, [*call, "--quiet"])
    assert plain.exit_code == 0 and set(json.loads(plain.stdout)) >= {"prefill", "decode", "model"}


def test_what_cannot_be_profiled_is_named(tiny: str) -> None:
    from squeeze.profiling import measure, profile_command

    for wrong in ({"lengths": []}, {"lengths": [0]}, {"lengths": [1000]}, {"lengths": [8], "repeats": 0}):
        with pytest.raises(ConfigError, match=r"length|repeats"):
            measure(tiny, **wrong)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="does not load"):
        measure("/no/such/folder")
    with pytest.raises(ConfigError, match="input_price"):
        measure(tiny, input_price=float("nan"))
    with pytest.raises(ConfigError, match="Did you mean 'input_price'"):
        profile_command(tiny, [8], {"inputprice": 1}, "-", show=False)
