"""The paper's choice (section 6.1): of all continuations of a source, the likeliest live on."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from nmt_cli.search.candidates import Candidates, Survivors
from nmt_cli.search.decoder import Edits, Source, Step


class BestFirst:
    """Looks at the 2 x beam best, so that `beam` live on even where as many end."""

    starts = 1
    waits = False

    def __init__(self, beam: int) -> None:
        """With a beam of 1 only the best continuation is followed (greedy)."""
        self._beam = beam
        self._count = 2 * beam if beam > 1 else 1

    def admit(self, slots: Sequence[int], sources: Sequence[Source], limits: Sequence[int]) -> None:
        """Nothing is known of a source beforehand."""

    def expand(
        self, step: Step, edits: Edits, log_probs: Float[Tensor, "slots beam"]
    ) -> Candidates:
        """The best of each slot, best first."""
        scores, ids = step.top(self._count, edits)
        # A model with broken numbers finds nothing, but comes to an end.
        scores = scores.nan_to_num(nan=-torch.inf, neginf=-torch.inf)
        joined = (log_probs.flatten()[:, None] + scores).view(len(log_probs), -1)
        joined, places = joined.sort(dim=1, descending=True, stable=True)
        joined, places = joined[:, : self._count], places[:, : self._count]
        token_scores = scores.reshape(len(places), -1).gather(1, places)
        found_ids = ids.reshape(len(places), -1).gather(1, places)
        return Candidates(joined, token_scores, places // scores.shape[1], found_ids)

    def survive(self, found: Candidates, ended: Bool[Tensor, "slots candidates"]) -> Survivors:
        """The best that do not end."""
        left = found.log_probs.masked_fill(ended, -torch.inf)
        left, order = left.sort(dim=1, descending=True, stable=True)
        return Survivors(left[:, : self._beam], order[:, : self._beam])

    def ceiling(self, log_probs: Float[Tensor, "slots beam"]) -> Float[Tensor, " slots"]:
        """Of the first: they are sorted."""
        return log_probs[:, 0]
