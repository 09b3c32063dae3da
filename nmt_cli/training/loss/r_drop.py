"""R-Drop (Liang and others 2021): two passes with different dropout masks should say the same."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt_cli.training.loss.cross_entropy import CHUNK_ELEMENTS, CHUNK_ROWS, Loss


def r_drop_loss(
    first: Float[Tensor, "tokens vocabulary"],
    second: Float[Tensor, "tokens vocabulary"],
    targets: Int[Tensor, " tokens"],
    epsilon: float,
    alpha: float,
) -> Loss:
    """Half the loss of the paper, summed over tokens; `first` and `second` are logits.

    (CE(P1) + CE(P2) + alpha (KL(P1 || P2) + KL(P2 || P1)) / 2) / 2, with label smoothing epsilon:
    halved, it is as large as the loss of one pass. nll is the mean of both passes. A negative
    target (filler) counts for nothing.
    """
    kept = (targets >= 0).to(first.dtype)
    picked = targets.clamp(min=0)[:, None]
    one, other = first.log_softmax(dim=-1), second.log_softmax(dim=-1)
    hits = (one + other).gather(1, picked)[:, 0]
    # KL(P1 || P2) + KL(P2 || P1)
    apart = ((one.exp() - other.exp()) * (one - other)).sum(dim=-1)
    total = -(1.0 - epsilon) * hits - epsilon * (one + other).mean(dim=-1) + alpha / 2 * apart
    return Loss(total @ kept / 2, (-hits @ kept / 2).detach(), (targets >= 0).sum())


def linear_r_drop_loss(
    first: Float[Tensor, "tokens d_model"],
    second: Float[Tensor, "tokens d_model"],
    weight: Float[Tensor, "vocabulary d_model"],
    bias: Float[Tensor, " vocabulary"] | None,
    targets: Int[Tensor, " tokens"],
    epsilon: float,
    alpha: float,
) -> Loss:
    """`r_drop_loss` of the logits of two decoder outputs, without ever holding all of them.

    Products are in autocast's precision where it is on; softmax and sums are not.
    """
    kind = first.device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else weight.dtype
    total, nll = _LinearRDrop.apply(  # type: ignore[no-untyped-call]
        first, second, weight, bias, targets, epsilon, alpha, dtype
    )
    return Loss(total, nll, (targets >= 0).sum())


class _LinearRDrop(torch.autograd.Function):
    """Chunk by chunk: logits, loss and gradient, so that only one chunk's logits are held."""

    @staticmethod
    def forward(
        ctx: Any,
        first: Tensor,
        second: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        epsilon: float,
        alpha: float,
        dtype: torch.dtype,
    ) -> tuple[Tensor, Tensor]:
        sums = weight.new_zeros(2)
        shared = [weight.to(dtype)] if bias is None else [weight.to(dtype), bias]
        gradients = [torch.zeros_like(one) for one in (first, second, weight, *shared[1:])]
        elements = CHUNK_ELEMENTS.get(first.device.type, CHUNK_ELEMENTS["cuda"])
        rows = max(elements // (2 * len(weight)), CHUNK_ROWS)
        for start in range(0, len(first), rows):
            part = slice(start, start + rows)
            leaves = [one.detach().requires_grad_() for one in (first[part], second[part], *shared)]
            with torch.enable_grad(), torch.autocast(first.device.type, enabled=False):
                logits = [_logits(one, *leaves[2:], dtype=sums.dtype) for one in leaves[:2]]
                loss = r_drop_loss(logits[0], logits[1], targets[part], epsilon, alpha)
                slopes = torch.autograd.grad(loss.total, leaves)
            sums += torch.stack([loss.total.detach(), loss.nll])
            places = [gradients[0][part], gradients[1][part], *gradients[2:]]
            for place, slope in zip(places, slopes, strict=True):
                place += slope
        ctx.save_for_backward(*gradients)
        total, nll = sums.unbind()
        ctx.mark_non_differentiable(nll)
        return total, nll

    @staticmethod
    def backward(ctx: Any, scale: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        first, second, weight, *bias = (one * scale for one in ctx.saved_tensors)
        return first, second, weight, bias[0] if bias else None, None, None, None, None


def _logits(
    hidden: Tensor, weight: Tensor, bias: Tensor | None = None, *, dtype: torch.dtype
) -> Tensor:
    """The product is in the precision of `weight`, the logits are `dtype`."""
    logits = (hidden.to(weight.dtype) @ weight.T).to(dtype)
    return logits if bias is None else logits + bias
