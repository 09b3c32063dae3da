"""The precision of matrix products: float32 in the faster library, bf16 by autocast, or split."""

import os
import time
from contextlib import AbstractContextManager, nullcontext
from functools import cache

import torch

from nmt_cli.errors import ConfigError
from nmt_cli.kernels.training import can_have_training_kernels
from nmt_cli.machine import cache_folder
from nmt_cli.model.native.split_products import SplitProducts, split_kernels

# Rounding of float32 products of this length stays near 1e-6; bf16 products would show 1e-3.
PROBE_SIZE = 256
LARGEST_ERROR = 1e-5
# CPUs without bf16 instructions take about 100 times as long as for float32; those with, less.
SLOWEST_BF16 = 4.0
# Batched products of smaller matrices (rows times columns times depth) stay out of oneDNN. Without
# kernels in C, attention between two sentences of 500 tokens, with heads of 64, has to stay out;
# with them it has none, and oneDNN computes other products of 128 x 128 matrices twice as fast.
SMALLEST_BATCHED_ONEDNN = {False: 16_000_000, True: 2_000_000}
ONEDNN_MIN_SIZE = "TORCH_MKLDNN_MATMUL_MIN_SIZE"


def autocast(precision: str, device: torch.device) -> torch.autocast:
    """bf16 autocast where `precision` is bf16, `auto` on a GPU, or `fast` where bf16 is fast."""
    is_bf16 = precision_name(precision, device) == "bf16"
    return torch.autocast(device.type, torch.bfloat16, enabled=is_bf16)


def split_products(precision: str) -> AbstractContextManager[object]:
    """A context for forward and backward passes in which products are split, if `precision` is."""
    if precision != "split":
        return nullcontext()
    kernels, reason = split_kernels(cache_folder())
    if kernels is None:
        raise _no_split_error(reason)
    return SplitProducts(kernels)


def precision_name(precision: str, device: torch.device) -> str:
    """The precision used on `device`: bf16, float32 or split."""
    if precision == "split":
        return precision
    is_bf16 = (
        precision == "bf16"
        or (precision == "auto" and device.type == "cuda")
        or (precision == "fast" and computes_bf16(device.type))
    )
    return "bf16" if is_bf16 else "float32"


def could_be_bf16(precision: str, device: torch.device) -> bool:
    """Whether `fast` would be bf16 where the precision is float32 only because it is `auto`."""
    return precision == "auto" and device.type == "cpu" and computes_bf16(device.type)


def check_precision(precision: str, device: torch.device) -> None:
    """Raises ConfigError where `device` would have to emulate bf16, or has no split products."""
    if precision == "split":
        if device.type != "cpu":
            raise _no_split_error("it is for CPUs with AMX, and this run uses a GPU")
        split_products(precision)
    if precision == "bf16" and not computes_bf16(device.type):
        raise ConfigError(
            "this CPU has no instructions for bf16; without them, bf16 is about 100 times slower",
            "use `float32`, or `fast` (bf16 if the CPU has instructions for it)",
        )


def _no_split_error(reason: str) -> ConfigError:
    return ConfigError(
        f"train.precision=split cannot be used here: {reason}",
        "use `auto` (bf16 on a GPU, else float32), or `fast` (also on CPUs that compute in bf16)",
    )


@cache
def computes_bf16(device_type: str) -> bool:
    """Whether the hardware computes in bf16; on a CPU a trial decides, as no list is complete."""
    if device_type != "cpu":
        return True
    matrix = torch.ones(PROBE_SIZE, PROBE_SIZE)
    return _seconds(matrix.bfloat16()) < SLOWEST_BF16 * _seconds(matrix)


def _seconds(matrix: torch.Tensor) -> float:
    """The shortest time of three products, after one for warm-up."""
    seconds = []
    for _ in range(4):
        begun = time.perf_counter()
        matrix @ matrix
        seconds.append(time.perf_counter() - begun)
    return min(seconds[1:])


def use_fast_float32(device: torch.device) -> bool:
    """Send float32 products on a CPU to oneDNN where that keeps float32 accuracy.

    Returns whether it did. torch's default library does not use wide vectors on every CPU (1.1 to
    2.3 times slower).
    The setting that selects oneDNN also permits bf16 products on CPUs with matrix units. So the
    result is checked, and where it has not the accuracy of float32 the default is restored, even
    if the setting had been changed before.
    """
    if device.type != "cpu":
        return False
    keep_attention_out_of_onednn()
    previous = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    generator = torch.Generator().manual_seed(0)
    left, right = torch.randn(2, PROBE_SIZE, PROBE_SIZE, generator=generator)
    exact = left.double() @ right.double()
    error = ((left @ right).double() - exact).abs().max() / exact.abs().max()
    if error > LARGEST_ERROR:
        torch.set_float32_matmul_precision("highest" if previous == "medium" else previous)
        return False
    return True


def keep_attention_out_of_onednn() -> None:
    """Send batched products of small matrices, attention's, to MKL; larger ones go to oneDNN.

    oneDNN compiles a kernel for each shape and keeps about half a megabyte for it. The products
    with weights have few shapes, but those of attention have hundreds (sentences times heads, by
    length), so resident memory grew by gigabytes in the first minutes of a training. MKL is as fast
    at these sizes. torch reads the variable once, at the first batched product of the process; a
    value that the user has set is kept. It depends on the machine only, so that a run that is
    resumed computes the same numbers.
    """
    if torch.backends.mkl.is_available():  # type: ignore[no-untyped-call]
        smallest = SMALLEST_BATCHED_ONEDNN[can_have_training_kernels()]
        os.environ.setdefault(ONEDNN_MIN_SIZE, str(smallest))
