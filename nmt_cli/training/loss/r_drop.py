"""R-Drop (Liang and others 2021): two passes with different dropout masks should agree."""

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
    halved, it is as large as the loss of one pass. nll is the mean of both passes. Tokens with a
    negative target are padding and are not counted.
    """
    mask = (targets >= 0).to(first.dtype)
    # (tokens, 1)
    target_ids = targets.clamp(min=0)[:, None]
    log_p, log_q = first.log_softmax(dim=-1), second.log_softmax(dim=-1)
    target_log_probs = (log_p + log_q).gather(1, target_ids)[:, 0]
    # KL(P1 || P2) + KL(P2 || P1)
    divergence = ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum(dim=-1)
    uniform = (log_p + log_q).mean(dim=-1)
    total = -(1.0 - epsilon) * target_log_probs - epsilon * uniform + alpha / 2 * divergence
    nll = -target_log_probs @ mask / 2
    return Loss(total @ mask / 2, nll.detach(), (targets >= 0).sum())


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

    Products are in autocast's precision where it is on; softmax and sums have that of the weights.
    """
    device_type = first.device.type
    use_autocast = torch.is_autocast_enabled(device_type)
    dtype = torch.get_autocast_dtype(device_type) if use_autocast else weight.dtype
    total, nll = _LinearRDrop.apply(  # type: ignore[no-untyped-call]
        first, second, weight, bias, targets, epsilon, alpha, dtype
    )
    return Loss(total, nll, (targets >= 0).sum())


class _LinearRDrop(torch.autograd.Function):
    """Computes logits, loss and gradient chunk by chunk; only the logits of one chunk are held."""

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
        gradients = [torch.zeros_like(tensor) for tensor in (first, second, weight, *shared[1:])]
        elements = CHUNK_ELEMENTS.get(first.device.type, CHUNK_ELEMENTS["cuda"])
        rows = max(elements // (2 * len(weight)), CHUNK_ROWS)
        for start in range(0, len(first), rows):
            chunk = slice(start, start + rows)
            inputs = (first[chunk], second[chunk], *shared)
            leaves = [tensor.detach().requires_grad_() for tensor in inputs]
            with torch.enable_grad(), torch.autocast(first.device.type, enabled=False):
                logits = [_logits(hidden, *leaves[2:], dtype=sums.dtype) for hidden in leaves[:2]]
                loss = r_drop_loss(logits[0], logits[1], targets[chunk], epsilon, alpha)
                chunk_gradients = torch.autograd.grad(loss.total, leaves)
            sums += torch.stack([loss.total.detach(), loss.nll])
            totals = [gradients[0][chunk], gradients[1][chunk], *gradients[2:]]
            for total_gradient, gradient in zip(totals, chunk_gradients, strict=True):
                total_gradient += gradient
        ctx.save_for_backward(*gradients)
        total, nll = sums.unbind()
        ctx.mark_non_differentiable(nll)
        return total, nll

    @staticmethod
    def backward(ctx: Any, scale: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        first, second, weight, *bias = (gradient * scale for gradient in ctx.saved_tensors)
        return first, second, weight, bias[0] if bias else None, None, None, None, None


def _logits(
    hidden: Tensor, weight: Tensor, bias: Tensor | None = None, *, dtype: torch.dtype
) -> Tensor:
    """The logits in `dtype`; the product is in the precision of `weight`."""
    logits = (hidden.to(weight.dtype) @ weight.T).to(dtype)
    return logits if bias is None else logits + bias
