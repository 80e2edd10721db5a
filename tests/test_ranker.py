"""The ranker: its features, second hops, scores and weights."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from squeeze import Passage, segment
from squeeze.errors import CorruptError
from squeeze.score import ranker as module
from squeeze.score.asking import asks_for
from squeeze.score.base import Corpus, load_scorer
from squeeze.score.features import FEATURES, features, matches_of
from squeeze.score.mentions import mentions
from squeeze.score.network import Network
from squeeze.score.postings import Lists, Postings
from squeeze.score.ranker import WEIGHTS, Ranker
from squeeze.score.salience import salience
from squeeze.score.scaling import nearness, relative, standard

BRIDGE = Passage(
    "The Lindal bridge was drawn by Marta Ohlsson. It spans the river Ema. Tolls ended early.", title="Lindal"
)
ARCHITECT = Passage(
    "Marta Ohlsson grew up by the sea. She was born in Visby in 1871. She liked chess.", title="Marta Ohlsson"
)
BREAD = Passage("Rye bread keeps for a week. Bakers add caraway. Ovens were shared by villages.", title="Rye bread")
FERRY = Passage("The ferry runs twice a day. Tickets are sold on board. Bicycles travel free.", title="Ferry")
PASSAGES = (BREAD, ARCHITECT, FERRY, BRIDGE)
QUERY = "In which year was the person who drew the Lindal bridge born?"


def corpus_of(*passages: Passage) -> Corpus:
    return Corpus.of(passages, [segment.parse(passage.text) for passage in passages])


def columns_of(passages: tuple[Passage, ...], query: str) -> dict[str, np.ndarray]:
    return features(matches_of(corpus_of(*passages), query), query)


def score_of(passages: tuple[Passage, ...], query: str | None) -> dict[str, float]:
    corpus = corpus_of(*passages)
    return dict(zip(corpus.texts, Ranker().score(corpus, query).tolist(), strict=True))


def test_second_hop_is_found_without_a_word_of_the_query() -> None:
    scores = score_of(PASSAGES, QUERY)
    ranked = sorted(scores, key=scores.__getitem__, reverse=True)
    assert "The Lindal bridge was drawn by Marta Ohlsson." in ranked[:2]
    assert "She was born in Visby in 1871." in ranked[:3]


def test_what_nothing_leads_to_scores_zero() -> None:
    scores = score_of((FERRY, Passage("Zebras graze.", title="Zoo")), "zebras")
    assert scores["Zebras graze."] > 0.5
    assert all(score == 0 for text, score in scores.items() if text != "Zebras graze.")


def test_no_shared_word_scores_zero_everywhere() -> None:
    assert not any(score_of(PASSAGES, "quantum chromodynamics").values())


def test_words_that_no_passage_has_lower_every_score_alike() -> None:
    corpus = corpus_of(*PASSAGES)
    plain = Ranker().score(corpus, "Who drew the Lindal bridge?")
    more = Ranker().score(corpus, "Who drew the Lindal bridge, zxqv wvut kjhg?")
    assert more.max() < plain.max()
    assert np.argmax(more) == np.argmax(plain)


def test_order_of_passages_changes_no_score() -> None:
    assert score_of(PASSAGES, QUERY) == pytest.approx(score_of(PASSAGES[::-1], QUERY), abs=1e-9)


def test_titles_that_are_all_alike_count_as_none() -> None:
    same = tuple(Passage(passage.text, title="Archive") for passage in PASSAGES)
    columns = columns_of(same, QUERY)
    for name in FEATURES:
        if name.startswith("title_"):
            assert not columns[name].any(), name


def test_lower_case_still_finds_the_passage() -> None:
    lower = tuple(Passage(passage.text.lower(), title=passage.title.lower()) for passage in PASSAGES)
    scores = score_of(lower, QUERY.lower())
    best = sorted(scores, key=scores.__getitem__)[-2:]
    assert any(text.startswith("the lindal bridge") for text in best)


def test_no_query_is_salience() -> None:
    corpus = corpus_of(*PASSAGES)
    for query in (None, "", "  \n"):
        np.testing.assert_array_equal(Ranker().score(corpus, query), salience(corpus))


@pytest.mark.parametrize(
    "passages",
    [
        (),
        (Passage(""),),
        (Passage("", title="Lindal"), Passage("   ")),
        (Passage("one"),),
        (Passage("?!"), Passage("…")),
    ],
)
@pytest.mark.parametrize("query", ["one", "?", "the of", "Lindal", "一", "x" * 5000, "of " * 600])
def test_little_text_gives_finite_scores(passages: tuple[Passage, ...], query: str) -> None:
    corpus = corpus_of(*passages)
    scores = Ranker().score(corpus, query)
    assert scores.shape == (len(corpus),)
    assert np.isfinite(scores).all() and (scores >= 0).all() and (scores <= 1).all()


TEXT = st.text(alphabet=st.sampled_from("aB c.1 9\n—ß漢字かな한국 ا́हि🙂\u200d"), max_size=60)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.builds(Passage, TEXT, title=TEXT), max_size=5), TEXT)
def test_any_text_gives_finite_features_and_scores(passages: list[Passage], query: str) -> None:
    corpus = corpus_of(*passages)
    columns = features(matches_of(corpus, query), query)
    assert set(columns) == set(FEATURES)
    for name, values in columns.items():
        assert values.shape == (len(corpus),) and np.isfinite(values).all(), name
    scores = Ranker().score(corpus, query)
    assert np.isfinite(scores).all() and (scores >= 0).all() and (scores <= 1).all()


def test_same_scores_from_many_threads_and_after_pickling() -> None:
    scorer, corpus = load_scorer("ranker"), corpus_of(*PASSAGES)
    module.network.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: scorer.score(corpus, QUERY), range(16)))
    results.append(pickle.loads(pickle.dumps(scorer)).score(corpus, QUERY))
    for result in results:
        np.testing.assert_array_equal(result, results[0])


def test_shipped_weights_fit_the_features_and_are_small() -> None:
    assert Network.load(WEIGHTS, FEATURES).names == FEATURES
    assert WEIGHTS.stat().st_size <= 300_000
    sources = WEIGHTS.with_suffix(".sources.txt").read_text(encoding="utf-8")
    assert "hotpotqa" in sources and "CC BY-SA" in sources


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "flipped", "text", "other features", "shapes", "nan"])
def test_damaged_weights_raise(damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ranker.npz"
    data = WEIGHTS.read_bytes()
    middle = len(data) // 2
    whole = Network.load(WEIGHTS, FEATURES)
    if damage == "other features":
        Network(FEATURES[::-1], whole.mean, whole.scale, whole.weights, whole.biases).save(path)
    elif damage == "shapes":
        Network(FEATURES, whole.mean, whole.scale, whole.weights[::-1], whole.biases).save(path)
    elif damage == "nan":
        Network(FEATURES, whole.mean * np.nan, whole.scale, whole.weights, whole.biases).save(path)
    elif damage != "missing":
        flipped = data[:middle] + bytes([data[middle] ^ 255]) + data[middle + 1 :]
        path.write_bytes({"empty": b"", "cut": data[:middle], "flipped": flipped, "text": b"weights"}[damage])
    monkeypatch.setattr(module, "WEIGHTS", path)
    module.network.cache_clear()
    try:
        with pytest.raises(CorruptError, match=r"ranker\.npz"):
            Ranker().score(corpus_of(*PASSAGES), QUERY)
    finally:
        module.network.cache_clear()


def test_network_averages_its_members_and_survives_saving(tmp_path: Path) -> None:
    names = ("a", "b")
    weights = (np.array([[[1.0], [0.0]], [[0.0], [3.0]]]),)
    network = Network(names, np.zeros(2), np.ones(2), weights, (np.array([[0.0], [1.0]]),))
    rows = np.array([[1.0, 0.0], [2.0, 1.0], [100.0, 0.0]])
    np.testing.assert_allclose(network(rows), [(1 + 1) / 2, (2 + 4) / 2, (6 + 1) / 2])  # 100 counts as 6
    network.save(tmp_path / "w.npz")
    np.testing.assert_allclose(Network.load(tmp_path / "w.npz", names)(rows), network(rows))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("When was it built?", (True, False, False)),
        ("How many people live there?", (False, True, False)),
        ("Who wrote it?", (False, False, True)),
        ("List the parts of a bridge", (False, False, False)),
        ("¿Cuándo murió?", (True, False, False)),
        ("谁是作者?", (False, False, True)),
        ("Сколько человек там живёт?", (False, True, False)),
    ],
)
def test_asks_for(query: str, expected: tuple[bool, bool, bool]) -> None:
    assert asks_for(query) == expected


def test_mentions_name_other_titles_only() -> None:
    postings = Postings.of(corpus_of(*PASSAGES), QUERY)
    unit, passage, strength = mentions(postings)
    named = {
        (postings.corpus.texts[u], PASSAGES[p].title) for u, p in zip(unit.tolist(), passage.tolist(), strict=True)
    }
    assert named == {("The Lindal bridge was drawn by Marta Ohlsson.", "Marta Ohlsson")}
    assert (strength >= 0.6).all() and (strength <= 1 + 1e-9).all()


def test_answer_kind_tells_years_from_other_units() -> None:
    columns = columns_of(PASSAGES, "When was Marta born?")
    year = columns["asked_year"]
    texts = corpus_of(*PASSAGES).texts
    assert texts[int(np.argmax(year))] == "She was born in Visby in 1871."
    assert not columns_of(PASSAGES, "Tell me about Marta")["asked_year"].any()


def test_postings_know_what_stands_where() -> None:
    corpus = corpus_of(Passage("Cats sleep. Dogs sleep in 1999.", title="Pets"), Passage("Cats"))
    postings = Postings.of(corpus, "cats")
    assert postings.lengths.tolist() == [2, 4, 1]
    asked = postings.asked
    unit, _ = postings.holders(asked)
    assert sorted(set(unit.tolist())) == [0, 2]
    assert postings.spread[asked].tolist() == [2] * int(asked.sum())


@given(st.lists(st.lists(st.integers(0, 9), max_size=5), max_size=6), st.data())
def test_lists_give_back_what_they_hold(lists: list[list[int]], data: st.DataObject) -> None:
    packed = Lists.of(lists)
    assert [packed.at(index).tolist() for index in range(len(lists))] == lists
    chosen = data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=8)) if lists else []
    assert packed.gather(np.array(chosen, np.int64)).tolist() == [value for index in chosen for value in lists[index]]


def test_scaling() -> None:
    values = np.array([0.0, 2.0, 4.0, 4.0])
    assert relative(values).tolist() == [0, 0.5, 1, 1]
    assert nearness(values).tolist() == [0, 1 / 3, 1, 1]
    assert standard(values).mean() == pytest.approx(0)
    for scale in (relative, standard, nearness):
        assert scale(np.zeros(3)).tolist() == [0, 0, 0]
        assert scale(np.zeros(0)).tolist() == []


def test_time_grows_with_the_text_not_with_its_square() -> None:
    # counted in pairs looked at, as seconds depend on the machine
    def pairs(copies: int) -> int:
        passages = [
            Passage(f"Town {n} lies by river {n}. Road {n} leads to town {n + 1}.", title=f"Town {n}")
            for n in range(copies)
        ]
        return len(mentions(Postings.of(corpus_of(*passages), "town 3"))[0])

    assert pairs(200) <= 2 * pairs(100) + 50
