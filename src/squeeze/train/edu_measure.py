"""What the EDU segmenter and the model of needs reach on documents that nothing was fitted on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from squeeze.segment.dependence import needs, sentence_numbers
from squeeze.segment.edu_model import LearnedCutter, load_model
from squeeze.segment.edu_rules import RuleCutter
from squeeze.segment.edus import cut_sentences
from squeeze.train.edu_gold import Document


def tiled(document: Document) -> list[tuple[int, int]]:
    """The gold EDUs with the white space behind them."""
    starts = [0, *(start for start, _ in document.edus[1:]), len(document.text)]
    return list(pairwise(starts))


def boundary_figures(documents: list[Document], spans: Any) -> dict[str, float]:
    """Precision, recall and F1 of starts, the first excluded, by a function from a document to spans."""
    hits = found = gold = 0
    for document in documents:
        starts = {start for start, end in spans(document)[1:] if document.text[start:end].strip()}
        hits, found, gold = hits + len(starts & document.starts), found + len(starts), gold + len(document.starts)
    return {"precision": hits / max(1, found), "recall": hits / max(1, gold), "f1": 2 * hits / max(1, found + gold)}


def need_figures(documents: list[Document], model: Any) -> dict[str, float]:
    """How often the needs of gold EDUs are found, beside the two plainest guesses."""
    total = hangs = alone = exact = before = none = hits = found = gold = 0
    for document in documents:
        edus = tiled(document)
        numbers = sentence_numbers(document.text, edus)
        for index, (guess, wanted) in enumerate(
            zip(needs(document.text, edus, model=model), document.needs, strict=True)
        ):
            last = index > 0 and numbers[index - 1] == numbers[index]
            total += 1
            hangs += bool(guess) == bool(wanted)
            alone += bool(wanted)
            exact += set(guess) == wanted
            before += ({index - 1} if last else set()) == wanted
            none += not wanted
            hits, found, gold = hits + len(wanted.intersection(guess)), found + len(guess), gold + len(wanted)
    return {
        "edus": total,
        "hangs_accuracy": hangs / total,
        "hangs_majority": max(alone, total - alone) / total,
        "exact_accuracy": exact / total,
        "exact_if_none": none / total,
        "exact_if_the_one_before": before / total,
        "precision": hits / max(1, found),
        "recall": hits / max(1, gold),
        "f1": 2 * hits / max(1, found + gold),
    }


def measure(documents: list[Document], weights: Path) -> dict[str, Any]:
    """All figures on documents that nothing was fitted on."""
    model = load_model(weights)

    def cut(document: Document, cutter: Any) -> list[tuple[int, int]]:
        return [edu for edus in cut_sentences(document.text, document.sentences, cutter=cutter) for edu in edus]

    learned = LearnedCutter(model)
    figures: dict[str, Any] = {
        "sentences": boundary_figures(documents, lambda document: document.sentences),
        "rules": boundary_figures(documents, lambda document: cut(document, RuleCutter("en"))),
        "learned": boundary_figures(documents, lambda document: cut(document, learned)),
        "learned_by_genre": {},
        "needs": need_figures(documents, model),
    }
    for genre in sorted({document.genre for document in documents}):
        some = [document for document in documents if document.genre == genre]
        figures["learned_by_genre"][genre] = boundary_figures(some, lambda document: cut(document, learned))
    return figures


def speed(documents: list[Document], weights: Path) -> dict[str, float]:
    """Words a second of processor time, best of five runs, all sentences of the documents in one call."""
    learned = LearnedCutter(load_model(weights))
    text = "\n\n".join(document.text for document in documents)
    spans, offset = [], 0
    for document in documents:
        spans += [(start + offset, end + offset) for start, end in document.sentences]
        offset += len(document.text) + 2
    figures: dict[str, float] = {"words": len(text.split())}
    edus = [edu for edus in cut_sentences(text, spans, cutter=learned) for edu in edus]
    jobs: dict[str, Callable[[], object]] = {
        "cut_sentences": lambda: learned.cuts(text, spans),
        "needs": lambda: needs(text, edus),
    }
    for name, job in jobs.items():
        seconds = []
        for _ in range(5):
            begun = time.process_time()
            job()
            seconds.append(time.process_time() - begun)
        figures[f"{name}_words_per_second"] = round(figures["words"] / min(seconds), -3)
    begun = time.process_time()
    load_model(weights)
    figures["load_ms"] = round(1000 * (time.process_time() - begun), 1)
    return figures


def side_by_side(documents: list[Document], weights: Path, seed: int, count: int = 30) -> str:
    """Sentences of which chance picks one clause, without and with what it needs by the model and by the trees."""
    model = load_model(weights)
    lines: list[str] = []
    random = Random(seed)
    for document in random.choices(documents, k=count):
        spans = tiled(document)
        found = needs(document.text, spans, model=model)
        hanging = [index for index, others in enumerate(found) if others or document.needs[index]]
        index = random.choice(hanging)
        pieces = [document.text[start:end].strip().replace("\n", " ") for start, end in spans]
        sentence = [i for i, number in enumerate(document.sentence_of) if number == document.sentence_of[index]]
        lines.append(f"{document.name} ({document.source}; {document.license})")
        lines.append("  whole : " + " | ".join(pieces[i] for i in sentence))
        lines.append("  picked: " + pieces[index])
        for name, of in (("model", found), ("trees", document.needs)):
            kept = closure(index, of)
            shown = " … ".join(pieces[i] for i in sorted(kept))
            lines.append(f"  {name:6}: {shown}")
        lines.append("")
    return "\n".join(lines)


def closure(index: int, of: Sequence[Iterable[int]]) -> set[int]:
    """The EDU, what it needs, what that needs, and so on."""
    kept, todo = {index}, [index]
    while todo:
        for other in of[todo.pop()]:
            if other not in kept:
                kept.add(other)
                todo.append(other)
    return kept


def report_lines(report: dict[str, Any]) -> str:
    """The report as text."""
    lines = [
        f"EDU segmenter and needs, seed {report['seed']}",
        f"versions: {report['versions']}",
        f"rows: {report['rows']}",
    ]
    dev = report["dev"]
    lines += ["", f"boundaries on dev (starts, the first excluded){'':6}P      R      F1"]
    named = {name: dev[name] for name in ("sentences", "rules", "learned")} | dev["learned_by_genre"]
    for name, figures in named.items():
        shown = "  ".join(f"{figures[key]:.3f}" for key in ("precision", "recall", "f1"))
        lines.append(f"  {name:49} {shown}")
    lines += ["", "needs on gold EDUs of dev"]
    lines += [f"  {name:30} {value:.3f}" for name, value in dev["needs"].items()]
    for title in ("cross_validation", "speed"):
        lines += ["", title, *(f"  {name:34} {value:g}" for name, value in report.get(title, {}).items())]
    lines += ["", "tried and not kept", *(f"- {line}" for line in TRIED)]
    return "\n".join(lines) + "\n"


TRIED = (
    "without word classes: cross-validated F1 lower by 0.04",
    "logistic regression instead of the support vector machine: cross-validated F1 lower by 0.007",
    "scaling features by their log-odds (naive Bayes): no gain; by their counts: +0.001",
    "classes from three surroundings instead of one: +0.001 at half the speed",
    "learning also from the model's own cuts of 210,000 places of plain text: no gain",
    "quote and bracket state, classes of unknown words from their shape: +0.001 each",
    "a second pass that sees the scores and cuts of the first: +0.003 cross-validated, nothing on dev",
    "bags of coarse classes between a place and the marks beside it: no gain",
    "more text (72 million characters) with 30,000 words: 0.005 lower; classes 64/256/1024: 0.005 lower",
    "one word of surroundings on each side instead of two: 0.01 lower",
    "a convolutional network over the word vectors (four layers of 64): 0.80 on dev, no gain when blended",
    "a weight table of 2 ** 20 slots instead of 2 ** 18: no gain",
)
