"""Fits the tables of the `"estimate"` counter to cl100k_base, and prints how close it comes per data set.

    python -m squeeze.train.estimate --data FOLDER --report FILE             # measure the shipped tables on FOLDER/dev
    python -m squeeze.train.estimate --data FOLDER --fit FILE.npz [--extra FOLDER]

FOLDER holds `train/`, `text/` and `dev/` of `*.jsonl.gz` (rows with `documents` or `text`). The fit uses train and text,
the source files of the Python standard library, made-up JSON, logs, HTML and random characters of many scripts, and the
files of `--extra` (the shipped tables: gettext catalogues of Django, which cover a hundred languages). Needs tiktoken
with its vocabulary. What is in the tables says `squeeze/estimate.py`.
"""

from __future__ import annotations

import argparse
import gzip
import html
import json
import random
import re
import sysconfig
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from squeeze import estimate as model
from squeeze.errors import need

MARGIN = 1.07  # the estimate is to err upward: a budget holds more often than not when another vocabulary counts
CAP = 2_500_000  # characters per source
FOREIGN = 8.0  # weight of a character of another language than English, of which there is far more
WEIGHTS = {"catalogues": 3.0, "code": 0.6}
PRIOR = 3.0  # pseudo-counts of the coarser table
VOCABULARY = 20_000
# first code point, last, group, whether its characters continue a word
GROUPS = (
    "0080-00ff:0 0100-024f:1 0250-036f:2 0370-03ff:3 0400-052f:4 0530-05ff:5 0600-06ff:6 0700-08ff:5 0900-097f:7 0980-09ff:8 "
    "0a00-0dff:9 0e00-0e7f:10 0e80-1dff:5 1e00-1fff:1 2000-206f:11 2070-2bff:12 2c00-2fff:5 3000-303f:13 3040-309f:14 "
    "30a0-30ff:15 3100-4dbf:16 4dc0-9fff:17 a000-abff:5 ac00-d7ff:18 d800-feff:19 ff00-ffef:20 fff0-ffff:19 10000-1ffff:21 "
    "20000-10ffff:22"
)
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


def rows(path: Path) -> Iterator[tuple[str, str]]:
    """The distinct texts of a file with their language."""
    seen: dict[str, str] = {}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            language = row.get("lang") or (row.get("extra") or {}).get("lang") or "en"
            for document in row.get("documents", [row]):
                text = document["text"].encode("utf-8", "replace").decode()
                if text:
                    seen.setdefault(text, language)
    return iter(seen.items())


def made_up(words: list[str], rng: random.Random) -> Iterator[str]:
    """JSON, logs, HTML, identifiers and noise around real words."""

    def w(n: int = 1) -> str:
        return " ".join(rng.choice(words) for _ in range(n))

    def low() -> str:
        return w().lower()

    def number(digits: int) -> int:
        return rng.randrange(10**digits)

    def clock() -> str:
        return f"{rng.randrange(10, 24)}:{rng.randrange(10, 60)}:{rng.randrange(10, 60)}"

    for turn in range(100):
        indent = (None, 1, 2)[turn % 3]
        ids = [str(uuid.UUID(int=rng.getrandbits(128))) for _ in range(30)]
        yield json.dumps(dict(zip(ids[::2], ids[1::2], strict=True)), indent=indent)
        for _ in range(2):
            record = {
                f"{low()}_id": f"#{rng.choice('WABX')}{number(7)}",
                "user_id": f"{low()}_{low()}_{number(4)}",
                "address": {"address1": f"{number(3)} {w(2).title()}", "zip": str(number(5)), w(): w()},
                "items": [
                    {"name": w(2).title(), f"{low()}_id": str(number(10)), "price": number(5) / 100, low(): {w(): w(2)}}
                    for _ in range(4)
                ],
                w(): [number(rng.randrange(1, 7)) for _ in range(5)],
                "date": f"20{rng.randrange(10, 30)}-{rng.randrange(10, 13)}-{rng.randrange(10, 29)}T{clock()}",
                low(): rng.choice([None, True, False]),
            }
            yield json.dumps(record, indent=indent)
        host = [".".join(str(rng.randrange(256)) for _ in range(3)) for _ in range(8)]
        yield "\n".join(
            f'10.{ip} - - [{rng.randrange(1, 29)}/May/20{rng.randrange(10, 26)}:{clock()} +0000] "GET /{low()}/{low()}.png '
            f'HTTP/1.1" {rng.choice([200, 304, 404])} {number(5)} "http://{low()}.com/{low()}-{low()}.html" '
            f'"Mozilla/5.0 ({w(2)}; rv:{number(2)}.0) Gecko/{number(8)}"'
            for ip in host
        )
        yield "\n".join(
            f"[20{rng.randrange(10, 26)}-{rng.randrange(10, 13)}-{rng.randrange(10, 29)} {clock()},{number(3):03d}] "
            f"{rng.choice(['INFO', 'WARN', 'ERROR'])} [{w().title()}{w().title()} {low()}-{number(2)}, {low()}={number(1)}] "
            f"{w(6)} {number(6)} ({low()}.{low()}.{w().title()})"
            for _ in host
        )
        yield "".join(rng.choice("0123456789abcdef") for _ in range(400))
        yield "".join(chr(rng.choice([*range(48, 58), *range(65, 91), *range(97, 123)])) for _ in range(300))
        yield "".join(chr(rng.randrange(33, 127)) for _ in range(200))
        yield "\n".join(
            f'<{tag} class="{low()} {low()}-{low()}" id="{low()}.{low()}"><span class="{low()}">{html.escape(w(5))}</span> '
            f'{w(3)} <a href="#{low()}-{low()}" title="{w(4)}">{w(2)}</a><code>{low()}_{low()}()</code></{tag}>'
            for tag in rng.choices(["div", "span", "p", "li", "a", "td", "h2", "dt", "dd", "em"], k=12)
        )


def noise(rng: random.Random) -> Iterator[str]:
    """Random words in every script, emoji and control characters."""
    spans = [(int(a, 16), int(b, 16)) for a, b in (x.split(":")[0].split("-") for x in GROUPS.split())]
    for first, last in [*spans, (0x1F300, 0x1FAFF), (1, 31), (0x4E00, 0x9FFF), (0x980, 0x9FF), (0xC00, 0xC7F)] * 2:
        codes = [c for c in (rng.randint(first, min(last, 0x2A6DF)) for _ in range(500)) if not 0xD800 <= c < 0xE000]
        yield "".join(chr(c) + (" " if rng.random() < 0.2 else "") for c in codes)


def catalogue(text: str) -> str:
    """The translations of a gettext catalogue, a line each."""
    found = re.findall(r'^msgstr(?:\[\d\])? ((?:".*"\n?)+)', text, re.MULTILINE)
    plain = ("".join(re.findall(r'"(.*)"', x)).replace("\\n", "\n").replace('\\"', '"') for x in found)
    return "\n".join(x for x in plain if x)


def corpus(data: Path, extra: Path | None) -> Iterator[tuple[str, str, str]]:
    """(source, language, text) of everything to fit on, at most CAP characters per source, in a fixed order."""
    rng = random.Random(7)
    words: list[str] = []
    for path in sorted([*data.glob("train/*.jsonl.gz"), *data.glob("text/*.jsonl.gz")]):
        texts = sorted((text, language) for text, language in rows(path))
        rng.shuffle(texts)
        size = 0
        for text, language in texts:
            yield path.name, language, text
            size += len(text)
            if len(words) < 50_000:
                words += re.findall(r"[A-Za-z]{2,14}", text)
            if size > CAP:
                break
    for text in made_up(words or ["value"], rng):
        yield "made up", "en", text
    for text in noise(rng):
        yield "noise", "en", text
    library = Path(sysconfig.get_path("stdlib"))
    for path in [*sorted(library.glob("*.py")), *sorted(library.glob("asyncio/*.py"))]:
        yield "code", "en", path.read_text("utf-8", "replace")
    for path in sorted(extra.rglob("*.po")) if extra else []:
        if text := catalogue(path.read_text("utf-8", "replace")):
            yield "catalogues", "en", text


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
    """The bitmap of words that are one token nearly always, the most frequent ones."""
    n = np.bincount(code, minlength=1 << 20)
    often = np.where(np.bincount(code, one, 1 << 20) >= 0.93 * n, n, 0)
    return often >= max(int(np.sort(often)[-VOCABULARY]), 3)


def fit(data: Path, extra: Path | None, encoding: Any) -> dict[str, Any]:
    """The arrays of `data/estimate.npz`."""
    kinds_of, joined = classes(encoding)
    empty = {"pairs": np.zeros(1 << 16, np.uint8), "contexts": np.zeros(1 << 16, np.uint16), "factors": np.full(9, 64)}
    arrays = {"classes": kinds_of, "joined": joined, "words": np.zeros(1 << 17, np.uint8), **empty}
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
    kinds, starts, weight, group = (np.concatenate(x) for x in zip(*parts, strict=True))
    print(f"{len(kinds):,} characters of {len(names)} sources")
    two, hashed = model.contexts(kinds)
    begin, end, code, whole = model.runs(kinds, two, t)
    sums = np.concatenate([[0], np.cumsum(starts, dtype=np.float64)])
    real = sums[end] - sums[begin]
    one = (real == 1) & (starts[begin] == 1) & ((starts[np.minimum(end, len(starts) - 1)] >= 1) | (end - begin < 3))
    words = frequent(code[whole], one[whole])
    known = words[code] & whole
    inside = np.zeros(len(kinds) + 1, np.int64)
    np.add.at(inside, begin[known], 1)
    np.add.at(inside, end[known], -1)
    weight = weight * (np.cumsum(inside[:-1]) == 0)
    arrays["words"] = np.packbits(words)
    arrays["pairs"] = coarse(kinds, two, starts, weight)
    arrays["contexts"] = fine(two, hashed, starts, weight, arrays["pairs"])
    arrays["factors"] = factors(model.unpack(arrays), (two, hashed, begin, end, known), real, group)
    print(f"{words.sum():,} words, {(arrays['contexts'] > 0).sum():,} contexts, factors {arrays['factors'].tolist()}")
    return arrays


def factors(t: model.Tables, found: tuple[Any, ...], real: Any, group: Any) -> Any:
    """64ths by which unknown words count per share of unknown neighbours; each source counts alike."""
    two, hashed, begin, end, known = found
    sums = np.concatenate([[0], np.cumsum(model.character_units(two, hashed, t))]) / model.UNIT
    guess, owner = sums[end] - sums[begin], group[begin]
    share = model.neighbour_share(~known, owner.astype(np.int64))
    size = np.bincount(owner[~known], real[~known])
    each = (~known) / np.maximum(size, 2000.0)[owner]
    ratio = np.bincount(share, real * each, 9) / np.maximum(np.bincount(share, guess * each, 9), 1e-9)
    print("unknown words, real / guess per share of unknown neighbours:", np.round(ratio * MARGIN, 3).tolist())
    return np.round(np.maximum.accumulate(ratio) * MARGIN * model.UNIT).astype(np.int64)


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
