"""`ram`: segments near the question word for word, every other one as a vector, read together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from squeeze import segment
from squeeze.allocate import Allocator, Dast, Expand, TopK
from squeeze.base import Compressor, Draft, Job
from squeeze.base.compressor import whole
from squeeze.errors import ConfigError, nearest, need
from squeeze.mixing import TEXT, VECTOR, Mix, States, Stretched, best_units, stretched, titled_ids
from squeeze.registry import register
from squeeze.render import Style
from squeeze.score.base import Corpus, Scorer, Scores, load_scorer
from squeeze.segment.layout import Layout
from squeeze.tokens import Tokenizer, count_many
from squeeze.types import Notice, SoftPart, TextPart, Unit

_USAGE = (
    'give the model that encodes and reads, and a checkpoint for it: load("ram", model="folder or hub name", '
    'checkpoint="folder or hub name"); an untrained encoder, usable but weak, is made with '
    "squeeze.soft.RamEncoder(model, squeeze.soft.RamSettings(layers=2)) and given as checkpoint"
)

ALLOCATIONS: dict[str, Allocator] = {
    "top_k": TopK(skim=1),
    "dast": Dast(temperature=0.1, minimum=1),
    "expand": Expand(p=0.75, skim=1),
}
"""Who decides what stays text: the best segments, a softmax of the scores, or the best within a share of the budget."""


@register("ram")
class RAM(Compressor):
    """Segments near the question as text, every other one as one vector, in source order (arXiv 2602.01840).

    The first layers of the reading model encode question and segments side by side. Segments are ranked by cosine with
    the question; the best stay text, and each other one becomes a vector, in which its words weigh by how near they are
    to the question. A result is read with `squeeze.soft.Reader`; kept tokens and vectors count alike. Where even the
    vectors are too many, those of the farthest segments are left out. Input within the limit stays text as a whole.

    Vectors of an untrained encoder are blanks, which tell the reader nothing. `python -m squeeze.train.soft` trains
    them (`--method ram`); `python -m squeeze.bench.ram` measures whether a model answers better with them than without
    (`vectors=0`). Those of the encoder that ships for SmolLM2-135M-Instruct (`checkpoint="ram-smollm2"`) tell it the
    form of an answer, and not what the segments say.
    """

    family: ClassVar[str] = "hybrid"
    output: ClassVar[str] = "both"
    needs: ClassVar[str] = "soft"
    shared_options: ClassVar[tuple[str, ...]] = ("scorer", "segment_tokens", "vectors", "gap", "titles")

    def __init__(
        self,
        *,
        tokenizer: Any = "estimate",
        model: Any = None,
        checkpoint: Any = None,
        device: str | None = None,
        allocation: str | Allocator = "top_k",
        **options: Any,
    ) -> None:
        """Opens the encoder.

        Args:
            tokenizer: what counts; `"estimate"` stands for the model's own.
            model: the language model that encodes and reads: a folder, a hub name, or a loaded Hugging Face model
                (then give its tokenizer as `tokenizer`). It is never changed.
            checkpoint: the encoder: a folder, a hub name, the name of one that ships, or a `RamEncoder`.
            device: where to encode, `"cuda"` say; where the model is if left out.
            allocation: what stays text: `"top_k"`, `"dast"`, `"expand"`, or an allocator of `squeeze.allocate`.
            options: `scorer`, a scorer that ranks in place of the encoder (then a segment counts what its best sentence
                does); `segment_tokens`, the width of a segment (48); `vectors`, the most of the budget that vectors
                take while there is text to show, 0 to 1 (0.5; 0 leaves out what is not text); `gap` and `titles` as in
                `edu`.

        Raises:
            ConfigError: something is missing or not allowed, or the model is not the one that the checkpoint was made
                for.
            CorruptError: the checkpoint does not read.
        """
        if checkpoint is None or model is None:
            raise ConfigError(f"ram has no default model: {_USAGE}")
        self.options = _Options.of(options)
        self.allocator = _allocator(allocation)
        opened = need("squeeze.soft.ram_files", extra="soft").open_ram(checkpoint, model, tokenizer)
        super().__init__(tokenizer=opened.counts)
        self.encoder: Any = opened.encoder if device is None else opened.encoder.to(device)
        self._spells: Tokenizer = opened.spells
        prints = need("squeeze.soft.fingerprint", extra="soft")
        self.fingerprint: str = prints.joined(self.encoder.base, self.encoder.fingerprint())

    @classmethod
    def example(cls) -> Self:
        """An untrained encoder on a two-layer random model."""
        tiny, soft = need("squeeze.soft.tiny", extra="soft"), need("squeeze.soft.ram", extra="soft")
        model = tiny.tiny_model()
        encoder = soft.RamEncoder(model, soft.RamSettings(layers=1, rank=4))
        return cls(tokenizer=tiny.byte_tokenizer(), model=model, checkpoint=encoder)

    def _compress(self, job: Job) -> Draft:
        layouts = tuple(
            segment.parse(passage.text, format=segment.check_format(passage.metadata.get("format", "auto")))
            for passage in job.passages
        )
        found = stretched(job.passages, layouts, partial(count_many, self.tokenizer), self.options.segment_tokens)
        if job.fits or not found.segments:
            scores = np.ones(len(found.segments))
            everything = np.full(len(scores), TEXT, dtype=np.int8)
            return Draft(whole(job.passages) if job.fits else (), _units(found, scores, everything, "all"))
        read = self.encoder.read(self._question(job.query), self.rows(job, found))
        if job.progress is not None:
            job.progress(1, 1)
        scores = self._scores(job, layouts, found, read)
        mix = Mix(job.passages, layouts, found, scores, self.options.style, partial(self._reached, job))
        limit = job.limit or 0
        share = self.options.vectors
        states = mix.states(self.allocator, limit, max(1, int(share * limit)) if share else 0)
        parts = mix.parts(states, read.vectors, self.fingerprint)
        return Draft(tuple(parts), _units(found, np.clip(scores, 0, 1), states), _notices(limit, states))

    def _scores(self, job: Job, layouts: tuple[Layout, ...], found: Stretched, read: Any) -> Scores:
        """Scores of segments from 0 to 1, rounded: the last bits decide no tie. A cosine of -1 is 0, one of 1 is 1."""
        if self.options.scorer is None:
            cosines = np.asarray(read.scores, dtype=np.float64)
            return np.round((1 + cosines) / 2, 6)
        corpus = Corpus.of(job.passages, layouts)
        scores = np.asarray(self.options.scorer.score(corpus, job.query), dtype=np.float64)
        if scores.shape != (len(corpus),) or not np.isfinite(scores).all():
            raise ConfigError(f"ram: the scorer gave {len(corpus)} units other than as many finite numbers")
        return np.round(best_units(found, corpus, scores), 6)

    def rows(self, job: Job, found: Stretched) -> list[Any]:
        """The segments as the encoder reads them, the beginning of the title of their passage before them."""
        row = need("squeeze.soft.ram_layers", extra="soft").Row
        return [row(*pair) for pair in titled_ids(self._spells, job.passages, found.segments)]

    def _question(self, query: str | None) -> list[int] | None:
        return (self._spells.encode(query) if query else None) or None

    def _reached(self, job: Job, parts: Sequence[TextPart | SoftPart]) -> int:
        return self._measure(job.passages, Draft(tuple(parts)))


@dataclass(frozen=True, slots=True)
class _Options:
    """The options of `ram` that have nothing to do with the model; `style` holds `gap` and `titles`."""

    scorer: Scorer | None = None
    segment_tokens: int = 48
    vectors: float = 0.5
    style: Style = field(default_factory=Style)

    def __post_init__(self) -> None:
        width, share = self.segment_tokens, self.vectors
        if type(width) is not int or width < 1:
            raise ConfigError(f"segment_tokens is {width!r}; allowed: a whole number from 1 up")
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise ConfigError(f"vectors is {share!r}; allowed: a number from 0 to 1")

    @classmethod
    def of(cls, given: dict[str, Any]) -> _Options:
        """The options by the names that a caller gives."""
        for name in given:
            if name not in RAM.shared_options:
                raise ConfigError(f"ram has no option {name!r}; {nearest(name, RAM.shared_options)}")
        own: dict[str, Any] = {name: given[name] for name in ("segment_tokens", "vectors") if name in given}
        style = Style(**{name: given[name] for name in ("gap", "titles") if name in given})
        scorer = given.get("scorer")
        return cls(scorer=None if scorer is None else load_scorer(scorer), style=style, **own)


def _allocator(given: Any) -> Allocator:
    if isinstance(given, str):
        if given not in ALLOCATIONS:
            raise ConfigError(f"allocation is {given!r}; {nearest(given, ALLOCATIONS)}")
        return ALLOCATIONS[given]
    if isinstance(given, type) or not isinstance(given, Allocator):
        raise ConfigError(f"allocation is {given!r}; allowed: {', '.join(ALLOCATIONS)}, or an Allocator")
    return given


def _units(found: Stretched, scores: Any, states: States, reason: str = "score") -> tuple[Unit, ...]:
    """The account of every segment."""
    whys = {TEXT: reason, VECTOR: "vector"}
    rows = zip(found.segments, found.sizes, scores.tolist(), states.tolist(), strict=True)
    return tuple(Unit(*where, size, score, state > 0, whys.get(state, "budget")) for where, size, score, state in rows)


def _notices(limit: int, states: States) -> tuple[Notice, ...]:
    if states.any() or not limit:
        return ()
    return (Notice("nothing_fits", f"the limit is {limit} tokens; not one vector fits beside the passages' overheads"),)
