"""What passes between the parts of a search: continuations that were found, and finished ones."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from nmt_cli.search.decoder import Edits, Source, Step

# More than any score: hypotheses that hold more of their terms come first.
MISSING = 1e3


class Candidates(NamedTuple):
    """Continuations of each slot's hypotheses; log_probs are those of the whole.

    missing: terms that each does not hold; None where no source has terms.
    """

    log_probs: Float[Tensor, "slots candidates"]
    token_scores: Float[Tensor, "slots candidates"]
    parents: Int[Tensor, "slots candidates"]
    ids: Int[Tensor, "slots candidates"]
    missing: Int[Tensor, "slots candidates"] | None = None


class Survivors(NamedTuple):
    """Which candidates live on, and with what log-probability; -inf: that place is empty."""

    log_probs: Float[Tensor, "slots beam"]
    order: Int[Tensor, "slots beam"]


@runtime_checkable
class Strategy(Protocol):
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
    ) -> Candidates:
        """Continuations of the live hypotheses, which have these log-probabilities."""
        ...

    def survive(self, found: Candidates, ended: Bool[Tensor, "slots candidates"]) -> Survivors:
        """Which of them live on; what has ended does not."""
        ...

    def ceiling(self, log_probs: Float[Tensor, "slots beam"]) -> Float[Tensor, " slots"] | None:
        """The greatest log-probability of what lives; None: all that lives must come to its end."""
        ...


class Pool(NamedTuple):
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
    def empty(cls, slots: int, finished: int, device: torch.device) -> "Pool":
        """Room for so many of each slot."""
        none = torch.full((3, slots, finished), -torch.inf, device=device)
        nowhere = torch.zeros_like(none, dtype=torch.int64)
        return cls(*none, *nowhere)

    def best_with(self, other: "Pool") -> "Pool":
        """The best of both, as many as there are here; of equals the earlier one."""
        joined = [torch.cat(pair, dim=1) for pair in zip(self, other, strict=True)]
        order = joined[0].sort(dim=1, descending=True, stable=True).indices
        order = order[:, : self.scores.shape[1]]
        return Pool(*(one.gather(1, order) for one in joined))
