"""The step that engines with logits in tensors share: edits, forced tokens, top-k and all rows."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from nmt_cli.search.decoder import Edits

# (logits, k, edited) -> values and ids of the best k of each row; ties go to the lowest id.
# edited: positions, in the flattened logits, that differ from those the step was made with.
EditedTopK = Callable[[Tensor, int, Tensor], tuple[Tensor, Tensor]]


class BusyRows(NamedTuple):
    """The index of each row of the logits among `all_rows` rows; the others are of free slots.

    Not needed where the rows of all slots are computed.
    """

    indices: Tensor
    all_rows: int

    def scatter(self, values: Tensor, empty: float) -> Tensor:
        """(busy rows, width) -> (all_rows, width), with `empty` in the rows of free slots."""
        scattered = values.new_full((self.all_rows, values.shape[1]), empty)
        return scattered.index_copy_(0, self.indices, values)

    def select(self, edits: Edits) -> Edits:
        """The edits of busy rows, by their index among the busy rows."""
        return edits.of_rows(self.indices)


class LogitsStep:
    """A `search.decoder.Step` over logits; engines differ in their top-k function."""

    def __init__(
        self,
        logits: Tensor,
        totals: Tensor,
        words: int,
        top_k: EditedTopK,
        busy: BusyRows | None = None,
    ) -> None:
        """logits: (rows, words or more), float32; totals: (rows, 1), their log-sum-exp.

        busy: which rows these are; None where `logits` has all rows. Then no operation synchronises
        with the device, if `top_k` does not.
        """
        self._logits = logits
        self._totals = totals
        self._words = words
        self._top_k = top_k
        self._busy = busy

    @torch.inference_mode()
    def top(self, k: int, edits: Edits) -> tuple[Tensor, Tensor]:
        """The best `k` of each row after the edits."""
        if self._busy is not None:
            edits = self._busy.select(edits)
        flat = self._logits.view(-1)
        edited = edits.rows * self._logits.shape[1] + edits.ids
        # Edit in place and restore: a copy of all logits would cost more than the search.
        unedited = flat[edited]
        flat.scatter_add_(0, edited, edits.bias)
        values, ids = self._top_k(self._logits, min(k, self._words), edited)
        # A padding word can be among the best only where a model gives NaN.
        ids = ids.clamp(max=self._words - 1)
        values, ids = _force_token(self._logits, values, ids, edits.forced)
        flat.scatter_(0, edited, unedited)
        values = values - self._totals
        if self._busy is None:
            return values, ids
        return self._busy.scatter(values, -torch.inf), self._busy.scatter(ids, 0)

    @torch.inference_mode()
    def full(self, rows: Tensor | None = None) -> Tensor:
        """All log-probabilities of some rows, or of all, without edits."""
        log_probs = (self._logits - self._totals)[:, : self._words]
        if self._busy is not None:
            log_probs = self._busy.scatter(log_probs, -torch.inf)
        return log_probs if rows is None else log_probs[rows]


def _force_token(
    logits: Tensor, values: Tensor, ids: Tensor, forced: Tensor
) -> tuple[Tensor, Tensor]:
    """Where a row is forced, keep only that id, with its own logit."""
    is_forced = (forced >= 0)[:, None]
    forced_ids = forced.clamp(min=0)[:, None]
    is_first = torch.arange(values.shape[1], device=values.device) == 0
    values = torch.where(is_forced, logits.gather(1, forced_ids), values)
    values = values.masked_fill(is_forced & ~is_first, -torch.inf)
    return values, torch.where(is_forced & is_first, forced_ids, ids)
