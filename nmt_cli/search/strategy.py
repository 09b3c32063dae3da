"""Beam selection: candidates, the live beam, finished hypotheses, and the strategy that chooses."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from nmt_cli.search.decoder import Edits, Source, Step

# Larger than any difference of scores, so that hypotheses that meet more constraints rank first.
MISSING = 1e3


class BeamCandidates(NamedTuple):
    """Continuations of the hypotheses of each slot; log_probs are those of whole hypotheses.

    missing: the number of constraints that each does not meet; None where no source has any.
    """

    log_probs: Float[Tensor, "slots candidates"]
    token_scores: Float[Tensor, "slots candidates"]
    parents: Int[Tensor, "slots candidates"]
    ids: Int[Tensor, "slots candidates"]
    missing: Int[Tensor, "slots candidates"] | None = None


class LiveBeam(NamedTuple):
    """The candidates that live on and their log-probabilities; -inf marks an empty row."""

    log_probs: Float[Tensor, "slots beam"]
    order: Int[Tensor, "slots beam"]


@runtime_checkable
class BeamStrategy(Protocol):
    """Chooses continuations; slots are independent of one another.

    initial_hypotheses: live hypotheses that a source begins with. synchronizes: whether a step
    reads values from the device, so that it cannot be recorded.
    """

    initial_hypotheses: int
    synchronizes: bool

    def admit(self, slots: Sequence[int], sources: Sequence[Source], limits: Sequence[int]) -> None:
        """Begin with sources; limits: the most ids of their translations, without EOS."""
        ...

    def expand(
        self, step: Step, edits: Edits, log_probs: Float[Tensor, "slots beam"]
    ) -> BeamCandidates:
        """Continuations of the live hypotheses, which have these log-probabilities."""
        ...

    def select_live(
        self, candidates: BeamCandidates, ended: Bool[Tensor, "slots candidates"]
    ) -> LiveBeam:
        """The candidates that live on; those that have ended do not."""
        ...

    def max_log_prob(
        self, log_probs: Float[Tensor, "slots beam"]
    ) -> Float[Tensor, " slots"] | None:
        """The greatest log-probability of a slot; None: every live hypothesis must end."""
        ...


class FinishedHypotheses(NamedTuple):
    """The finished hypotheses of each slot, best first; an empty entry has a score of -inf.

    scores: reduced by `MISSING` for each unmet constraint; eos_scores: the log-probability of EOS;
    lengths, parents: of the hypothesis that EOS was added to.
    """

    scores: Float[Tensor, "slots finished"]
    log_probs: Float[Tensor, "slots finished"]
    eos_scores: Float[Tensor, "slots finished"]
    lengths: Int[Tensor, "slots finished"]
    parents: Int[Tensor, "slots finished"]
    missing: Int[Tensor, "slots finished"]

    @classmethod
    def empty(cls, slots: int, finished: int, device: torch.device) -> "FinishedHypotheses":
        """Empty entries for this many finished hypotheses of each slot."""
        floats = torch.full((3, slots, finished), -torch.inf, device=device)
        integers = torch.zeros_like(floats, dtype=torch.int64)
        return cls(*floats, *integers)

    def best_with(self, other: "FinishedHypotheses") -> "FinishedHypotheses":
        """The best entries of both, as many as this one has; of equal ones the earlier is first."""
        joined = [torch.cat(columns, dim=1) for columns in zip(self, other, strict=True)]
        order = joined[0].sort(dim=1, descending=True, stable=True).indices
        order = order[:, : self.scores.shape[1]]
        return FinishedHypotheses(*(column.gather(1, order) for column in joined))


class BeamSelection:
    """Plain beam search: the 2 x beam best candidates, so that `beam` live on if as many end."""

    initial_hypotheses = 1
    synchronizes = False

    def __init__(self, beam: int) -> None:
        """With a beam of 1 only the best continuation is followed (greedy search)."""
        self._beam = beam
        self._count = 2 * beam if beam > 1 else 1

    def admit(self, slots: Sequence[int], sources: Sequence[Source], limits: Sequence[int]) -> None:
        """Plain beam search needs to know nothing of a source."""

    def expand(
        self, step: Step, edits: Edits, log_probs: Float[Tensor, "slots beam"]
    ) -> BeamCandidates:
        """The best candidates of each slot, best first."""
        scores, ids = step.top(self._count, edits)
        # Where a model gives NaN there are no candidates, so that the search ends.
        scores = scores.nan_to_num(nan=-torch.inf, neginf=-torch.inf)
        # (slots * beam, count) -> (slots, beam * count)
        joined = (log_probs.flatten()[:, None] + scores).view(len(log_probs), -1)
        joined, indices = joined.sort(dim=1, descending=True, stable=True)
        joined, indices = joined[:, : self._count], indices[:, : self._count]
        token_scores = scores.reshape(len(indices), -1).gather(1, indices)
        best_ids = ids.reshape(len(indices), -1).gather(1, indices)
        return BeamCandidates(joined, token_scores, indices // scores.shape[1], best_ids)

    def select_live(
        self, candidates: BeamCandidates, ended: Bool[Tensor, "slots candidates"]
    ) -> LiveBeam:
        """The best candidates that do not end."""
        live = candidates.log_probs.masked_fill(ended, -torch.inf)
        live, order = live.sort(dim=1, descending=True, stable=True)
        return LiveBeam(live[:, : self._beam], order[:, : self._beam])

    def max_log_prob(self, log_probs: Float[Tensor, "slots beam"]) -> Float[Tensor, " slots"]:
        """The log-probability of the first hypothesis, since they are sorted."""
        return log_probs[:, 0]
