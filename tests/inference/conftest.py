"""Models and kernels for the tests of the engines."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from engine_cases import EOS
from variants import Settings

from nmt_cli.inference.native.linear import Kernels
from nmt_cli.inference.native.self_test import find_kernels
from nmt_cli.model.transformer import Transformer


@pytest.fixture
def late_model(make_model) -> Callable[..., Transformer]:
    """Random models tend to end at once: the EOS of these is made less likely."""

    def make(settings: Settings, dtype: torch.dtype = torch.float32) -> Transformer:
        model = make_model({**settings, "model.output_bias": True}).to(dtype)
        with torch.no_grad():
            model.output_bias[EOS] -= 2.0
        return model

    return make


@pytest.fixture(scope="session")
def kernels(kernel_cache: Path) -> Kernels:
    """The best kernels of this machine; skips where there is no C compiler."""
    best, reason = find_kernels(kernel_cache)
    if shutil.which("cc") is None:
        pytest.skip(reason)
    assert best is not None, reason
    return best
