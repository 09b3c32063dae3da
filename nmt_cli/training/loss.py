"""Label-smoothed cross-entropy (section 5.4), as sums that any split of a batch adds up to."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor


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
    The sums are float32 whatever the logits are.
    """
    scores = logits.float()
    normaliser = scores.logsumexp(dim=-1)
    hit = scores.gather(1, targets[:, None])[:, 0]
    nll = normaliser - hit
    if epsilon == 0.0:
        return Loss(nll.sum(), nll.detach().sum(), len(targets))
    total = normaliser - (1.0 - epsilon) * hit - epsilon * scores.mean(dim=-1)
    return Loss(total.sum(), nll.detach().sum(), len(targets))


def smoothed_target(vocabulary: int, target: int, epsilon: float) -> Float[Tensor, " vocabulary"]:
    """The distribution that label smoothing compares with.

    >>> smoothed_target(5, 2, 0.1).tolist()
    [0.02, 0.02, 0.92, 0.02, 0.02]
    """
    distribution = torch.full((vocabulary,), epsilon / vocabulary, dtype=torch.float64)
    distribution[target] += 1.0 - epsilon
    return distribution
