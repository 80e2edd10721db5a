"""Sentence embeddings of sentence-transformers models that pool by the mean or the first token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from squeeze.errors import need
from squeeze.score.model_files import Layout, layout_of
from squeeze.score.text_model import TextModel, checked, kept

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Encoder:
    """A loaded embedding model.

    Attributes:
        layout: how its vectors are made.
        model: the transformer.
    """

    layout: Layout
    model: TextModel

    @classmethod
    def of(cls, name: str, device: str = "cpu", precision: str = "auto") -> Encoder:
        """The encoder of a folder or hub name, loaded once per process.

        Raises:
            ConfigError: there is none, or it is built in a way that is not known.
            MissingDependencyError: torch or transformers is not installed.
        """
        return kept(("embedding", name, device, precision), lambda: cls._load(name, device, precision))

    @classmethod
    def _load(cls, name: str, device: str, precision: str) -> Encoder:
        layout = layout_of(name)
        model = TextModel.load(
            name, "AutoModel", folder=layout.folder, longest=layout.longest, device=device, precision=precision
        )
        return cls(layout, model)

    @property
    def width(self) -> int:
        """Numbers in a vector."""
        return int(self.model.model.config.hidden_size)

    def queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of queries, of length 1, (texts, width)."""
        return self._vectors([self.layout.query + text for text in texts])

    def texts(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts, of length 1, (texts, width)."""
        return self._vectors([self.layout.text + text for text in texts])

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        distinct = {text: index for index, text in enumerate(dict.fromkeys(texts))}
        vectors = np.zeros((len(distinct), self.width), np.float32)
        for chosen, (output, mask) in self.model.batches(list(distinct)):
            vectors[chosen] = checked(self.model.name, self._pooled(output.last_hidden_state.float(), mask))
        return vectors[[distinct[text] for text in texts]]

    def _pooled(self, states: Any, mask: Any) -> Any:
        torch = need("torch", extra="neural")
        if self.layout.pooling == "cls":
            pooled = states[:, 0]
        else:
            weight = mask.unsqueeze(-1).to(states.dtype)
            pooled = (states * weight).sum(1) / weight.sum(1).clamp(min=1)
        return torch.nn.functional.normalize(pooled, dim=1)
