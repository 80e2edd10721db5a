"""The scorer `"cross_encoder"`: a model that reads the query and each unit together."""

from __future__ import annotations

from typing import Any

import numpy as np

from squeeze.errors import ConfigError
from squeeze.score.base import Corpus, Scores
from squeeze.score.model_files import check_model, longest_of
from squeeze.score.ranker import Ranker
from squeeze.score.salience import salience
from squeeze.score.text_model import TextModel, check_precision, checked, kept

_KIND = "AutoModelForSequenceClassification"

_BY_RANK = 1e-3
"""Share of a score that comes from the unit's rank, so that the sigmoid's flat ends keep the model's order."""


class CrossEncoder:
    """Scores by any cross-encoder with one output: the query and the unit, with its passage's title, in one input.

    Units score in the order of the model's outputs, by their sigmoid (and by a thousandth by rank alone). Reading every
    unit takes long where there are many: with `top` the scorer `"ranker"` goes first, the model reads its best units,
    and the others follow below 0.0005, in the ranker's order.

    The model is loaded on first use, once per process. No model is fitted or shipped for it.

    Args:
        model: a folder or hub name of a sentence-transformers cross-encoder (a transformers model for sequence
            classification with one label, safetensors).
        top: how many units the model reads, the ranker's best first; all when None.
        titles: whether a unit is read with the title of its passage.
        device: where torch runs it.
        precision: `float32`, `bfloat16`, or `auto`: bfloat16 where the processor has it.

    Raises:
        ConfigError: an option is not allowed. On first use: the model does not load, is no cross-encoder, has several
            labels, or gives numbers that are not finite.
        MissingDependencyError: on first use, where torch or transformers is not installed.
    """

    def __init__(
        self,
        model: Any = None,
        *,
        top: int | None = None,
        titles: bool = True,
        device: str = "cpu",
        precision: str = "auto",
    ) -> None:
        if model is None:
            raise ConfigError(
                "scorer 'cross_encoder' has no model; give one, scorer='cross_encoder:NAME' or "
                "CrossEncoder(model=NAME), with a folder or hub name such as cross-encoder/ms-marco-MiniLM-L6-v2"
            )
        if top is not None and (type(top) is not int or top < 1):
            raise ConfigError(f"top is {top!r}; allowed: a whole number from 1 up, or None for all units")
        self.model = check_model("cross_encoder", model)
        self.top = top
        self.titles = bool(titles)
        self.device = device
        self.precision = check_precision(precision)

    def score(self, corpus: Corpus, query: str | None) -> Scores:
        """Scores of all units, (units,), each from 0 to 1; without a query their salience."""
        if query is None or not query.strip():
            return salience(corpus)
        scores = np.zeros(len(corpus))
        filled = np.flatnonzero([bool(text) for text in corpus.texts])
        if not len(filled):
            return scores
        read, rest, first = filled, filled[:0], scores
        if self.top is not None and self.top < len(filled):
            first = Ranker().score(corpus, query)
            order = filled[np.argsort(-first[filled], kind="stable")]
            read, rest = order[: self.top], order[self.top :]
        outputs = self._outputs(corpus, query, read.tolist())
        scores[read] = (1 - _BY_RANK) / (1 + np.exp(-np.clip(outputs, -30, 30)))
        scores[read] += _BY_RANK * (1 + _ranks(outputs)) / 2
        scores[rest] = _BY_RANK * _ranks(first[rest]) / 2
        settled: Scores = np.round(scores, 9)
        return settled

    def _outputs(self, corpus: Corpus, query: str, units: list[int]) -> Scores:
        texts = [self._text(corpus, unit) for unit in units]
        distinct = {text: index for index, text in enumerate(dict.fromkeys(texts))}
        outputs = np.zeros(len(distinct))
        model = self._loaded()
        for chosen, (output, _) in model.batches([(query, text) for text in distinct]):
            outputs[chosen] = checked(model.name, output.logits[:, 0])
        read: Scores = outputs[[distinct[text] for text in texts]]
        return read

    def _text(self, corpus: Corpus, unit: int) -> str:
        title = corpus.passages[int(corpus.passage[unit])].title.strip() if self.titles else ""
        return f"{title}\n{corpus.texts[unit]}" if title else corpus.texts[unit]

    def _loaded(self) -> TextModel:
        return kept(("cross_encoder", self.model, self.device, self.precision), self._load)

    def _load(self) -> TextModel:
        longest = longest_of(self.model)
        model = TextModel.load(
            self.model, _KIND, folder="", longest=longest, device=self.device, precision=self.precision
        )
        labels = int(model.model.config.num_labels)
        if labels != 1:
            raise ConfigError(f"the model {self.model!r} has {labels} labels; allowed: a cross-encoder with one")
        return model


def _ranks(values: Scores) -> Scores:
    """The place of each value among the distinct ones, ascending, above 0 and at most 1; equal values share it."""
    distinct, place = np.unique(values, return_inverse=True)
    ranks: Scores = (place + 1) / max(len(distinct), 1)
    return ranks
