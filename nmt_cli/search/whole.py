"""A step that holds every log-probability: what sampling and ensembles work on."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt_cli.search.decoder import Edits
from nmt_cli.search.top import top_k


def edited(
    log_probs: Float[Tensor, "rows vocabulary"], edits: Edits
) -> Float[Tensor, "rows vocabulary"]:
    """A changed copy; where a row is forced, the other ids have -inf."""
    changed = log_probs.clone()
    changed.index_put_((edits.rows, edits.ids), edits.bias, accumulate=True)
    rows = (edits.forced >= 0).nonzero()[:, 0]
    only = edits.forced[rows]
    kept = changed[rows, only]
    changed[rows] = -torch.inf
    changed[rows, only] = kept
    return changed


class WholeStep:
    """A `search.decoder.Step` over all log-probabilities."""

    def __init__(self, log_probs: Float[Tensor, "rows vocabulary"]) -> None:
        self._log_probs = log_probs

    @torch.inference_mode()
    def top(
        self, k: int, edits: Edits
    ) -> tuple[Float[Tensor, "rows chosen"], Int[Tensor, "rows chosen"]]:
        """The best `k` of each row."""
        return top_k(edited(self._log_probs, edits), k)

    def full(self) -> Float[Tensor, "rows vocabulary"]:
        """All log-probabilities."""
        return self._log_probs
