"""Whether Triton's kernels of a decoding step work on a GPU; where not, torch's compute instead."""

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import NamedTuple

import torch
from torch import Tensor

from nmt_cli.inference.cuda.kv_cache import attend_cached

# The compute capability from which on GPUs have matrix units for bfloat16.
FIRST_CAPABILITY = (8, 0)
# The widest heads and the largest beam: a program holds the width of a head and all rows of a slot.
MAX_WIDTH, MAX_BEAM = 128, 64
# The largest difference from torch's numbers, of streams of about 1, by the dtype of the weights.
LARGEST_ERRORS = {torch.float32: 1e-3, torch.float16: 1e-2, torch.bfloat16: 5e-2}
# The sizes in the comparison with torch's numbers; WIDTH: of a block of logits.
SLOTS, HEADS, STEPS, WIDTH = 2, 3, 40, 64


class StepKernels(NamedTuple):
    """The functions of `step_kernels`."""

    attend_own: Callable[..., Tensor]
    attend_source: Callable[..., Tensor]
    reduce_rows: Callable[[Tensor, int], tuple[Tensor, Tensor]]


@cache
def find_step_kernels(
    device: torch.device, dtype: torch.dtype, beam: int, widths: tuple[int, int]
) -> StepKernels | None:
    """The kernels if they can run on `device` and give torch's numbers there, else None.

    widths: of the keys and of the values of a head.
    """
    if (
        device.type != "cuda"
        or torch.cuda.get_device_capability(device) < FIRST_CAPABILITY
        or find_spec("triton") is None
    ):
        return None
    return checked_kernels(device, dtype, beam, widths)


def checked_kernels(
    device: torch.device, dtype: torch.dtype, beam: int, widths: tuple[int, int]
) -> StepKernels | None:
    """The kernels, compiled and compared with torch's numbers, or None."""
    if max(widths) > MAX_WIDTH or beam > MAX_BEAM or dtype not in LARGEST_ERRORS:
        return None
    try:
        from nmt_cli.inference.cuda.step_kernels import attend_own, attend_source, reduce_rows

        kernels = StepKernels(attend_own, attend_source, reduce_rows)
        right = _attention_is_right(kernels, device, dtype, beam, widths)
        right = right and _sums_are_right(kernels, device)
    except Exception:
        # Triton needs a C compiler and its own, and raises errors of many kinds.
        return None
    return kernels if right else None


@torch.inference_mode()
def _attention_is_right(
    kernels: StepKernels,
    device: torch.device,
    dtype: torch.dtype,
    beam: int,
    widths: tuple[int, int],
) -> bool:
    generator = torch.Generator().manual_seed(1)

    def random(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator).to(device, dtype)

    query = random(SLOTS, HEADS, beam, widths[0])
    own = [random(SLOTS, HEADS, STEPS, beam, width) for width in widths]
    source = [random(SLOTS, HEADS, STEPS, width) for width in widths]
    ancestors = torch.randint(beam, (SLOTS, beam, STEPS), generator=generator)
    lengths = torch.tensor([STEPS - 1, 4])
    # (slots, steps): the steps that are written.
    written = torch.arange(STEPS) <= lengths[:, None]
    seen = (ancestors[..., None] == torch.arange(beam)) & written[:, None, :, None]
    masks = [seen.flatten(2)[:, None], written[:, None, None, :]]
    expected = [
        attend_cached(query, cached, STEPS, torch.zeros(mask.shape).masked_fill(
            ~mask, -torch.inf).to(device, dtype))
        for cached, mask in zip((own, source), masks, strict=True)
    ]  # fmt: skip
    actual = [
        kernels.attend_own(query, own, ancestors.to(device, torch.int16), lengths.to(device)),
        kernels.attend_source(query, source, (lengths + 1).to(device)),
    ]
    limit = LARGEST_ERRORS[dtype]
    pairs = zip(actual, expected, strict=True)
    return all(torch.allclose(ours, right, rtol=0.0, atol=limit) for ours, right in pairs)


@torch.inference_mode()
def _sums_are_right(kernels: StepKernels, device: torch.device) -> bool:
    generator = torch.Generator().manual_seed(2)
    logits = 3.0 * torch.randn(3, 70 * WIDTH, generator=generator).to(device)
    logits[1, 100:200] = -torch.inf
    maxima, totals = kernels.reduce_rows(logits, WIDTH)
    exact = logits.double().logsumexp(1, keepdim=True)
    same_maxima = torch.equal(maxima, logits.view(3, -1, WIDTH).amax(2))
    return same_maxima and torch.allclose(totals.double(), exact, rtol=1e-6, atol=1e-5)
