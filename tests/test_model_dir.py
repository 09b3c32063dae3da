"""A model directory is loaded whole and unchanged, or refused with the reason."""

import os
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from byte_models import byte_config, byte_model, byte_subwords

from nmt_cli import model_dir, model_weights
from nmt_cli.errors import ConfigError, DataError, NmtError, NoInputError
from nmt_cli.model_dir import load_config, load_model, refresh_weights, save_model
from nmt_cli.storage import files, manifest
from nmt_cli.storage.model_check import CONFIG, WEIGHTS, is_model_directory

METADATA = {"step": "1500", "validation": "27.3 BLEU|nrefs:1"}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    config = byte_config()
    path = tmp_path / "model"
    save_model(path, byte_model(config).state_dict(), config, byte_subwords(), METADATA)
    return path


def test_saved_model_is_loaded_unchanged(saved: Path) -> None:
    config = byte_config()
    loaded = load_model(saved)
    assert loaded.config == config
    assert load_config(saved) == config
    assert loaded.metadata == METADATA
    assert not loaded.model.training
    expected = byte_model(config).state_dict()
    result = loaded.model.state_dict()
    assert list(result) == list(expected)
    assert all(torch.equal(result[name], expected[name]) for name in expected)
    lines = ["hello", "größer", ""]
    assert loaded.subwords.encode_source(lines) == byte_subwords().encode_source(lines)


def test_model_directory_has_the_documented_files(saved: Path) -> None:
    result = sorted(str(path.relative_to(saved)) for path in saved.rglob("*") if path.is_file())
    assert result == [
        "config.toml",
        "manifest.json",
        "model.safetensors",
        "subwords/source.bytes",
        "subwords/vocabulary.json",
    ]
    manifest.check_manifest(saved)
    assert (saved / CONFIG).read_text().startswith("format = 1\n")
    assert set(manifest.read_manifest(saved)) == {*result} - {"manifest.json"}


def test_saved_weights_are_float32_without_duplicates(tmp_path: Path) -> None:
    config = byte_config()
    model = byte_model(config).double()
    save_model(tmp_path / "model", model.state_dict(), config, byte_subwords(), {})
    tensors = safetensors.torch.load_file(tmp_path / "model" / WEIGHTS)
    assert {tensor.dtype for tensor in tensors.values()} == {torch.float32}
    size = byte_subwords().src_size
    assert [n for n, t in tensors.items() if t.shape == (size, 16)] == ["embedding.shared"]


def test_save_into_existing_training_directory(tmp_path: Path) -> None:
    path, config = tmp_path / "model", byte_config()
    path.mkdir()
    (path / "checkpoints").mkdir()
    (path / "checkpoints" / "rest").write_text("x")
    assert not is_model_directory(path)
    save_model(path, {}, config, byte_subwords(), {"step": "0"})
    assert is_model_directory(path)
    with pytest.raises(NoInputError, match="no weights yet"):
        load_model(path)
    refresh_weights(path, byte_model(config, 1).state_dict(), {"step": "1"})
    assert load_model(path).metadata == {"step": "1"}
    refresh_weights(path, byte_model(config, 2).state_dict(), {"step": "2"})
    loaded = load_model(path)
    assert loaded.metadata == {"step": "2"}
    expected = byte_model(config, 2).embedding.matrix("src")
    assert torch.equal(loaded.model.embedding.matrix("src"), expected)
    assert "checkpoints/rest" not in manifest.read_manifest(path)
    shutil.rmtree(path / "checkpoints")
    load_model(path)


def test_config_is_written_last_into_an_existing_directory(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "model"
    path.mkdir()
    written = []
    monkeypatch.setattr(manifest, "add_to_manifest", lambda where, name, data: written.append(name))
    save_model(path, byte_model(byte_config()).state_dict(), byte_config(), byte_subwords(), {})
    assert written[-1] == CONFIG
    assert WEIGHTS in written


def test_crash_while_saving_leaves_no_model(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(model_dir, "dump", lambda config: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save_model(tmp_path / "model", {}, byte_config(), byte_subwords(), {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("moment", range(4))
def test_load_model_during_a_refresh(saved: Path, monkeypatch, moment: int) -> None:
    """The process is cut off at each write of a file in turn."""
    real, calls = files.write_bytes, 0

    def cut_off(path: Path, data: bytes) -> None:
        nonlocal calls
        if calls == moment:
            raise KeyboardInterrupt
        calls += 1
        real(path, data)

    monkeypatch.setattr(files, "write_bytes", cut_off)
    new = byte_model(byte_config(), 2).state_dict()
    if moment < 3:
        with pytest.raises(KeyboardInterrupt):
            refresh_weights(saved, new, {"step": "2"})
    else:
        refresh_weights(saved, new, {"step": "2"})
    monkeypatch.undo()
    assert load_model(saved).metadata["step"] == ("1500" if moment < 2 else "2")


def test_concurrent_reader_always_finds_a_valid_model(saved: Path) -> None:
    weights = [byte_model(byte_config(), seed).state_dict() for seed in (1, 2)]
    stop = threading.Event()

    def refresh() -> None:
        step = 0
        while not stop.is_set():
            refresh_weights(saved, weights[step % 2], {"step": str(step)})
            step += 1

    writer = threading.Thread(target=refresh)
    writer.start()
    try:
        seen: set[str] = set()
        end = time.monotonic() + 30
        while len(seen) < 6 and time.monotonic() < end:
            seen.add(load_model(saved).metadata["step"])
    finally:
        stop.set()
        writer.join()
    assert len(seen) == 6


def test_load_model_retries_when_the_manifest_has_changed(saved: Path, monkeypatch) -> None:
    real, calls = model_dir._read, []

    def changes(*arguments: Any) -> object:
        calls.append(1)
        if len(calls) == 1:
            refresh_weights(saved, byte_model(byte_config(), 2).state_dict(), {"step": "2"})
            raise DataError("the old manifest, the new file")
        return real(*arguments)

    monkeypatch.setattr(model_dir, "_read", changes)
    assert load_model(saved).metadata["step"] == "2"
    assert len(calls) == 2


def test_a_model_that_is_replaced_many_times_is_loaded_at_last(saved: Path, monkeypatch) -> None:
    real, calls = model_dir._read, []

    def changes(*arguments: Any) -> object:
        calls.append(1)
        if len(calls) <= 2 * model_dir.ATTEMPTS:
            metadata = {"step": str(len(calls))}
            refresh_weights(saved, byte_model(byte_config(), 2).state_dict(), metadata)
            raise DataError("the old manifest, the new file")
        return real(*arguments)

    monkeypatch.setattr(model_dir, "_read", changes)
    assert load_model(saved).metadata["step"] == str(2 * model_dir.ATTEMPTS)


def test_weights_replaced_while_reading_are_of_one_model(saved, monkeypatch) -> None:
    """A large file is mapped several times: two models must not be mixed."""
    real, calls = model_weights._read_some, []
    monkeypatch.setattr(model_weights, "MAPPED", 1)

    def replaced(path: Path, file: Any, names: list[str]) -> dict[str, np.ndarray]:
        calls.append(1)
        if len(calls) == 3:
            refresh_weights(saved, byte_model(byte_config(), 2).state_dict(), {"step": "2"})
        return real(path, file, names)

    monkeypatch.setattr(model_weights, "_read_some", replaced)
    loaded = load_model(saved)
    expected = byte_model(byte_config(), 2 if loaded.metadata["step"] == "2" else 1).state_dict()
    for name, weight in loaded.model.state_dict().items():
        assert torch.equal(weight, expected[name]), name


@pytest.mark.parametrize("position", [20, -4])
def test_damaged_file_is_reported_first(saved: Path, position: int) -> None:
    """The weights are read while they are hashed: a header or number that is wrong is no news."""
    data = bytearray((saved / WEIGHTS).read_bytes())
    data[position : position + 2 or None] = b"\xff\xff"
    data[-2:] = b"\xff\xff"
    (saved / WEIGHTS).write_bytes(data)
    with pytest.raises(DataError, match="SHA-256"):
        load_model(saved)


def test_loaded_weights_do_not_share_memory_with_the_file(saved: Path) -> None:
    """Who writes into the file changes no model that was loaded from it."""
    model = load_model(saved).model
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    with (saved / WEIGHTS).open("r+b") as file:
        file.write(bytes((saved / WEIGHTS).stat().st_size))
    assert all(torch.equal(weight, before[name]) for name, weight in model.named_parameters())
    assert all(weight.requires_grad for weight in model.parameters())


@pytest.mark.parametrize(
    "kind", ["sinusoidal", "sinusoidal_halves", "sinusoidal_t2t", "learned", "rotary"]
)
@pytest.mark.parametrize("order", ["pre", "post"])
def test_loaded_model_has_every_weight(tmp_path: Path, kind: str, order: str) -> None:
    config = byte_config({"model.positions": kind, "model.norm_order": order})
    model = byte_model(config)
    save_model(tmp_path / "model", model.state_dict(), config, byte_subwords(), {})
    loaded = load_model(tmp_path / "model").model
    for result, expected in ((loaded.named_buffers(), model.named_buffers()),
                            (loaded.named_parameters(), model.named_parameters())):  # fmt: skip
        have, want = dict(result), dict(expected)
        assert list(have) == list(want)
        assert all(torch.equal(have[name], want[name]) for name in want)


NAMES = ["config.toml", "model.safetensors", "subwords/vocabulary.json"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("position", [0.1, 0.5, 0.999])
def test_flipped_bit_is_detected(saved: Path, name: str, position: float) -> None:
    data = bytearray((saved / name).read_bytes())
    data[int(len(data) * position)] ^= 1
    (saved / name).write_bytes(data)
    with pytest.raises(DataError, match="SHA-256") as refused:
        load_model(saved)
    assert name in refused.value.message


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("keep", [0, 1, 100])
def test_truncated_file_is_detected(saved: Path, name: str, keep: int) -> None:
    os.truncate(saved / name, keep)
    with pytest.raises(DataError) as refused:
        load_model(saved)
    assert name in refused.value.message
    assert f"{keep} bytes" in refused.value.message


@pytest.mark.parametrize("name", [*NAMES, "manifest.json", "subwords/source.bytes"])
def test_a_missing_file_is_named(saved: Path, name: str) -> None:
    (saved / name).unlink()
    with pytest.raises(NmtError) as refused:
        load_model(saved)
    assert Path(name).name in refused.value.message
    assert refused.value.exit_code in (65, 78)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"files": {"model.safetensors": 3}}', "[" * 9999])
def test_a_broken_manifest_is_refused(saved: Path, text: str) -> None:
    (saved / "manifest.json").write_text(text)
    with pytest.raises(DataError):
        load_model(saved)


def replaced(saved: Path, name: str, data: bytes) -> None:
    """Another content, which the manifest confirms."""
    manifest.add_to_manifest(saved, name, data)


def test_newer_format_is_distinguished_from_damage(saved: Path) -> None:
    text = (saved / CONFIG).read_text().replace("format = 1", "format = 2")
    replaced(saved, CONFIG, text.encode() + b"[new_section]\nx = 1\n")
    with pytest.raises(ConfigError, match="format") as refused:
        load_model(saved)
    assert "update nmt" in refused.value.hint


def test_weights_that_are_not_finite_are_refused(saved: Path) -> None:
    tensors = safetensors.torch.load_file(saved / WEIGHTS)
    tensors["output_bias"][5] = torch.nan
    replaced(saved, WEIGHTS, safetensors.torch.save(tensors))
    with pytest.raises(DataError, match="`output_bias` holds NaN or infinite values"):
        load_model(saved)


def test_settings_and_subwords_of_different_models_are_refused(saved: Path) -> None:
    text = (saved / CONFIG).read_text()
    changed = text.replace("vocab_size = 260", "vocab_size = 259").replace(
        "eos_id = 3", "eos_id = 4"
    )
    replaced(saved, CONFIG, changed.encode())
    with pytest.raises(ConfigError) as refused:
        load_model(saved)
    for part in ("src_vocab_size=259", "tgt_vocab_size=259", "have 260", "eos_id=4"):
        assert part in refused.value.message


def test_settings_without_sizes_are_refused(saved: Path) -> None:
    text = (saved / CONFIG).read_text().replace("vocab_size = 260", 'vocab_size = "auto"')
    replaced(saved, CONFIG, text.encode())
    with pytest.raises(ConfigError, match="vocab_size"):
        load_model(saved)


def made(path: Path, *names: str) -> Path:
    for name in names:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text("{}")
    return path


@pytest.mark.parametrize(
    ("names", "looks"),
    [
        (["config.json", "model.safetensors"], "model of Hugging Face"),
        (["corpus.json", "config.toml", "manifest.json"], "corpus"),
        (["weights.safetensors", "state.json", "manifest.json"], "checkpoint"),
        (["model.bin", "config.json"], "model of CTranslate2"),
        (["translate-en_de-1_0.argosmodel", "manifest.json"], "model of Argos Translate"),
        (["model.ende.intgemm.alphas.bin", "vocab.ende.spm"], "model of Bergamot"),
        (["encoder_model.onnx", "config.json"], "model of ONNX"),
        (["decoder.yml", "model.npz"], "model of Marian"),
        (["dict.de.txt", "checkpoint_best.pt"], "model of fairseq"),
        (["run_step_1000.pt"], "model of OpenNMT-py"),
        (["ckpt-1000.index", "checkpoint"], "model of OpenNMT-tf"),
        (["best.ckpt", "config.yaml"], "model of Joey NMT"),
        (["params.best", "version"], "model of Sockeye"),
        (["notes.txt"], "no config.toml"),
    ],
)
def test_error_names_what_the_directory_looks_like(tmp_path: Path, names, looks: str) -> None:
    path = made(tmp_path / "thing", *names)
    with pytest.raises(ConfigError, match=looks) as refused:
        load_model(path)
    assert "not a model directory" in refused.value.message
    assert refused.value.hint
    toolkits = ("Hugging Face", "Marian", "fairseq", "OpenNMT-py")
    imported = looks in {f"model of {toolkit}" for toolkit in toolkits}
    assert ("nmt import" in refused.value.hint) == imported
    assert ("does not import" in refused.value.hint) == ("model of" in looks and not imported)


def test_a_package_of_argos_translate_is_no_pickle(tmp_path: Path) -> None:
    """Both are zip files."""
    path = tmp_path / "translate-en_de-1_0.argosmodel"
    path.write_bytes(b"PK\x03\x04")
    with pytest.raises(ConfigError, match="looks like a package of Argos Translate"):
        load_model(path)


def test_loading_a_checkpoint_names_the_average_command(tmp_path: Path) -> None:
    path = made(tmp_path / "step-30", "weights.safetensors", "state.json", "manifest.json")
    with pytest.raises(ConfigError) as refused:
        load_model(path)
    assert f"`nmt average {path} --out step-30`" in refused.value.hint


def test_missing_weights_are_named(saved: Path) -> None:
    (saved / WEIGHTS).unlink()
    with pytest.raises(DataError, match="is missing") as refused:
        load_model(saved)
    assert "copy the model directory again" in refused.value.hint


def test_error_for_a_path_that_is_not_a_directory(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(NoInputError, match="there is no model directory"):
        load_model(tmp_path / "nothing")
    with pytest.raises(ConfigError, match="not a directory"):
        load_model(made(tmp_path, "text") / "text")
    with pytest.raises(ConfigError, match="one file of a model directory") as refused:
        load_model(saved / WEIGHTS)
    assert str(saved) in refused.value.hint
    for special in ("/dev/zero", "/proc/self/mem"):
        with pytest.raises(NmtError):
            load_model(Path(special))
