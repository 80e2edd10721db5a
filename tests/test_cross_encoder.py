"""The scorer "cross_encoder": order, batches, lengths, and what is refused."""

from __future__ import annotations

import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import squeeze
from small_models import MEAN, QUERY, TEXTS, corpus_of, described, small
from squeeze.errors import ConfigError
from squeeze.score import text_model
from squeeze.score.base import load_scorer
from squeeze.score.cross_encoder import CrossEncoder
from squeeze.score.ranker import Ranker
from squeeze.score.salience import salience


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A cross-encoder's folder."""
    return small("BertForSequenceClassification", tmp_path_factory.mktemp("reader"))


def test_a_cross_encoder_ranks_by_its_output(reader: str) -> None:
    corpus = corpus_of(*TEXTS, titles=["Lighthouse", "", "Ferry"])
    scores = CrossEncoder(reader, precision="float32").score(corpus, QUERY)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(reader).eval()
    own = transformers.AutoTokenizer.from_pretrained(reader)
    outputs = []
    for unit, text in enumerate(corpus.texts):
        title = corpus.passages[corpus.passage[unit]].title
        pair = own(QUERY, f"{title}\n{text}" if title else text, return_tensors="pt", truncation=True)
        with torch.inference_mode():
            outputs.append(float(model(**pair).logits))
    assert (np.argsort(-scores, kind="stable") == np.argsort(-np.array(outputs), kind="stable")).all()
    assert np.abs(scores - 1 / (1 + np.exp(-np.array(outputs)))).max() < 2e-3
    assert (scores > 0).all() and (scores < 1).all()


def test_only_the_best_of_the_ranker_are_read(reader: str) -> None:
    corpus = corpus_of(*TEXTS)
    first, scores = Ranker().score(corpus, QUERY), CrossEncoder(reader, top=3).score(corpus, QUERY)
    read = np.argsort(-first, kind="stable")[:3]
    assert set(np.argsort(-scores, kind="stable")[:3].tolist()) == set(read.tolist())
    rest = np.setdiff1d(np.arange(len(corpus)), read)
    assert (np.argsort(-scores[rest], kind="stable") == np.argsort(-first[rest], kind="stable")).all()
    assert (scores[rest] <= 0.0005).all() and (scores[rest] > 0).all()


def test_outputs_far_out_keep_their_order(reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = np.array([-40.0, 55.0, 50.0, -40.0, -60.0])
    monkeypatch.setattr(CrossEncoder, "_outputs", lambda *_: outputs)
    scores = CrossEncoder(reader).score(corpus_of("a", "b", "c", "d", "e"), QUERY)
    assert scores[1] > scores[2] > scores[0] == scores[3] > scores[4]


def test_cross_encoders_without_query_or_text_read_nothing(reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CrossEncoder, "_loaded", lambda *_: pytest.fail("the model was loaded"))
    corpus = corpus_of(*TEXTS)
    assert (CrossEncoder(reader).score(corpus, None) == salience(corpus)).all()
    assert (CrossEncoder(reader).score(corpus_of("", ""), QUERY) == 0).all()


def test_cross_encoders_are_picklable_and_serve_threads(reader: str) -> None:
    scorer = pickle.loads(pickle.dumps(load_scorer(f"cross_encoder:{reader}")))
    corpus = corpus_of(*TEXTS)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: scorer.score(corpus, QUERY), range(4)))
    assert all((one == found[0]).all() for one in found)
    result = squeeze.compress(TEXTS, QUERY, scorer=scorer, max_tokens=14)
    assert 0 < result.tokens_after <= 14


def as_cross_encoder(folder: str, longest: int) -> str:
    """The folder with what sentence-transformers writes beside a cross-encoder."""
    place = Path(folder)
    kind = "sentence_transformers.base.modules.transformer.Transformer"
    files: dict[str, Any] = {
        "modules.json": [{"idx": 0, "name": "0", "path": "", "type": kind}],
        "sentence_bert_config.json": {"transformer_task": "sequence-classification", "max_seq_length": longest},
        "config_sentence_transformers.json": {"model_type": "CrossEncoder", "prompts": {}},
    }
    for name, content in files.items():
        (place / name).write_text(json.dumps(content))
    return folder


def test_a_folder_of_sentence_transformers_is_read_as_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = as_cross_encoder(small("BertForSequenceClassification", tmp_path), 24)
    corpus = corpus_of(*TEXTS, "the lamp " * 40, "the keeper " * 30)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    own = transformers.AutoTokenizer.from_pretrained(folder)
    wanted = []
    for text in corpus.texts:
        pair = own(QUERY, text, return_tensors="pt", truncation="longest_first", max_length=24)
        with torch.inference_mode():
            wanted.append(float(model(**pair).logits))
    for budget in (1, 60, 4096):  # single pairs, a few, and all at once
        monkeypatch.setattr(text_model, "_BATCH_TOKENS", budget)
        found = CrossEncoder(folder, precision="float32")._outputs(corpus, QUERY, list(range(len(corpus))))
        assert np.abs(found - wanted).max() < 1e-5
    assert len(set(np.round(wanted, 6))) > 5  # the pairs tell apart what is read
    result = squeeze.compress(TEXTS, QUERY, scorer=f"cross_encoder:{folder}", keep=0.5)
    assert 0 < result.tokens_after <= result.tokens_before / 2


def test_an_embedding_model_is_no_cross_encoder(tmp_path: Path) -> None:
    folder = described(small("BertModel", tmp_path), MEAN)
    with pytest.raises(ConfigError, match=r"has no classifier\.bias, classifier\.weight; allowed: .* cross-encoder"):
        CrossEncoder(folder).score(corpus_of(*TEXTS), QUERY)


def test_models_with_several_labels_are_refused(tmp_path: Path) -> None:
    folder = small("BertForSequenceClassification", tmp_path, labels=3)
    with pytest.raises(ConfigError, match="has 3 labels; allowed: a cross-encoder with one"):
        CrossEncoder(folder).score(corpus_of(*TEXTS), QUERY)


@pytest.mark.parametrize("top", [0, -1, 2.0, True, "3"])
def test_top_is_a_whole_number(top: Any) -> None:
    with pytest.raises(ConfigError, match="top is"):
        CrossEncoder("x", top=top)


def test_a_title_is_read_with_the_unit_unless_told_otherwise(reader: str) -> None:
    corpus = corpus_of("The lamp burns. The keeper sleeps.", titles=["Ferry"])
    assert (CrossEncoder(reader).score(corpus, QUERY) != CrossEncoder(reader, titles=False).score(corpus, QUERY)).any()
