"""The softmax of one chunk of logits (section 5.4): its loss and the gradient of the logits."""

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt_cli.machine import cache_folder
from nmt_cli.model.backends.dispatch import FIRST_CAPABILITY
from nmt_cli.training.loss import native_softmax

KERNEL_DTYPES = (torch.bfloat16, torch.float16, torch.float32)


def softmax_gradient(
    logits: Float[Tensor, "tokens vocabulary"],
    bias: Float[Tensor, " vocabulary"] | None,
    targets: Int[Tensor, " tokens"],
    means: Float[Tensor, " tokens"],
    epsilon: float,
    *,
    needs_gradient: bool,
) -> tuple[Tensor, Tensor | None]:
    """Sums of total and nll, (2,), and the gradient of the logits in their dtype, if it is needed.

    logits: without the bias, may be overwritten; means: of the logits over the vocabulary, with the
    bias. The gradient lacks the uniform share of the smoothed target, -epsilon / V. Loss and
    gradient are zero for a negative target. The reference of `kernels.fused_softmax_gradient`.
    """
    mask = (targets >= 0).to(means.dtype)
    # (tokens, 1)
    target_ids = targets.clamp(min=0)[:, None]
    scores = logits.to(means.dtype)
    if bias is not None:
        scores += bias
    target_score = scores.gather(1, target_ids)[:, 0]
    log_probs = scores.log_softmax(dim=-1)
    target_log_prob = log_probs.gather(1, target_ids)[:, 0]
    # mean(log_probs) = mean(scores) - logsumexp, and logsumexp = target_score - target_log_prob.
    logsumexp = target_score - target_log_prob
    total = -(1.0 - epsilon) * target_log_prob - epsilon * (means - logsumexp)
    sums = torch.stack([total @ mask, -(target_log_prob @ mask)])
    if not needs_gradient:
        return sums, None
    gradient = log_probs.exp_()
    at_target = torch.full_like(target_log_prob, epsilon - 1.0)[:, None]
    gradient.scatter_add_(1, target_ids, at_target)
    if gradient.device.type != "cpu" or not bool(mask.all()):
        gradient *= mask[:, None]
    return sums, gradient.to(logits.dtype)


# Those on a CPU, where products gain nothing from padded weights.
UNPADDED = (softmax_gradient, native_softmax.native_softmax_gradient)


def choose_softmax(
    weight: Tensor, dtype: torch.dtype
) -> Callable[..., tuple[Tensor, Tensor | None]]:
    """`softmax_gradient`, or its kernel in C or Triton where that runs.

    weight: its device and dtype, the dtype of the sums; dtype: of the logits.
    """
    if (
        weight.device.type == "cpu"
        and weight.dtype == torch.float32
        and dtype in native_softmax.DTYPES
        and native_softmax.softmax_kernels(cache_folder()) is not None
    ):
        return native_softmax.native_softmax_gradient
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
