from __future__ import annotations

import io
import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import squeeze
from squeeze import cli, console, files
from squeeze.bench.readme import methods
from squeeze.errors import ConfigError, CorruptError
from squeeze.types import Compressed, Passage

FACTS = "The lamp burned colza oil for decades. Keepers cleaned it daily.\r\nFog hid the tower in autumn. Bells rang.\n"
QUERY = "what oil did the lamp burn"


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def facts() -> str:
    Path("facts.txt").write_bytes(FACTS.encode())
    return "facts.txt"


def ok(*arguments: str, stdin: bytes | None = None) -> Any:
    result = CliRunner().invoke(cli.app, list(arguments), input=stdin)
    assert result.exit_code == 0, (result.output, result.exception)
    return result


def error(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The line of an error; fails unless it is one line, code 2, and nothing else is written."""
    with pytest.raises(SystemExit) as stop:
        cli.main(list(arguments))
    out, err = capsys.readouterr()
    assert stop.value.code == 2
    assert out == ""
    assert err.startswith("squeeze: ") and err.endswith("\n") and err.count("\n") == 1, err
    return err


def run(*arguments: str, stdin: bytes = b"", **settings: Any) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "squeeze.cli", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, timeout=120, check=False, **settings)


class TestCompress:
    def test_text_goes_out_and_numbers_go_beside(self, facts: str) -> None:
        result = ok("compress", facts, "-q", QUERY, "--keep", "0.5")
        assert result.stdout_bytes.decode() == squeeze.compress(FACTS, QUERY, keep=0.5).text
        assert "colza oil" in result.stdout
        for head in ("tokens before", "tokens after", "kept", "milliseconds", "edu", "estimate"):
            assert head in result.stderr

    def test_line_breaks_and_everything_else_are_untouched(self) -> None:
        text = "\ufeffone\r\ntwo\rthree\n\n\x00 null\u2028end \n"
        assert ok("compress", "-", "--quiet", stdin=text.encode()).stdout_bytes == text.encode()
        assert ok("compress", "--quiet", stdin=text.encode()).stdout_bytes == text.encode()

    def test_quiet_writes_nothing_beside_the_result(self, facts: str) -> None:
        assert ok("compress", facts, "--max-tokens", "8", "--quiet").stderr == ""

    def test_no_limit_is_said(self, facts: str) -> None:
        result = ok("compress", facts)
        assert result.stdout_bytes == FACTS.encode()
        assert "--max-tokens" in result.stderr

    def test_warnings_are_said(self, facts: str) -> None:
        result = ok("compress", facts, "--max-tokens", "2", "-q", QUERY)
        assert "unit_cut: " in result.stderr and "(passage 0: facts.txt)" in result.stderr

    def test_an_empty_input_is_said(self) -> None:
        Path("empty.txt").touch()
        for result in (ok("compress", "empty.txt", "--max-tokens", "9"), ok("compress", stdin=b"")):
            assert result.stdout == "" and "the input is empty" in result.stderr and "100" not in result.stderr

    def test_the_best_unit_left_out_is_said(self) -> None:
        text = f"Bells rang.\n\n{'The lamp burned colza oil ' * 8}.\n\nFog."
        result = ok("compress", "-q", QUERY, "--max-tokens", "12", stdin=text.encode())
        assert "best_left_out: the unit that scores best needs " in result.stderr and "limit is 12" in result.stderr

    def test_numbers_begin_a_line_of_their_own_in_one_file(self, facts: str) -> None:
        call = [sys.executable, "-m", "squeeze.cli", "compress", facts, "-q", QUERY, "--keep", "0.5"]
        for more in ((), ("--quiet",)):
            with Path("both").open("wb") as both:
                subprocess.run([*call, *more], stdout=both, stderr=subprocess.STDOUT, timeout=120, check=True)
            text = squeeze.compress(FACTS, QUERY, keep=0.5).text
            written = Path("both").read_text(encoding="utf-8")
            assert written == text if more else written.startswith(f"{text}\n") and "tokens before" in written
        assert run("compress", facts, "-q", QUERY, "--keep", "0.5").stdout.decode() == text

    def test_json_reads_back(self, facts: str) -> None:
        out = ok("compress", facts, "-q", QUERY, "--max-tokens", "20", "--format", "json").stdout
        result = Compressed.from_dict(json.loads(out))
        assert result.passages == (Passage(FACTS, id="facts.txt"),)
        assert result.query == QUERY
        assert 0 < result.tokens_after <= 20

    def test_html_goes_to_a_file(self, facts: str) -> None:
        result = ok("compress", facts, "-q", QUERY, "--keep", "0.5", "--format", "html", "-o", "out.html")
        assert result.stdout == ""
        page = Path("out.html").read_text(encoding="utf-8")
        assert page.startswith("<!DOCTYPE html>") and "colza oil" in page

    def test_method_tokenizer_and_options_arrive(self, facts: str) -> None:
        call = ("compress", facts, "--format", "json", "--quiet", "--method")
        assert json.loads(ok(*call, "truncate", "--keep", "0.4").stdout)["method"] == "truncate"
        marked = ok(
            "compress", facts, "-q", "lamp bells", "--keep", "0.8", "--option", 'gap="[cut]"', "--option", "titles=true"
        )
        assert marked.stdout == squeeze.compress(Passage(FACTS), "lamp bells", keep=0.8, gap="[cut]", titles=True).text
        plain = ok("compress", facts, "-q", "lamp bells", "--keep", "0.8", "--option", "gap=[cut]")
        assert plain.stdout == marked.stdout

    def test_lone_surrogates_are_replaced_in_text_and_kept_in_json(self) -> None:
        Path("a.jsonl").write_text('"a \\ud800 b"', encoding="ascii")
        result = ok("compress", "a.jsonl")
        assert result.stdout_bytes == "a \ufffd b".encode()
        assert "U+FFFD" in result.stderr
        data = json.loads(ok("compress", "a.jsonl", "--format", "json").stdout)
        assert data["passages"][0]["text"] == "a \ud800 b"

    def test_a_place_is_named_in_a_warning(self) -> None:
        Path("a.jsonl").write_text('{"text": "x", "id": "first"}', encoding="ascii")
        result = Compressed.from_dict(json.loads(ok("compress", "a.jsonl", "--format", "json").stdout))
        assert console.place(result, 0) == " (passage 0: first)"
        assert console.place(result, None) == ""


class TestErrors:
    @pytest.mark.parametrize(
        ("arguments", "parts"),
        [
            (("nosuch.txt",), ("nosuch.txt", "No such file")),
            (("facts.txt", "--method", "ed"), ("'ed'", "Did you mean 'edu'?")),
            (("facts.txt", "--option", "unti=edu"), ("'unti'", "Did you mean 'unit'?")),
            (("facts.txt", "--option", "unit=word"), ("'word'", "sentence")),
            (("facts.txt", "--option", "unit"), ("--option 'unit'",)),
            (("facts.txt", "--option", "gap=a", "--option", "gap=b"), ("gap is given twice",)),
            (("facts.txt", "--option", "tokenizer=x"), ("--tokenizer",)),
            (("facts.txt", "--option", "name=x"), ("--method",)),
            (("facts.txt", "--tokenizer", "estimat"), ("'estimat'", "Did you mean 'estimate'?")),
            (("facts.txt", "--keep", "1.5"), ("keep is 1.5",)),
            (("facts.txt", "--keep", "nan"), ("keep is nan",)),
            (("facts.txt", "--max-tokens", "-1"), ("max_tokens is -1",)),
            (("facts.txt", "--max-tokens", "many"), ("--max-tokens",)),
            (("facts.txt", "--format", "xml"), ("xml", "html")),
            (("facts.txt", "--nosuch"), ("--nosuch",)),
            (("facts.txt", "-o", "nosuch/out.txt"), ("nosuch", "out.txt")),
            (("facts.txt", "-o", "."), ("is a folder",)),
            (("-", "-"), ("twice",)),
        ],
    )
    def test_one_line_names_the_thing(
        self, facts: str, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], parts: tuple[str, ...]
    ) -> None:
        line = error(capsys, "compress", *arguments)
        for part in parts:
            assert part in line

    def test_unknown_command(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert "compress" in error(capsys, "compres")

    @pytest.mark.parametrize(("data", "offset"), [(b"ab\xe9", 2), (b"\xff\xfea\x00", 0), (b"ok\xed\xa0\x80", 2)])
    def test_bytes_that_are_no_text(self, data: bytes, offset: int, capsys: pytest.CaptureFixture[str]) -> None:
        Path("bad.txt").write_bytes(data)
        line = error(capsys, "compress", "bad.txt")
        assert "bad.txt" in line and f"offset {offset} " in line
        assert ("UTF-16" in line) == data.startswith(b"\xff\xfe")
        assert "iconv -f" in line and "name the files to read" in line

    def test_an_odd_file_name_stays_on_the_line(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert "a\\x1b[31m" in error(capsys, "compress", "a\x1b[31m\nb.txt")

    def test_vectors_have_no_text(
        self, facts: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(squeeze.registry.method_class("truncate"), "output", "soft")
        assert "--format json" in error(capsys, "compress", facts, "--method", "truncate")

    def test_an_error_leaves_the_old_file(self, capsys: pytest.CaptureFixture[str]) -> None:
        Path("out.txt").write_text("old")
        Path("bad.txt").write_bytes(b"\xff")
        error(capsys, "compress", "bad.txt", "-o", "out.txt")
        assert Path("out.txt").read_text() == "old"
        assert sorted(os.listdir()) == ["bad.txt", "out.txt"]

    def test_ctrl_c(self, facts: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        def stop(*_: Any, **__: Any) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(squeeze, "load", stop)
        with pytest.raises(SystemExit) as end:
            cli.main(["compress", facts])
        assert end.value.code == 130
        assert capsys.readouterr().out == ""


class TestReading:
    def read(self, *names: str, stdin: bytes = b"", lines: bool = False) -> list[Passage]:
        return files.read_passages(names, io.BytesIO(stdin), lines=lines)

    def test_lines_of_passages(self) -> None:
        rows = [
            '"plain"',
            "",
            '{"text": "t\u2028u", "title": "T", "id": 7, "url": "x", "metadata": {"k": [1]}}',
            '{"text": ""}',
        ]
        Path("a.jsonl").write_bytes(("\ufeff" + "\r\n".join(rows)).encode())
        assert self.read("a.jsonl") == [
            Passage("plain", id="a.jsonl, line 1"),
            Passage("t\u2028u", "T", "7", {"url": "x", "k": [1]}),
            Passage("", id="a.jsonl, line 4"),
        ]

    def test_standard_input_may_hold_lines(self) -> None:
        assert [p.text for p in self.read("-", stdin=b'"a"\n"b"', lines=True)] == ["a", "b"]
        assert [p.text for p in self.read("-", stdin=b'"a"\n"b"')] == ['"a"\n"b"']

    @pytest.mark.parametrize(
        ("row", "says"),
        [
            ("{", "not JSON"),
            ("3", "int"),
            ("[" * 100_000, "not JSON"),
            ('{"txt": "a"}', "txt"),
            ('{"text": null}', "text"),
            ('{"text": "a", "title": []}', "title is list"),
            ('{"text": "a", "id": true}', "id is bool"),
            ('{"text": "a", "metadata": 1}', "metadata is int"),
        ],
    )
    def test_a_bad_line_is_named(self, row: str, says: str) -> None:
        Path("a.jsonl").write_text(f'"fine"\n\n{row}\n')
        with pytest.raises(CorruptError, match=rf"^a\.jsonl, line 3: .*{says}"):
            self.read("a.jsonl")

    def test_a_folder_is_read_in_order(self) -> None:
        for name in ("d/b.md", "d/a/z.txt", "d/a.txt", "d/.git/x.txt", "d/.hidden.md", "d/image.png", "d/c.JSONL"):
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text('"q"' if name.endswith("L") else name)
        ids = [passage.id.replace(os.sep, "/") for passage in self.read("d")]
        assert ids == ["d/a/z.txt", "d/a.txt", "d/b.md", "d/c.JSONL, line 1"]

    def test_a_folder_without_text_is_an_error(self) -> None:
        Path("d").mkdir()
        Path("d/image.png").write_bytes(b"\x89PNG")
        with pytest.raises(ConfigError, match="no text file"):
            self.read("d")

    def test_a_file_given_by_name_needs_no_known_suffix(self) -> None:
        Path(".notes").write_text("n")
        assert self.read(".notes") == [Passage("n", id=".notes")]


class TestWriting:
    def test_a_file_is_replaced_whole_and_keeps_its_mode(self) -> None:
        Path("out").write_text("old")
        Path("out").chmod(0o640)
        Path("link").symlink_to("out")
        files.write_file("link", b"new")
        assert Path("out").read_bytes() == b"new"
        assert Path("link").is_symlink()
        assert stat.S_IMODE(Path("out").stat().st_mode) == 0o640
        assert sorted(os.listdir()) == ["link", "out"]

    def test_a_failed_write_leaves_the_old_file(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(_: int) -> None:
            raise OSError(28, "No space left on device")

        Path("out").write_text("old")
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(ConfigError, match="out: No space left on device"):
            files.write_file("out", b"new")
        assert Path("out").read_text() == "old"
        assert os.listdir() == ["out"]

    def test_a_device_is_written_directly(self) -> None:
        files.write_file(os.devnull, b"new")
        assert Path(os.devnull).is_char_device()


class TestRestore:
    def test_the_original_comes_back(self) -> None:
        text = "The pump at gate 7 was checked and is in order.\r\n" * 12 + "\ud83d"
        Path("in.jsonl").write_text(json.dumps({"text": text, "title": "Log", "id": "a", "metadata": {"n": 1}}) + "\n")
        ok("compress", "in.jsonl", "--method", "lossless", "--format", "json", "-o", "out.json", "--quiet")
        assert json.loads(Path("out.json").read_text())["tokens_after"] < 100
        found = ok("restore", "out.json")
        assert found.stdout_bytes.decode() == text.replace("\ud83d", "\ufffd") and "--jsonl" in found.stderr
        assert json.loads(ok("restore", "out.json", "--jsonl").stdout) == {
            "text": text,
            "title": "Log",
            "id": "a",
            "metadata": {"n": 1},
        }
        ok("restore", "-", "--output", "again.txt", stdin=Path("out.json").read_bytes())
        assert Path("again.txt").read_bytes() == found.stdout_bytes

    def test_what_is_no_lossless_result_is_named(self, facts: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert "facts.txt holds no result" in error(capsys, "restore", facts)
        ok("compress", facts, "--keep", "0.5", "--format", "json", "-o", "out.json", "--quiet")
        assert "dropped text" in error(capsys, "restore", "out.json")
        assert "No such file" in error(capsys, "restore", "absent.json")


class TestMethods:
    def test_every_method_is_listed(self) -> None:
        out = ok("methods").stdout
        for name in squeeze.available():
            assert name in out

    def test_the_markdown_table(self) -> None:
        lines = ok("methods", "--markdown").stdout.splitlines()
        assert lines[0] == "| name | family | output | needs | what it does |"
        assert [line.split(" | ")[0] for line in lines[2:]] == [f"| `{name}`" for name in squeeze.available()]
        edu = next(line for line in lines if line.startswith("| `edu`"))
        assert " | text | core | " in edu

    def test_the_readme_has_the_table(self) -> None:
        text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
        assert methods().strip() in text, "run python -m squeeze.bench.readme"

    def test_a_method_that_cannot_load_hides_no_other(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def method_class(name: str) -> Any:
            raise ConfigError("broken | method")

        monkeypatch.setattr(squeeze.registry, "method_class", method_class)
        assert "broken \\| method" in ok("methods", "--markdown").stdout


class TestProgram:
    def test_version_and_help(self) -> None:
        assert ok("--version").stdout == f"squeeze {squeeze.__version__}\n"
        assert "compress" in ok("--help").stdout
        assert ok().stdout == ok("--help").stdout

    def test_help_loads_nothing_heavy(self) -> None:
        code = "import sys, squeeze.cli as c\ntry: c.main(['--help'])\nexcept SystemExit: pass\nprint(*sys.modules)"
        names = set(
            subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.decode().split()
        )
        assert not names & {
            "torch",
            "transformers",
            "tiktoken",
            "tokenizers",
            "markdown_it",
            "sentencex",
            "squeeze.report",
        }

    def test_output_is_utf8_whatever_the_locale(self) -> None:
        text = "灯塔 – phare\r\n"
        env = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"}
        done = run("compress", "-", "-q", "灯塔", stdin=text.encode(), env=env)
        assert (done.returncode, done.stdout) == (0, text.encode())
        assert b"tokens after" in done.stderr
        assert run("methods", env=env).returncode == 0

    def test_an_error_has_no_traceback(self) -> None:
        done = run("compress", "-", stdin=b"\xff")
        assert done.returncode == 2
        assert done.stdout == b""
        assert done.stderr.startswith(b"squeeze: standard input: byte 0xff at offset 0")
        assert done.stderr.count(b"\n") == 1

    @pytest.mark.skipif(os.name == "nt", reason="signals are sent another way")
    def test_an_interrupt_ends_with_130(self) -> None:
        # a shell that starts jobs in the background has them ignore interrupts
        code = "import os, signal, squeeze.cli as c, squeeze.files as f\n"
        code += "signal.signal(signal.SIGINT, signal.default_int_handler)\nf.read_passages = lambda *a, **k: "
        code += "os.kill(os.getpid(), signal.SIGINT) or []\nc.main(['compress', '-'])"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=120, check=False)
        assert (done.returncode, done.stdout) == (130, b"")
        assert b"Traceback" not in done.stderr

    @pytest.mark.skipif(not hasattr(signal, "SIGPIPE"), reason="no pipes of that kind")
    def test_a_closed_pipe_is_quiet(self) -> None:
        reading, writing = os.pipe()
        os.close(reading)
        command = [sys.executable, "-m", "squeeze.cli", "compress", "-", "--quiet"]
        with os.fdopen(writing, "wb") as pipe:
            done = subprocess.run(
                command, input=b"word " * 50_000, stdout=pipe, stderr=subprocess.PIPE, timeout=120, check=False
            )
        assert done.returncode == 141
        assert done.stderr == b""


def test_a_bar_shows_on_a_terminal_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal, clock = Terminal(), [0.0]
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(console.time, "monotonic", lambda: clock[0])
    with console.Bar(show=True) as bar:
        bar(1, 4)
        assert terminal.getvalue() == ""
        clock[0] = 2.0
        bar(2, 4)
    assert "compressing" in terminal.getvalue()
    with console.Bar(show=False) as bar:
        size = len(terminal.getvalue())
        clock[0] = 9.0
        bar(3, 4)
    assert len(terminal.getvalue()) == size
