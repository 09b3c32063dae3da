"""Label-smoothed cross-entropy (section 5.4), as sums over tokens: parts of a batch add up."""

from itertools import pairwise
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt_cli.machine import cache_folder
from nmt_cli.model.native.rows import accumulate_, row_kernels
from nmt_cli.training.loss.native_softmax import native_softmax_gradient
from nmt_cli.training.loss.softmax_gradient import UNPADDED, choose_softmax

# Logits of one chunk in `linear_cross_entropy`: small enough for the caches of a CPU and for any
# GPU.
CHUNK_ELEMENTS = {"cpu": 1 << 22, "cuda": 1 << 28}
CHUNK_ROWS = 256
# A GPU's products are fastest over whole tiles; weights are padded when they are cast.
PADDING = 128


class Loss(NamedTuple):
    """Sums over tokens: they are divided once, by the token count of the whole step.

    total: (), what is minimised, with label smoothing; nll: (), without it; tokens: (), the count.
    """

    total: Tensor
    nll: Tensor
    tokens: Tensor


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
    target_logit = logits.gather(1, targets[:, None])[:, 0]
    total = normaliser - (1.0 - epsilon) * target_logit - epsilon * logits.mean(dim=-1)
    tokens = torch.tensor(len(targets), device=logits.device)
    return Loss(total.sum(), (normaliser - target_logit).detach().sum(), tokens)


def linear_cross_entropy(
    hidden: Float[Tensor, "tokens d_model"],
    weight: Float[Tensor, "vocabulary d_model"],
    bias: Float[Tensor, " vocabulary"] | None,
    targets: Int[Tensor, " tokens"],
    epsilon: float,
) -> Loss:
    """The loss of the logits hidden @ weight^T + bias, without ever holding all of them.

    Tokens with a negative target are padding and are not counted. Products are in autocast's
    precision where it is on; the softmax and the sums are float32 (or float64 for such inputs).
    """
    device_type = hidden.device.type
    use_autocast = torch.is_autocast_enabled(device_type)
    dtype = torch.get_autocast_dtype(device_type) if use_autocast else weight.dtype
    total, nll = _LinearCrossEntropy.apply(  # type: ignore[no-untyped-call]
        hidden, weight, bias, targets, epsilon, dtype
    )
    return Loss(total, nll, (targets >= 0).sum())


class _LinearCrossEntropy(torch.autograd.Function):
    """Computes logits, loss and gradient chunk by chunk, while the logits are in the cache.

    The uniform share of the smoothed target needs mean(logits), and subtracts epsilon / V from the
    gradient of every logit. Both are linear in the logits, so they are computed from sums over the
    vocabulary and over the tokens: this is exact, where a bf16 gradient could not represent them,
    and needs no further pass.
    """

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
        needs_gradient = any(ctx.needs_input_grad)
        with torch.autocast(hidden.device.type, enabled=False):
            chunked = _ChunkedLoss(hidden if needs_gradient else None, weight, bias, epsilon, dtype)
            for chunk in _chunks(len(hidden), len(weight), hidden.device.type):
                chunked.add(chunk, hidden[chunk], targets[chunk])
            chunked.finish()
        ctx.save_for_backward(*chunked.gradients)
        total, nll = chunked.sums.unbind()
        ctx.mark_non_differentiable(nll)
        return total, nll

    @staticmethod
    def backward(ctx: Any, scale: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        hidden, weight, *bias = (gradient * scale for gradient in ctx.saved_tensors)
        return hidden, weight, bias[0] if bias else None, None, None, None


class _ChunkedLoss:
    """Loss and gradients of one `linear_cross_entropy`, added up chunk by chunk.

    sums: (2,), total and nll; gradients: of hidden, weight and bias, if there is one; empty where
    no gradient is needed.
    """

    def __init__(
        self,
        hidden: Tensor | None,
        weight: Tensor,
        bias: Tensor | None,
        epsilon: float,
        dtype: torch.dtype,
    ) -> None:
        self.softmax = choose_softmax(weight, dtype)
        multiple = 1 if self.softmax in UNPADDED else PADDING
        is_native = self.softmax is native_softmax_gradient
        self.row_kernels = row_kernels(cache_folder()) if is_native else None
        # (vocabulary, or a multiple above it, d_model), in the dtype of the products
        self.cast_weight = _cast_and_pad(weight, dtype, multiple)
        self.bias = bias
        self.epsilon = epsilon
        self.size = len(weight)
        self.mean_weight = self.cast_weight[: self.size].mean(dim=0, dtype=weight.dtype)
        self.mean_bias = 0.0 if bias is None else bias.mean()
        self.sums = weight.new_zeros(2)
        self.count = weight.new_zeros(())
        self.hidden_sum = torch.zeros_like(self.mean_weight)
        shared = [weight] if bias is None else [weight, bias]
        self.gradients = [] if hidden is None else [torch.empty_like(hidden)]
        if self.gradients:
            self.gradients += [torch.zeros_like(parameter) for parameter in shared]

    def add(self, chunk: slice, hidden: Tensor, targets: Tensor) -> None:
        """Add one chunk of tokens: hidden (chunk, d_model), targets (chunk,)."""
        inputs = hidden.to(self.cast_weight.dtype)
        exact = inputs.to(self.sums.dtype)
        # (chunk,)
        means = exact @ self.mean_weight + self.mean_bias
        # (chunk, vocabulary)
        logits = inputs @ self.cast_weight.T
        sums, gradient = self.softmax(
            logits, self.bias, targets, means, self.epsilon, needs_gradient=bool(self.gradients)
        )
        self.sums += sums
        if gradient is None:
            return
        mask = (targets >= 0).to(exact.dtype)
        self.count += mask.sum()
        self.hidden_sum += mask @ exact
        hidden_gradient, weight_gradient, *bias_gradient = self.gradients
        # (chunk, d_model)
        uniform = self.epsilon * mask[:, None] * self.mean_weight
        hidden_gradient[chunk] = (gradient @ self.cast_weight).to(uniform.dtype) - uniform
        product = gradient.T @ inputs
        if self.row_kernels is not None and product.dtype == torch.bfloat16:
            # One pass; torch would make a float32 copy first.
            accumulate_(self.row_kernels, weight_gradient, product)
        else:
            weight_gradient += product[: self.size]
        for total in bias_gradient:
            total += gradient.sum(dim=0, dtype=total.dtype)[: self.size]

    def finish(self) -> None:
        """Subtract the uniform share from the gradients of weight and bias."""
        shares = (self.hidden_sum, self.count)
        for gradient, share in zip(self.gradients[1:], shares, strict=False):
            gradient -= share * (self.epsilon / self.size)


def _cast_and_pad(weight: Tensor, dtype: torch.dtype, multiple: int) -> Tensor:
    """`weight` in `dtype`; if that is a copy, padded with rows of zeros up to a multiple."""
    if dtype == weight.dtype or len(weight) % multiple == 0:
        return weight.to(dtype)
    padding = -len(weight) % multiple
    padded = weight.new_empty(len(weight) + padding, weight.shape[1], dtype=dtype)
    padded[: len(weight)] = weight
    padded[len(weight) :] = 0.0
    return padded


def _chunks(tokens: int, vocabulary: int, device_type: str) -> list[slice]:
    """The chunks of tokens, as slices.

    On a CPU all but the last have the same size, a multiple of CHUNK_ROWS: a kernel is made and
    cached for each size. Elsewhere their sizes differ by at most one token, since a small chunk
    would use a GPU badly.
    """
    elements = CHUNK_ELEMENTS.get(device_type, CHUNK_ELEMENTS["cuda"])
    rows = max(elements // vocabulary, CHUNK_ROWS)
    if device_type == "cpu":
        rows -= rows % CHUNK_ROWS
        bounds = [*range(0, tokens, rows), tokens]
    else:
        count = -(-tokens // rows)
        bounds = [tokens * index // max(count, 1) for index in range(count + 1)]
    return [slice(*bound) for bound in pairwise(bounds)]


def chunk_sizes(tokens: int, vocabulary: int, device_type: str) -> set[int]:
    """The different numbers of tokens in the chunks of `linear_cross_entropy`."""
    return {chunk.stop - chunk.start for chunk in _chunks(tokens, vocabulary, device_type)}


def smoothed_target(vocabulary: int, target: int, epsilon: float) -> Float[Tensor, " vocabulary"]:
    """The target distribution of label smoothing.

    >>> smoothed_target(5, 2, 0.1).tolist()
    [0.02, 0.02, 0.92, 0.02, 0.02]
    """
    distribution = torch.full((vocabulary,), epsilon / vocabulary, dtype=torch.float64)
    distribution[target] += 1.0 - epsilon
    return distribution
