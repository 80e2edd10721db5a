"""`arc` as a compressor: what it keeps, which factor it takes, what it asks for."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
PreTrainedTokenizerFast = pytest.importorskip("transformers").PreTrainedTokenizerFast


import conftest
import squeeze
from squeeze import Budget, Passage
from squeeze.compressors.arc import ARC
from squeeze.errors import BudgetError, ConfigError, InputError
from squeeze.soft import ArcEncoder, ArcSettings, Reader, model_fingerprint
from squeeze.soft.tiny import byte_tokenizer, tiny_model

TEXTS = ["Pumps need oil every spring.", "The valve opens at 40 bar. " * 8, "x"]


@pytest.fixture(scope="module")
def arc() -> ARC:
    return ARC.example()


def vectors(result: squeeze.Compressed) -> list[torch.Tensor]:
    return [part.vectors for part in result.parts if isinstance(part, squeeze.SoftPart)]


def test_every_passage_becomes_one_part_of_counted_vectors(arc: ARC) -> None:
    result = arc.compress(TEXTS)
    assert [(part.passage, part.start, part.end) for part in result.parts] == [
        (i, 0, len(t)) for i, t in enumerate(TEXTS)
    ]
    assert [len(v) for v in vectors(result)] == [arc.count_vectors(len(t), 2) for t in TEXTS] == [15, 109, 2]
    assert result.tokens_after == 126 and result.tokens_before == len("\n\n".join(TEXTS))
    assert result.kept == 126 / result.tokens_before
    assert [unit.kept for unit in result.units()] == [True] * 3 and not result.warnings
    with pytest.raises(squeeze.errors.NotTextError):
        _ = result.text


def test_changing_one_passage_leaves_the_vectors_of_the_others_bit_identical(arc: ARC) -> None:
    before = vectors(arc.compress(TEXTS))
    for index in range(3):
        changed = [*TEXTS[:index], "Quite another text, and longer than it was. " * 12, *TEXTS[index + 1 :]]
        after = vectors(arc.compress(changed))
        for at in {0, 1, 2} - {index}:
            assert torch.equal(before[at], after[at])
        assert before[index].shape != after[index].shape
    long = "".join(chr(97 + at % 26) for at in range(600))
    one, other = vectors(arc.compress(long))[0], vectors(arc.compress(long[:599] + "?"))[0]
    assert torch.equal(one[:256], other[:256]) and not torch.equal(one[256:], other[256:])  # chunks of 256 tokens


@pytest.mark.parametrize(("limit", "factor"), [(10**6, 2), (126, 2), (125, 4), (65, 4), (64, 8)])
def test_the_least_compression_that_fits_is_taken(arc: ARC, limit: int, factor: int) -> None:
    expected = sum(arc.count_vectors(len(text), factor) for text in TEXTS)
    result = arc.compress(TEXTS, budget=limit)
    assert result.tokens_after == expected <= limit
    keep = limit / result.tokens_before
    if keep <= 1:
        assert arc.compress(TEXTS, budget=Budget(keep=keep)).tokens_after == expected


def test_a_limit_that_no_factor_meets_is_an_error_before_any_work(arc: ARC, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("encoded")

    monkeypatch.setattr(ARC, "encode", never)
    least = sum(arc.count_vectors(len(text), 8) for text in TEXTS)
    with pytest.raises(BudgetError, match="limit is 34") as caught:
        arc.compress(TEXTS, budget=34)
    assert caught.value.reached == least == 35 and caught.value.limit == 34


@given(st.lists(st.text(max_size=40), max_size=4), st.one_of(st.none(), st.floats(0, 1)))
def test_counts_hold_for_any_text(texts: list[str], keep: float | None) -> None:
    arc = _shared()
    try:
        result = arc.compress(texts, budget=Budget(keep=keep))
    except BudgetError as error:
        assert keep is not None and error.reached > error.limit
        return
    assert result.tokens_after <= (1 if keep is None else keep) * result.tokens_before + 1e-6
    assert sum(map(len, vectors(result))) in (0, result.tokens_after)
    assert all(torch.isfinite(own).all() for own in vectors(result))


_made: list[ARC] = []


def _shared() -> ARC:
    if not _made:
        _made.append(ARC.example())
    return _made[0]


def test_empty_passages_are_legal_and_overheads_count(arc: ARC) -> None:
    given_passages = [Passage(""), Passage(TEXTS[0], overhead=7), Passage("", overhead=3), Passage(" \n")]
    result = arc.compress(given_passages)
    assert [part.passage for part in result.parts] == [1, 3]
    assert result.tokens_after == 15 + 7 + 2
    assert arc.compress([]).tokens_after == arc.compress(["", ""]).tokens_after == 0


def test_input_shorter_than_its_vectors_is_passed_through(arc: ARC) -> None:
    result = arc.compress("x")
    assert result.text == "x" and [notice.code for notice in result.warnings] == ["not_shorter"]
    with pytest.raises(BudgetError):
        arc.compress("x", budget=0)


def test_progress_is_told_passage_by_passage(arc: ARC) -> None:
    told: list[tuple[int, int]] = []
    arc.compress(TEXTS, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SQUEEZE_CACHE", str(tmp_path))
    with pytest.raises(ConfigError, match=r"python -m squeeze\.bench\.smollm2"):
        squeeze.load("arc")  # its checkpoint ships, the model does not
    with pytest.raises(ConfigError, match=r"another model.*python -m squeeze\.train\.soft --method arc"):
        squeeze.load("arc", model=tiny_model(), tokenizer=byte_tokenizer())
    with pytest.raises(ConfigError, match="somewhere"):
        squeeze.load("arc", model="somewhere")
    with pytest.raises(ConfigError, match="no such folder"):
        squeeze.load("arc", checkpoint="./nowhere")
    with pytest.raises(InputError, match="checkpoint"):
        squeeze.load("arc", model=tiny_model(), checkpoint=7)
    with pytest.raises(InputError, match="model"):
        squeeze.load("arc", model=7, checkpoint="./nowhere")


@pytest.mark.parametrize("lora", [0, 2])
def test_it_loads_from_folders(lora: int, tmp_path: object) -> None:
    model, tokenizer = tiny_model(), byte_tokenizer()
    model.save_pretrained(str(tmp_path / "model"))
    tokenizer.save_pretrained(str(tmp_path / "model"))
    encoder = ArcEncoder.from_model(model, ArcSettings(layers=1, lora=lora))
    encoder.save_pretrained(tmp_path / "encoder")
    own = ARC(model=model, tokenizer=tokenizer, checkpoint=encoder)
    named = squeeze.load("arc", model=str(tmp_path / "model"), checkpoint=str(tmp_path / "encoder"))
    assert named.fingerprint == own.fingerprint and named.factors == (2, 4, 8)
    expected, got = own.compress(TEXTS), named.compress(TEXTS)
    assert got.tokens_before == expected.tokens_before and got.tokens_after == expected.tokens_after
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(vectors(expected), vectors(got), strict=True))
    if not lora:  # weights that are shared with a model are aligned in memory as the model's loader does it
        assert all(torch.equal(a, b) for a, b in zip(vectors(expected), vectors(got), strict=True))
    answer = Reader(model, tokenizer).generate(got, "When?", max_new_tokens=5)
    assert answer == Reader(model, tokenizer).generate(expected, "When?", max_new_tokens=5)
    if lora:
        with pytest.raises(ConfigError, match="model"):
            squeeze.load("arc", checkpoint=str(tmp_path / "encoder"))
    with pytest.raises(ConfigError, match=r"trained for|made for"):
        ARC(model=tiny_model(seed=1), tokenizer=tokenizer, checkpoint=str(tmp_path / "encoder"))


def test_a_checkpoint_with_its_own_tokenizer_needs_no_model(tmp_path: object) -> None:
    model, tokenizer = tiny_model(), byte_tokenizer()
    ArcEncoder.from_model(model, ArcSettings(layers=1)).save_pretrained(tmp_path, tokenizer)
    arc = squeeze.load("arc", checkpoint=str(tmp_path))
    assert arc.fingerprint.startswith(model_fingerprint(model))
    assert arc.compress(TEXTS).tokens_before == len("\n\n".join(TEXTS))


def test_encoder_and_decoder_may_spell_differently(tmp_path: Path) -> None:
    model, tokenizer = tiny_model(vocab_size=280), PreTrainedTokenizerFast(tokenizer_object=conftest.byte_tokenizer())
    ArcEncoder.from_model(tiny_model(), ArcSettings(layers=1), name="other").save_pretrained(tmp_path, byte_tokenizer())
    encoder = ArcEncoder.from_pretrained(tmp_path)
    encoder.add_decoder("reader", 32, model_fingerprint(model))
    encoder.save_pretrained(tmp_path, byte_tokenizer())
    arc = ARC(model=model, tokenizer=tokenizer, checkpoint=str(tmp_path), decoder="reader")
    text = "plain words only " * 9
    result = arc.compress(text)
    assert result.tokens_before == len(tokenizer.encode(text, add_special_tokens=False)) < len(text) / 3
    assert result.tokens_after == -(-len(text) // 8) + 1, "bytes by the factor that is shorter than the words"
    assert Reader(model, tokenizer)._context(result)


def test_another_counter_counts_and_the_model_spells() -> None:
    model, tokenizer = tiny_model(), byte_tokenizer()
    model.name_or_path = ""
    encoder = ArcEncoder.from_model(model, ArcSettings(layers=1))
    with pytest.raises(ConfigError, match="tokenizer"):
        ARC(model=model, checkpoint=encoder)
    assert ARC(model=model, tokenizer=tokenizer, checkpoint=encoder).compress(TEXTS).tokens_after == 126


def test_one_encoder_serves_several_decoders() -> None:
    model, other, tokenizer = tiny_model(), tiny_model(seed=3, hidden_size=48, num_attention_heads=6), byte_tokenizer()
    encoder = ArcEncoder.from_model(model, ArcSettings(layers=1), name="first")
    encoder.add_decoder("second", 48, model_fingerprint(other))
    with pytest.raises(ConfigError, match="decoder"):
        ARC(model=model, tokenizer=tokenizer, checkpoint=encoder)
    for reader, name in ((model, "first"), (other, "second")):
        arc = ARC(model=reader, tokenizer=tokenizer, checkpoint=encoder, decoder=name)
        Reader(reader, tokenizer).generate(arc.compress(TEXTS), "When?", max_new_tokens=3)
    with pytest.raises(ConfigError, match="width"):
        ARC(model=model, tokenizer=tokenizer, checkpoint=encoder, decoder="second")


def test_it_ends_a_pipeline() -> None:
    arc = ARC.example()
    edu = squeeze.load("edu", tokenizer=byte_tokenizer())
    edu.tokenizer = arc.tokenizer
    result = squeeze.Pipeline([edu, arc]).compress(TEXTS, "valve", budget=140)
    assert result.tokens_after <= 140 and vectors(result)
