"""Plain beam search that an engine runs by itself, in place of `BeamSearch`."""

from collections.abc import Callable, Sequence, Set
from functools import lru_cache
from typing import NamedTuple, Protocol, TypeGuard, runtime_checkable

from nmt_cli.array_types import Float
from nmt_cli.config.search import SearchConfig
from nmt_cli.search.arrays.interface import Array
from nmt_cli.search.decoder import Decoder, Hypothesis, Source
from nmt_cli.search.length_penalty import penalty_table
from nmt_cli.search.ranking import max_target_length
from nmt_cli.search.source_queue import IndexedSource

# Tables of penalties have a multiple of this many lengths.
LENGTHS = 64


class PlainBeam(NamedTuple):
    """The rules of a plain beam search.

    candidates: of each slot at each step; finished: hypotheses that are kept of each slot;
    enough: finished hypotheses that end the search of a source, 0: no number ends it; min_length:
    the fewest ids of a hypothesis, unless its limit is lower;
    banned_ids: never produced unless they are forced; word_reward: as in `HypothesisRanker`;
    penalties: the length penalties of all lengths up to at least the one that it is given.
    """

    candidates: int
    finished: int
    enough: int
    min_length: int
    banned_ids: Sequence[int]
    word_reward: float
    penalties: Callable[[int], Float[Array, " lengths"]]


@runtime_checkable
class FusedSearch(Protocol):
    """A plain beam search in an engine, with the results of `BeamSearch` to the bit."""

    def begin(self, slots: Sequence[int], sources: Sequence[Source], limits: Sequence[int]) -> None:
        """Put sources into free slots; limits: the most ids of a hypothesis of each."""
        ...

    def run(self) -> list[int]:
        """Run steps until slots are done, or for about a millisecond; the slots that are done."""
        ...

    def finished(self, slot: int) -> list[Hypothesis]:
        """The finished hypotheses of a slot that is done, best first."""
        ...

    def free(self, slots: Sequence[int]) -> None:
        """Free these slots, which may be at work."""
        ...


@runtime_checkable
class FusedDecoder(Protocol):
    """An engine that runs a whole plain beam search."""

    def fused_search(self, rules: PlainBeam) -> FusedSearch:
        """A search in the slots of this decoder, which is used for nothing else then."""
        ...


class FusedBeamSearch:
    """As `search.beam.BeamSearch`, for plain beam search in an engine that runs it by itself."""

    def __init__(
        self,
        decoder: FusedDecoder,
        slots: int,
        config: SearchConfig,
        candidates: int,
        banned_ids: Sequence[int],
    ) -> None:
        """slots: of the decoder; candidates, banned_ids: as in PlainBeam."""
        self.active: dict[int, IndexedSource] = {}
        self._slots, self._config = slots, config
        name, alpha = config.length_penalty, config.alpha
        self._search = decoder.fused_search(
            PlainBeam(
                candidates, config.finished, config.enough, config.min_length, banned_ids,
                config.word_reward,
                lambda longest: _penalties(name, alpha, -(-longest // LENGTHS) * LENGTHS),
            )
        )  # fmt: skip

    @property
    def busy_tokens(self) -> int:
        """The source tokens of all busy slots."""
        return sum(len(source.ids) for _, source in self.active.values())

    def admit(self, new: Sequence[IndexedSource]) -> None:
        """Put sources into free slots."""
        free = [slot for slot in range(self._slots) if slot not in self.active]
        slots, sources = free[: len(new)], [source for _, source in new]
        self.active.update(zip(slots, new, strict=True))
        limits = [max_target_length(source, self._config) for source in sources]
        self._search.begin(slots, sources, limits)

    def advance(self) -> list[tuple[int, list[Hypothesis]]]:
        """Run some steps of every slot; return the sources that are done and free them."""
        done = sorted(self._search.run())
        if not done:
            return []
        results = [(self.active[slot][0], self._search.finished(slot)) for slot in done]
        self._free(done)
        return results

    def drop(self, indices: Set[int] | None = None) -> None:
        """Free the slots of the sources with these indices; None: of all sources."""
        slots = [
            slot for slot, (index, _) in self.active.items() if indices is None or index in indices
        ]
        if slots:
            self._free(slots)

    def _free(self, slots: Sequence[int]) -> None:
        self._search.free(slots)
        for slot in slots:
            del self.active[slot]


def is_fused(decoder: Decoder) -> TypeGuard[FusedDecoder]:
    """Whether this engine runs plain beam search by itself."""
    # Classes are remembered, instances are not: `isinstance` would look at all names each time.
    return issubclass(type(decoder), FusedDecoder)


@lru_cache(maxsize=16)
def _penalties(name: str, alpha: float, longest: int) -> Float[Array, " lengths"]:
    """Length penalties up to this length; not to be changed."""
    return penalty_table(name, alpha, longest)
