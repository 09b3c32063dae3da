"""The best k of each row, with a rule for equals, so that every engine makes the same choice."""

from jaxtyping import Float, Int
from torch import Tensor


def top_k(
    scores: Float[Tensor, "rows vocabulary"], k: int
) -> tuple[Float[Tensor, "rows chosen"], Int[Tensor, "rows chosen"]]:
    """Values and ids of the best `k` (or all) of each row, best first; of equals the lowest id."""
    k = min(k, scores.shape[1])
    values, ids = scores.topk(min(k + 1, scores.shape[1]))
    if values.shape[1] > k and bool((values[:, k - 1] == values[:, k]).any()):
        # topk does not say which of the equals at the edge it takes; a stable sort does.
        values, ids = scores.sort(dim=1, descending=True, stable=True)
        return values[:, :k], ids[:, :k]
    ids, order = ids[:, :k].sort(dim=1)
    values, order = values.gather(1, order).sort(dim=1, descending=True, stable=True)
    return values, ids.gather(1, order)
