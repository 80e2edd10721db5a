"""Vectors that are encoded once: the cache inside `arc` and `compllm`, a corpus ahead, the commands, serving."""

from __future__ import annotations

import base64
import io
import json
import pickle
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("peft")

import squeeze
from squeeze.cli import app
from squeeze.errors import ConfigError, CorruptError, InputError
from squeeze.soft import ArcEncoder, ArcSettings, CompEncoder, CompSettings, Reader, VectorCache
from squeeze.soft import encode as encode_module
from squeeze.soft.encode import warm
from squeeze.soft.export import load_prompt_embeds, prompt_embeds, save_prompt_embeds
from squeeze.soft.tiny import byte_tokenizer, tiny_model

TEXTS = ["The lamp was changed in 1931. Its oil came from the north by sea.", "Paint is blue, they say.", "", "Lunch."]
PIECES = {"arc": 5 + 2 + 1, "compllm": 4 + 2 + 1}  # chunks of 16 and segments of 20 bytes


def load(name: str, cache: object = None, model: object = None, seed: int = 0) -> squeeze.Compressor:
    model = tiny_model() if model is None else model
    if name == "arc":
        settings = ArcSettings(layers=1, chunk=16, factors=(2, 4))
        encoder: object = ArcEncoder.from_model(model, settings, seed=seed)
    else:
        encoder = CompEncoder(model, CompSettings(lora=2), seed=seed)
    return squeeze.load(name, model=model, checkpoint=encoder, tokenizer=byte_tokenizer(), cache=cache)


def counted(compressor: squeeze.Compressor, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the compressor's encoder is run from now on."""
    calls: Counter[str] = Counter()
    forward = type(compressor.encoder).forward

    def counting(self: object, *arguments: object, **options: object) -> object:
        calls["encoded"] += len(arguments[0])
        return forward(self, *arguments, **options)

    monkeypatch.setattr(type(compressor.encoder), "forward", counting)
    return calls


def rows(result: squeeze.Compressed) -> list[list[list[float]]]:
    return [part.vectors.tolist() for part in result.parts]


@pytest.mark.parametrize("name", ["arc", "compllm"])
def test_a_second_run_encodes_nothing(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = rows(load(name).compress(TEXTS))
    first = load(name, tmp_path)
    calls = counted(first, monkeypatch)
    assert rows(first.compress(TEXTS)) == expected and calls["encoded"] == PIECES[name]
    assert rows(first.compress(TEXTS[::-1], "another question")) == expected[::-1]
    again = load(name, str(tmp_path))
    assert rows(again.compress(TEXTS)) == expected and calls["encoded"] == PIECES[name]
    assert (again.cache.hits, again.cache.misses) == (PIECES[name], 0)
    changed = ["T" * 20 + TEXTS[0][20:], *TEXTS[1:]]
    found = again.compress(changed)
    assert calls["encoded"] == PIECES[name] + (2 if name == "arc" else 1)
    before, after = torch.tensor(expected[0]), found.parts[0].vectors
    assert [(a == b).all().item() for a, b in zip(before, after, strict=True)].count(False) == (
        16 if name == "arc" else 10
    )


@pytest.mark.parametrize("name", ["arc", "compllm"])
def test_whatever_changes_the_vectors_is_a_miss(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load(name, tmp_path).compress(TEXTS[1])
    others = [load(name, tmp_path, tiny_model(seed=4)), load(name, tmp_path, seed=5)]
    others.append(load(name, tmp_path, tiny_model().to(torch.bfloat16)))
    for other in others:
        vectors = other.compress(TEXTS[1]).parts[0].vectors
        assert other.cache.hits == 0 and other.cache.misses == 2
        other.use_cache(None)
        assert torch.equal(other.compress(TEXTS[1]).parts[0].vectors, vectors)
    if name == "arc":
        other = load(name, tmp_path)
        other.compress(TEXTS[1], budget=other.count_vectors(24, 4))
        assert other.cache.hits == 0


def test_decoders_of_one_encoder_have_vectors_of_their_own(tmp_path: Path) -> None:
    model = tiny_model()
    encoder = ArcEncoder.from_model(model, ArcSettings(layers=1, chunk=16, factors=(2,)), name="one")
    encoder.add_decoder("two", 32, encoder.decoders["one"].fingerprint, seed=7)
    tokenizer = byte_tokenizer()
    found = []
    for decoder in ("one", "two"):
        options = {"model": model, "checkpoint": encoder, "tokenizer": tokenizer, "decoder": decoder}
        expected = squeeze.load("arc", **options).compress(TEXTS[0]).parts[0].vectors
        found.append(squeeze.load("arc", cache=tmp_path, **options).compress(TEXTS[0]).parts[0].vectors)
        assert torch.equal(found[-1], expected)
    assert not torch.equal(*found)


@pytest.mark.parametrize("name", ["arc", "compllm"])
def test_wrong_vectors_under_our_key_are_replaced(name: str, tmp_path: Path) -> None:
    compressor = load(name, tmp_path)
    expected = rows(compressor.compress(TEXTS[1]))
    (first, _) = compressor.pieces(compressor.ids(TEXTS[1]))
    for wrong in (torch.ones(3, 32), torch.ones(8, 32).half(), torch.ones(8, 31)):
        compressor.cache.put(compressor.cache_key(first, 2), wrong)
        assert rows(compressor.compress(TEXTS[1])) == expected


def test_a_cache_goes_with_a_pickled_compressor_and_may_be_read_only(tmp_path: Path) -> None:
    compressor = load("compllm", tmp_path)
    expected = rows(compressor.compress(TEXTS))
    again = pickle.loads(pickle.dumps(compressor))
    assert rows(again.compress(TEXTS)) == expected and again.cache.misses == 0
    reading = load("compllm", VectorCache(tmp_path, read_only=True))
    reading.compress("Something that nobody has read yet.")
    assert VectorCache(tmp_path).stat().entries == PIECES["compllm"]
    with pytest.raises(InputError, match="cache"):
        load("compllm", 7)


@pytest.mark.parametrize("name", ["arc", "compllm"])
def test_a_corpus_is_encoded_ahead_and_goes_on_where_it_stopped(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encode_module, "_WINDOW", 3)
    compressor = load(name, tmp_path)
    calls = counted(compressor, monkeypatch)
    steps: list[tuple[int, int]] = []

    def stop(done: int, total: int) -> None:
        steps.append((done, total))
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        warm(compressor, TEXTS, progress=stop)
    before = calls["encoded"]
    assert 0 < before < PIECES[name]
    done = warm(compressor, [*TEXTS, TEXTS[0]], progress=lambda *step: steps.append(step))
    assert done == (5, PIECES[name], before, PIECES[name] - before) and steps[-1] == (5, 5)
    assert warm(compressor, TEXTS) == (4, PIECES[name], PIECES[name], 0)
    assert calls["encoded"] == PIECES[name]
    for own, alone in zip(compressor.compress(TEXTS).parts, load(name).compress(TEXTS).parts, strict=True):
        assert torch.allclose(own.vectors, alone.vectors, atol=1e-4)
    assert calls["encoded"] == PIECES[name] * 2  # only the one without a cache encoded
    single = load(name, tmp_path / "single")
    warm(single, TEXTS, batch=1)
    assert rows(single.compress(TEXTS)) == rows(load(name).compress(TEXTS)) and single.cache.misses == PIECES[name]


def test_what_cannot_be_warmed_is_named(tmp_path: Path) -> None:
    compressor = load("arc", tmp_path)
    assert warm(compressor, TEXTS, factors=[2, 4]).pieces == 2 * PIECES["arc"]
    with pytest.raises(ConfigError, match="factor is 3"):
        warm(compressor, TEXTS, factors=[3])
    with pytest.raises(ConfigError, match="batch"):
        warm(compressor, TEXTS, batch=0)
    for without in (load("arc"), load("arc", VectorCache(tmp_path, read_only=True)), squeeze.load("edu")):
        with pytest.raises(ConfigError, match="no cache"):
            warm(without, TEXTS)
    assert warm(compressor, []) == (0, 0, 0, 0)


def saved(folder: Path) -> tuple[str, str]:
    """A model with its tokenizer and an encoder for it, as folders."""
    model = tiny_model()
    model.save_pretrained(folder / "model")
    byte_tokenizer().save_pretrained(folder / "model")
    CompEncoder(model, CompSettings(lora=2)).save_pretrained(folder / "encoder")
    return str(folder / "model"), str(folder / "encoder")


def test_the_commands_warm_tell_and_prune(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, encoder = saved(tmp_path)
    corpus, root = tmp_path / "corpus", tmp_path / "cache"
    corpus.mkdir()
    for number, text in enumerate(TEXTS):
        (corpus / f"{number}.txt").write_text(text)
    options = ["--option", f"model={model}", "--option", f"checkpoint={encoder}"]
    run = CliRunner().invoke
    done = run(app, ["cache", "warm", str(root), str(corpus), *options, "--max-bytes", "1M"])
    assert done.exit_code == 0 and "4 passages, 7 different pieces: 0 were in the cache, 7 encoded" in done.output
    told = ["--cache", str(root), "--model", model, "--checkpoint", encoder]
    encode_module.main([str(corpus), *told])
    assert "7 were in the cache, 0 encoded" in capsys.readouterr().out
    held = VectorCache(root).stat()
    assert run(app, ["cache", "stat", str(root)]).output == f"{held.entries:,} entries, {held.bytes:,} bytes\n"
    assert run(app, ["cache", "prune", str(root), "--max-bytes", "2K"]).output.startswith("5 entries")
    assert run(app, ["cache", "prune", str(root)]).output.startswith("0 entries")
    assert VectorCache(root).stat().entries == 2
    for wrong, message in [
        (["stat", str(tmp_path / "nowhere")], "no folder"),
        (["prune", str(root), "--max-bytes", "much"], "number of bytes"),
        (["warm", str(root), str(corpus), "--method", "edu"], "no vectors"),
        (["warm", str(root), str(corpus), "--option", "cache=x"], "first argument"),
        (["warm", str(root), str(corpus), "--method", "compllm"], "no default encoder"),
    ]:
        failed = run(app, ["cache", *wrong])
        assert isinstance(failed.exception, ConfigError) and message in str(failed.exception)
    with pytest.raises(SystemExit):
        encode_module.main([str(corpus), *told, "--factor", "3"])
    assert "trained for [2]" in capsys.readouterr().err


def test_a_prompt_is_exported_as_a_serving_engine_takes_it(tmp_path: Path) -> None:
    for dtype in (torch.float32, torch.bfloat16):
        model = tiny_model().to(dtype)
        reader = Reader(model, byte_tokenizer())
        result = load("compllm", model=model).compress(TEXTS[0])
        prompt = [{"role": "user", "content": "When was the lamp changed?"}]
        expected = reader.inputs_embeds(result, prompt).inputs_embeds[0]
        raw = base64.b64decode(reader.to_prompt_embeds(result, prompt), validate=True)
        tensor = torch.load(io.BytesIO(raw), weights_only=True)
        assert torch.equal(tensor, expected) and tensor.dtype == dtype and tensor.ndim == 2
        assert len(raw) < 2 * tensor.nbytes + 4096  # the tensor alone, not the batch that it was cut from
        save_prompt_embeds(tmp_path / "prompt.safetensors", reader, result, prompt)
        assert torch.equal(load_prompt_embeds(tmp_path / "prompt.safetensors"), expected)
    ids = torch.tensor([[256, *byte_tokenizer()("Text alone.", add_special_tokens=False).input_ids]])
    assert torch.equal(prompt_embeds(reader, None, "Text alone."), model.get_input_embeddings()(ids)[0].detach())
    header = json.loads((tmp_path / "prompt.safetensors").read_bytes()[8:].split(b"}}")[0] + b"}}")
    assert header["__metadata__"]["model"] == reader.fingerprint


def test_what_cannot_be_exported_is_named(tmp_path: Path) -> None:
    reader = Reader(tiny_model(), byte_tokenizer())
    with pytest.raises(InputError, match="one"):
        reader.to_prompt_embeds(["a", "b"], ["c", "d"])
    with pytest.raises(ConfigError, match="nowhere"):
        save_prompt_embeds(tmp_path / "nowhere" / "x", reader, "a", "b")
    VectorCache(tmp_path).put("k", torch.ones(2, 3))
    (entry,) = tmp_path.rglob("*.safetensors")
    with pytest.raises(CorruptError, match="prompt_embeds"):
        load_prompt_embeds(entry)
