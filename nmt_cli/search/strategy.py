"""What passes between the parts of a search: continuations that were found, and finished ones."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from nmt_cli.search.decoder import Edits, Source, Step

# More than any score: hypotheses that hold more of their terms come first.
MISSING = 1e3


class BeamCandidates(NamedTuple):
    """Continuations of each slot's hypotheses; log_probs are those of the whole.

    missing: terms that each does not hold; None where no source has terms.
    """

    log_probs: Float[Tensor, "slots candidates"]
    token_scores: Float[Tensor, "slots candidates"]
    parents: Int[Tensor, "slots candidates"]
    ids: Int[Tensor, "slots candidates"]
    missing: Int[Tensor, "slots candidates"] | None = None


class LiveBeam(NamedTuple):
    """Which candidates live on, and with what log-probability; -inf: that place is empty."""

    log_probs: Float[Tensor, "slots beam"]
    order: Int[Tensor, "slots beam"]


@runtime_checkable
class BeamStrategy(Protocol):
    """How continuations are chosen; slots are independent of one another.

    starts: hypotheses that a source begins with. waits: whether a step asks the device something,
    so that it cannot be recorded.
    """

    starts: int
    waits: bool

    def admit(self, slots: Sequence[int], sources: Sequence[Source], limits: Sequence[int]) -> None:
        """Begin with sources, whose translations have at most so many ids, EOS not counted."""
        ...

    def expand(
        self, step: Step, edits: Edits, log_probs: Float[Tensor, "slots beam"]
    ) -> BeamCandidates:
        """Continuations of the live hypotheses, which have these log-probabilities."""
        ...

    def survive(self, found: BeamCandidates, ended: Bool[Tensor, "slots candidates"]) -> LiveBeam:
        """Which of them live on; what has ended does not."""
        ...

    def ceiling(self, log_probs: Float[Tensor, "slots beam"]) -> Float[Tensor, " slots"] | None:
        """The greatest log-probability of what lives; None: all that lives must come to its end."""
        ...


class FinishedHypotheses(NamedTuple):
    """Finished hypotheses of each slot, best first; a missing one scores -inf.

    scores: less `MISSING` for each term that is missing; eos_scores: log-probability of EOS;
    lengths, parents: of the hypothesis EOS was added to.
    """

    scores: Float[Tensor, "slots finished"]
    log_probs: Float[Tensor, "slots finished"]
    eos_scores: Float[Tensor, "slots finished"]
    lengths: Int[Tensor, "slots finished"]
    parents: Int[Tensor, "slots finished"]
    missing: Int[Tensor, "slots finished"]

    @classmethod
    def empty(cls, slots: int, finished: int, device: torch.device) -> "FinishedHypotheses":
        """Room for so many of each slot."""
        none = torch.full((3, slots, finished), -torch.inf, device=device)
        nowhere = torch.zeros_like(none, dtype=torch.int64)
        return cls(*none, *nowhere)

    def best_with(self, other: "FinishedHypotheses") -> "FinishedHypotheses":
        """The best of both, as many as there are here; of equals the earlier one."""
        joined = [torch.cat(pair, dim=1) for pair in zip(self, other, strict=True)]
        order = joined[0].sort(dim=1, descending=True, stable=True).indices
        order = order[:, : self.scores.shape[1]]
        return FinishedHypotheses(*(one.gather(1, order) for one in joined))


class BeamSelection:
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
    ) -> BeamCandidates:
        """The best of each slot, best first."""
        scores, ids = step.top(self._count, edits)
        # A model with broken numbers finds nothing, but comes to an end.
        scores = scores.nan_to_num(nan=-torch.inf, neginf=-torch.inf)
        joined = (log_probs.flatten()[:, None] + scores).view(len(log_probs), -1)
        joined, places = joined.sort(dim=1, descending=True, stable=True)
        joined, places = joined[:, : self._count], places[:, : self._count]
        token_scores = scores.reshape(len(places), -1).gather(1, places)
        found_ids = ids.reshape(len(places), -1).gather(1, places)
        return BeamCandidates(joined, token_scores, places // scores.shape[1], found_ids)

    def survive(self, found: BeamCandidates, ended: Bool[Tensor, "slots candidates"]) -> LiveBeam:
        """The best that do not end."""
        left = found.log_probs.masked_fill(ended, -torch.inf)
        left, order = left.sort(dim=1, descending=True, stable=True)
        return LiveBeam(left[:, : self._beam], order[:, : self._beam])

    def ceiling(self, log_probs: Float[Tensor, "slots beam"]) -> Float[Tensor, " slots"]:
        """Of the first: they are sorted."""
        return log_probs[:, 0]
