"""Checkpoints: what is written is read back, and what is damaged or foreign is named before it is loaded."""

from __future__ import annotations

import json
import os
import pickle
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from safetensors.torch import load_file, save_file

from squeeze.errors import ConfigError, CorruptError, SqueezeError
from squeeze.soft import ArcEncoder, ArcSettings, checkpoint, files
from squeeze.soft.models import load_hf_tokenizer, load_model
from squeeze.soft.tiny import byte_tokenizer, tiny_model

IDS = list(range(5, 45))
KINDS = ["llama", "qwen3", "gemma2", "gemma3_text"]


def saved(folder: Path, kind: str = "llama", **settings: object) -> tuple[ArcEncoder, object]:
    model = tiny_model(kind=kind)
    encoder = ArcEncoder.from_model(model, ArcSettings(**{"layers": 1, **settings}), name="one").eval()
    encoder.add_decoder("two", 48, "abc", seed=4)
    encoder.save_pretrained(folder)
    return encoder, model


@pytest.mark.parametrize("kind", KINDS)
def test_an_encoder_with_its_own_layers_is_read_back(kind: str, tmp_path: Path) -> None:
    encoder, _ = saved(tmp_path, kind)
    again = ArcEncoder.from_pretrained(tmp_path)
    assert again.settings == encoder.settings and again.decoders == encoder.decoders and not again.training
    assert again.fingerprint() == encoder.fingerprint()
    for name in ("one", "two"):
        assert torch.equal(again.encode(IDS[:30], 4, decoder=name), encoder.encode(IDS[:30], 4, decoder=name))
        assert torch.equal(again.special("rec", name), encoder.special("rec", name))
    assert {value.device.type for value in (*again.parameters(), *again.buffers())} == {"cpu"}
    assert all(value.requires_grad for value in again.parameters())


def test_adapters_are_saved_without_the_model_and_read_onto_it(tmp_path: Path) -> None:
    encoder, model = saved(tmp_path, lora=2)
    with torch.no_grad():
        for name, value in encoder.named_parameters():
            if "lora_B" in name:
                value.fill_(0.01)
    encoder.save_pretrained(tmp_path)
    (weights,) = tmp_path.glob("*.safetensors")
    assert all("lora_" in name or name.startswith("heads.") for name in load_file(weights))
    again = ArcEncoder.from_pretrained(tmp_path, model)
    assert torch.equal(again.encode(IDS, 4, decoder="one"), encoder.encode(IDS, 4, decoder="one"))
    trained = {name for name, value in again.named_parameters() if value.requires_grad}
    assert trained == {name for name, value in encoder.named_parameters() if value.requires_grad}
    with pytest.raises(ConfigError, match="adapters"):
        ArcEncoder.from_pretrained(tmp_path)
    with pytest.raises(ConfigError, match="made for"):
        ArcEncoder.from_pretrained(tmp_path, tiny_model(seed=9))


def test_adapters_of_the_last_layers_and_salience_are_read_back_in_half_precision(tmp_path: Path) -> None:
    model = tiny_model()
    encoder = ArcEncoder.from_model(model, ArcSettings(layers=2, lora=2, adapted=1, residual="salient"))
    with torch.no_grad():
        for name, value in encoder.own_state().items():
            if "lora_B" in name or ".second." in name:
                value.copy_(torch.randn(value.shape, generator=torch.Generator().manual_seed(1)))
    checkpoint.save(encoder, tmp_path, dtype=torch.float16)
    (weights,) = tmp_path.glob("*.safetensors")
    stored = load_file(weights)
    assert {value.dtype for value in stored.values()} == {torch.float16}
    assert {name.split(".")[2] for name in stored if name.startswith("cut.")} == {"1"}
    assert "salience.embedding" in stored
    again = ArcEncoder.from_pretrained(tmp_path, model)
    assert {value.dtype for value in again.parameters()} == {torch.float32}
    vectors = encoder.encode(IDS, 4)
    assert torch.allclose(again.encode(IDS, 4), vectors, atol=0.01 * float(vectors.abs().max()))


def test_a_save_that_fails_leaves_the_old_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, _ = saved(tmp_path)
    old, files_before = encoder.fingerprint(), sorted(os.listdir(tmp_path))
    with torch.no_grad():
        encoder.heads["one"].cont.add_(1)
    for failing in (0, 1):
        calls = []

        def full(source: object, target: object, calls: list[int] = calls, failing: int = failing) -> None:
            calls.append(1)
            if len(calls) > failing:
                raise OSError(28, "No space left on device")
            Path(source).rename(target)

        monkeypatch.setattr(files.os, "replace", full)
        with pytest.raises(ConfigError, match="No space left"):
            encoder.save_pretrained(tmp_path)
        assert ArcEncoder.from_pretrained(tmp_path).fingerprint() == old
    monkeypatch.undo()
    encoder.save_pretrained(tmp_path)
    assert ArcEncoder.from_pretrained(tmp_path).fingerprint() == encoder.fingerprint() != old
    assert len(os.listdir(tmp_path)) == len(files_before)


def weights_of(folder: Path) -> Path:
    (path,) = folder.glob("weights-*.safetensors")
    return path


def cut_short(folder: Path) -> None:
    path = weights_of(folder)
    path.write_bytes(path.read_bytes()[:-100])


def longer_than_it_is(folder: Path) -> None:
    path = weights_of(folder)
    raw = path.read_bytes()
    path.write_bytes(struct.pack("<Q", 1 << 40) + raw[8:])


def header_lies_about_offsets(folder: Path) -> None:
    path = weights_of(folder)
    raw = path.read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8 : 8 + size])
    header["heads.one.cont"]["shape"] = [10**9, 10**3]
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + raw[8 + size :])


def pickled(folder: Path) -> None:
    weights_of(folder).write_bytes(pickle.dumps({"a": 1}))


def torch_saved(folder: Path) -> None:
    torch.save({"a": torch.zeros(1)}, weights_of(folder))


def changed(change: Callable[[dict[str, torch.Tensor]], object]) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        tensors = load_file(weights_of(folder))
        change(tensors)
        save_file(tensors, weights_of(folder))

    return apply


def told(**changes: object) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        info = json.loads((folder / "squeeze.json").read_text())
        for key, value in changes.items():
            place, _, last = key.rpartition("__")
            target = info[place] if place else info
            target[last] = value
        (folder / "squeeze.json").write_text(json.dumps(info))

    return apply


def huge_heads(folder: Path) -> None:
    info = json.loads((folder / "squeeze.json").read_text())
    info["base"]["config"]["head_dim"] = 10**10
    (folder / "squeeze.json").write_text(json.dumps(info))


DAMAGE = {
    "huge heads": huge_heads,
    "cut short": cut_short,
    "longer than it is": longer_than_it_is,
    "a shape that lies": header_lies_about_offsets,
    "a pickle": pickled,
    "what torch saves": torch_saved,
    "a tensor too few": changed(lambda t: t.pop("heads.one.cont")),
    "a tensor too many": changed(lambda t: t.update(extra=torch.zeros(2))),
    "another shape": changed(lambda t: t.update({"heads.one.cont": torch.zeros(31)})),
    "not finite": changed(lambda t: t["heads.one.cont"].fill_(float("nan"))),
    "whole numbers": changed(lambda t: t.update({"heads.one.cont": torch.zeros(32, dtype=torch.long)})),
    "other values": changed(lambda t: t["heads.one.cont"].add_(1)),
    "layers that are not there": told(settings__layers=10**6 // 1000),
    "a huge projector": told(settings__hidden=1 << 20),
    "huge embeddings": told(base__config={"model_type": "llama", "vocab_size": 10**9, "hidden_size": 10**6}),
    "adapters that are not there": told(settings__lora=4),
    "a model of no kind": told(base__config={"model_type": "nothing", "vocab_size": 261, "hidden_size": 32}),
    "settings of another thing": told(settings={"depth": 1}),
    "settings without layers": told(settings={"factors": [2, 4, 8]}),
    "a setting to come": told(settings__shape="round"),
    "a factor of zero": told(settings__factors=[0]),
    "no decoders": told(decoders={}),
    "a decoder with a path": told(decoders={"../x": {"width": 32, "fingerprint": ""}}),
    "a huge decoder": told(decoders={"one": {"width": 10**12, "fingerprint": ""}}),
    "weights elsewhere": told(weights="../../etc/passwd"),
    "another format": told(format="other"),
    "a version to come": told(version=2),
    "no JSON": lambda folder: (folder / "squeeze.json").write_text("{"),
    "a list": lambda folder: (folder / "squeeze.json").write_text("[]"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_named(damage: str, tmp_path: Path) -> None:
    saved(tmp_path)
    DAMAGE[damage](tmp_path)
    with pytest.raises(CorruptError) as caught:
        ArcEncoder.from_pretrained(tmp_path)
    assert str(tmp_path) in str(caught.value) or "'" in str(caught.value)


def test_a_checkpoint_outlives_settings_that_came_after_it(tmp_path: Path) -> None:
    encoder, _ = saved(tmp_path)
    told(settings={"layers": 1})(tmp_path)
    assert ArcEncoder.from_pretrained(tmp_path).settings == encoder.settings


def test_adapters_of_a_rank_that_lies_are_named(tmp_path: Path) -> None:
    _, model = saved(tmp_path, lora=2)
    told(settings__lora=1 << 20)(tmp_path)
    with pytest.raises(CorruptError, match="rank"):
        ArcEncoder.from_pretrained(tmp_path, model)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such folder"):
        ArcEncoder.from_pretrained(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match=r"squeeze\.json"):
        ArcEncoder.from_pretrained(tmp_path)
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(ConfigError, match="pickle"):
        ArcEncoder.from_pretrained(tmp_path)
    saved(tmp_path)
    weights_of(tmp_path).unlink()
    with pytest.raises(ConfigError, match="missing"):
        ArcEncoder.from_pretrained(tmp_path)


def test_a_hub_name_is_fetched_and_trouble_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    encoder, _ = saved(tmp_path)
    asked: list[tuple[str, object]] = []

    def snapshot(name: str, allow_patterns: object) -> str:
        asked.append((name, allow_patterns))
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    assert ArcEncoder.from_pretrained("someone/encoder").fingerprint() == encoder.fingerprint()
    assert asked[0][0] == "someone/encoder" and not any("bin" in pattern for pattern in asked[0][1])

    def down(*_: object, **__: object) -> str:
        raise ConnectionError("no network")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", down)
    with pytest.raises(ConfigError, match="no network"):
        ArcEncoder.from_pretrained("someone/encoder")


def test_models_are_loaded_from_safetensors_only(tmp_path: Path) -> None:
    model = tiny_model()
    model.save_pretrained(str(tmp_path))
    byte_tokenizer().save_pretrained(str(tmp_path))
    again = load_model(tmp_path)
    assert not again.training
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))
    assert load_hf_tokenizer(tmp_path).encode("hi") == byte_tokenizer().encode("hi")
    (tmp_path / "model.safetensors").unlink()
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    with pytest.raises(ConfigError, match="safetensors"):
        load_model(tmp_path)
    with pytest.raises(ConfigError, match="tokenizer"):
        load_hf_tokenizer(tmp_path / "nowhere")


def test_errors_are_squeezes_own() -> None:
    assert issubclass(CorruptError, SqueezeError) and issubclass(CorruptError, ValueError)
