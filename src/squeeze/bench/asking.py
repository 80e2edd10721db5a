"""What a reader answers from what is kept: a local Hugging Face model, or an endpoint; exact match and F1."""

from __future__ import annotations

import re
import string
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any, Protocol

from squeeze.bench.baselines import words
from squeeze.bench.sets import Set
from squeeze.bench.work import Line
from squeeze.errors import NotTextError, SqueezeError, need
from squeeze.types import Compressed

TASK = "Read the text, then answer the question from it with as few words as possible.\n\n"

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_MARKS = str.maketrans("", "", string.punctuation + "“”‘’«»、。！？")


@dataclass(frozen=True, slots=True)
class Said:
    """What a reader answered.

    Attributes:
        text: the answer.
        first_ms: milliseconds until its first token.
        logprob: natural log-probability of the gold answer, the mean over its tokens; None where it is not to be had.
    """

    text: str
    first_ms: float
    logprob: float | None = None


class Reads(Protocol):
    """What answers questions.

    Attributes:
        name: what it is, for the report.
        parallel: how many questions it may be asked at a time.
    """

    name: str
    parallel: int

    def answer(self, context: str | Compressed, question: str, gold: str) -> Said:
        """The answer to a question from a context.

        Raises:
            SqueezeError: there is none; its `kind`, or else its class, names the reason.
        """
        ...


class LocalReader(Reads):
    """A Hugging Face causal model through `squeeze.soft.Reader`; it picks the likeliest token.

    Args:
        name: a folder or hub name.
        new_tokens: the most tokens of an answer.
    """

    parallel: int = 1

    def __init__(self, name: str, *, new_tokens: int = 32) -> None:
        reader = need("squeeze.soft.reader", extra="soft")
        models = need("squeeze.soft.models", extra="soft")
        self.name = name.rstrip("/").rsplit("/", 1)[-1]
        self.reader = reader.Reader(models.load_model(name), models.load_hf_tokenizer(name))
        self.generate_ids, self.pad = reader.generate_ids, need("squeeze.soft.inputs", extra="soft").pad_left
        self.slot = need("squeeze.soft.prompt", extra="soft").SLOT
        self.chat = bool(getattr(self.reader.tokenizer, "chat_template", None))
        self.new_tokens = new_tokens
        self.answer("The lamp was lit in 1874.", "When was the lamp lit?", "1874")  # the first call sets things up

    def answer(self, context: str | Compressed, question: str, gold: str) -> Said:
        """The answer, the time to its first token, and the likelihood of the gold answer."""
        prompt, first = self._prompt(question), _First()
        started = time.perf_counter()
        rows = self.reader.rows([context], [prompt])
        self.reader._check_length(rows, self.new_tokens)
        inputs = self.pad(rows)
        ids = self.generate_ids(
            self.reader.model,
            inputs.inputs_embeds,
            inputs.attention_mask,
            max_new_tokens=self.new_tokens,
            streamer=first,
        )
        text = self.reader.tokenizer.decode(ids[0], skip_special_tokens=True).strip()
        scores = self.reader.answer_logprobs(context, prompt, gold if self.chat else f" {gold}")
        return Said(text, (first.at - started) * 1000, sum(scores) / len(scores))

    def _prompt(self, question: str) -> Any:
        asked = f"\n\nQuestion: {question}"
        if self.chat:
            return [{"role": "user", "content": [TASK, self.slot, asked]}]
        return TASK, f"{asked}\nAnswer:"


class _First:
    """A streamer that keeps the time of the first new token; what `generate` puts before it is the prompt."""

    def __init__(self) -> None:
        self.at, self.seen = 0.0, 0

    def put(self, value: Any) -> None:
        self.seen += 1
        if self.seen == 2:
            self.at = time.perf_counter()

    def end(self) -> None:
        pass


def ask(
    reader: Reads, sets: Sequence[Set], lines: Sequence[Line], *, progress: Callable[[int, int], None] | None = None
) -> None:
    """Lets a reader answer from each line's context, and fills in what it measured; the contexts are dropped.

    An answer that fails is counted by its reason and the next one is asked for.
    """
    todo = [line for line in lines if not line.failed and sets[line.data].rows[line.row]["answers"]]

    def one(line: Line) -> None:
        row = sets[line.data].rows[line.row]
        context = line.result if line.result is not None else line.text
        try:
            if context is None:
                raise NotTextError("there is no text to read")
            said = reader.answer(context, row["question"], row["answers"][0])
        except SqueezeError as error:
            line.read = {"failed": getattr(error, "kind", type(error).__name__)}
            return
        line.read = {
            "answer": said.text,
            "exact": max(exact(said.text, answer) for answer in row["answers"]),
            "f1": max(f1(said.text, answer) for answer in row["answers"]),
            "first_ms": said.first_ms,
        }
        if said.logprob is not None:
            line.read["logprob"] = said.logprob

    with ThreadPoolExecutor(max(1, reader.parallel)) as pool:
        waiting = [pool.submit(one, line) for line in todo]
        try:
            for done, future in enumerate(as_completed(waiting), 1):
                future.result()
                if progress is not None:
                    progress(done, len(waiting))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    for line in lines:
        line.text = line.result = None


def exact(given: str, answer: str) -> float:
    """1 where two answers are the same but for case, articles and marks."""
    return float(_plain(given) == _plain(answer))


def f1(given: str, answer: str) -> float:
    """The harmonic mean of precision and recall of the words; Han and Kana character by character."""
    mine, gold = words(_plain(given)), words(_plain(answer))
    shared = sum((Counter(mine) & Counter(gold)).values())
    if not shared:
        return float(mine == gold)
    return 2 * shared / (len(mine) + len(gold))


def _plain(text: str) -> str:
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_MARKS)).split())
