"""The texts that the `"estimate"` counter is fitted on: data files, source code, catalogues and made-up records."""

from __future__ import annotations

import gzip
import html
import json
import random
import re
import sysconfig
import uuid
from collections.abc import Iterator
from pathlib import Path

CAP = 2_500_000  # characters per source
# first code point, last, and the group whose characters share classes
GROUPS = (
    "0080-00ff:0 0100-024f:1 0250-036f:2 0370-03ff:3 0400-052f:4 0530-05ff:5 0600-06ff:6 0700-08ff:5 0900-097f:7 "
    "0980-09ff:8 0a00-0dff:9 0e00-0e7f:10 0e80-1dff:5 1e00-1fff:1 2000-206f:11 2070-2bff:12 2c00-2fff:5 3000-303f:13 "
    "3040-309f:14 30a0-30ff:15 3100-4dbf:16 4dc0-9fff:17 a000-abff:5 ac00-d7ff:18 d800-feff:19 ff00-ffef:20 "
    "fff0-ffff:19 10000-1ffff:21 20000-10ffff:22"
)


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
            f"10.{ip} - - [{rng.randrange(1, 29)}/May/20{rng.randrange(10, 26)}:{clock()} +0000] "
            f'"GET /{low()}/{low()}.png HTTP/1.1" {rng.choice([200, 304, 404])} {number(5)} '
            f'"http://{low()}.com/{low()}-{low()}.html" '
            f'"Mozilla/5.0 ({w(2)}; rv:{number(2)}.0) Gecko/{number(8)}"'
            for ip in host
        )
        yield "\n".join(
            f"[20{rng.randrange(10, 26)}-{rng.randrange(10, 13)}-{rng.randrange(10, 29)} {clock()},{number(3):03d}] "
            f"{rng.choice(['INFO', 'WARN', 'ERROR'])} [{w().title()}{w().title()} {low()}-{number(2)}, "
            f"{low()}={number(1)}] "
            f"{w(6)} {number(6)} ({low()}.{low()}.{w().title()})"
            for _ in host
        )
        yield "".join(rng.choice("0123456789abcdef") for _ in range(400))
        yield "".join(chr(rng.choice([*range(48, 58), *range(65, 91), *range(97, 123)])) for _ in range(300))
        yield "".join(chr(rng.randrange(33, 127)) for _ in range(200))
        yield "\n".join(
            f'<{tag} class="{low()} {low()}-{low()}" id="{low()}.{low()}"><span class="{low()}">'
            f'{html.escape(w(5))}</span> {w(3)} <a href="#{low()}-{low()}" '
            f'title="{w(4)}">{w(2)}</a><code>{low()}_{low()}()</code></{tag}>'
            for tag in rng.choices(["div", "span", "p", "li", "a", "td", "h2", "dt", "dd", "em"], k=12)
        )


def noise(rng: random.Random) -> Iterator[str]:
    """Random words in every script, emoji, control characters and empty lines."""
    yield "\n" * 3000
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
