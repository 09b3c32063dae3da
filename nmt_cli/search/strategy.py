"""Beam selection: candidates, the live beam, finished hypotheses, and the strategy that chooses."""

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from nmt_cli.array_types import Bool, Float, Int
from nmt_cli.search.arrays.choice import arrays_of
from nmt_cli.search.arrays.interface import Array, Arrays
from nmt_cli.search.decoder import Edits, Source, Step

# Larger than any difference of scores, so that hypotheses that meet more constraints rank first.
MISSING = 1e3


class BeamCandidates(NamedTuple):
    """Continuations of the hypotheses of each slot; log_probs are those of whole hypotheses.

    missing: the number of constraints that each does not meet; None where no source has any.
    """

    log_probs: Float[Array, "slots candidates"]
    token_scores: Float[Array, "slots candidates"]
    parents: Int[Array, "slots candidates"]
    ids: Int[Array, "slots candidates"]
    missing: Int[Array, "slots candidates"] | None = None


class LiveBeam(NamedTuple):
    """The candidates that live on and their log-probabilities; -inf marks an empty row."""

    log_probs: Float[Array, "slots beam"]
    order: Int[Array, "slots beam"]


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
        self, step: Step, edits: Edits, log_probs: Float[Array, "slots beam"]
    ) -> BeamCandidates:
        """Continuations of the live hypotheses, which have these log-probabilities."""
        ...

    def select_live(
        self, candidates: BeamCandidates, ended: Bool[Array, "slots candidates"]
    ) -> LiveBeam:
        """The candidates that live on; those that have ended do not."""
        ...

    def max_log_prob(self, log_probs: Float[Array, "slots beam"]) -> Float[Array, " slots"] | None:
        """The greatest log-probability of a slot; None: every live hypothesis must end."""
        ...


class FinishedHypotheses(NamedTuple):
    """The finished hypotheses of each slot, best first; an empty entry has a score of -inf.

    scores: reduced by `MISSING` for each unmet constraint; eos_scores: the log-probability of EOS;
    lengths, parents: of the hypothesis that EOS was added to.
    """

    scores: Float[Array, "slots finished"]
    log_probs: Float[Array, "slots finished"]
    eos_scores: Float[Array, "slots finished"]
    lengths: Int[Array, "slots finished"]
    parents: Int[Array, "slots finished"]
    missing: Int[Array, "slots finished"]

    @classmethod
    def empty(cls, slots: int, finished: int, arrays: Arrays) -> "FinishedHypotheses":
        """Empty entries for this many finished hypotheses of each slot."""
        shape = 3, slots, finished
        return cls(*arrays.filled_floats(shape, -math.inf), *arrays.filled(shape, 0))

    def best_with(self, other: "FinishedHypotheses") -> "FinishedHypotheses":
        """The best entries of both, as many as this one has; of equal ones the earlier is first."""
        arrays = arrays_of(self.scores)
        joined = [arrays.joined(columns, axis=1) for columns in zip(self, other, strict=True)]
        order = arrays.best_first(joined[0])[1][:, : self.scores.shape[1]]
        return FinishedHypotheses(*(arrays.chosen(column, order) for column in joined))


class BeamSelection:
    """Plain beam search: the 2 x beam best candidates, so that `beam` live on if as many end.

    candidates: how many are chosen of each slot.
    """

    initial_hypotheses = 1
    synchronizes = False

    def __init__(self, beam: int) -> None:
        """With a beam of 1 only the best continuation is followed (greedy search)."""
        self._beam = beam
        self.candidates = 2 * beam if beam > 1 else 1

    def admit(self, slots: Sequence[int], sources: Sequence[Source], limits: Sequence[int]) -> None:
        """Plain beam search needs to know nothing of a source."""

    def expand(
        self, step: Step, edits: Edits, log_probs: Float[Array, "slots beam"]
    ) -> BeamCandidates:
        """The best candidates of each slot, best first."""
        arrays, slots = arrays_of(log_probs), len(log_probs)
        scores, ids = step.top(self.candidates, edits)
        # Where a model gives NaN there are no candidates, so that the search ends.
        scores = arrays.without_nan(scores)
        # (slots * beam, count) -> (slots, beam * count)
        joined = (log_probs.flatten()[:, None] + scores).reshape(slots, -1)
        joined, indices = arrays.best_first(joined)
        joined, indices = joined[:, : self.candidates], indices[:, : self.candidates]
        token_scores = arrays.chosen(scores.reshape(slots, -1), indices)
        best_ids = arrays.chosen(ids.reshape(slots, -1), indices)
        return BeamCandidates(joined, token_scores, indices // scores.shape[1], best_ids)

    def select_live(
        self, candidates: BeamCandidates, ended: Bool[Array, "slots candidates"]
    ) -> LiveBeam:
        """The best candidates that do not end."""
        arrays = arrays_of(ended)
        live, order = arrays.best_first(arrays.replaced(candidates.log_probs, ended, -math.inf))
        return LiveBeam(live[:, : self._beam], order[:, : self._beam])

    def max_log_prob(self, log_probs: Float[Array, "slots beam"]) -> Float[Array, " slots"]:
        """The log-probability of the first hypothesis, since they are sorted."""
        return log_probs[:, 0]
