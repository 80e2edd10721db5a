"""Rows of question answering as examples for the ranker: features, labels and weights of units."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from squeeze import segment
from squeeze.bench.rows import row_passages
from squeeze.errors import CorruptError
from squeeze.score.base import Corpus, Scores
from squeeze.score.features import features, matches_of
from squeeze.score.lexical import Bm25
from squeeze.score.ranker import matrix
from squeeze.select import Choice, Costs
from squeeze.tokens import load_tokenizer
from squeeze.types import Passage

VARIANTS = ("as given", "no titles", "lower case", "shuffled")
"""What is done to the passages of a row. The order of passages is no feature, so nothing is fitted on shuffled ones."""

FITTED = VARIANTS[:3]

_SUPPORT = 0.5  # a supporting sentence without the answer counts half a unit with it
_GAP, _JOINER = 2, 1  # tokens of a gap mark and of a blank line
_COUNT: Callable[[str], int] = load_tokenizer("estimate").count


@dataclass(frozen=True)
class Example:
    """One row as the ranker sees it.

    Attributes:
        corpus: its units.
        rows: their features, (units, features).
        answer: units of a gold passage that hold an answer, (units,).
        support: further units that the row names as supporting, (units,).
        must: which unit holds which string that must be kept, (units, strings).
        tokens: tokens of each unit, (units,).
        lexical: scores of `Bm25`, (units,).
        fair: whether an answer stands in gold passages alone.
    """

    corpus: Corpus
    rows: NDArray[np.float32]
    answer: NDArray[np.bool_]
    support: NDArray[np.bool_]
    must: NDArray[np.bool_]
    tokens: NDArray[np.int64]
    lexical: Scores
    fair: bool

    @property
    def positive(self) -> NDArray[np.bool_]:
        """Units that should be kept, (units,)."""
        return self.answer | self.support

    @property
    def usable(self) -> bool:
        """Whether there is something to tell apart."""
        return bool(self.positive.any()) and not bool(self.positive.all())

    @property
    def weight(self) -> Scores:
        """Weights of the units for the fit, (units,): 1 for all positives together, 1 for all others.

        A unit that is not to be kept counts by the root of its tokens, as it takes room from others.
        """
        positive = np.where(self.answer, 1.0, _SUPPORT) * self.positive
        other = ~self.positive * np.sqrt(np.maximum(self.tokens, 1))
        weight: Scores = positive / positive.sum() + other / other.sum()
        return weight

    def survives(self, scores: Scores, keep: float) -> bool | None:
        """Whether the evidence is within the units that a budget of `keep` holds; None where the row can't say."""
        kept = self.kept(scores, keep)
        if self.fair:
            return bool(self.answer[kept].any())
        return bool(self.must[kept].any(axis=0).all()) if self.must.size else None

    def kept(self, scores: Scores, keep: float) -> list[int]:
        """The units that a budget of `keep` holds, most wanted first, by tokens counted alone."""
        passages = len(self.corpus.passages)
        costs = Costs(self.tokens.tolist(), [_GAP] * passages, [_JOINER] * passages)
        order = np.argsort(-scores, kind="stable").tolist()
        total = sum(_COUNT(passage.text) + _JOINER for passage in self.corpus.passages)
        return list(Choice(self.corpus, order, costs).greedy(int(total * keep)))


def changed(passages: Sequence[Passage], query: str, variant: str) -> tuple[list[Passage], str, list[int]]:
    """The passages and the query of a variant, and where each passage stood before."""
    order = list(range(len(passages)))
    if variant == "no titles":
        return [Passage(passage.text) for passage in passages], query, order
    if variant == "lower case":
        return [Passage(p.text.lower(), title=p.title.lower()) for p in passages], query.lower(), order
    if variant == "shuffled":
        order = np.random.default_rng(len(passages)).permutation(len(passages)).tolist()
    return [passages[index] for index in order], query, order


def example(row: dict[str, Any], variant: str = VARIANTS[0]) -> Example:
    """The row as an example.

    Raises:
        CorruptError: the row marks no passage as the one that holds the answer.
    """
    documents = row["documents"]
    if not any(document.get("is_gold") for document in documents):
        raise CorruptError(f"row {row.get('id')!r} marks no document as gold; `is_gold` must be true for at least one")
    passages, query, order = changed(row_passages(row), row["question"], variant)
    corpus = Corpus.of(passages, [segment.parse(passage.text) for passage in passages])
    gold = np.array([bool(documents[index].get("is_gold")) for index in order])[corpus.passage]
    extra = row.get("extra", {})
    answers = [text for text in map(_folded, row["answers"]) if text]
    sentences = [text for text in map(_folded, extra.get("supporting_sentences") or []) if text]
    must = [_folded(text) for text in extra.get("must_keep") or []]
    units = [_folded(text) for text in corpus.texts]
    return Example(
        corpus=corpus,
        rows=matrix(features(matches_of(corpus, query), query)).astype(np.float32),
        answer=gold & _any(units, lambda unit: any(text in unit for text in answers)),
        support=gold & _any(units, lambda unit: len(unit) > 8 and any(unit in s or s in unit for s in sentences)),
        must=np.array([[text in unit for text in must] for unit in units], np.bool_).reshape(len(units), len(must)),
        tokens=np.array([_COUNT(text) if text else 0 for text in corpus.texts], np.int64),
        lexical=Bm25().score(corpus, query),
        fair=bool(answers) and bool(extra.get("answer_in_gold", True)) and not extra.get("non_gold_with_answer", 0),
    )


def _any(units: Sequence[str], holds: Callable[[str], bool]) -> NDArray[np.bool_]:
    return np.fromiter(map(holds, units), np.bool_, len(units))


def _folded(text: str) -> str:
    return re.sub(r"\W+", " ", text.lower()).strip()
