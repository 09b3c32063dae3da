"""The best k of each row, with a rule for ties, so that every engine makes the same choice."""

import torch
from torch import Tensor

from nmt_cli.array_types import Float, Int

# An id fits into this many bits.
ID_BITS = 31


def top_k(
    scores: Float[Tensor, "rows vocabulary"], k: int
) -> tuple[Float[Tensor, "rows chosen"], Int[Tensor, "rows chosen"]]:
    """Values and ids of the best `k` (or all) of each row, best first; ties go to the lowest id."""
    k = min(k, scores.shape[1])
    values, ids = scores.topk(min(k + 1, scores.shape[1]))
    # topk does not define which of several equal values at the edge it returns.
    tied = (values[:, k - 1] == values[:, k]) if values.shape[1] > k else None
    values, ids = values[:, :k], ids[:, :k]
    if tied is not None and bool(tied.any()):
        ids = ids.clone()
        ids[tied] = _lowest_ids(scores[tied], values[tied, k - 1 :], k)
    ids = ids.sort(dim=1).values
    values, order = scores.gather(1, ids).sort(dim=1, descending=True, stable=True)
    return values, ids.gather(1, order)


def top_k_by_keys(
    scores: Float[Tensor, "rows vocabulary"], k: int
) -> tuple[Float[Tensor, "rows chosen"], Int[Tensor, "rows chosen"]]:
    """The same result as `top_k` for float32, without synchronising with the device.

    Integer keys in the order of the scores, with the id in their low bits, so that no two are
    equal.
    """
    # -0.0 + 0.0 is 0.0: equal scores get equal bits.
    bits = (scores + 0.0).view(torch.int32)
    # Greater negative numbers have lesser bits.
    bits = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    last = (1 << ID_BITS) - 1
    low_bits = torch.arange(last, last - scores.shape[1], -1, device=scores.device)
    keys = bits.long().bitwise_left_shift_(ID_BITS).add_(low_bits)
    ids = last - (keys.topk(min(k, scores.shape[1])).values & last)
    return scores.gather(1, ids), ids


def _lowest_ids(
    scores: Float[Tensor, "tied vocabulary"], edge: Float[Tensor, "tied 1"], k: int
) -> Int[Tensor, "tied chosen"]:
    """Ids of all values above the edge, and of the first ones at the edge, `k` together."""
    above, equal = scores > edge, scores == edge
    missing = k - above.sum(dim=1, keepdim=True)
    chosen = above | (equal & (equal.cumsum(dim=1) <= missing))
    return chosen.nonzero()[:, 1].view(len(scores), k)
