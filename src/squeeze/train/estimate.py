"""Fits the tables of the `"estimate"` counter to cl100k_base, and prints how close it comes per data set.

    python -m squeeze.train.estimate --data FOLDER --report FILE             # measure the shipped tables on FOLDER/dev
    python -m squeeze.train.estimate --data FOLDER --fit FILE.npz [--extra FOLDER]

FOLDER holds `train/`, `text/` and `dev/` of `*.jsonl.gz` (rows with `documents` or `text`). The fit uses train and
text, the source files of the Python standard library, made-up JSON, logs, HTML and random characters of many scripts,
and the gettext catalogues of `--extra` (for the shipped tables: those of Django, a hundred languages). Needs tiktoken
with its vocabulary. What the tables hold says `squeeze/estimate.py`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from squeeze import estimate as model
from squeeze.errors import need
from squeeze.train.estimate_corpus import GROUPS, corpus, rows

MARGIN = 1.09  # the estimate is to err upward: a budget holds more often than not when another vocabulary counts
CODE_MARGIN = 1.05  # the same for unknown words inside of identifiers, markup and the like
WORD_MARGIN = (1.21, 1.29)  # and for those of prose among known and among unknown words: few languages could be fitted
FOREIGN = 8.0  # weight of a character of another language than English, of which there is far more
WEIGHTS = {"catalogues": 3.0, "code": 0.6}
PRIOR = 3.0  # pseudo-counts of the coarser table
VOCABULARY = 20_000
SINGLE = "\u00a0\u00ad\u2019\u201c\u201d\u2013"
PUNCTUATION_GROUPS = (11, 12, 13, 20)


def classes(encoding: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Class of each code point below U+20000, and which classes continue a word.

    ASCII characters have classes of their own (digits share one, control characters too), so have Cyrillic and Arabic
    letters; other characters share one with those of their script that cost as many tokens when they stand alone.
    """
    kinds = np.zeros(0x20001, np.uint8)
    kinds[:128] = np.arange(128)
    kinds[ord("0") : ord("9") + 1] = ord("0")
    kinds[[c for c in range(32) if c not in (9, 10, 13)]] = 1
    joined = np.ones(256, np.bool_)
    joined[:128] = False
    seen: dict[tuple[int, int], int] = {}
    for item in GROUPS.split():
        span, group = item.split(":")
        first, last = (int(x, 16) for x in span.split("-"))
        for code in range(first, min(last, 0x20000) + 1):
            alone = 3 if 0xD800 <= code < 0xE000 else len(encoding.encode_ordinary(chr(code)))
            kinds[code] = seen.setdefault((int(group), alone), 128 + len(seen))
            if int(group) in PUNCTUATION_GROUPS:
                joined[kinds[code]] = False
    single = [*map(ord, SINGLE), *range(0x430, 0x450), *range(0x621, 0x63B), *range(0x641, 0x64B)]
    for offset, code in enumerate(single):
        kinds[code] = 128 + len(seen) + offset
    joined[kinds[list(map(ord, SINGLE))]] = False
    print(f"{128 + len(seen) + len(single)} classes")
    return kinds, joined


class Starts:
    """Counts the tokens that start at each character."""

    def __init__(self, encoding: Any) -> None:
        self.encoding = encoding
        top = encoding.max_token_value + 1
        self.width = np.zeros(top, np.int64)
        for token in encoding.token_byte_values():
            self.width[encoding.encode_single_token(token)] = len(token)

    def __call__(self, text: str) -> np.ndarray[Any, Any]:
        """Starts per character, (characters,) uint8."""
        ids = np.array(self.encoding.encode_ordinary(text), np.int64)
        raw = np.frombuffer(text.encode(), np.uint8)
        at = np.concatenate([[0], np.cumsum(self.width[ids])[:-1]])
        return np.bincount((np.cumsum((raw & 0xC0) != 0x80) - 1)[at], minlength=len(text)).astype(np.uint8)


def coarse(kinds: Any, two: Any, starts: Any, weight: Any) -> Any:
    """The table of class pairs, 64ths; pairs that were never seen get what their character costs elsewhere, or more."""
    n = np.bincount(kinds, weight, 256)
    alone = (np.bincount(kinds, starts * weight, 256) + PRIOR * 1.5) / (n + PRIOR)
    second = np.arange(1 << 16) & 255
    default = np.where(second < 128, np.maximum(alone[second], 0.8), alone[second])
    n = np.bincount(two, weight, 1 << 16)
    value = (np.bincount(two, starts * weight, 1 << 16) + PRIOR * default) / (n + PRIOR)
    return np.clip(np.round(value * model.UNIT * MARGIN), 0, 255).astype(np.uint8)


def fine(two: Any, hashed: Any, starts: Any, weight: Any, pairs: Any) -> Any:
    """The table of contexts: per slot the context whose own value saves the most error over the coarse one."""
    key = hashed >> np.uint32(8)
    n = np.bincount(key, weight, 1 << 24)
    before = np.bincount(key, weight * pairs[two], 1 << 24) / np.maximum(n, 1e-9) / model.UNIT
    value = (MARGIN * np.bincount(key, starts * weight, 1 << 24) + PRIOR * before) / (n + PRIOR)
    gain = (n * np.abs(value - before) ** 1.5).reshape(1 << 16, 256)
    tag = gain.argmax(1)
    slot = np.arange(1 << 16)
    best = np.clip(np.round(value.reshape(gain.shape)[slot, tag] * model.UNIT), 0, 255).astype(np.int64)
    return np.where(gain[slot, tag] > 0.5, tag << 8 | best, 0).astype(np.uint16)


def frequent(code: Any, one: Any) -> Any:
    """The hashes of the most frequent words among those that are one token nearly always, one per slot, ascending."""
    found, inverse = np.unique(code, return_inverse=True)
    n = np.bincount(inverse)
    often = np.where(np.bincount(inverse, one) >= 0.93 * n, n, 0)
    best = np.argsort(-often, kind="stable")[:VOCABULARY]
    _, first = np.unique(found[best] >> model.WORD_SHIFT, return_index=True)
    return np.sort(found[best][first])


def fit(data: Path, extra: Path | None, encoding: Any) -> dict[str, Any]:
    """The arrays of `data/estimate.npz`."""
    kinds_of, joined = classes(encoding)
    empty = {
        "pairs": np.zeros(1 << 16, np.uint8),
        "contexts": np.zeros(1 << 16, np.uint16),
        "factors": np.full((3, 9), 64),
    }
    arrays: dict[str, Any] = {"classes": kinds_of, "joined": joined, "words": np.zeros(0, np.uint32), **empty}
    t, count = model.unpack(arrays), Starts(encoding)
    names: dict[tuple[str, str], int] = {}
    parts: list[tuple[Any, Any, Any, Any]] = []
    for source, language, text in corpus(data, extra):
        group = names.setdefault((source, language), len(names))
        weight = WEIGHTS.get(source, 1.0 if language == "en" else FOREIGN)
        codes = t.classes[model.code_points("\n\n" + text)]
        starts = np.concatenate([[0, 0], count(text)]).astype(np.float32)
        weights = np.full(len(codes), weight, np.float32)
        weights[:2] = 0
        parts.append((codes, starts, weights, np.full(len(codes), group, np.int16)))
    columns: tuple[Any, ...] = tuple(np.concatenate(x) for x in zip(*parts, strict=True))
    kinds, first, amount, group = columns
    print(f"{len(kinds):,} characters of {len(names)} sources")
    two, hashed = model.contexts(kinds)
    begin, end, code, whole = model.runs(kinds, two, t)
    sums = np.concatenate([[0], np.cumsum(first, dtype=np.float64)])
    real = sums[end] - sums[begin]
    one = (real == 1) & (first[begin] == 1) & ((first[np.minimum(end, len(first) - 1)] >= 1) | (end - begin < 3))
    arrays["words"] = frequent(code[whole], one[whole])
    known = model.is_known(code, whole, model.unpack(arrays))
    inside = np.zeros(len(kinds) + 1, np.int64)
    np.add.at(inside, begin[known], 1)
    np.add.at(inside, end[known], -1)
    amount = amount * (np.cumsum(inside[:-1]) == 0)
    arrays["pairs"] = coarse(kinds, two, first, amount)
    arrays["contexts"] = fine(two, hashed, first, amount, arrays["pairs"])
    arrays["factors"] = factors(
        model.unpack(arrays), (two, hashed, begin, end, known), model.kind(kinds, begin, whole), real, group
    )
    print(f"{len(arrays['words']):,} words, {np.count_nonzero(arrays['contexts']):,} contexts")
    return arrays


def factors(t: model.Tables, found: tuple[Any, ...], kind: Any, real: Any, group: Any) -> Any:
    """64ths by which unknown words count, (kind, share of unknown neighbours); sources count alike."""
    two, hashed, begin, end, known = found
    sums = model.running(model.character_units(two, hashed, t)) / model.UNIT
    guess, owner = sums[end] - sums[begin], group[begin].astype(np.int64)
    edge = np.searchsorted(owner, np.arange(owner.max() + 2))
    share = model.neighbour_share(~known, owner, edge) + 9 * kind
    size = np.bincount(owner[~known], real[~known])
    each = (~known) / np.maximum(size, 2000.0)[owner]
    per_word = np.bincount(share, each, 27).reshape(3, 9) * (np.array([[0], [1], [1]]) * model.BASE / model.UNIT**2)
    sums_real, sums_guess = (np.bincount(share, x * each, 27).reshape(3, 9) for x in (real, guess))
    margin = np.stack([np.full(9, CODE_MARGIN), *[np.linspace(*WORD_MARGIN, 9)] * 2])
    ratio = (sums_real * margin - per_word) / np.maximum(sums_guess, 1e-9)
    print("unknown words, factor per share of unknown neighbours:", np.round(ratio, 3).tolist())
    return np.round(ratio * model.UNIT).astype(np.int64)


def measure(data: Path, t: model.Tables, encoding: Any) -> dict[str, dict[str, float]]:
    """Per data set of FOLDER/dev the ratio estimate / cl100k_base of its texts."""
    result: dict[str, dict[str, float]] = {}
    for path in sorted(data.glob("dev/*.jsonl.gz")):
        texts = [text for text, _ in rows(path)]
        real = np.array([len(encoding.encode_ordinary(text)) for text in texts])
        guess = np.concatenate([model.units([text], t) for text in texts]) / model.UNIT**2
        ratio = (guess / real)[real >= 50]
        values = {
            "all": guess.sum() / real.sum(),
            "min": ratio.min(),
            "q01": np.quantile(ratio, 0.01),
            "max": ratio.max(),
        }
        result[path.name.split(".")[0]] = {key: round(float(value), 3) for key, value in values.items()}
        print(f"{path.name.split('.')[0]:22}", "  ".join(f"{k} {v:.3f}" for k, v in values.items()), flush=True)
    return result


def main() -> None:
    """Runs the program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with train/, text/ and dev/")
    parser.add_argument("--extra", type=Path, help="folder of gettext catalogues (*.po) to fit on too")
    parser.add_argument("--fit", type=Path, help="fit the tables and write them here (.npz)")
    parser.add_argument("--report", type=Path, help="write the ratios as JSON")
    args = parser.parse_args()
    encoding = need("tiktoken", extra="tokens").get_encoding("cl100k_base")
    t = model.tables() if args.fit is None else None
    if args.fit is not None:
        arrays = fit(args.data, args.extra, encoding)
        np.savez_compressed(args.fit, **arrays)
        t = model.unpack(arrays)
    assert t is not None
    result = measure(args.data, t, encoding)
    if args.report is not None:
        args.report.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
