"""Every snippet of the README and of the guide runs, in the order of its page, and prints what the page says.

A page's Python shares one namespace; its shell lines run in the same folder, those of pip and make aside. What cannot
run here stands behind a comment `<!-- not run: reason -->`; what a snippet prints behind `<!-- output -->`.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from markdown_it import MarkdownIt

import squeeze
from squeeze import registry
from squeeze.bench import readme

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MODULE = "snippet"  # of what a page defines
NOT_RUN = re.compile(r"<!-- not run: (.+?) -->", re.DOTALL)
SHELL = {"sh", "console", "bash"}
OTHER = {"text", "json", "bibtex", "{include}", "{toctree}", "{eval-rst}", "{image}"}


class Snippet(NamedTuple):
    """A fenced block: its language, its text, its line, why it is not run, and whether it is the output of another."""

    language: str
    text: str
    line: int
    reason: str
    output: bool


def snippets(page: Path) -> list[Snippet]:
    found, said = [], ""
    for token in MarkdownIt().parse(page.read_text(encoding="utf-8")):
        if token.type == "html_block":
            said = token.content
        elif token.type == "fence":
            reason = NOT_RUN.search(said)
            language = token.info.split()[0] if token.info.split() else ""
            line = token.map[0] + 1 if token.map else 0
            why = " ".join(reason[1].split()) if reason else ""
            found.append(Snippet(language, token.content, line, why, "<!-- output -->" in said))
            said = ""
        elif token.type in ("paragraph_open", "heading_open", "bullet_list_open", "ordered_list_open"):
            said = ""
    return found


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What pages find beside them: documents, logs, rows, questions."""
    place = tmp_path_factory.mktemp("shelf")
    data = ROOT / "examples" / "data"
    shutil.copytree(data, place / "examples" / "data")
    shutil.copytree(data / "lighthouses", place / "handbook")
    shutil.copy(data / "questions.jsonl", place / "questions.jsonl")
    (place / "logs.txt").write_text("12:00:01 WARN connection to database was lost\n" * 20, encoding="utf-8")
    rows = [
        {
            "question": f"When was the {name} lamp changed?",
            "answers": [str(1900 + at)],
            "documents": [
                {"id": "a", "title": name, "text": f"In {1900 + at} the {name} lamp was changed.", "is_gold": True},
                {
                    "id": "b",
                    "title": "Harbour",
                    "text": "Boats are let by the hour. Lunch is at noon.",
                    "is_gold": False,
                },
            ],
        }
        for at, name in enumerate(("north", "south", "east", "west"))
    ]
    write_rows(place / "rows.jsonl", rows)
    return place


def soft(place: Path) -> dict[str, Any]:
    """A tiny language model and an encoder for it, where the page says MODEL and CHECKPOINT."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    pytest.importorskip("peft")
    from squeeze.soft import CompEncoder, CompSettings
    from squeeze.soft.models import load_model
    from squeeze.soft.tiny import byte_tokenizer, tiny_model

    tiny_model().save_pretrained(str(place / "MODEL"))
    byte_tokenizer().save_pretrained(str(place / "MODEL"))
    settings = CompSettings(lora=2, factor=4)
    CompEncoder(load_model(place / "MODEL"), settings).save_pretrained(place / "CHECKPOINT")
    return {}


def frameworks(place: Path) -> dict[str, Any]:
    """An index, a retriever and an agent's parts, made without a model."""
    pytest.importorskip("llama_index.core")
    pytest.importorskip("langchain_classic")
    pytest.importorskip("langchain.agents")
    from langchain_core.documents import Document
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_core.language_models import FakeListChatModel
    from langchain_core.tools import tool
    from langchain_core.vectorstores import InMemoryVectorStore
    from llama_index.core import Document as Text
    from llama_index.core import MockEmbedding, Settings, VectorStoreIndex
    from llama_index.core.llms import MockLLM

    texts = [path.read_text(encoding="utf-8") for path in sorted((place / "handbook").glob("0*.md"))]
    Settings.llm, Settings.embed_model = MockLLM(max_tokens=8), MockEmbedding(embed_dim=4)
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=4))
    store.add_documents([Document(text) for text in texts])

    @tool
    def search(query: str) -> str:
        """Searches the handbook."""
        return texts[0]

    return {
        "index": VectorStoreIndex.from_documents([Text(text=text) for text in texts]),
        "retriever": store.as_retriever(search_kwargs={"k": 10}),
        "model": FakeListChatModel(responses=["1931"]),
        "search": search,
        "hits": [{"text": text, "title": "", "id": str(at)} for at, text in enumerate(texts)],
        "question": "When was the lamp changed?",
    }


SETUPS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "README.md": frameworks,
    "frameworks.md": frameworks,
    "soft.md": soft,
}
"""Page -> what makes that which the page takes as given."""


@contextlib.contextmanager
def inside(place: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(place)
    try:
        yield
    finally:
        os.chdir(before)
        for name in [name for name, cls in registry._classes.items() if cls.__module__ == MODULE]:
            del registry._classes[name]  # methods that a page adds


def shell(text: str, page: str, line: int) -> None:
    for command in text.replace("\\\n", " ").splitlines():
        words = shlex.split(command, comments=True)
        if not words or words[0] in ("pip", "make"):
            continue
        if words[0] == "squeeze":
            words = [sys.executable, "-m", "squeeze.cli", *words[1:]]
        assert words[0] in ("python", sys.executable), f"{page}:{line}: {command}"
        done = subprocess.run([sys.executable, *words[1:]], capture_output=True, text=True, encoding="utf-8")
        assert done.returncode == 0, f"{page}:{line}: {command}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_snippets_of_a_page_run(page: Path, shelf: Path, tmp_path: Path) -> None:
    found = [snippet for snippet in snippets(page) if not snippet.reason]
    if not any(snippet.language == "python" or snippet.language in SHELL for snippet in found):
        return
    place = tmp_path / "here"
    shutil.copytree(shelf, place)
    names: dict[str, Any] = {"__name__": MODULE, "squeeze": squeeze}
    names |= SETUPS[page.name](place) if page.name in SETUPS else {}
    printed = ""
    with inside(place):
        for snippet in found:
            if snippet.output:
                assert printed == snippet.text, f"{page.name}:{snippet.line}"
            elif snippet.language == "python":
                out = io.StringIO()
                code = compile("\n" * snippet.line + snippet.text, str(page), "exec", dont_inherit=True)
                with contextlib.redirect_stdout(out):
                    exec(code, names)
                printed = out.getvalue()
            elif snippet.language in SHELL:
                shell(snippet.text, page.name, snippet.line)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_names_its_language_and_every_exception_its_reason(page: Path) -> None:
    for snippet in snippets(page):
        assert snippet.language in {"python", *SHELL, *OTHER}, f"{page.name}:{snippet.line}: {snippet.language!r}"
        if snippet.reason and snippet.language == "python":
            compile(snippet.text, str(page), "exec", dont_inherit=True)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_extras_links_and_reports_that_a_page_names_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for named in re.findall(r"(?:squeeze-rag|\s\"?\.)\[([\w,]+)\]", text):
        assert set(named.split(",")) <= set(extras), named
    for target in re.findall(r"\]\(([\w./-]+\.md)(?:#[\w-]+)?\)", text):
        assert (page.parent / target).is_file(), target
    for target in re.findall(r"`((?:reports|integrations|examples|src|tests)/[\w./-]+\w)`", text):
        here = target.partition("/")[0] != "integrations" or (ROOT / "integrations").exists()  # not in the core's sdist
        assert (ROOT / target).exists() or not here, target
    for module in re.findall(r"python -m (squeeze(?:\.\w+)+)", text):
        assert (ROOT / "src" / Path(*module.split("."))).with_suffix(".py").is_file(), module


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_reads_as_plain_markdown(page: Path) -> None:
    """Where it is shown without Sphinx, as on GitHub; the two pages that only Sphinx fills are not linked to."""
    if page.name not in ("index.md", "changelog.md"):
        prose = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert not re.search(r"\{[a-z-]+\}`", prose)
        assert not any(snippet.language.startswith("{") for snippet in snippets(page))


def test_the_headline_of_the_readme_is_in_the_report() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    results = json.loads((ROOT / "reports" / "questions.json").read_text(encoding="utf-8"))["results"]
    for method, stated in zip(
        ("edu", "bm25_title"), re.findall(r"for (\d\.\d\d)", text.replace("\n", " ")), strict=True
    ):
        kept = [row["kept"] for row in results if row["method"] == method and row["keep"] == 0.25]
        assert f"{sum(kept) / len(kept):.2f}" == stated and f"{len(kept)} sets" in text


@pytest.mark.parametrize("page", ["README.md", "docs/soft.md", "docs/scorers.md"])
def test_generated_tables_are_current(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # where the reports are
    text = (ROOT / page).read_text(encoding="utf-8")
    names = [name for name in readme.REGIONS if f"<!-- {name} -->" in text]
    assert names, "a page without a generated table needs no test"
    for name in names:
        table = text.partition(f"<!-- {name} -->")[2].partition(f"<!-- /{name} -->")[0]
        assert table.strip() == readme.REGIONS[name]().strip(), f"run python -m squeeze.bench.readme {page}"
