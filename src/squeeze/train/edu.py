"""Fits the English EDU segmenter and the model of which EDU needs which, and reports how well they do.

    python -m squeeze.train.edu --data FOLDER --report FOLDER [--weights FILE.npz] [--seed 0] [--measure-only]

FOLDER holds `train/gum_edu.train.jsonl.gz`, `dev/gum_edu.dev.jsonl.gz` and `text/*.text.jsonl.gz` (its `train` folder
may be given instead). Word classes come from the plain text, weights from the gold EDUs and rhetorical trees of train,
limits from a cross-validation over its documents; dev is only measured. Needs the `train` extra.

Cuts: a linear support vector machine over hashed words, word classes, endings, shapes and distances around each white
space of a sentence, rounded to whole numbers. Needs: four of them, for the EDUs one and two before and behind.
"""

from __future__ import annotations

import argparse
import json
import platform
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from squeeze.errors import need
from squeeze.segment.dependence import OFFSETS, edu_slots, sentence_numbers
from squeeze.segment.edu_features import TABLE_BITS, Surroundings, find_places, read_words
from squeeze.segment.edu_model import NAME, VERSION, make_lexicon
from squeeze.train.edu_gold import Document, read_documents
from squeeze.train.edu_measure import measure, report_lines, side_by_side, speed, tiled
from squeeze.train.word_classes import char_table, read_texts, word_classes

FOLDS = 8
CUT_PENALTY = 0.012  # inverse strength of the L2 penalty
NEED_PENALTY = 0.002
NEED_BITS = 13
SLACK = 0.0015  # of F1: weights fitted on all documents are surer than those of a fold, and wrong cuts cost most

Array = NDArray[Any]


def rows_of(slots: list[Array], size: int) -> Any:
    """A sparse matrix (examples, size) of ones at the slots (features, examples)."""
    sparse = need("scipy.sparse", extra="train")
    columns = np.concatenate([block.T for block in slots])
    count, features = columns.shape
    pointers = np.arange(0, count * features + 1, features)
    ones = np.ones(count * features, np.float32)
    return sparse.csr_matrix((ones, columns.ravel().astype(np.int32), pointers), (count, size))


def fit(rows: Any, labels: Array, penalty: float, seed: int) -> tuple[Array, float]:
    """Weights and bias of a linear support vector machine with squared hinge loss."""
    svm = need("sklearn.svm", extra="train")
    model = svm.LinearSVC(C=penalty, max_iter=200, random_state=seed).fit(rows, labels)
    return model.coef_[0], float(model.intercept_[0])


def cross_scores(rows: Any, labels: Array, group: Array, penalty: float, seed: int) -> Array:
    """The score of each example by weights fitted on the other folds of documents."""
    scores = np.zeros(len(labels))
    for fold in range(FOLDS):
        held = group % FOLDS == fold
        weights, bias = fit(rows[~held], labels[~held], penalty, seed)
        scores[held] = rows[held] @ weights + bias
    return scores


def best_limit(scores: Array, labels: Array, sure: int, gold: int, slack: float = 0.0) -> tuple[float, float]:
    """The highest limit whose F1 is as good as the best, and that F1.

    Args:
        scores: of all examples.
        labels: whether each is one to be found.
        sure: hits that come for free.
        gold: how many are to be found.
        slack: how far the F1 may be below the best.
    """
    found: list[tuple[float, float]] = []
    for limit in np.arange(-0.8, 0.4, 0.02).tolist():
        chosen = scores > limit
        hits = int(labels[chosen].sum()) + sure
        found.append((limit, 2 * hits / max(1, int(chosen.sum()) + sure + gold)))
    top = max(f1 for _, f1 in found)
    return max((limit, f1) for limit, f1 in found if f1 >= top - slack)


def whole(weights: Array, bias: float, limit: float, top: int) -> tuple[Array, int]:
    """Weights as whole numbers up to `top`, and the limit for their sum."""
    scale = top / max(1e-9, float(np.abs(weights).max()))
    return np.rint(weights * scale), round((limit - bias) * scale)


def train(
    documents: list[Document], text: Path, seed: int
) -> tuple[dict[str, Array], list[dict[str, str]], dict[str, Any]]:
    """The arrays of the weight file, the sources of the plain text and the figures of the cross-validation."""
    chars = char_table()
    texts, sources = read_texts(text)
    hashes, classes = word_classes([*texts, *(document.text for document in documents)], chars, seed)
    lexicon = make_lexicon(hashes, classes.astype(np.uint32))
    slots, labels, group, need_slots, need_labels, need_group = [], [], [], [], [], []
    sure = 0
    for number, document in enumerate(documents):
        words = read_words(document.text, document.sentences, chars, lexicon)
        places = find_places(words)
        slots.append(Surroundings(words, places).features(0, len(places.word)))
        labels.append(np.isin(words.start[places.word], list(document.starts)))
        group.append(np.full(len(places.word), number))
        opens = words.start[np.flatnonzero(np.diff(words.sentence)) + 1]
        sure += len(document.starts.intersection(opens.tolist()))
        edus = tiled(document)
        words = read_words(document.text, edus, chars, lexicon)
        numbers = np.array(sentence_numbers(document.text, edus))
        need_slots.append(edu_slots(words, numbers, 1 << NEED_BITS))
        need_labels.append([[i + offset in wanted for offset in OFFSETS] for i, wanted in enumerate(document.needs)])
        need_group.append(np.full(len(edus), number))
    rows, label, of = rows_of(slots, 1 << TABLE_BITS), np.concatenate(labels), np.concatenate(group)
    gold = sum(len(document.starts) for document in documents)
    limit, f1 = best_limit(cross_scores(rows, label, of, CUT_PENALTY, seed), label, sure, gold, SLACK)
    figures: dict[str, Any] = {"cut_f1": f1, "places": len(label), "gold_starts": gold}
    cut, cut_limit = whole(*fit(rows, label, CUT_PENALTY, seed), limit, 127)
    rows, of = rows_of(need_slots, 1 << NEED_BITS), np.concatenate(need_group)
    marks = np.concatenate([np.array(block) for block in need_labels])
    needed, limits = [], []
    for column, offset in enumerate(OFFSETS):
        label = marks[:, column]
        limit, f1 = best_limit(cross_scores(rows, label, of, NEED_PENALTY, seed), label, 0, int(label.sum()))
        figures[f"need_f1_{offset:+d}"] = f1
        weights, whole_limit = whole(*fit(rows, label, NEED_PENALTY, seed), limit, 9999)
        needed.append(weights)
        limits.append(whole_limit)
    arrays = {
        "version": np.array(VERSION),
        "fold": chars.fold.astype(np.uint16),
        "kind": chars.kind,
        "words": hashes,
        "classes": classes,
        "cut": cut.astype(np.int8),
        "cut_limit": np.array(cut_limit),
        "need": np.stack(needed).astype(np.int16),
        "need_limit": np.array(limits),
    }
    return arrays, sources, figures


def source_lines(documents: list[Document], sources: list[dict[str, str]]) -> str:
    """What the weights were fitted on, for the file beside them."""
    lines = [
        f"{NAME}: weights fitted by squeeze.train.edu. It holds numbers and hashes of words, no text.",
        "",
        "Cuts and needs: EDUs and rhetorical trees of the GUM corpus (Amir Zeldes and the GUM annotators).",
        *(f"- {d.name}: {d.source}; {d.license}; {d.url or 'no address given'}" for d in documents),
        "",
        "Word classes: how often words stand beside each other in those texts and in",
        *(f"- {s['file']}: {s['source']}; {s['license']}" for s in sources),
    ]
    return "\n".join(lines) + "\n"


def save(path: Path, arrays: dict[str, Array]) -> None:
    """Writes an npz file whose bytes depend on the arrays alone."""
    named: dict[str, Any] = dict(arrays)
    np.savez_compressed(path, **named)


def main() -> None:
    """Fits, writes the weights with their sources, measures on dev and writes the report."""
    parser = argparse.ArgumentParser(description="Fit the English EDU segmenter.")
    parser.add_argument("--data", type=Path, required=True, help="folder with train, dev and text, or its train folder")
    parser.add_argument("--report", type=Path, required=True, help="folder for edu.json, edu.txt and edu_needs.txt")
    parser.add_argument("--weights", type=Path, default=Path(__file__).parents[1] / "data" / NAME)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--measure-only", action="store_true", help="measure the weights as they are")
    options = parser.parse_args()
    root = options.data if (options.data / "train").is_dir() else options.data.parent
    dev = read_documents(root / "dev" / "gum_edu.dev.jsonl.gz")
    path = options.report / "edu.json"
    report: dict[str, Any] = json.loads(path.read_text()) if options.measure_only and path.exists() else {}
    if not options.measure_only:
        documents = read_documents(root / "train" / "gum_edu.train.jsonl.gz")
        arrays, sources, report["cross_validation"] = train(documents, root / "text", options.seed)
        save(options.weights, arrays)
        named = options.weights.with_name(options.weights.stem + ".sources.txt")
        named.write_text(source_lines(documents, sources), encoding="utf-8")
        report["seed"] = options.seed
        report["rows"] = {"train": len(documents), "dev": len(dev)}
        report["versions"] = {"python": platform.python_version(), "format": VERSION}
        for name in ("numpy", "scipy", "sklearn"):
            report["versions"][name] = str(need(name, extra="train").__version__)
    report["bytes"] = options.weights.stat().st_size
    report["dev"] = measure(dev, options.weights)
    report["speed"] = speed(dev, options.weights)
    options.report.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    text = report_lines(report)
    (options.report / "edu.txt").write_text(text, encoding="utf-8")
    shown = side_by_side(dev, options.weights, options.seed)
    (options.report / "edu_needs.txt").write_text(shown, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
