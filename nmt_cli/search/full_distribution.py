"""The distribution over the whole vocabulary with the edits of a step, and a step made of one."""

import math

from nmt_cli.array_types import Float, Int
from nmt_cli.search.arrays.choice import arrays_of
from nmt_cli.search.arrays.interface import Array
from nmt_cli.search.decoder import Edits


def edited_log_probs(
    log_probs: Float[Array, "rows vocabulary"], edits: Edits
) -> Float[Array, "rows vocabulary"]:
    """An edited copy; where a row is forced, all other ids have -inf."""
    arrays = arrays_of(log_probs)
    changed = arrays.copied(log_probs)
    arrays.add_at(changed, (edits.rows, edits.ids), edits.bias)
    [rows] = arrays.places(edits.forced >= 0)
    only = edits.forced[rows]
    kept = changed[rows, only]
    changed[rows] = -math.inf
    changed[rows, only] = kept
    return changed


class FullDistributionStep:
    """A `search.decoder.Step` over given log-probabilities."""

    def __init__(self, log_probs: Float[Array, "rows vocabulary"]) -> None:
        self._log_probs = log_probs

    def top(
        self, k: int, edits: Edits
    ) -> tuple[Float[Array, "rows chosen"], Int[Array, "rows chosen"]]:
        """The best `k` of each row after the edits."""
        arrays = arrays_of(self._log_probs)
        with arrays.inference():
            return arrays.top_k(edited_log_probs(self._log_probs, edits), k)

    def full(self, rows: Int[Array, " chosen"] | None = None) -> Float[Array, "chosen vocabulary"]:
        """All log-probabilities of some rows, or of all, without edits."""
        return self._log_probs if rows is None else self._log_probs[rows]
