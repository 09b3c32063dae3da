"""The softmax of one chunk of logits (section 5.4): its loss, and the slopes of the logits."""

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt_cli.model.backends.dispatch import FIRST_CAPABILITY

KERNEL_DTYPES = (torch.bfloat16, torch.float16, torch.float32)


def softmax_gradient(
    logits: Float[Tensor, "tokens vocabulary"],
    bias: Float[Tensor, " vocabulary"] | None,
    targets: Int[Tensor, " tokens"],
    means: Float[Tensor, " tokens"],
    epsilon: float,
    *,
    wanted: bool,
) -> tuple[Tensor, Tensor | None]:
    """Sums of total and nll, (2,), and if wanted the slopes, in the dtype of `logits`.

    logits: without the bias, may be overwritten; means: over the vocabulary, with the bias. Slopes
    lack the uniform share of the target, -epsilon / V. Zeros for a negative target. The reference
    of `loss_kernels.fused_softmax_slopes`.
    """
    kept = (targets >= 0).to(means.dtype)
    picked = targets.clamp(min=0)[:, None]
    wide = logits.to(means.dtype)
    if bias is not None:
        wide += bias
    hit = wide.gather(1, picked)[:, 0]
    log_probs = wide.log_softmax(dim=-1)
    log_hit = log_probs.gather(1, picked)[:, 0]
    # mean(log_probs) = mean(logits) - logsumexp, and logsumexp = hit - log_hit.
    total = -(1.0 - epsilon) * log_hit - epsilon * (means - (hit - log_hit))
    sums = torch.stack([total @ kept, -(log_hit @ kept)])
    if not wanted:
        return sums, None
    slopes = log_probs.exp_()
    slopes.scatter_add_(1, picked, torch.full_like(log_hit, epsilon - 1.0)[:, None])
    if slopes.device.type != "cpu" or not bool(kept.all()):
        slopes *= kept[:, None]
    return sums, slopes.to(logits.dtype)


def choose_softmax(
    weight: Tensor, dtype: torch.dtype
) -> Callable[..., tuple[Tensor, Tensor | None]]:
    """`softmax_gradient`, or its kernel where that runs: logits of `dtype`, sums of weight's."""
    if (
        not weight.is_cuda
        or weight.dtype != torch.float32
        or dtype not in KERNEL_DTYPES
        or torch.cuda.get_device_capability(weight.device) < FIRST_CAPABILITY
        or find_spec("triton") is None
    ):
        return softmax_gradient
    from nmt_cli.training.loss.kernels import fused_softmax_gradient

    return partial(fused_softmax_gradient, size=len(weight))
