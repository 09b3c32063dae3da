"""A model, and a cache for its packed weights."""

import shutil
from pathlib import Path

import pytest
from packed_cases import saved_model

from nmt_cli.inference.native.packing import packed_cache
from nmt_cli.inference.native.packing.packed_weights import PackedWeights


@pytest.fixture
def cache(tmp_path: Path, kernels: object, kernel_cache: Path, monkeypatch) -> Path:
    """A cache with the compiled kernels and no packed weights; small ones are kept, too."""
    monkeypatch.setattr(packed_cache, "SMALLEST", 0)
    folder = tmp_path / "cache"
    folder.mkdir()
    for path in kernel_cache.glob("kernels-*.so"):
        shutil.copy(path, folder)
    return folder


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return saved_model(tmp_path / "model", 1)


@pytest.fixture
def packed(monkeypatch) -> list[str]:
    """The precision of each model that is packed from its weights, in order."""
    precisions: list[str] = []
    original = PackedWeights.of.__func__

    def of(cls, arrays, library, precision="float32"):
        # The self-test of the kernels packs a model of its own.
        if arrays.config.d_model == 16:
            precisions.append(precision)
        return original(cls, arrays, library, precision)

    monkeypatch.setattr(PackedWeights, "of", classmethod(of))
    return precisions
