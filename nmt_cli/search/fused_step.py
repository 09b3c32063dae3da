"""Steps of plain beam search that an engine runs by itself, in place of those of `BeamSearch`."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from nmt_cli.array_types import Float, Int
from nmt_cli.search.arrays.interface import Array
from nmt_cli.search.backpointers import Backpointers
from nmt_cli.search.beam_state import BeamState


class PlainBeam(NamedTuple):
    """The rules of a plain beam search.

    candidates: of each slot at each step; finished: hypotheses that are kept of each slot;
    banned_ids: never produced unless they are forced; word_reward: as in `HypothesisRanker`.
    """

    candidates: int
    finished: int
    banned_ids: Sequence[int]
    word_reward: float


class StepArrays(NamedTuple):
    """The arrays that a step reads, and those that it changes in place: state, backpointers.

    limits: the largest number of ids of a hypothesis; prefixes: ids that are forced, or -1;
    penalties: of each length.
    """

    state: BeamState
    backpointers: Backpointers
    limits: Int[Array, " slots"]
    prefixes: Int[Array, "slots steps"]
    penalties: Float[Array, " lengths"]


@runtime_checkable
class FusedDecoder(Protocol):
    """An engine that runs a whole step of plain beam search, with the results of `BeamSearch`."""

    def fused_step(self, rules: PlainBeam) -> Callable[[StepArrays], None]:
        """A function that extends every hypothesis of the busy slots by one id.

        It is given a new `StepArrays` when an array was replaced by another one.
        """
        ...
