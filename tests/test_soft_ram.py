"""RAM: its encoder, what it keeps within a budget, its checkpoints, its training."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import squeeze
from conftest import QUERY, TEXTS
from squeeze import Budget, Passage, SoftPart, TextPart
from squeeze.allocate import Expand, Uniform
from squeeze.compressors.ram import RAM
from squeeze.errors import ConfigError, CorruptError, InputError
from squeeze.soft import RamEncoder, RamSettings, Reader, model_fingerprint
from squeeze.soft.ram_layers import Row
from squeeze.soft.tiny import byte_tokenizer, tiny_model

LONG = [
    "The lamp on the pier was lit in 1874. It burned colza oil for many years. The keeper had two sons and a dog.",
    "Each pump is checked in spring. The valve opens at 40 bar, because the spring gives way before the seal does.",
    "Lunch is at noon on most days. The paint is blue and the crate weighs 9 kg. The road to the north is closed.",
]


@pytest.fixture(scope="module")
def ram() -> RAM:
    return RAM.example()


def made(seed: int = 0, **settings: Any) -> RamEncoder:
    """An encoder whose heads and alignment do something, as after training."""
    encoder = RamEncoder(tiny_model(), RamSettings(**{"layers": 1, "rank": 4, **settings}), seed=seed)
    chance = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, value in encoder.named_parameters():
            if name.startswith(("asked", "told", "align")) or "lora_B" in name:
                value.add_(torch.randn(value.shape, generator=chance) * 0.1)
    return encoder


def rows(*sizes: int) -> list[Row]:
    return [Row([(7 * at + 3 * place) % 250 for place in range(size)]) for at, size in enumerate(sizes, 1)]


# -- the encoder ---------------------------------------------------------------------------------------------------


def test_by_hand_a_row_is_ranked_by_its_mean_state_and_pooled_by_its_nearness_to_the_question() -> None:
    encoder = made(sharpness=2.0)
    question, segments = [5, 6, 7], rows(9, 4)
    read = encoder.read(question, segments)

    def states(ids: list[int]) -> Any:
        embedded = encoder.cut.embedded(torch.tensor([ids]))
        hidden = encoder.cut.last(encoder.cut.states(embedded), encoder.cut.states(embedded))[0]
        return hidden / hidden.pow(2).mean(-1, keepdim=True).sqrt(), embedded[0]

    with torch.no_grad():
        asked = encoder.asked(states(question)[0].mean(0))
        for at, row in enumerate(segments):
            own, embedded = states(list(row.ids))
            assert torch.allclose(read.scores[at], encoder.told(own.mean(0)) @ asked, atol=1e-5)
            weights = torch.softmax(2.0 * (encoder.told(own) @ asked), 0)[:, None]
            expected = encoder.align((weights * own).sum(0), (weights * embedded).sum(0))
            assert torch.allclose(read.vectors[at], expected, atol=1e-5)


def test_a_vector_is_the_blank_the_gated_mean_embedding_and_what_the_states_add() -> None:
    align = made().align
    states, embeds = torch.randn(5, 32), torch.randn(5, 32)
    added = torch.nn.functional.silu(states @ align.first.weight.T) @ align.second.weight.T
    assert torch.allclose(align(states, embeds), align.blank + align.gate * embeds + added, atol=1e-5)


def test_untrained_it_is_the_cosine_of_means_and_every_vector_is_the_blank() -> None:
    encoder = RamEncoder(tiny_model(), RamSettings(layers=2, sharpness=0.0))
    segments = rows(6, 3)
    read = encoder.read([5, 6], segments)
    means = encoder.means([[5, 6], *(row.ids for row in segments)])
    assert torch.allclose(read.scores, torch.cosine_similarity(means[1:], means[:1]), atol=1e-5)
    assert torch.equal(read.vectors, encoder.align.blank.detach().expand(2, -1))
    with torch.no_grad():
        encoder.align.blank.zero_()
        encoder.align.gate.fill_(1.0)
    for row, vector in zip(segments, encoder.read([5, 6], segments).vectors, strict=True):
        assert torch.allclose(vector, encoder.cut.embedded(torch.tensor(row.ids)).mean(0).detach(), atol=1e-6)


def test_a_row_has_nothing_of_its_neighbours_and_order_does_not_matter() -> None:
    encoder, segments = made(), rows(9, 40, 3, 17)
    together = encoder.read([4, 5, 6], segments)
    for at, row in enumerate(segments):
        alone = encoder.read([4, 5, 6], [row])
        assert torch.allclose(alone.vectors[0], together.vectors[at], atol=1e-5)
        assert torch.allclose(alone.scores[0], together.scores[at], atol=1e-5)
    turned = encoder.read([4, 5, 6], segments[::-1])
    assert torch.allclose(turned.vectors.flip(0), together.vectors, atol=1e-5)


def test_the_layers_read_both_ways() -> None:
    encoder = made()
    one, other = (encoder.means([[1, 2, 3, last]]) for last in (4, 9))
    assert not torch.allclose(one, other)


def test_a_title_is_ranked_by_and_not_pooled() -> None:
    encoder = made(sharpness=0.0)
    bare, titled = Row([1, 2, 3]), Row([90, 91, 1, 2, 3], 2)
    read = encoder.read([7, 8], [bare, titled])
    pooled = encoder.cut.embedded(torch.tensor([1, 2, 3])).mean(0)
    with torch.no_grad():
        encoder.align.second.weight.zero_()
    bare_only = encoder.read([7, 8], [bare, titled]).vectors
    assert torch.allclose(bare_only, (encoder.align.blank + encoder.align.gate * pooled).detach(), atol=1e-5)
    assert read.scores[0] != read.scores[1]


@pytest.mark.parametrize("lead", [0, 3, 9])
def test_what_is_longer_than_the_limit_is_read_in_stretches_and_ranked_as_one(lead: int) -> None:
    encoder = made(limit=8)
    long = Row([(3 * place) % 250 for place in range(19)], lead)
    question = [(5 * place + 1) % 250 for place in range(21)]
    read = encoder.read(question, [long, *rows(5)])
    assert torch.isfinite(read.vectors).all() and read.scores.abs().max() <= 1 + 1e-5
    parts = [encoder.means([long.ids[at : at + 8]])[0] * len(long.ids[at : at + 8]) for at in (0, 8, 16)]
    with torch.no_grad():
        pieces = [encoder.means([question[at : at + 8]])[0] * len(question[at : at + 8]) for at in (0, 8, 16)]
        expected = encoder.told(sum(parts) / 19) @ encoder.asked(sum(pieces) / 21)
    assert torch.allclose(read.scores[0], expected, atol=1e-5)


def test_a_question_of_thousands_of_tokens_is_read() -> None:
    question = [at % 250 for at in range(5000)]
    read = made(limit=64).read(question, rows(5, 6))
    assert torch.isfinite(read.vectors).all()


def test_without_a_question_the_mean_of_all_stands_for_it_and_pooling_is_even() -> None:
    encoder, segments = made(sharpness=5.0), rows(6, 9, 4)
    read = encoder.read(None, segments)
    with torch.no_grad():
        told = encoder.told(encoder.means([row.ids for row in segments]))
    assert torch.allclose(read.scores, told @ torch.nn.functional.normalize(told.mean(0), dim=-1), atol=1e-5)


def test_equal_segments_get_equal_scores() -> None:
    read = made().read([1, 2], [Row([5, 6, 7])] * 4)
    assert torch.allclose(read.scores, read.scores[:1].expand(4), atol=1e-6)


def test_values_that_are_no_finite_numbers_are_named() -> None:
    encoder = made()
    with torch.no_grad():
        encoder.align.second.weight[0, 0] = float("nan")
    with pytest.raises(CorruptError, match="finite"):
        encoder.read([1], rows(4))
    model = tiny_model()
    with torch.no_grad():
        model.model.layers[0].mlp.down_proj.weight.fill_(float("nan"))
    broken = RamEncoder(model, RamSettings(layers=1))
    with pytest.raises(CorruptError, match="finite"):
        RAM(model=model, tokenizer=byte_tokenizer(), checkpoint=broken).compress(LONG, QUERY, budget=60)


def test_rows_that_cannot_be_read_are_named() -> None:
    encoder = made()
    for question, segments in (([1], []), ([], rows(3)), ([1], [Row([])]), ([1], [Row([1, 2], 2)]), ([999], rows(3))):
        with pytest.raises(InputError, match=r"ids|segments"):
            encoder.read(question, segments)
    with pytest.raises(InputError, match="ids"):
        encoder.means([[-1]])


@pytest.mark.parametrize(
    "wrong", [{"layers": 0}, {"layers": 3}, {"rank": 0}, {"limit": True}, {"sharpness": 21}, {"sharpness": "1"}]
)
def test_settings_outside_of_what_is_allowed_are_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        RamEncoder(tiny_model(), RamSettings(**{"layers": 1, **wrong}))


@pytest.mark.parametrize("kind", ["qwen3", "gemma3_text"])
def test_other_models_can_be_cut(kind: str) -> None:
    encoder = RamEncoder(tiny_model(kind=kind), RamSettings(layers=2))
    assert torch.isfinite(encoder.read([1, 2], rows(5, 9)).vectors).all()


# -- what is kept --------------------------------------------------------------------------------------------------


def vectors(result: squeeze.Compressed) -> int:
    return sum(len(part.vectors) for part in result.parts if isinstance(part, SoftPart))


def positions(result: squeeze.Compressed) -> int:
    """How many positions the reader needs for it."""
    reader = Reader(tiny_model(), byte_tokenizer())
    return sum(len(row.embeds) for row in reader._context(result))


@pytest.mark.parametrize("allocation", ["top_k", "dast", "expand", Uniform(), Expand(p=0.2)])
@pytest.mark.parametrize("limit", [1, 7, 40, 100, 200, 300])
def test_the_count_is_what_the_reader_reads_and_never_more_than_the_limit(limit: int, allocation: Any) -> None:
    ram = RAM.example()
    own = RAM(model=tiny_model(), tokenizer=byte_tokenizer(), checkpoint=ram.encoder, allocation=allocation)
    result = own.compress(LONG, QUERY, budget=limit)
    assert result.tokens_after == positions(result) <= limit
    assert vectors(result) >= min(limit, 1)
    kept = sum(len(part.lead + part.text) for part in result.parts if isinstance(part, TextPart))
    leads = sum(len(part.lead) for part in result.parts if isinstance(part, SoftPart))
    assert kept + leads + vectors(result) == result.tokens_after, "a byte is a token here"


def test_the_best_stay_text_and_each_other_segment_is_one_vector_in_source_order(ram: RAM) -> None:
    result = ram.compress(LONG, QUERY, budget=160)
    units = result.units()
    assert [unit.reason for unit in units].count("score") >= 2 and {unit.reason for unit in units} == {
        "score",
        "vector",
    }
    best = max(units, key=lambda unit: unit.score)
    assert best.reason == "score" and all(unit.kept for unit in units)
    assert vectors(result) == sum(unit.reason == "vector" for unit in units)
    places = [(part.passage, part.start) for part in result.parts]
    assert places == sorted(places) and {part.passage for part in result.parts} == {0, 1, 2}
    assert all(0 <= unit.score <= 1 for unit in units)
    for index, text in enumerate(LONG):
        own = [unit for unit in units if unit.passage == index]
        assert "".join(text[unit.start : unit.end] for unit in own) == text


def test_touching_segments_join_into_one_part(ram: RAM) -> None:
    joined = 0
    for limit in range(60, 330, 10):
        result = ram.compress(LONG, QUERY, budget=limit)
        for one, two in zip(result.parts, result.parts[1:], strict=False):
            both = isinstance(one, TextPart) and isinstance(two, TextPart) and one.passage == two.passage
            assert not both or LONG[one.passage][one.end : two.start].strip()
        segments = sum(unit.reason == "score" for unit in result.units())
        joined += segments > sum(isinstance(part, TextPart) for part in result.parts)
    assert joined


def test_where_vectors_are_too_many_the_farthest_are_left_out(ram: RAM) -> None:
    result = ram.compress(LONG, QUERY, budget=3)
    left = [unit for unit in result.units() if not unit.kept]
    kept = [unit for unit in result.units() if unit.kept]
    assert vectors(result) == result.tokens_after == 3 and left and {unit.reason for unit in left} == {"budget"}
    assert max(unit.score for unit in left) <= min(unit.score for unit in kept)
    nothing = ram.compress(LONG, QUERY, budget=0)
    assert not nothing.parts and nothing.tokens_after == 0


def test_vectors_leave_room_for_text(ram: RAM) -> None:
    half, none = (
        RAM(model=tiny_model(), tokenizer=byte_tokenizer(), checkpoint=ram.encoder, vectors=share)
        for share in (0.5, 0.0)
    )
    many = [text for text in LONG for _ in range(8)]
    assert any(isinstance(part, TextPart) for part in half.compress(many, QUERY, budget=90).parts)
    for limit in (30, 60, 120):
        result = none.compress([Passage(text, overhead=3) for text in LONG], QUERY, budget=limit)
        assert result.tokens_after <= limit and not vectors(result)
        assert bool(result.text) == (limit > 30) and {unit.reason for unit in result.units()} <= {"score", "budget"}


def test_overheads_and_titles_count(ram: RAM) -> None:
    given_passages = [Passage(text, title="A title", overhead=20) for text in LONG]
    result = ram.compress(given_passages, QUERY, budget=45)
    shown = {part.passage for part in result.parts}
    assert result.tokens_after == positions(result) + 20 * len(shown) <= 45 and len(shown) < 3
    assert not ram.compress(given_passages, QUERY, budget=15).parts
    assert [n.code for n in ram.compress(given_passages, QUERY, budget=15).warnings] == ["nothing_fits"]
    titled = RAM(model=tiny_model(), tokenizer=byte_tokenizer(), checkpoint=ram.encoder, titles=True)
    shown_titles = titled.compress(given_passages, QUERY, budget=200)
    assert any("A title\n" in part.lead for part in shown_titles.parts) and shown_titles.tokens_after <= 200
    with_text = {part.passage for part in shown_titles.parts if isinstance(part, TextPart)}
    assert with_text == {part.passage for part in shown_titles.parts if "A title\n" in part.lead}


def test_one_segment_is_text_where_it_fits_and_a_vector_else(ram: RAM) -> None:
    text = "One short sentence."
    assert ram.compress(text, QUERY).text == text
    result = ram.compress(text, QUERY, budget=10)
    assert [type(part) for part in result.parts] == [SoftPart] and result.tokens_after == 1
    assert (result.parts[0].start, result.parts[0].end) == (0, len(text))


def test_equal_similarities_go_to_the_earlier_segment(ram: RAM) -> None:
    result = ram.compress(["The same sentence again."] * 6, "?", budget=60)
    texts = [part.passage for part in result.parts if isinstance(part, TextPart)]
    assert texts == list(range(len(texts))) and texts


def test_a_scorer_may_rank_in_place_of_the_encoder(ram: RAM) -> None:
    own = RAM(model=tiny_model(), tokenizer=byte_tokenizer(), checkpoint=ram.encoder, scorer="bm25", segment_tokens=20)
    result = own.compress(LONG, "At what bar does the valve open?", budget=130)
    assert any("valve opens" in part.text for part in result.parts if isinstance(part, TextPart))
    assert vectors(result) and own.compress(LONG, None, budget=130).tokens_after <= 130
    broken = RAM(
        model=tiny_model(), tokenizer=byte_tokenizer(), checkpoint=ram.encoder, scorer=lambda units, query: [0.0]
    )
    with pytest.raises(ConfigError, match="scorer"):
        broken.compress(LONG, QUERY, budget=60)


def test_overlong_units_are_cut_into_segments(ram: RAM) -> None:
    code = "```\n" + "".join(f"value_{at} = {at}\n" for at in range(60)) + "```\n"
    result = ram.compress(code, "value_7", budget=200)
    assert len(result.units()) > 5 and max(unit.tokens for unit in result.units()) <= 4 * 48
    assert "".join(code[unit.start : unit.end] for unit in result.units()) == code


pieces = st.sampled_from(
    ["Oil. ", "The valve opens at 40 bar. ", "\n\n", "# Head\n\n", "👩‍👩‍👧 ñ é ", "\u200b", "\ud83d", " ", "x" * 90]
)
_made: list[RAM] = []


@given(
    st.lists(st.lists(pieces, max_size=9).map("".join), max_size=4),
    st.one_of(st.none(), st.text(max_size=20)),
    st.floats(0, 1),
    st.sampled_from(["top_k", "dast", "expand"]),
    st.integers(0, 5),
)
def test_budgets_hold_for_any_text(
    texts: list[str], query: str | None, keep: float, allocation: str, overhead: int
) -> None:
    if not _made:
        own = RAM.example()
        _made.extend(
            RAM(model=tiny_model(), tokenizer=byte_tokenizer(), checkpoint=own.encoder, allocation=name)
            for name in ("top_k", "dast", "expand")
        )
    ram = _made[["top_k", "dast", "expand"].index(allocation)]
    result = ram.compress([Passage(text, overhead=overhead) for text in texts], query, budget=Budget(keep=keep))
    assert result.tokens_after <= keep * result.tokens_before + 1e-6
    shown = {part.passage for part in result.parts}
    assert result.tokens_after == positions(result) + overhead * len(shown)


@pytest.mark.parametrize(
    "wrong",
    [
        {"allocation": "best"},
        {"allocation": Uniform},
        {"allocation": 3},
        {"segment_tokens": 0},
        {"vectors": 1.5},
        {"vectors": True},
        {"gap": 3},
        {"titles": "yes"},
        {"scorer": "nobody"},
        {"unit": "edu"},
    ],
)
def test_options_outside_of_what_is_allowed_are_named(wrong: dict[str, Any], ram: RAM) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        RAM(model=tiny_model(), tokenizer=byte_tokenizer(), checkpoint=ram.encoder, **wrong)


def test_it_is_read_and_only_by_its_model(ram: RAM) -> None:
    result = ram.compress(LONG, QUERY, budget=100)
    model, tokenizer = tiny_model(), byte_tokenizer()
    assert isinstance(Reader(model, tokenizer).generate(result, "When?", max_new_tokens=4), str)
    assert Reader(model, tokenizer).answer_logprob(result, "When?", "1931") < 0
    with pytest.raises(ConfigError, match="compress with this model"):
        Reader(tiny_model(seed=1), tokenizer).generate(result, "When?", max_new_tokens=1)
    with pytest.raises(squeeze.errors.NotTextError):
        _ = result.text


def test_it_ends_a_pipeline(ram: RAM) -> None:
    edu = squeeze.load("edu", tokenizer=byte_tokenizer())
    edu.tokenizer = ram.tokenizer
    result = squeeze.Pipeline([edu, ram]).compress(TEXTS, QUERY, budget=150)
    assert result.tokens_after <= 150


# -- checkpoints ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lora", [0, 2])
def test_checkpoints_hold_what_was_trained_alone_and_come_back(lora: int, tmp_path: Path) -> None:
    encoder = made(lora=lora)
    encoder.save_pretrained(tmp_path)
    again = RamEncoder.from_pretrained(tmp_path, tiny_model())
    assert again.fingerprint() == encoder.fingerprint() and again.settings == encoder.settings
    expected, got = (own.read([1, 2], rows(4, 9)) for own in (encoder, again))
    assert torch.equal(expected.vectors, got.vectors) and torch.equal(expected.scores, got.scores)
    saved = [key for key in encoder.own_state() if key.startswith("cut.")]
    assert all("lora_" in key for key in saved) and bool(saved) == bool(lora)
    with pytest.raises(ConfigError, match="made for"):
        RamEncoder.from_pretrained(tmp_path, tiny_model(seed=1))


def test_half_precision_loads_and_names_itself_alike(tmp_path: Path) -> None:
    half = made().half()
    half.save_pretrained(tmp_path)
    again = RamEncoder.from_pretrained(tmp_path, tiny_model())
    assert again.fingerprint() == half.fingerprint() and again.align.first.weight.dtype == torch.float32


def test_it_loads_from_folders(tmp_path: Path) -> None:
    tiny_model().save_pretrained(str(tmp_path / "model"))
    byte_tokenizer().save_pretrained(str(tmp_path / "model"))
    made().save_pretrained(tmp_path / "ram")
    own = squeeze.load("ram", model=str(tmp_path / "model"), checkpoint=str(tmp_path / "ram"))
    other = RAM(model=tiny_model(), tokenizer=byte_tokenizer(), checkpoint=made())
    assert own.fingerprint == other.fingerprint
    one, two = (each.compress(LONG, QUERY, budget=100) for each in (own, other))
    assert [(p.start, p.end) for p in one.parts] == [(p.start, p.end) for p in two.parts]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"format": "squeeze.arc"}, "allowed"),
        ({"settings": {"rank": 8}}, "rank"),
        ({"settings": {"lora": 4}}, "rank"),
        ({"settings": {"hidden": 7}}, "width"),
        ({"settings": {"more": 1}}, "settings"),
        ({"weights": "../x.safetensors"}, "weights"),
        ({"fingerprint": "0" * 16}, "stands for"),
    ],
)
def test_checkpoints_that_lie_are_named(change: dict[str, Any], word: str, tmp_path: Path) -> None:
    made().save_pretrained(tmp_path)
    path = tmp_path / "squeeze.json"
    info = json.loads(path.read_text())
    for key, value in change.items():
        info[key] = {**info[key], **value} if isinstance(value, dict) else value
    path.write_text(json.dumps(info))
    with pytest.raises(CorruptError, match=word):
        RamEncoder.from_pretrained(tmp_path, tiny_model())


def test_what_is_missing_is_asked_for(tmp_path: Path) -> None:
    for wrong in ({}, {"model": tiny_model()}, {"checkpoint": str(tmp_path)}):
        with pytest.raises(ConfigError, match="checkpoint="):
            squeeze.load("ram", **wrong)
    with pytest.raises(InputError, match="RamEncoder"):
        RAM(model=tiny_model(), checkpoint=7)
    with pytest.raises(ConfigError, match="made for"):
        RAM(model=tiny_model(seed=1), tokenizer=byte_tokenizer(), checkpoint=made())
    with pytest.raises(ConfigError, match="no such folder"):
        RAM(model=tiny_model(), tokenizer=byte_tokenizer(), checkpoint="./nowhere")


def test_the_model_is_not_changed_and_gets_no_gradient() -> None:
    model = tiny_model()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    encoder = RamEncoder(model, RamSettings(layers=1, rank=4, lora=2))
    read = encoder([1, 2], rows(5, 6))
    (read.scores.sum() + read.vectors.sum()).backward()
    trained = {name for name, value in encoder.named_parameters() if value.requires_grad}
    assert trained == set(encoder.own_state())
    assert all(value.grad is None for value in model.parameters())
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert model_fingerprint(model) == encoder.base


# -- training ------------------------------------------------------------------------------------------------------


def test_the_contrastive_loss_is_that_of_the_paper_and_skips_rows_without_a_positive() -> None:
    from squeeze.train.ram_losses import contrastive

    scores = [torch.tensor([0.5, 0.1, -0.2], requires_grad=True), torch.tensor([0.3, 0.2], requires_grad=True)]
    positive = [torch.tensor([True, False, True]), torch.tensor([False, False])]
    powers = torch.exp(torch.tensor([0.5, 0.1, -0.2]) / 0.5)
    expected = -torch.log((powers[0] + powers[2]) / powers.sum())
    assert torch.allclose(contrastive(scores, positive, 0.5), expected)
    contrastive(scores, positive, 0.5).backward()
    assert scores[0].grad is not None and scores[0].grad.abs().sum() > 0 and scores[1].grad is None
    nothing = contrastive(scores[1:], positive[1:], 0.5)
    nothing.backward()
    assert nothing == 0 and scores[1].grad is not None and not scores[1].grad.any()


def test_positives_are_segments_that_overlap_an_answer() -> None:
    from squeeze.tokens import load_tokenizer
    from squeeze.train.ram_losses import lesson

    spells = load_tokenizer(byte_tokenizer())
    own = lesson(spells, "When?", ["1874", "COLZA oil"], [Passage(text) for text in LONG], 48)
    texts = [LONG[at][start:end] for at, start, end in own.found.segments]
    for text, positive in zip(texts, own.positive.tolist(), strict=True):
        assert positive == ("1874" in text or "colza oil" in text)
    assert own.positive.any() and not own.positive.all()
    assert not lesson(spells, "When?", ["187", " "], [Passage(text) for text in LONG], 48).positive.any()
    assert not lesson(spells, "When?", [], [Passage(text) for text in LONG], 48).positive.any()


def test_the_share_that_stays_text_is_that_of_the_paper() -> None:
    from squeeze.mixing import TEXT
    from squeeze.train.ram_losses import kept

    scores = torch.tensor([0.1, 0.9, 0.5, 0.5])
    assert np.flatnonzero(kept(scores, 0.5) == TEXT).tolist() == [1, 2]
    assert (kept(scores, 0.24) == TEXT).sum() == 0 and (kept(scores, 1.0) == TEXT).all()


def test_the_training_context_is_what_the_reader_reads() -> None:
    from squeeze.soft.inputs import text_embeds
    from squeeze.tokens import load_tokenizer
    from squeeze.train.ram_losses import context_embeds, lesson

    ram, model = RAM.example(), tiny_model()
    result = ram.compress(LONG, QUERY, budget=160)
    spells = load_tokenizer(byte_tokenizer())
    own = lesson(spells, QUERY, ["1874"], [Passage(text) for text in LONG], 48)
    read = ram.encoder(own.question, own.rows)
    states = np.array([2 if unit.reason == "score" else 1 for unit in result.units()], dtype=np.int8)
    context = context_embeds(own, read, states, spells, lambda ids: text_embeds(model, torch.tensor([list(ids)]))[0])
    expected = torch.cat([row.embeds for row in Reader(model, byte_tokenizer())._context(result)])
    assert torch.allclose(context, expected, atol=1e-5)
    context.sum().backward()
    assert ram.encoder.align.second.weight.grad is not None


WORDS = [
    "oak",
    "elm",
    "ash",
    "fir",
    "yew",
    "lime",
    "pear",
    "plum",
    "fig",
    "date",
    "red",
    "blue",
    "grey",
    "gold",
    "old",
    "new",
]


def question_rows(count: int, seed: int = 0) -> list[dict[str, Any]]:
    chance, made_rows = random.Random(seed), []
    for number in range(count):
        answer, place = WORDS[number % len(WORDS)], chance.choice(WORDS)
        others = [f"The {chance.choice(WORDS)} stone is {chance.choice('abcdef')}{at} today." for at in range(5)]
        documents = [{"title": "", "text": f"The lamp at {place} is {answer} wood. It is old.", "is_gold": True}]
        documents += [{"title": "", "text": text, "is_gold": False} for text in others]
        made_rows.append({"question": f"What lamp is at {place}?", "answers": [answer], "documents": documents})
    return made_rows


def test_the_head_learns_on_its_own(tmp_path: Path) -> None:
    from squeeze.train import ram_head

    tiny_model().save_pretrained(str(tmp_path / "model"))
    byte_tokenizer().save_pretrained(str(tmp_path / "model"))
    data = tmp_path / "rows.train.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in question_rows(40)))
    out = tmp_path / "out"
    given_options = ["--model", str(tmp_path / "model"), "--data", str(data), "--out", str(out)]
    ram_head.main([*given_options, "--layers", "1", "--rank", "8", "--hidden", "8", "--epochs", "6", "--rate", "0.003"])
    log = json.loads((out / "head.json").read_text())["results"]
    assert log[-1]["loss"] < log[2]["loss"] and min(row["held"] for row in log) < log[0]["held"]
    own = squeeze.load("ram", model=str(tmp_path / "model"), checkpoint=str(out))
    assert own.encoder.told.scale.dtype == torch.float32 and own.encoder.told.up.weight.any()
    assert str(tmp_path) not in (out / "head.json").read_text()


def setting(tmp_path: Path, *more: str) -> Any:
    """What a training run of `ram` is built from, on made-up questions."""
    from squeeze.soft.models import load_model
    from squeeze.train.soft_data import Limits, prepare
    from squeeze.train.soft_method import Setting
    from squeeze.train.soft_options import parse

    if not (tmp_path / "model").exists():
        tiny_model().save_pretrained(str(tmp_path / "model"))
        byte_tokenizer().save_pretrained(str(tmp_path / "model"))
        rows_ = question_rows(16)
        (tmp_path / "rows.train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows_))
    shape = ["--method", "ram", "--layers", "1", "--set", "rank=4", "hidden=8", "--batch", "4", "--held", "3"]
    options = parse(
        ["--model", str(tmp_path / "model"), "--out", str(tmp_path / "out"), "--context", "400", *shape, *more]
    )
    model = load_model(str(tmp_path / "model")).requires_grad_(False)
    prepared = prepare(byte_tokenizer(), 261, [], [str(tmp_path / "rows.train.jsonl")], Limits(context=400))
    return Setting(options, model, prepared, tmp_path / "out")


@pytest.mark.parametrize("more", [[], ["--lora", "2"], ["--reader-lora", "4"]])
def test_both_losses_fall_and_gradients_reach_what_is_trained_alone(more: list[str], tmp_path: Path) -> None:
    pytest.importorskip("peft")
    from squeeze.train.ram_losses import contrastive
    from squeeze.train.soft_ram import Ram

    given_setting = setting(tmp_path, *more)
    method = Ram(given_setting)
    before = {name: value.clone() for name, value in given_setting.model.state_dict().items()}
    trained = {name: value for own in method.roles().values() for name, value in own}
    assert any(name.startswith("reader.") for name in trained) == ("--reader-lora" in more)
    assert any(name.startswith("cut.") for name in trained) == ("--lora" in more)
    batch = method.draw(0, random.Random(0))
    asked, share = batch.rows
    assert 0.05 <= share <= 0.5 and len(asked) == 4
    batch = type(batch)(batch.kind, batch.factor, (asked, 0.2), batch.context, batch.target)

    def ranking() -> float:
        read = [method._read(one) for one in asked]
        return float(contrastive([has.scores for _, has in read], [own.positive for own, _ in read]).detach())

    first, first_ranking = float(method.loss(batch).detach()), ranking()
    optimizer = torch.optim.AdamW(list(trained.values()), lr=0.01)
    for _ in range(12):
        optimizer.zero_grad()
        method.loss(batch).backward()
        assert all(value.grad is not None for value in trained.values())
        optimizer.step()
    last, last_ranking = float(method.loss(batch).detach()), ranking()
    assert last_ranking < first_ranking and last - last_ranking < first - first_ranking
    for name, value in given_setting.model.state_dict().items():
        assert "lora_" in name or torch.equal(value, before[name]), name
    with torch.no_grad():
        found = method.measure()
    mixtures = {f"answer/{factor}x{text}" for factor in (4, 8) for text in ("", " text")}
    assert set(found) == {"answer/none", "answer/full", "ranking/held", *mixtures}
    assert all(np.isfinite(value) for value in found.values())


def test_what_was_trained_is_saved_with_the_readers_adapters(tmp_path: Path) -> None:
    pytest.importorskip("peft")
    from squeeze.soft.models import load_model
    from squeeze.soft.ram_files import adapt_reader
    from squeeze.train.soft_ram import Ram

    method = Ram(setting(tmp_path, "--reader-lora", "2"))
    with torch.no_grad():
        for value in method.adapters.parameters().values():
            value.add_(0.05)
    method.save(tmp_path / "out")
    model = load_model(str(tmp_path / "model"))
    own = RAM(model=model, tokenizer=byte_tokenizer(), checkpoint=str(tmp_path / "out"))
    result = own.compress(LONG, QUERY, budget=100)
    plain = Reader(model, byte_tokenizer()).answer_logprob(result, "When?", "1931")
    adapt_reader(model, tmp_path / "out" / "reader")
    assert Reader(model, byte_tokenizer()).answer_logprob(result, "When?", "1931") != plain
    assert own.compress(LONG, QUERY, budget=100).tokens_after == result.tokens_after
    half = adapt_reader(load_model(str(tmp_path / "model")).bfloat16(), tmp_path / "out" / "reader")
    assert {value.dtype for value in half.parameters()} == {torch.bfloat16}
    with pytest.raises(ConfigError, match="plain"):
        RamEncoder(model, RamSettings(layers=1))
    with pytest.raises(ConfigError, match="made for"):
        adapt_reader(tiny_model(seed=1), tmp_path / "out" / "reader")
    info = json.loads((tmp_path / "out" / "reader" / "squeeze.json").read_text())
    (tmp_path / "out" / "reader" / "squeeze.json").write_text(json.dumps({**info, "rank": 0}))
    with pytest.raises(CorruptError, match="rank"):
        adapt_reader(tiny_model(), tmp_path / "out" / "reader")


def test_the_program_trains_it_and_goes_on(tmp_path: Path) -> None:
    pytest.importorskip("peft")
    from squeeze.train import soft

    setting(tmp_path)
    shared = ["--method", "ram", "--model", str(tmp_path / "model"), "--no-curve", "--every", "2", "--reader-lora", "2"]
    shape = ["--layers", "1", "--set", "rank=4", "--batch", "2", "--held", "2", "--context", "400", "--steps", "4"]
    data = ["--data", str(tmp_path / "rows.train.jsonl")]
    soft.main([*shared, *shape, *data, "--out", str(tmp_path / "whole")])
    soft.main([*shared, *shape, *data, "--out", str(tmp_path / "broken"), "--minutes", "0"])
    soft.main(["--model", str(tmp_path / "model"), "--out", str(tmp_path / "broken"), "--resume", "--no-curve"])
    logs = [
        [
            row["loss"]
            for row in map(json.loads, (tmp_path / name / "log.jsonl").read_text().splitlines())
            if "loss" in row
        ]
        for name in ("whole", "broken")
    ]
    assert len(logs[0]) == 4 and logs[0] == logs[1]
    own = squeeze.load("ram", model=str(tmp_path / "model"), checkpoint=str(tmp_path / "whole"))
    assert own.compress(LONG, QUERY, budget=100).tokens_after <= 100
    for wrong in (["--keep-least", "0"], ["--keep-most", "1.5"], ["--set", "factor=2"]):
        with pytest.raises(ConfigError, match=r"keep|RamSettings"):
            soft.main([*shared, *shape, *data, "--out", str(tmp_path / "wrong"), *wrong])


# -- what is measured, and what ships ------------------------------------------------------------------------------


def test_recall_is_the_share_of_right_segments_among_the_best_of_a_share_of_the_tokens() -> None:
    from squeeze.bench.ram import recalled

    scores, sizes, right = [0.9, 0.1, 0.8, 0.7], [10, 10, 30, 10], np.array([True, True, False, True])
    assert recalled(scores, sizes, right, 0.34) == pytest.approx(
        2 / 3
    )  # 20 of 60 tokens: what does not fit is passed over
    assert recalled(scores, sizes, right, 0.0) == 0 and recalled(scores, sizes, right, 1.0) == 1


def test_contexts_are_cut_to_gold_passages_among_others(tmp_path: Path) -> None:
    from squeeze.bench.ram import cut_rows, long_passages

    path = tmp_path / "rows.dev.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in question_rows(6)))
    found = list(cut_rows(str(path), len, 120, 0))
    assert len(found) == 6 and found == list(cut_rows(str(path), len, 120, 0))
    for row, passages in found:
        assert sum(len(p.text) for p in passages) + len(passages) - 1 <= 120
        assert any(row["answers"][0] in p.text for p in passages)
    passages, question = long_passages(str(path), len, 500)
    assert 380 <= sum(len(p.text) + 1 for p in passages) <= 500 and question == found[0][0]["question"]


def test_a_segment_counts_what_its_best_unit_does() -> None:
    from squeeze import segment
    from squeeze.mixing import best_units, stretched
    from squeeze.score.base import Corpus

    texts = ["One is here. Two is there. Three is gone.", "", "Four."]
    layouts = [segment.parse(text) for text in texts]
    found = stretched([Passage(text) for text in texts], layouts, lambda own: [len(text.split()) for text in own], 6)
    corpus = Corpus.of([Passage(text) for text in texts], layouts)
    assert best_units(found, corpus, np.array([0.1, 0.5, 0.3, 0.2])).tolist() == [0.5, 0.3, 0.2]


def test_the_head_that_ships_loads_on_its_model() -> None:
    from squeeze.bench import smollm2
    from squeeze.errors import MissingDependencyError
    from squeeze.soft.models import load_hf_tokenizer, load_model
    from squeeze.soft.ram_files import WEIGHTS

    try:
        folder = smollm2.ensure()
    except MissingDependencyError as error:
        pytest.skip(str(error))
    assert sum(file.stat().st_size for file in (WEIGHTS / "ram-smollm2").iterdir()) <= 2_000_000
    model, tokenizer = load_model(folder), load_hf_tokenizer(folder)
    ram = squeeze.load("ram", model=model, tokenizer=tokenizer, checkpoint="ram-smollm2", segment_tokens=20)
    result = ram.compress(TEXTS, QUERY, budget=60)
    assert result.tokens_after <= 60 and vectors(result)
    assert any("1931" in part.text for part in result.parts if isinstance(part, TextPart))


def test_each_condition_is_a_context_and_anothers_vectors_are_the_row_befores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("peft")
    import argparse

    from squeeze.bench import ram as bench
    from squeeze.bench import ram_conditions
    from squeeze.soft.models import load_model
    from squeeze.train.soft_ram import Ram

    method = Ram(setting(tmp_path, "--reader-lora", "2"))
    with torch.no_grad():
        for value in method.adapters.parameters().values():
            value.add_(0.05)
        method.encoder.align.gate.add_(1.0)
    method.save(tmp_path / "out")
    monkeypatch.setattr(ram_conditions, "ensure", lambda: str(tmp_path / "model"))
    model, tokenizer = load_model(str(tmp_path / "model")), byte_tokenizer()
    shown = {"arc": "", "allocation": "top_k", "taught": str(tmp_path / "out"), "n": 3, "seed": 0, "context": 230}
    shown["dtype"] = "fp32"
    given_ = argparse.Namespace(
        checkpoint=str(tmp_path / "out"), data=[str(tmp_path / "rows.train.jsonl")], keep=[0.6, 0.4], **shown
    )
    conditions = ram_conditions.conditions({"model": model, "tokenizer": tokenizer}, given_)
    own, others = conditions["ram"], conditions["ram, another's vectors"]
    for keep in given_.keep:
        before: list[Any] = []
        for text in (LONG[0], LONG[1]):
            mine = [p.vectors for p in own([Passage(text)], QUERY, keep).parts if isinstance(p, SoftPart)]
            got = [p.vectors for p in others([Passage(text)], QUERY, keep).parts if isinstance(p, SoftPart)]
            expected = before or mine
            assert mine and all(torch.equal(one, expected[at % len(expected)]) for at, one in enumerate(got))
            before = mine
    lines = bench.likelihood(Reader(model, tokenizer), given_)
    found = {(line["condition"], line["keep"]): line for line in lines}
    assert len(found) == 2 * 2 + 2 * (len(conditions) - 4) and all(line["rows"] == 3 for line in lines)
    assert found["taught reader: none", 1.0]["mean"] != found["none", 1.0]["mean"]
    assert found["full", 1.0]["kept"] == 1 and found["none", 1.0]["kept"] == 0
    for name in ("ram", "taught reader: ram"):
        for other in ("edu", "text", "another"):
            assert found[name, 0.4][f"over_{other}_low"] <= found[name, 0.4][f"over_{other}_high"]
    assert "over_text_low" not in found["ram, no vectors", 0.4] and "over_edu_low" in found["ram", 0.4]


def test_the_tables_show_every_condition_and_say_what_vectors_are_worth(tmp_path: Path) -> None:
    from squeeze.bench.ram_table import table

    shape = {"data": "squad", "rows": 50, "low": -2.0, "high": -1.0}
    apart = {"ram": (0.1, 0.3), "taught reader: ram": (-2, -1)}
    lines = [{**shape, "condition": "full", "keep": 1.0, "mean": -1.25}] + [
        {**shape, "condition": name, "keep": 0.125, "mean": -1.5, "over_text_low": low, "over_text_high": high}
        for name, (low, high) in apart.items()
    ]
    ranked = [{**shape, "ranking": "trained", "keep": 0.125, "mean": 0.5, "low": 0.4, "high": 0.6}]
    for name, own in (("likely", lines), ("ranked", ranked)):
        (tmp_path / name).write_text(json.dumps({"results": own}))
    text = table(tmp_path / "likely", tmp_path / "ranked")
    assert "| full | -1.25 [-2.00, -1.00] |" in text and "squad, 12.5 %" in text and "n = 50 (squad)." in text
    assert "- ram against the same text without vectors: better on squad at 12.5 % [0.10, 0.30]." in text
    assert "- taught reader: ram against the same text without vectors: worse on squad" in text
    assert "another question" not in text and "| trained | 0.50 [0.40, 0.60] |" in text


def test_a_run_is_released_in_half_precision(tmp_path: Path) -> None:
    pytest.importorskip("peft")
    from squeeze.train import release
    from squeeze.train.soft_ram import Ram

    method = Ram(setting(tmp_path, "--reader-lora", "2"))
    method.save(tmp_path / "out")
    release.release(tmp_path / "out", str(tmp_path / "model"), tmp_path / "ships")
    whole, half = (next((tmp_path / name).glob("*.safetensors")).stat().st_size for name in ("out", "ships"))
    assert half < whole and not (tmp_path / "ships" / "reader").exists()
    own = squeeze.load("ram", model=str(tmp_path / "model"), checkpoint=str(tmp_path / "ships"))
    assert own.encoder.align.blank.dtype == torch.float32 and own.encoder.align.blank.any()


def test_a_blank_is_the_mean_embedding_of_what_it_is_made_of_as_long_as_embeddings_are() -> None:
    encoder = made()
    known = encoder.cut.embedded(torch.arange(261)[None])[0].detach()
    for ids, mean in (([5, 9], known[[5, 9]].mean(0)), ([], known.mean(0))):
        encoder.blank(ids)
        blank = encoder.align.blank.detach()
        assert torch.cosine_similarity(blank, mean, dim=0) > 0.999
        assert torch.allclose(blank.norm(), known.norm(dim=-1).median(), rtol=1e-4)
