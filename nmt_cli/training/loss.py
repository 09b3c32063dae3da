"""Label-smoothed cross-entropy (section 5.4), as sums that any split of a batch adds up to."""

from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

# Logits of one chunk in `linear_cross_entropy`: small enough for a CPU's caches, and for any GPU.
CHUNK_ELEMENTS = {"cpu": 1 << 22, "cuda": 1 << 28}
CHUNK_ROWS = 256


class Loss(NamedTuple):
    """Sums over tokens: they are divided once, by the token count of the whole step.

    total: (), what is minimised, with smoothing; nll: (), without; tokens: how many were summed.
    """

    total: Tensor
    nll: Tensor
    tokens: int


def label_smoothed_cross_entropy(
    logits: Float[Tensor, "tokens vocabulary"],
    targets: Int[Tensor, " tokens"],
    epsilon: float,
) -> Loss:
    """Cross-entropy against (1 - epsilon) on the target and epsilon spread over all V words.

    The uniform share includes the target, as in Szegedy et al. (2015), which the paper cites:
    total = logsumexp - (1 - epsilon) * logit[target] - epsilon * mean(logits).
    The reference that `linear_cross_entropy` is tested against.
    """
    normaliser = logits.logsumexp(dim=-1)
    hit = logits.gather(1, targets[:, None])[:, 0]
    total = normaliser - (1.0 - epsilon) * hit - epsilon * logits.mean(dim=-1)
    return Loss(total.sum(), (normaliser - hit).detach().sum(), len(targets))


def linear_cross_entropy(
    hidden: Float[Tensor, "tokens d_model"],
    weight: Float[Tensor, "vocabulary d_model"],
    bias: Float[Tensor, " vocabulary"] | None,
    targets: Int[Tensor, " tokens"],
    epsilon: float,
) -> Loss:
    """The loss of the logits hidden @ weight^T + bias, without ever holding all of them.

    Products are in autocast's precision where it is on; the softmax and the sums are float32 (or
    float64 for such inputs).
    """
    kind = hidden.device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else weight.dtype
    total, nll = _LinearCrossEntropy.apply(  # type: ignore[no-untyped-call]
        hidden, weight, bias, targets, epsilon, dtype
    )
    return Loss(total, nll, len(targets))


class _LinearCrossEntropy(torch.autograd.Function):
    """Chunk by chunk: logits, loss and gradient while the logits are still in the cache."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        epsilon: float,
        dtype: torch.dtype,
    ) -> tuple[Tensor, Tensor]:
        sums = torch.zeros(2, dtype=weight.dtype, device=hidden.device)
        wanted = any(ctx.needs_input_grad)
        rows = CHUNK_ELEMENTS.get(hidden.device.type, CHUNK_ELEMENTS["cuda"]) // len(weight)
        narrow = weight.to(dtype)
        gradients = [torch.empty_like(hidden), torch.zeros_like(weight)] if wanted else []
        bias_gradient = torch.zeros_like(bias) if wanted and bias is not None else None
        with torch.autocast(hidden.device.type, enabled=False):
            for start in range(0, len(hidden), max(rows, CHUNK_ROWS)):
                part = slice(start, start + max(rows, CHUNK_ROWS))
                inputs = hidden[part].to(dtype)
                logits = (inputs @ narrow.T).to(weight.dtype)
                if bias is not None:
                    logits += bias
                sums += _chunk_loss(logits, targets[part], epsilon, wanted)
                if not wanted:
                    continue
                slopes = logits.to(dtype)
                gradients[0][part] = slopes @ narrow
                gradients[1] += slopes.T @ inputs
                if bias_gradient is not None:
                    bias_gradient += logits.sum(dim=0)
        ctx.save_for_backward(*gradients, bias_gradient)
        total, nll = sums.unbind()
        ctx.mark_non_differentiable(nll)
        return total, nll

    @staticmethod
    def backward(ctx: Any, scale: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        hidden, weight, bias = ctx.saved_tensors
        scaled = hidden * scale, weight * scale, None if bias is None else bias * scale
        return *scaled, None, None, None


def _chunk_loss(logits: Tensor, targets: Tensor, epsilon: float, wanted: bool) -> Tensor:
    """Sums of total and nll; with `wanted`, `logits` become their own gradient in place."""
    picked = targets[:, None]
    normaliser = logits.logsumexp(dim=-1, keepdim=True)
    hit = logits.gather(1, picked)
    mean = logits.mean(dim=-1, keepdim=True)
    total = normaliser - (1.0 - epsilon) * hit - epsilon * mean
    sums = torch.stack([total.sum(), (normaliser - hit).sum()])
    if wanted:
        logits.sub_(normaliser).exp_().sub_(epsilon / logits.shape[1])
        logits.scatter_add_(1, picked, torch.full_like(hit, epsilon - 1.0))
    return sums


def smoothed_target(vocabulary: int, target: int, epsilon: float) -> Float[Tensor, " vocabulary"]:
    """The distribution that label smoothing compares with.

    >>> smoothed_target(5, 2, 0.1).tolist()
    [0.02, 0.02, 0.92, 0.02, 0.02]
    """
    distribution = torch.full((vocabulary,), epsilon / vocabulary, dtype=torch.float64)
    distribution[target] += 1.0 - epsilon
    return distribution
