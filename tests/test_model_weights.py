"""The file of a model's weights: equal for equal models, and read one by one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from byte_models import byte_config, byte_model, byte_subwords

from nmt_cli import model_weights
from nmt_cli.errors import DataError
from nmt_cli.model_dir import load_model, refresh_weights, save_model
from nmt_cli.model_weights import LazyWeights, ReplacedError, open_weights, weight_bytes
from nmt_cli.storage.model_check import WEIGHTS

METADATA = {"step": "60", "validation": "-5.2", "confidence": "", "averaged": "é, ü", "a": '"\n'}
# `python -c PROGRAM DIRECTORY METADATA`
PROGRAM = """
import json, sys
from pathlib import Path
from byte_models import byte_config, byte_model, byte_subwords
from nmt_cli.model_dir import save_model
weights = byte_model(byte_config(), 1).state_dict()
save_model(Path(sys.argv[1]), weights, byte_config(), byte_subwords(), json.loads(sys.argv[2]))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "model.safetensors"
    file.write_bytes(weight_bytes(byte_model(byte_config(), 1).state_dict(), {"step": "7"}))
    return file


def opened(path: Path) -> LazyWeights:
    with open_weights(path) as file:
        return LazyWeights(file, byte_config())


def test_each_weight_is_that_of_the_file(path: Path) -> None:
    weights, expected = opened(path), byte_model(byte_config(), 1).state_dict()
    assert weights.metadata == {"step": "7"}
    assert set(weights) == set(expected)
    for name, weight in expected.items():
        assert np.array_equal(weights[name], weight.numpy()), name
        assert weights[name] is weights[name]


@pytest.mark.parametrize("size", [4, 200, 1 << 20])
def test_pieces_are_rows_of_a_weight_in_order(path: Path, size: int, monkeypatch) -> None:
    """At least a row each, and at most so many bytes."""
    monkeypatch.setattr(model_weights, "PIECE", size)
    weights, expected = opened(path), byte_model(byte_config(), 1).state_dict()
    for name, weight in expected.items():
        pieces = [piece.copy() for piece in weights.pieces(name)]
        assert np.array_equal(np.concatenate(pieces), weight.numpy()), name
        assert all(piece.nbytes <= size or len(piece) == 1 for piece in pieces)
    name = next(iter(weights))
    assert weights[name] is next(weights.pieces(name))


def test_equal_models_are_equal_files(tmp_path: Path, monkeypatch) -> None:
    """In other processes too, and for every order of the metadata."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "0"), json.dumps(METADATA)]
    subprocess.run(command, check=True)
    weights, backwards = byte_model(byte_config(), 1).state_dict(), dict(reversed(METADATA.items()))
    save_model(tmp_path / "1", weights, byte_config(), byte_subwords(), backwards)
    save_model(tmp_path / "2", weights, byte_config(), byte_subwords(), {})
    refresh_weights(tmp_path / "2", weights, METADATA)
    contents = [(tmp_path / name / WEIGHTS).read_bytes() for name in "012"]
    assert contents[0] == contents[1] == contents[2]
    assert load_model(tmp_path / "0").metadata == METADATA


def test_weights_of_an_unsorted_file_are_read(path: Path) -> None:
    """The safetensors library writes headers in any order."""
    before, data = opened(path), path.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    entries = json.loads(data[8:end])
    backwards = dict(sorted(entries.items(), reverse=True))
    header = json.dumps(backwards, separators=(",", ":")).encode().ljust(end - 8)
    assert header != data[8:end]
    path.write_bytes(data[:8] + header + data[end:])
    after = opened(path)
    assert after.metadata == before.metadata
    for name, weight in byte_model(byte_config(), 1).state_dict().items():
        assert np.array_equal(after[name], weight.numpy()), name


def test_a_weight_that_was_taken_is_gone(path: Path) -> None:
    weights = opened(path)
    name, count = next(iter(weights)), len(weights)
    assert weights.pop(name).size
    assert name not in weights
    assert len(weights) == count - 1
    with pytest.raises(KeyError):
        weights[name]


def test_a_file_under_the_same_name_is_not_read(path: Path) -> None:
    weights = opened(path)
    other = byte_model(byte_config(), 2).state_dict()
    new = path.with_suffix(".new")
    new.write_bytes(weight_bytes(other, {}))
    new.replace(path)
    for name, weight in byte_model(byte_config(), 1).state_dict().items():
        assert np.array_equal(weights[name], weight.numpy()), name


@pytest.mark.parametrize("size", [0, 1])
def test_a_file_that_is_written_to_is_refused(path: Path, size: int) -> None:
    """With another size, or with the same one and the time put back."""
    weights, facts = opened(path), path.stat()
    content = path.read_bytes()
    path.write_bytes(content + bytes(size))
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    with pytest.raises(ReplacedError):
        weights[next(iter(weights))]
    with pytest.raises(ReplacedError):
        next(weights.pieces(next(iter(weights))))


def test_numbers_that_are_not_finite_are_refused(path: Path) -> None:
    state = byte_model(byte_config(), 1).state_dict()
    state["output_bias"][3] = float("inf")
    path.write_bytes(weight_bytes(state, {}))
    with pytest.raises(DataError, match=r"`output_bias` holds NaN or infinite"):
        opened(path)["output_bias"]
    with pytest.raises(DataError, match=r"`output_bias` holds NaN or infinite"):
        list(opened(path).pieces("output_bias"))
