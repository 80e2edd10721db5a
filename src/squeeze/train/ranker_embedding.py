"""Fits the weights of the `"embedding"` scorer, as `squeeze.train.ranker` fits those of the ranker.

    python -m squeeze.train.ranker_embedding --data FOLDER [--dev FOLDER] [--report FOLDER] [--model NAME]
        [--cache FOLDER] [--rows 400] [--embedded 200,tydiqa=60] [--seed 0] [--weights FILE]

The same rows and changes of rows. Of each set the first `--embedded` rows are embedded; in the others the features of
embeddings are 0, so that the network also learns from words alone. Vectors are kept in the folder of `--cache`, so that
a second run embeds nothing. The report compares the network with one on the features of the ranker alone, each on a
set that neither was fitted on, and with the ranker as it is shipped on the rows of `--dev`.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from squeeze.errors import ConfigError
from squeeze.score import ranker
from squeeze.score.embedding import INPUTS, WEIGHTS, weighed
from squeeze.score.encoder import Encoder, Vectors
from squeeze.score.features import FEATURES
from squeeze.score.model_files import default_model
from squeeze.score.network import Network
from squeeze.score.similarity import SIMILARITIES, Embedded, similarities
from squeeze.train.ranker import KEEP, SETS, Model, Sets, _line, _text, source, survival, telling, write_sources
from squeeze.train.ranker_fit import Recipe, Table, fit
from squeeze.train.ranker_rows import FITTED, VARIANTS, Example, example

RECIPE = Recipe(epochs=16)

EMBEDDED = "200,jaquad_ja=40,tydiqa=60,wikitablequestions=40"
"""Few rows of what a model for English prose reads badly."""

DEV_SETS = ("nq", "hotpotqa", "musique", "2wikimultihopqa", "squad")


class Remembered:
    """An encoder that asks the model once for each text and keeps the vectors in a file.

    Texts that differ by case alone share a vector, which is what models without case give.

    Args:
        encoder: what is asked.
        file: where the vectors lie, at half precision; none are kept when None.
    """

    def __init__(self, encoder: Encoder, file: Path | None) -> None:
        self.encoder, self.file = encoder, file
        self.width = encoder.width
        self.found: dict[str, NDArray[np.float16]] = {}
        if file is not None and file.is_file():
            with np.load(file, allow_pickle=False) as arrays:
                self.found = dict(zip(arrays["texts"].tolist(), arrays["vectors"], strict=True))

    def texts(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts, (texts, width)."""
        return self._vectors(texts, "")

    def queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of queries, (texts, width)."""
        return self._vectors(texts, self.encoder.layout.query)

    def _vectors(self, texts: Sequence[str], beginning: str) -> Vectors:
        keys = [(beginning + text).lower() for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self.found}
        if new:
            ask = self.encoder.queries if beginning else self.encoder.texts
            self.found.update(zip(new, ask(list(new.values())).astype(np.float16), strict=True))
        return np.stack([self.found[key] for key in keys]).astype(np.float32)

    def save(self) -> None:
        """Writes the vectors."""
        if self.file is not None:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            np.savez(self.file, texts=np.array(list(self.found)), vectors=np.stack(list(self.found.values())))


def with_vectors(one: Example, query: str, encoder: Any) -> Example:
    """The example with the features of embeddings beside the others, or with 0 for them without an encoder."""
    near = np.zeros((len(one.rows), len(SIMILARITIES)), np.float32)
    if encoder is not None:
        columns = similarities(Embedded.of(one.corpus, query, encoder))
        near = np.stack([columns[name] for name in SIMILARITIES], axis=1).astype(np.float32)
    return dataclasses.replace(one, rows=np.concatenate([one.rows, near], axis=1))


def read(args: argparse.Namespace, part: str, names: Sequence[str], variants: Sequence[str]) -> tuple[Sets, list[Any]]:
    """The examples of the sets, and a line on the sources of each."""
    folder, limit = (args.data, args.rows) if part == "train" else (args.dev, args.dev_rows)
    encoder = Encoder.of(args.model or default_model())
    sets: Sets = {}
    sources = []
    for name in names:
        started = time.perf_counter()
        rows = telling(folder, part, name, limit)
        cached = Remembered(encoder, args.cache / f"{name}.{part}.npz" if args.cache else None)
        known = len(cached.found)
        asked = embedded_rows(args.embedded, name) if part == "train" else limit
        sets[name] = {
            variant: [
                with_vectors(example(row, variant), row["question"], cached if index < asked else None)
                for index, row in enumerate(rows)
            ]
            for variant in variants
        }
        if len(cached.found) > known:
            cached.save()
        sources.append(source(name, rows))
        seconds = time.perf_counter() - started
        print(f"{name}: {len(rows)} rows, {len(cached.found) - known} texts embedded, {seconds:.0f} s", flush=True)
    return sets, sources


def embedded_rows(given: str, name: str) -> int:
    """How many rows of a set are embedded, by `200,tydiqa=60`: 60 of tydiqa, 200 of any other.

    Raises:
        ConfigError: it is written otherwise.
    """
    counts = {key: value for value, _, key in (part.rpartition("=")[::-1] for part in given.split(","))}
    if "" not in counts or not all(value.isdigit() for value in counts.values()):
        raise ConfigError(f"--embedded is {given!r}; allowed: a number, and NAME=NUMBER for single sets, by commas")
    return int(counts.get(name, counts[""]))


def model_of(fitted: Network, width: int) -> Model:
    """The network over the first features of an example."""
    return lambda one: fitted(one.rows[:, :width].astype(np.float64))


def fitted_on(sets: Sets, names: Sequence[str], left: str, seed: int) -> Network:
    """A network over the first of all features, fitted on all sets but one."""
    groups = [
        [dataclasses.replace(one, rows=one.rows[:, : len(names)]) for one in examples]
        for name, variants in sets.items()
        if name != left
        for examples in variants.values()
    ]
    return fit(Table.of(groups), RECIPE, seed, names)


def left_out(sets: Sets, embedded: str, seed: int) -> list[dict[str, Any]]:
    """What survives of the embedded rows of each set under networks that were fitted on the other sets."""
    table = []
    for name in sets:
        own = sets[name][VARIANTS[0]][: embedded_rows(embedded, name)]
        row: dict[str, Any] = {"set": name, "rows": len(own)}
        for title, names in (("words", FEATURES), ("words and vectors", INPUTS)):
            row[title] = survival(own, model_of(fitted_on(sets, names, name, seed), len(names)))
        table.append(row)
        print(_line(row), flush=True)
    return table


def beside_ranker(sets: Sets, fitted: Network) -> list[dict[str, Any]]:
    """What survives of changed rows: with the scorer, with its network alone, and with the shipped ranker."""
    own, words = model_of(fitted, len(INPUTS)), model_of(ranker.network(), len(FEATURES))
    table = []
    for name, variants in sets.items():
        row: dict[str, Any] = {"set": name, "rows": len(variants[VARIANTS[0]])}
        for variant, examples in variants.items():
            row[variant] = survival(examples, lambda one: weighed(one.rows.astype(np.float64), fitted))
            row[f"{variant}, alone"] = survival(examples, own)
            row[f"{variant}, ranker"] = survival(examples, words)
        table.append(row)
        print(_line(row), flush=True)
    return table


def main() -> None:
    """Reads rows, embeds, fits, writes the weights, their sources and the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of NAME.train.jsonl.gz")
    parser.add_argument("--dev", type=Path, help="folder of NAME.dev.jsonl.gz, on which the result is measured")
    parser.add_argument("--report", type=Path, help="folder for embedding_fit.json and embedding_fit.txt")
    parser.add_argument("--left-out", action="store_true", help="also fit without each set, which takes long")
    parser.add_argument("--model", default="", help="folder or hub name; the packaged all-MiniLM-L6-v2 when empty")
    parser.add_argument("--cache", type=Path, help="folder in which vectors are kept")
    parser.add_argument("--weights", type=Path, default=WEIGHTS, help="file to write")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=400, help="rows of each set to fit on")
    parser.add_argument("--embedded", default=EMBEDDED, help="rows of each set that are embedded")
    parser.add_argument("--dev-rows", type=int, default=60, help="rows of each set to measure on")
    parser.add_argument("--dev-sets", default=",".join(DEV_SETS))
    args = parser.parse_args()
    if min(args.rows, args.dev_rows) < 1:
        raise ConfigError("--rows and --dev-rows must be at least 1")
    sets, sources = read(args, "train", SETS, FITTED)
    fitted = fitted_on(sets, INPUTS, "", args.seed)
    fitted.save(args.weights)
    write_sources(args.weights, 'scorer "embedding"', sources)
    print(f"wrote {args.weights}, {args.weights.stat().st_size:,} bytes", flush=True)
    unseen = left_out(sets, args.embedded, args.seed) if args.left_out else []
    measured = []
    if args.dev:
        measured = beside_ranker(read(args, "dev", args.dev_sets.split(","), FITTED)[0], fitted)
    if args.report:
        args.report.mkdir(parents=True, exist_ok=True)
        settings = {"seed": args.seed, "keep": KEEP, "rows": args.rows, "embedded": args.embedded}
        report = {**settings, "recipe": vars(RECIPE), "fitted_on": sources, "left_out": unseen, "dev": measured}
        (args.report / "embedding_fit.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        head = f"Share of rows whose evidence survives, keep {KEEP}, seed {args.seed}"
        tables = [
            _text("Each set under networks fitted on the other sets", unseen),
            _text("Dev rows, beside the shipped ranker", measured),
        ]
        (args.report / "embedding_fit.txt").write_text("\n\n".join([head, *filter(None, tables)]), encoding="utf-8")


if __name__ == "__main__":
    main()
