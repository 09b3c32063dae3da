"""Label-smoothed cross-entropy (section 5.4), as sums that any split of a batch adds up to."""

from itertools import pairwise
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt_cli.training.loss.softmax_gradient import choose_softmax, softmax_gradient

# Logits of one chunk in `linear_cross_entropy`: small enough for a CPU's caches, and for any GPU.
CHUNK_ELEMENTS = {"cpu": 1 << 22, "cuda": 1 << 28}
CHUNK_ROWS = 256
# A GPU's products are fastest over whole tiles; the weights are padded as they are narrowed.
PADDING = 128


class Loss(NamedTuple):
    """Sums over tokens: they are divided once, by the token count of the whole step.

    total: (), what is minimised, with smoothing; nll: (), without; tokens: (), how many.
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
    hit = logits.gather(1, targets[:, None])[:, 0]
    total = normaliser - (1.0 - epsilon) * hit - epsilon * logits.mean(dim=-1)
    tokens = torch.tensor(len(targets), device=logits.device)
    return Loss(total.sum(), (normaliser - hit).detach().sum(), tokens)


def linear_cross_entropy(
    hidden: Float[Tensor, "tokens d_model"],
    weight: Float[Tensor, "vocabulary d_model"],
    bias: Float[Tensor, " vocabulary"] | None,
    targets: Int[Tensor, " tokens"],
    epsilon: float,
) -> Loss:
    """The loss of the logits hidden @ weight^T + bias, without ever holding all of them.

    A negative target (filler) counts for nothing. Products are in autocast's precision where it is
    on; the softmax and the sums are float32 (or float64 for such inputs).
    """
    kind = hidden.device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else weight.dtype
    total, nll = _LinearCrossEntropy.apply(  # type: ignore[no-untyped-call]
        hidden, weight, bias, targets, epsilon, dtype
    )
    return Loss(total, nll, (targets >= 0).sum())


class _LinearCrossEntropy(torch.autograd.Function):
    """Chunk by chunk: logits, loss and gradient while the logits are still in the cache.

    The uniform share of the smoothed target asks for mean(logits) and takes epsilon / V from every
    slope. Both are linear in the logits, so they are worked out from sums over the vocabulary and
    over the tokens: exact, where a narrow slope could not hold them, and without another pass.
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
        wanted = any(ctx.needs_input_grad)
        with torch.autocast(hidden.device.type, enabled=False):
            found = _Sums(hidden if wanted else None, weight, bias, epsilon, dtype)
            for part in _parts(len(hidden), len(weight), hidden.device.type):
                found.add(part, hidden[part], targets[part])
            found.finish()
        ctx.save_for_backward(*found.gradients)
        total, nll = found.sums.unbind()
        ctx.mark_non_differentiable(nll)
        return total, nll

    @staticmethod
    def backward(ctx: Any, scale: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        hidden, weight, *bias = (one * scale for one in ctx.saved_tensors)
        return hidden, weight, bias[0] if bias else None, None, None, None


class _Sums:
    """What the chunks of one `linear_cross_entropy` add up to."""

    def __init__(
        self,
        hidden: Tensor | None,
        weight: Tensor,
        bias: Tensor | None,
        epsilon: float,
        dtype: torch.dtype,
    ) -> None:
        self.softmax = choose_softmax(weight, dtype)
        self.narrow = _narrowed(weight, dtype, 1 if self.softmax is softmax_gradient else PADDING)
        self.bias = bias
        self.epsilon = epsilon
        self.size = len(weight)
        self.mean_weight = self.narrow[: self.size].mean(dim=0, dtype=weight.dtype)
        self.mean_bias = 0.0 if bias is None else bias.mean()
        self.sums = weight.new_zeros(2)
        self.count = weight.new_zeros(())
        self.hidden_sum = torch.zeros_like(self.mean_weight)
        shared = [weight] if bias is None else [weight, bias]
        self.gradients = [] if hidden is None else [torch.empty_like(hidden)]
        if self.gradients:
            self.gradients += [torch.zeros_like(one) for one in shared]

    def add(self, part: slice, hidden: Tensor, targets: Tensor) -> None:
        """Count one chunk of tokens."""
        inputs = hidden.to(self.narrow.dtype)
        exact = inputs.to(self.sums.dtype)
        means = exact @ self.mean_weight + self.mean_bias
        logits = inputs @ self.narrow.T
        wanted = bool(self.gradients)
        sums, slopes = self.softmax(logits, self.bias, targets, means, self.epsilon, wanted=wanted)
        self.sums += sums
        if slopes is None:
            return
        kept = (targets >= 0).to(exact.dtype)
        self.count += kept.sum()
        self.hidden_sum += kept @ exact
        place, weight, *bias = self.gradients
        uniform = self.epsilon * kept[:, None] * self.mean_weight
        place[part] = (slopes @ self.narrow).to(uniform.dtype) - uniform
        weight += (slopes.T @ inputs)[: self.size]
        for one in bias:
            one += slopes.sum(dim=0, dtype=one.dtype)[: self.size]

    def finish(self) -> None:
        """The uniform share joins the gradients of weight and bias."""
        for one, share in zip(self.gradients[1:], (self.hidden_sum, self.count), strict=False):
            one -= share * (self.epsilon / self.size)


def _narrowed(weight: Tensor, dtype: torch.dtype, multiple: int) -> Tensor:
    """`weight` in `dtype`; where that is a copy, with rows of zeros up to a multiple."""
    if dtype == weight.dtype or len(weight) % multiple == 0:
        return weight.to(dtype)
    padding = -len(weight) % multiple
    narrow = weight.new_empty(len(weight) + padding, weight.shape[1], dtype=dtype)
    narrow[: len(weight)] = weight
    narrow[len(weight) :] = 0.0
    return narrow


def _parts(tokens: int, vocabulary: int, device_type: str) -> list[slice]:
    """Chunks of tokens.

    On a CPU all but the last have one size, a multiple of CHUNK_ROWS: a kernel is made, and kept,
    for each size. Elsewhere they are equal to within a token: a small one would use a GPU badly.
    """
    elements = CHUNK_ELEMENTS.get(device_type, CHUNK_ELEMENTS["cuda"])
    rows = max(elements // vocabulary, CHUNK_ROWS)
    if device_type == "cpu":
        rows -= rows % CHUNK_ROWS
        bounds = [*range(0, tokens, rows), tokens]
    else:
        count = -(-tokens // rows)
        bounds = [tokens * number // max(count, 1) for number in range(count + 1)]
    return [slice(*bound) for bound in pairwise(bounds)]


def smoothed_target(vocabulary: int, target: int, epsilon: float) -> Float[Tensor, " vocabulary"]:
    """The distribution that label smoothing compares with.

    >>> smoothed_target(5, 2, 0.1).tolist()
    [0.02, 0.02, 0.92, 0.02, 0.02]
    """
    distribution = torch.full((vocabulary,), epsilon / vocabulary, dtype=torch.float64)
    distribution[target] += 1.0 - epsilon
    return distribution
