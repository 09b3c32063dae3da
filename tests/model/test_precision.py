"""bf16 arithmetic and fast float32 products stay near the exact ones, in steps too."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch
from variants import every_variant

from nmt_cli.errors import ConfigError
from nmt_cli.kernels.training import can_have_training_kernels
from nmt_cli.model import precision
from nmt_cli.model.precision import (
    ONEDNN_MIN_SIZE,
    SMALLEST_BATCHED_ONEDNN,
    autocast,
    check_precision,
    could_be_bf16,
    use_fast_float32,
)

CPU = torch.device("cpu")


@pytest.fixture
def _restored() -> Iterator[None]:
    before = torch.get_float32_matmul_precision()
    yield
    torch.set_float32_matmul_precision(before)


@every_variant
@torch.no_grad()
def test_bf16_decoder_steps_equal_teacher_forcing(settings, make_model, random_batch) -> None:
    model = make_model(settings).float()
    batch = random_batch(model.config, [3, 5], [4, 4])
    exact = model(batch)
    with autocast("bf16", CPU):
        forced = model(batch)
        segments = batch.src_segments
        state = model.start(model.encode(batch.src, segments), segments)
        state = state.merge(state.select(torch.tensor([1])))
        result = []
        for ids in batch.tgt_in.view(2, 4).T:
            logits, state = model.step(state, ids[[0, 1, 1]])
            result.append(logits[:2])
    stepped = torch.stack(result, dim=1).flatten(0, 1)
    assert forced.dtype == stepped.dtype == torch.bfloat16
    # One rounding is 0.004; six sublayers of wild random weights make at most 0.06 of it.
    for value in (forced, stepped):
        assert (value - exact).norm() < 0.1 * exact.norm()
        assert not torch.equal(value.float(), exact)


@pytest.mark.parametrize(
    ("name", "device", "narrow"),
    [
        ("bf16", "cpu", True),
        ("auto", "cpu", False),
        ("float32", "cpu", False),
        ("bf16", "cuda", True),
        ("auto", "cuda", True),
        ("float32", "cuda", False),
        ("fast", "cuda", True),
    ],
)
def test_precision_auto_is_bf16_on_gpu_only(name, device, narrow, monkeypatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda *_: True)
    assert autocast(name, torch.device(device))._enabled is narrow


@pytest.mark.parametrize(("ratio", "quick"), [(0.5, True), (3.9, True), (4.1, False)])
def test_emulated_bf16_is_detected_and_refused(ratio, quick, monkeypatch) -> None:
    precision.computes_bf16.cache_clear()
    times = {torch.float32: 1.0, torch.bfloat16: ratio}
    monkeypatch.setattr(precision, "_seconds", lambda matrix: times[matrix.dtype])
    assert precision.computes_bf16("cpu") is quick
    assert autocast("fast", CPU)._enabled is quick
    for name in ("auto", "float32", "fast"):
        check_precision(name, CPU)
        assert could_be_bf16(name, CPU) is (quick and name == "auto")
    assert not could_be_bf16("auto", torch.device("cuda"))
    if quick:
        check_precision("bf16", CPU)
    else:
        with pytest.raises(ConfigError, match="no instructions for bf16"):
            check_precision("bf16", CPU)
    precision.computes_bf16.cache_clear()


def test_bf16_detection_measures_products() -> None:
    assert 0.0 < precision._seconds(torch.ones(64, 64)) < 10.0


@pytest.mark.usefixtures("_restored")
def test_fast_products_are_kept_only_while_they_are_exact(monkeypatch) -> None:
    torch.set_float32_matmul_precision("highest")
    generator = torch.Generator().manual_seed(3)
    left, right = torch.randn(2, 300, 300, generator=generator)
    exact = left.double() @ right.double()
    assert use_fast_float32(CPU) is (torch.get_float32_matmul_precision() == "medium")
    assert ((left @ right - exact) / exact.abs().max()).abs().max() < 1e-5
    torch.set_float32_matmul_precision("highest")
    monkeypatch.setattr(precision, "LARGEST_ERROR", -1.0)
    for earlier, left in (("highest", "highest"), ("high", "high"), ("medium", "highest")):
        torch.set_float32_matmul_precision(earlier)
        assert use_fast_float32(CPU) is False
        assert torch.get_float32_matmul_precision() == left
    assert use_fast_float32(torch.device("cuda")) is False
    assert torch.get_float32_matmul_precision() == "highest"


SHAPES_PROGRAM = """
import torch
from nmt_cli.model.backends.dispatch import BACKENDS
from nmt_cli.model.precision import autocast, use_fast_float32
from nmt_cli.batch import Segments
import numpy as np
use_fast_float32(torch.device("cpu"))
segments = Segments.from_lengths(np.full(6, 20))
streams = torch.randn(3, 120, 4, 64, requires_grad=True)
with autocast(PRECISION, torch.device("cpu")):
    attended = BACKENDS["plain"](*streams, segments, segments, causal=True)
(attended ** 2).sum().backward()
torch.bmm(*torch.randn(2, 3, 256, 256))
"""


@pytest.mark.usefixtures("_restored")
@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_attention_needs_no_onednn_kernel_for_each_shape(precision: str) -> None:
    if not torch.backends.mkl.is_available():
        pytest.skip("this torch has no MKL, so attention's products stay in oneDNN")
    environ = {key: value for key, value in os.environ.items() if key != ONEDNN_MIN_SIZE}
    done = subprocess.run(
        [sys.executable, "-c", SHAPES_PROGRAM.replace("PRECISION", repr(precision))],
        capture_output=True, text=True, check=True, env={**environ, "ONEDNN_VERBOSE": "1"},
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if ",exec,cpu,matmul," in line]
    shapes = [line.split(",")[-2] for line in lines]
    # torch asks oneDNN only where that may use AVX-512. `use_fast_float32` tries it with one
    # product; a larger batched one shows that it is used.
    asks = torch.ops.mkldnn._is_mkldnn_bf16_supported()
    tried = ["256x256:256x256"] if asks else []
    larger = ["3x256x256:3x256x256"] if asks and use_fast_float32(CPU) else []
    assert shapes == [*tried, *larger]


def test_environment_of_tests_uses_the_matmul_library_of_training() -> None:
    if torch.backends.mkl.is_available():
        expected = SMALLEST_BATCHED_ONEDNN[can_have_training_kernels()]
        assert os.environ[ONEDNN_MIN_SIZE] == str(expected)


@pytest.mark.parametrize(("kernels", "smallest"), [(True, "2000000"), (False, "16000000")])
def test_products_of_muon_go_to_onednn_where_attention_has_kernels(
    kernels, smallest, monkeypatch
) -> None:
    if not torch.backends.mkl.is_available():
        pytest.skip("this torch has no MKL, so all products stay in oneDNN")
    monkeypatch.delenv(ONEDNN_MIN_SIZE)
    monkeypatch.setattr(precision, "can_have_training_kernels", lambda: kernels)
    precision.keep_attention_out_of_onednn()
    assert os.environ[ONEDNN_MIN_SIZE] == smallest
