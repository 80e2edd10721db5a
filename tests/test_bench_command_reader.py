"""Readers of `squeeze bench`: a local model, and endpoints that answer, fail, drip or say nonsense."""

from __future__ import annotations

import json
import pickle
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from squeeze.bench import endpoint
from squeeze.bench.asking import LocalReader, Reads, Said, ask, exact, f1
from squeeze.bench.command import Options, bench
from squeeze.bench.endpoint import Endpoint, EndpointError
from squeeze.bench.sets import Set
from squeeze.bench.work import Line
from squeeze.errors import ConfigError
from test_bench_command import code, row, untimed, write


def test_exact_match_and_f1() -> None:
    assert exact("The Tower of Hercules.", "tower of hercules") == 1.0 and exact("1874", "in 1874") == 0.0
    assert f1("it was lit in 1874", "In 1874") == pytest.approx(2 * 2 / 7)
    assert f1("", "1874") == 0.0 and f1("弁は閉", "弁") == pytest.approx(0.5)
    assert exact("a", "the") == f1("a", "the") == 1.0


class Server(ThreadingHTTPServer):
    """An endpoint whose behaviour the test sets; it keeps what it was sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.mode, self.seen = "stream", list[tuple[str, str | None, dict[str, Any]]]()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append((self.path, self.headers["Authorization"], body))
        getattr(self, self.server.mode)()

    def reply(self, *pieces: bytes, status: int = 200, pause: float = 0.0, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            for piece in pieces:
                self.wfile.write(piece)
                self.wfile.flush()
                time.sleep(pause)
        except OSError:
            pass

    def stream(self) -> None:
        said = [{"choices": [{"delta": {"role": "assistant"}}]}, {"choices": [{"delta": {"content": "In "}}]}]
        said += [{"choices": [{"delta": {"content": "1874."}}]}, {"choices": [], "usage": {}}]
        self.reply(b": hello\n\n", *(f"data: {json.dumps(one)}\n\n".encode() for one in said), b"data: [DONE]\n\n")

    def whole(self) -> None:
        self.reply(json.dumps({"choices": [{"message": {"content": "In 1874"}}]}, indent=1).encode())

    def broken(self) -> None:
        self.reply(b"out of order", status=500)

    def busy(self) -> None:
        if len(self.server.seen) < 3:
            self.reply(status=429, **{"Retry-After": "0"})
        else:
            self.whole()

    def too_much(self) -> None:
        self.reply(status=400)

    def always_busy(self) -> None:
        self.reply(status=503, **{"Retry-After": "0"})

    def elsewhere(self) -> None:
        self.reply(status=307, Location=f"{self.server.url}/other")

    def drip(self) -> None:
        self.reply(*[b"."] * 40, pause=0.1)

    def silent(self) -> None:
        time.sleep(1.5)

    def nonsense(self) -> None:
        self.reply(b"<html>hello</html>")

    def odd(self) -> None:
        self.reply(b'data: {"choices": 7}\n\n')

    def empty(self) -> None:
        self.reply(b"data: [DONE]\n\n")

    def flood(self) -> None:
        self.reply(*[b"x" * 70_000] * 5)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


class TestEndpoint:
    @pytest.mark.parametrize("mode", ["stream", "whole"])
    def test_an_answer(self, mode: str, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MY_KEY", "secret")
        server.mode = mode
        said = Endpoint(server.url, "small", key_env="MY_KEY", seed=3, new_tokens=9).answer("It was lit.", "When?", "")
        assert said.text.rstrip(".") == "In 1874" and said.first_ms > 0 and said.logprob is None
        path, key, body = server.seen[0]
        assert path == "/v1/chat/completions" and key == "Bearer secret"
        assert body["model"] == "small" and body["temperature"] == 0 and body["max_tokens"] == 9 and body["seed"] == 3
        assert "It was lit." in body["messages"][0]["content"] and body["messages"][0]["content"].endswith("When?")

    @pytest.mark.parametrize(
        ("mode", "kind"),
        [
            ("broken", "http_500"),
            ("elsewhere", "http_307"),
            ("drip", "timeout"),
            ("silent", "timeout"),
            ("nonsense", "bad_reply"),
            ("odd", "bad_reply"),
            ("empty", "bad_reply"),
            ("flood", "too_long"),
        ],
    )
    def test_failures_have_names(self, mode: str, kind: str, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(endpoint, "_MOST_BYTES", 100_000)
        server.mode = mode
        with pytest.raises(EndpointError) as error:
            Endpoint(server.url, "small", timeout=0.5).answer("text", "When?", "")
        assert error.value.kind == kind and len(server.seen) == 1, "nothing is sent to where a redirect points"
        assert pickle.loads(pickle.dumps(error.value)).kind == kind

    def test_a_busy_server_is_asked_again(self, server: Server) -> None:
        server.mode = "busy"
        assert Endpoint(server.url, "small").answer("text", "When?", "").text == "In 1874" and len(server.seen) == 3
        server.mode = "always_busy"
        with pytest.raises(EndpointError) as error:
            Endpoint(server.url, "small").answer("text", "When?", "")
        assert error.value.kind == "http_503" and len(server.seen) == 6
        assert [endpoint._seconds(given) for given in (None, "7", "900", "Mon, 30 Nov")] == [2.0, 7.0, 30.0, 2.0]

    def test_texts_that_are_too_long_do_not_end_the_asking(self, server: Server) -> None:
        server.mode, reader = "too_much", Endpoint(server.url, "small")
        for _ in range(endpoint.PATIENCE + 2):
            with pytest.raises(EndpointError, match="400"):
                reader.answer("text", "When?", "")

    def test_no_server(self) -> None:
        with pytest.raises(EndpointError) as error:
            Endpoint("http://127.0.0.1:9/v1/chat/completions", "small", timeout=2).answer("text", "When?", "")
        assert error.value.kind == "connection"

    def test_an_endpoint_that_keeps_failing_is_left_alone(self, server: Server) -> None:
        server.mode = "broken"
        reader, kinds = Endpoint(server.url, "small"), []
        for _ in range(endpoint.PATIENCE + 3):
            with pytest.raises(EndpointError) as error:
                reader.answer("text", "When?", "")
            kinds.append(error.value.kind)
        assert kinds == ["http_500"] * endpoint.PATIENCE + ["given_up"] * 3
        assert len(server.seen) == endpoint.PATIENCE

    @pytest.mark.parametrize(
        ("changes", "part"),
        [
            ({"url": "ftp://host/v1"}, "http"),
            ({"url": "http:///v1"}, "host"),
            ({"url": "http://me:word@host/v1"}, "allowed"),
            ({"model": ""}, "--reader-model"),
            ({"timeout": 0.0}, "--reader-timeout"),
            ({"key_env": "NO_SUCH_VARIABLE"}, "NO_SUCH_VARIABLE"),
        ],
    )
    def test_settings_that_are_not_allowed(self, changes: dict[str, Any], part: str) -> None:
        with pytest.raises(ConfigError, match=part):
            Endpoint(**{"url": "http://host/v1", "model": "small", **changes})

    def test_the_command_measures_and_says_what_failed(
        self, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        data = write(tmp_path / "a.jsonl", row(), row(answers=[], extra={"must_keep": ["four sails"]}))
        out = tmp_path / "o.json"
        call = (data, "--methods", "edu", "--keep", "0.6", "--workers", "1", "--json", str(out))
        call += ("--reader-url", server.url, "--reader-model", "small", "--reader-parallel", "3")
        assert code(*call) == 0
        assert "F1" in capsys.readouterr().out
        report = json.loads(out.read_text("utf-8"))
        assert len(server.seen) == 6 and all(key is None for _, key, _ in server.seen)
        assert {one["exact"] for one in report["results"]} == {1.0} and {one["f1"] for one in report["results"]} == {
            1.0
        }
        assert all(one["first_ms"] > 0 and one["logprob"] is None and one["read"] == 1 for one in report["results"])
        assert "secret" not in out.read_text("utf-8") and server.url not in out.read_text("utf-8")
        server.mode = "broken"
        assert code(*call) == 3
        assert f"http_500; {server.url}/chat/completions: the endpoint said 500" in capsys.readouterr().err

    def test_an_endpoint_that_is_down_is_named_and_the_key_is_not(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("THE_KEY", "a-secret\n")
        with Server() as gone:
            url = gone.url
        data, out = write(tmp_path / "a.jsonl", row(), row()), tmp_path / "o.json"
        call = (data, "--methods", "edu", "--keep", "0.5", "--workers", "1", "--reader-url", url, "--json", str(out))
        assert code(*call, "--reader-model", "small", "--reader-key-env", "THE_KEY") == 3
        err = " ".join(capsys.readouterr().err.split())
        assert f"5 answers not given: connection; {url}/chat/completions: no connection: " in err and "refused" in err
        assert "given_up; 5 answers in a row failed" in err
        assert "a-secret" not in err + out.read_text("utf-8") and url not in out.read_text("utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from squeeze.soft.tiny import byte_tokenizer, tiny_model

    made = tmp_path_factory.mktemp("model") / "tiny"
    tiny_model(max_position_embeddings=600).save_pretrained(made)
    byte_tokenizer().save_pretrained(made)
    return str(made)


class TestLocal:
    def test_the_answer_its_time_and_the_likelihood_of_the_gold_one(self, folder: str) -> None:
        reader = LocalReader(folder, new_tokens=5)
        said, again = (reader.answer("It was lit in 1874.", "When?", "1874") for _ in range(2))
        assert reader.name == "tiny" and (said.text, said.logprob) == (again.text, again.logprob)
        assert said.first_ms > 0 and said.logprob is not None and said.logprob < 0
        prompt = reader._prompt("When?")
        assert said.text == reader.reader.generate("It was lit in 1874.", prompt, max_new_tokens=5).strip()
        assert said.logprob == pytest.approx(reader.reader.answer_logprob("It was lit in 1874.", prompt, "1874") / 4)

    def test_a_model_without_a_chat_template_is_asked_in_plain_text(self, folder: str) -> None:
        reader = LocalReader(folder, new_tokens=2)
        reader.chat = False
        assert isinstance(reader._prompt("When?"), tuple) and reader.answer("It was lit.", "When?", "1874").logprob

    def test_a_run_is_the_same_twice_and_counts_what_is_too_long(self, folder: str, tmp_path: Path) -> None:
        documents = [*row()["documents"], {"id": "c", "title": "", "text": "Rain fell on the pier. " * 30}]
        data = write(tmp_path / "a.jsonl", row(), row(documents=documents))
        options = Options((data,), methods=("edu",), keep=(0.3,), workers=1)
        reports = [bench(options, reader=LocalReader(folder, new_tokens=3)) for _ in range(2)]
        assert untimed(reports[0]) == untimed(reports[1])
        assert reports[0]["skipped"]["reader"] == {"BudgetError": 1}, "the whole second row does not fit the model"
        assert reports[0]["exit_code"] == 3
        full = next(one for one in reports[0]["results"] if one["method"] == "full")
        assert full["read"] == 1 and full["logprob"] < 0 and full["until_first_ms"] >= full["first_ms"]

    def test_the_command_takes_a_folder(self, folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        data = write(tmp_path / "a.jsonl", row())
        call = (data, "--methods", "edu", "--keep", "0.5", "--workers", "1", "--answer-tokens", "2")
        assert code(*call, "--reader", folder) == 0
        assert "log-lik." in capsys.readouterr().out
        assert code(*call, "--reader", folder, "--reader-url", "http://host") == 2
        assert code(*call, "--reader", str(tmp_path)) == 2
        assert code(*call, "--reader", "http://host/v1") == 2 and "the address" in capsys.readouterr().err


class Deaf(Reads):
    name, parallel = "deaf", 1

    def answer(self, context: Any, question: str, gold: str) -> Said:
        return Said(context, 1.0)


def test_what_has_no_text_is_counted_and_contexts_are_dropped() -> None:
    sets = [Set("a", [row()])]
    lines = [Line(0, 0, "edu", 0.5, text="in 1874"), Line(0, 0, "arc", 0.5), Line(0, 0, "x", 0.5, failed="E")]
    ask(Deaf(), sets, lines)
    assert lines[0].read["exact"] == 1.0 and lines[0].text is None
    assert lines[1].read == {"failed": "NotTextError"} and lines[2].read == {}
