"""What holds for the package as a whole: light to import, offline, one registry, thread-safe doors."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import squeeze
from squeeze import Budget, Compressed, Compressor, Passage
from squeeze.errors import ConfigError, SqueezeError, UnknownMethodError
from squeeze.registry import method_class, option_names

HEAVY = [
    "torch",
    "transformers",
    "tokenizers",
    "tiktoken",
    "sklearn",
    "llama_index",
    "langchain_core",
    "matplotlib",
    "safetensors",
]

OFFLINE = """
import socket

def no(*args, **kwargs):
    raise OSError("network is cut")

socket.socket.connect = no
socket.getaddrinfo = no
socket.create_connection = no
"""


def run(code: str, **env: str) -> str:
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PATH": "/usr/bin", **env}, check=False
    )
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_importing_and_listing_stay_light() -> None:
    code = f"import sys, squeeze; squeeze.available(); print([m for m in {HEAVY} if m in sys.modules])"
    assert run(code).strip() == "[]"
    code = "import sys, squeeze; print([m for m in ('numpy', 'regex', 'typer', 'rich') if m in sys.modules])"
    assert run(code).strip() == "[]"
    code = (
        f"import sys, squeeze; squeeze.compress('a. b.', max_tokens=1); print([m for m in {HEAVY} if m in sys.modules])"
    )
    assert run(code).strip() == "[]"


def test_the_core_depends_on_few_and_small_packages() -> None:
    """With what they need themselves these are some 28 MB beyond numpy; the bound for the core is 35."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {re.split(r"[^\w-]", line, maxsplit=1)[0]: line for line in project["dependencies"]}
    assert set(declared) == {"numpy", "rank-bm25", "regex", "sentencex", "markdown-it-py", "typer", "rich"}
    assert re.search(r"<\s*0\.28\b", declared["typer"])  # from 0.28 on typer brings pydantic


def test_public_names_are_the_documented_ones() -> None:
    assert set(squeeze.__all__) <= set(dir(squeeze))
    assert all(getattr(squeeze, name) is not None for name in squeeze.__all__)
    with pytest.raises(AttributeError, match="no_such_name"):
        squeeze.no_such_name  # noqa: B018


def test_every_method_without_weights_works_with_the_network_cut() -> None:
    code = (
        OFFLINE
        + """
import squeeze
from squeeze.registry import method_class
for name in squeeze.available():
    if not method_class(name).needs:
        result = method_class(name).example().compress(["Pumps need oil. Paint is blue.", "Lunch is at noon."], "oil")
        print(name, result.text if method_class(name).output == "text" else result.tokens_after)
"""
    )
    out = run(code, HOME="/nonexistent", HF_HUB_OFFLINE="1", TIKTOKEN_CACHE_DIR="/nonexistent")
    assert "edu Pumps need oil. Paint is blue." in out


def test_a_hub_name_that_cannot_be_reached_is_named() -> None:
    code = (
        OFFLINE
        + """
import squeeze
try:
    squeeze.load("edu", tokenizer="hf:org/not-here").compress("a b", max_tokens=1)
except (OSError, ValueError) as error:
    print(error)
"""
    )
    pytest.importorskip("tokenizers")
    assert "org/not-here" in run(code, HOME="/nonexistent", HF_HUB_OFFLINE="1")


def test_one_compressor_serves_sixteen_threads() -> None:
    compressor = squeeze.load("edu")
    texts = {i: [f"Unit {i} is red. Unit {i} is hot. Unit {i} leaks at {i} bar. " * (1 + i % 5)] for i in range(200)}

    def call(i: int) -> str:
        return compressor.compress(texts[i], "leaks", budget=12 + i % 7).text

    before, state = {i: call(i) for i in texts}, repr(vars(compressor))
    with ThreadPoolExecutor(16) as pool:
        assert dict(zip(texts, pool.map(call, texts), strict=True)) == before
    assert repr(vars(compressor)) == state


def test_special_token_text_is_plain_text() -> None:
    tiktoken = pytest.importorskip("tiktoken")
    encoding = tiktoken.Encoding(
        "t",
        pat_str=r"\w+|\W+",
        mergeable_ranks={bytes([i]): i for i in range(256)},
        special_tokens={"<|endoftext|>": 256},
    )
    text = "The paper ends each file with <|endoftext|> and pads with [PAD]. See also </s> and [CLS]. Unrelated line."
    kept = squeeze.compress(text, "end of file marker", keep=0.7, tokenizer=encoding)
    assert "<|endoftext|>" in kept.text
    assert squeeze.compress(text, keep=1.0, tokenizer=encoding).text == text


def test_the_door_keeps_compressors() -> None:
    made: list[int] = []

    @squeeze.register("test_counts_instances")
    class Counting(Compressor):
        """Counts how often it is made."""

        family = "test"

        def __init__(self, *, tokenizer: object = "estimate", level: int = 0) -> None:
            super().__init__(tokenizer=tokenizer)
            made.append(level)

        @classmethod
        def example(cls) -> Counting:
            return cls()

        def _compress(self, job):  # type: ignore[no-untyped-def]
            from squeeze.base import Draft

            return Draft(())

    assert Counting.name == "test_counts_instances" and "test_counts_instances" in squeeze.available()
    for _ in range(3):
        assert squeeze.compress("a b c", method="test_counts_instances", level=1).text == ""
    squeeze.compress("a b c", method="test_counts_instances", level=True)
    squeeze.compress("a b c", method="test_counts_instances", level=2)
    assert made == [1, True, 2]
    with pytest.raises(ConfigError, match="already registered"):
        squeeze.register("edu")(Counting)
    from squeeze import registry

    del registry._classes["test_counts_instances"]


def test_a_method_file_with_a_fault_is_named_and_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from squeeze import cli, compressors, registry

    faults = {
        "cannot_parse": ("x = 1\ndef (:\n", r"cannot_parse\.py: SyntaxError: .*\(cannot_parse\.py, line 2\)"),
        "cannot_run": ("\n\nlenght(3)\n", r"cannot_run\.py: NameError: name 'lenght' .*\(cannot_run\.py, line 3\)"),
        "wants_more": (
            "import no_such_package\n",
            r"wants_more\.py: ModuleNotFoundError: .*\(wants_more\.py, line 1\)",
        ),
        "misnamed": ("x = 1\n", r"misnamed\.py registers no method called 'misnamed'; name the file like"),
    }
    for name, (text, _) in faults.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(compressors, "__path__", [*compressors.__path__, str(tmp_path)])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for name, (_, said) in faults.items():
        with pytest.raises(ConfigError, match=said):
            squeeze.compress("text", method=name)
    with pytest.raises(SystemExit) as left:
        cli.main(["methods", "--markdown"])
    table = capsys.readouterr().out
    assert not left.value.code and "NameError: name 'lenght'" in table and "| `edu` | selection |" in table
    assert "cannot_parse" not in registry._classes
    sys.modules.pop("squeeze.compressors.misnamed", None)


def test_unknown_names_get_the_nearest_one() -> None:
    for wrong, right in (("ed", "edu"), ("truncat", "truncate"), ("passage", "passages")):
        with pytest.raises(UnknownMethodError, match=f"Did you mean '{right}'"):
            squeeze.compress("text", method=wrong)
    with pytest.raises(ConfigError, match="Did you mean 'min_score'"):
        squeeze.compress("text", min_scor=0.5)
    with pytest.raises(LookupError, match="bm25"):
        squeeze.compress("text", scorer="bm52")
    with pytest.raises(ConfigError, match="method"):
        squeeze.compress("text", method=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("limits", [{"max_tokens": -1}, {"keep": -0.1}, {"keep": 1.5}, {"keep": float("nan")}])
def test_limits_that_are_not_allowed_are_named(limits: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(limits))):
        squeeze.compress("text", **limits)  # type: ignore[arg-type]


def test_passages_that_are_no_text_are_named_by_id() -> None:
    for wrong in (None, 7, b"bytes", ["list"]):
        with pytest.raises(TypeError, match="bad-doc"):
            Passage(wrong, id="bad-doc")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="overhead"):
        Passage("a", overhead=-1)


def test_budget_arithmetic_is_exact() -> None:
    assert Budget(keep=0.1).limit(30) == 3 and Budget(keep=0.29).limit(100) == 29
    assert Budget(5, 0.5).limit(30) == 5 and Budget(50, 0.5).limit(30) == 15 and Budget().limit(9) is None
    assert Budget(0).limit(9) == 0 and Budget(keep=0.0).limit(9) == 0


def test_options_of_a_method_are_listed() -> None:
    names = option_names(method_class("edu"))
    assert names[0] == "scorer" and {"unit", "min_score", "gap"} <= set(names) and "tokenizer" not in names


def test_every_error_is_the_builtin_of_its_kind() -> None:
    from squeeze import errors

    kinds = {
        "ConfigError": ValueError,
        "InputError": TypeError,
        "BudgetError": ValueError,
        "UnknownMethodError": LookupError,
        "MissingDependencyError": ImportError,
        "CorruptError": ValueError,
        "NotTextError": TypeError,
        "NotReversibleError": TypeError,
    }
    for name, builtin in kinds.items():
        assert issubclass(getattr(errors, name), builtin) and issubclass(getattr(errors, name), SqueezeError)
    with pytest.raises(ImportError, match=r'pip install "squeeze-rag\[soft\]"'):
        errors.need("no_such_package_anywhere", extra="soft")


def test_soft_results_have_no_text() -> None:
    from squeeze.errors import NotTextError

    part = squeeze.SoftPart(0, 0, 1, [[0.0]], "m")
    result = Compressed((Passage("a"),), None, (part,), (), 1, 1, 0.0, "t", "m")
    with pytest.raises(NotTextError, match=r"squeeze\.soft\.Reader"):
        _ = result.text
