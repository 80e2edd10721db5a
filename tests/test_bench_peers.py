from __future__ import annotations

import ast
import pathlib
import sys
from typing import Any

import pytest

import squeeze.bench.peers as package
from peer_fakes import FAKE
from squeeze.bench import runners
from squeeze.bench.peers import _process
from squeeze.bench.peers._process import (
    Peer,
    PeerCrashed,
    PeerError,
    PeerGarbled,
    PeerGaveUp,
    PeerTimeout,
    Setting,
)
from squeeze.errors import MissingDependencyError
from squeeze.types import Passage

FOLDER = pathlib.Path(package.__file__).parent

TEXTS = [Passage("The lamp was lit in 1907. It shone far.", title="Lamp"), Passage("Nothing here.", title="Other")]


@pytest.fixture
def fake(tmp_path: pathlib.Path) -> str:
    file = tmp_path / "fake.py"
    file.write_text(FAKE)
    return str(file)


@pytest.fixture(autouse=True)
def nowhere(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(_process.PLACE, str(tmp_path / "environments"))


def peer(file: str, seconds: float = 60.0, **options: Any) -> Peer:
    return Peer(file, "estimate", options, Setting("none", ("json",), seconds=seconds))


class TestPeer:
    def test_its_text_comes_back_and_what_it_prints_does_not(self, fake: str) -> None:
        made = peer(fake, mark="é\ud800")
        assert made.name == "fake" and made.versions["python"]
        output = made.run(TEXTS, "when?", 8)
        assert output.text is not None and output.text.startswith("The lamp") and output.text.endswith("é\ud800")
        assert "chatter" not in output.text and output.kept is None and output.tokens is None
        made.close()

    def test_a_package_that_writes_no_text_says_how_long_it_is(self, fake: str) -> None:
        made = peer(fake)
        output = made.run(TEXTS, "number?", 8)
        assert output.text is None and output.tokens == 7 and output.ms is None
        made.close()

    def test_titles_stand_in_front_where_they_are_wanted(self, fake: str) -> None:
        made = peer(fake, titles=True)
        text = made.run([*TEXTS, Passage("No title.")], "when?", 1000).text
        assert text == "Lamp\nThe lamp was lit in 1907. It shone far. Other\nNothing here. No title."
        made.close()

    def test_the_time_of_its_processor_counts_where_that_is_wanted(self, fake: str) -> None:
        made = peer(fake, clock="processor")
        output = made.run(TEXTS, "when?", 8)
        assert output.ms is not None and output.ms >= 0.0
        made.close()

    def test_its_own_error_has_its_own_name_and_the_next_row_goes_on(self, fake: str) -> None:
        made = peer(fake)
        with pytest.raises(PeerError, match="prefix") as caught:
            made.run(TEXTS, "raise?", 8)
        assert type(caught.value).__name__ == "AssertionError"
        with pytest.raises(PeerGarbled, match="neither"):
            made.run(TEXTS, "nothing?", 8)
        assert made.run(TEXTS, "when?", 8).text
        made.close()

    def test_after_a_crash_another_process_is_started(self, fake: str) -> None:
        made = peer(fake)
        with pytest.raises(PeerCrashed, match="no memory"):
            made.run(TEXTS, "crash?", 8)
        assert made.run(TEXTS, "when?", 8).text
        made.close()

    def test_it_gives_up_after_crashes_in_a_row(self, fake: str) -> None:
        made = peer(fake)
        for _ in range(_process.FAULTS):
            with pytest.raises(PeerCrashed):
                made.run(TEXTS, "crash?", 8)
        with pytest.raises(PeerGaveUp):
            made.run(TEXTS, "when?", 8)

    def test_one_that_does_not_answer_is_ended(self, fake: str) -> None:
        made = peer(fake, seconds=0.5)
        process = made._process
        assert process is not None
        with pytest.raises(PeerTimeout, match=r"0\.5 s"):
            made.run(TEXTS, "slow?", 8)
        assert process.popen.poll() is not None
        made.seconds = 60.0
        assert made.run(TEXTS, "when?", 8).text
        made.close()

    def test_a_text_larger_than_a_pipe_does_not_hang_on_a_slow_one(self, fake: str) -> None:
        made = peer(fake, seconds=0.5)
        big = [Passage("word " * 200_000)]
        with pytest.raises(PeerTimeout):
            made.run(big, "slow?", 8)
        made.seconds = 60.0
        assert made.run(big, "when?", 1_000_000).text == "word " * 200_000
        made.close()

    @pytest.mark.parametrize("line", ["{not json", "[1]", "7", '"text"'])
    def test_an_answer_that_is_none(self, tmp_path: pathlib.Path, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
        worker = tmp_path / "worker.py"
        worker.write_text(
            "import sys\nsys.stdin.readline()\nprint('{\"ready\": {}}', flush=True)\n"
            f"sys.stdin.readline()\nprint({line!r}, flush=True)\nsys.stdin.readline()\n"
        )
        monkeypatch.setattr(_process, "_WORKER", worker)
        made = peer("some.py")
        with pytest.raises(PeerGarbled):
            made.run(TEXTS, "when?", 8)

    def test_its_process_ends_when_its_input_does(self, fake: str) -> None:
        made = peer(fake)
        assert made._process is not None
        popen = made._process.popen
        assert popen.stdin is not None
        popen.stdin.close()
        assert popen.wait(timeout=60) == 0


class TestMissing:
    def test_no_environment_and_not_installed_here(self, fake: str) -> None:
        with pytest.raises(MissingDependencyError, match=r"nobody_has.*make peers"):
            Peer(fake, "estimate", {}, Setting("none", ("json", "nobody_has")))
        with pytest.raises(MissingDependencyError, match="nobody_has"):
            Peer(fake, "estimate", {}, Setting("none", ("nobody_has.part",)))

    def test_a_package_that_does_not_import(self, fake: str) -> None:
        with pytest.raises(MissingDependencyError, match=r"does not start.*a_package_that_nobody_has"):
            peer(fake, absent=True)

    def test_an_environment_that_is_broken(self, fake: str, tmp_path: pathlib.Path) -> None:
        python = tmp_path / "environments" / "none" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
        python.chmod(0o755)
        with pytest.raises(MissingDependencyError, match="broken"):
            peer(fake)

    def test_an_environment_is_taken_before_what_is_installed_here(self, fake: str, tmp_path: pathlib.Path) -> None:
        python = tmp_path / "environments" / "none" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.symlink_to(sys.executable)
        setting = Setting("none", ("nobody_has",))
        assert _process.interpreter(setting) == str(python)
        made = Peer(fake, "estimate", {}, setting)
        assert made.run(TEXTS, "when?", 8).text
        made.close()


class TestAdapters:
    def test_all_are_found(self) -> None:
        assert runners.peers() == [
            "delta_ltsc",
            "embeddings_filter",
            "llmlingua",
            "llmslim",
            "longllmlingua",
            "selective_context",
            "sentence_embedding_optimizer",
            "trimwise",
        ]

    @pytest.mark.parametrize("file", sorted(FOLDER.glob("*.py")), ids=lambda file: file.name)
    def test_what_runs_elsewhere_imports_only_the_standard_library_at_the_top(self, file: pathlib.Path) -> None:
        if file.name in ("_process.py", "__main__.py"):
            return
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Import):
                assert all(name.name.partition(".")[0] in sys.stdlib_module_names for name in node.names)
            if isinstance(node, ast.ImportFrom):
                assert node.level == 1 or (node.module or "").partition(".")[0] in sys.stdlib_module_names

    @pytest.mark.parametrize("name", runners.peers())
    def test_one_that_is_not_installed_is_missing_by_name(
        self, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
    ) -> None:
        monkeypatch.setattr(_process, "_has", lambda module: False)
        options = {"model": str(tmp_path)}  # without one, the models of the packages would be looked for
        spec = runners.Spec(name, name, options, "peer")
        with pytest.raises(MissingDependencyError, match="make peers"):
            runners.Making("estimate", 0, (spec,)).make(spec)

    def test_every_environment_has_its_requirements(self) -> None:
        said = " ".join(file.read_text(encoding="utf-8") for file in FOLDER.glob("[a-z]*.py"))
        for name in ("light", "embeddings", "llmlingua"):
            lines = (FOLDER / "requirements" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
            assert f'Setting("{name}"' in said
            assert all("==" in line for line in lines if not line.startswith("#"))
