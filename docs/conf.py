"""Settings of the documentation site: `make docs` builds it into `build/docs`, with warnings as errors."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from sphinx.domains.python import PyObject

import squeeze
from squeeze.registry import method_class

project = "squeeze"
author = "The squeeze authors"
version = release = squeeze.__version__
html_title = f"squeeze {version}"
project_copyright = f"{author}, Apache-2.0"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["_build"]
source_suffix = {".md": "markdown"}
default_role = "code"  # docstrings write code in single backticks
show_warning_types = True

myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_mock_imports = [name for name in ("torch", "transformers") if importlib.util.find_spec(name) is None]
add_module_names = False
napoleon_numpy_docstring = False
napoleon_use_ivar = True  # attributes as a list of fields: dataclasses would describe them twice otherwise
napoleon_use_rtype = False

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"
highlight_language = "none"
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}


def _methods() -> str:
    """A directive for each registered method, so that none is listed by hand."""
    out = []
    for name in squeeze.available():
        cls = method_class(name)
        target = f"{cls.__module__}.{cls.__qualname__}"
        out += [f"## `{name}`", "", "```{eval-rst}", f".. autoclass:: {target}", "   :class-doc-from: both", "```", ""]
    return "\n".join(out)


def _command() -> str:
    """The help of the command and of its subcommands."""
    program = [sys.executable, "-m", "typer", "squeeze.cli", "utils", "docs", "--name", "squeeze"]
    text = subprocess.run(program, capture_output=True, text=True, check=True, encoding="utf-8").stdout
    listed = re.compile(r"\*\*Commands\*\*:\n\n(?:\* .*\n)+")  # cut short there, and told in full below
    return listed.sub("", text.partition("\n")[2])


def _readme() -> str:
    """The README, with links from here."""
    text = README.read_text(encoding="utf-8")
    text = re.sub(r"\]\(docs/", "](", text)
    return re.sub(r"\[([^\]]+)\]\((?:examples|integrations|reports)/[^)]*\)", r"`\1`", text)  # files beside the site


def _picture(found: re.Match[str]) -> str:
    """A picture that follows the theme that the reader chose, where that on GitHub follows the system's."""
    return "\n".join(
        f"```{{image}} _static/pareto-{theme}.svg\n:class: only-{theme}\n:alt: {found[1]}\n```\n"
        for theme in ("light", "dark")
    )


README = Path(__file__).parents[1] / "README.md"
_GENERATED = {"<!-- all methods -->": _methods, "<!-- the command -->": _command, "<!-- the readme -->": _readme}


def _fill(app: Any, name: str, source: list[str]) -> None:
    if "<!-- the readme -->" in source[0]:
        app.env.note_dependency(README)
    for mark, make in _GENERATED.items():
        if mark in source[0]:
            source[0] = source[0].replace(mark, make())
    source[0] = re.sub(r'<picture>.*?alt="(.*?)".*?</picture>', _picture, source[0], flags=re.DOTALL)


def _signature(*given: Any) -> Any:
    """A signature and what it returns, without what autodoc writes for fields with factories."""
    signature, returned = given[-2:]
    return None if signature is None else (signature.replace("~typing.", "").replace("=<factory>", " = {}"), returned)


def setup(app: Any) -> None:
    """Fills in what is generated, and calls attributes what Sphinx calls variables."""
    for field in PyObject.doc_field_types:
        if field.name == "variable":
            field.label = "Attributes"
    app.connect("autodoc-process-signature", _signature)
    app.connect("source-read", _fill)
