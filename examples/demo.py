"""Compresses the shipped document set for a question, prints what is kept beside the numbers, writes demo.html."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

import squeeze

DOCUMENTS = Path(__file__).parent / "data" / "lighthouses"
QUESTION = "What is the sun valve, and who invented it?"


def load(folder: Path) -> list[squeeze.Passage]:
    """The Markdown files of a folder as passages, each with its first heading as title."""
    passages = []
    for file in sorted(folder.glob("*.md")):
        text = file.read_text(encoding="utf-8")
        passages.append(squeeze.Passage(text, title=text.partition("\n")[0].lstrip("# "), id=file.name))
    return passages


def numbers(result: squeeze.Compressed) -> Table:
    """The numbers of a result, and the passages of which something is kept."""
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right", style="bold")
    table.add_column()
    table.add_row(f"{result.tokens_before:,}", "tokens before")
    table.add_row(f"{result.tokens_after:,}", "tokens after")
    table.add_row(f"{result.kept:.1%}", "kept")
    table.add_row(f"{result.seconds * 1000:,.1f}", "milliseconds")
    table.add_row()
    for index, text in result.texts().items():
        table.add_row(f"{len(text):,}", f"characters of {result.passages[index].title}")
    return table


def main() -> None:
    """Runs the demonstration."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("question", nargs="?", default=QUESTION)
    parser.add_argument("--max-tokens", type=int, default=250)
    parser.add_argument("--method", default="edu", choices=squeeze.available())
    parser.add_argument("--output", type=Path, default=Path("demo.html"))
    arguments = parser.parse_args()

    passages = load(DOCUMENTS)
    compressor = squeeze.load(arguments.method)
    compressor.compress(passages, arguments.question, budget=1)  # the first call imports; the second is timed
    result = compressor.compress(passages, arguments.question, budget=arguments.max_tokens)
    arguments.output.write_text(result.to_html(), encoding="utf-8")

    console = Console()
    console.print(f"{len(passages)} documents, one question: [bold]{arguments.question}[/bold]\n", highlight=False)
    page = Table.grid(padding=(0, 2), expand=True)
    page.add_column(ratio=3)
    page.add_column(ratio=2)
    page.add_row(Panel(Text(result.text), title="what the model reads"), Panel(numbers(result), title=result.method))
    console.print(page)
    console.print(f"[bold]{arguments.output}[/bold] shows what was kept and what was left out, and why.")


if __name__ == "__main__":
    main()
