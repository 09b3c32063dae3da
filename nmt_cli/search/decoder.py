"""The interface of search and engines: what a search asks of a model, and what they exchange."""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

from nmt_cli.array_types import Float, Int
from nmt_cli.config.schema import ModelConfig
from nmt_cli.errors import ConfigError
from nmt_cli.search.arrays.choice import arrays_of
from nmt_cli.search.arrays.interface import Array, Arrays
from nmt_cli.search.constraints import LexicalConstraints


@dataclass(frozen=True)
class Source:
    """A line to translate.

    ids: its subword ids, which end with EOS; prefix: ids that its translation begins with;
    constraints: what its translation must contain; sample_key: numbers that, with the seed,
    distinguish its samples from those of other lines; text: the line itself, where unknown words
    are copied from it; allowed: the ids, ascending, that its translation consists of (None: all),
    which follow from the other fields.
    """

    ids: Sequence[int]
    prefix: tuple[int, ...] = ()
    constraints: LexicalConstraints | None = None
    sample_key: tuple[int, ...] = ()
    text: str = ""
    allowed: Int[np.ndarray, " words"] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Hypothesis:
    """A finished translation.

    ids: end with EOS; token_scores: the log-probability of each id; log_prob: their sum; score: as
    `ranking.HypothesisRanker` defines it; missing: the number of constraints that are not met;
    term_faults: what else is wrong with terms, see `translation.term_placement`; term_inserted:
    whether a term stands beside words of which none translates it.
    """

    ids: tuple[int, ...]
    log_prob: float
    score: float
    token_scores: tuple[float, ...]
    missing: int = 0
    term_faults: int = 0
    term_inserted: bool = False


@dataclass(frozen=True)
class Symbols:
    """The ids that have a meaning for a search."""

    start_id: int
    eos_id: int
    banned_ids: tuple[int, ...] = ()

    @classmethod
    def of(cls, config: ModelConfig) -> "Symbols":
        """The symbols of a model; raises ConfigError where no sentence could end."""
        if config.eos_id in config.banned_ids:
            raise ConfigError(f"model.banned_ids holds model.eos_id={config.eos_id}")
        start = config.bos_id if config.start_id == "auto" else config.start_id
        return cls(start, config.eos_id, config.banned_ids)


@dataclass(frozen=True)
class Edits:
    """The changes of the log-probabilities of a step before the best are chosen.

    rows, ids, bias: (edits,), added to the log-probability of that id in that row; -inf forbids it,
    and an edit that occurs several times is added several times.
    forced: (rows,), the only id that a row may produce, or -1.
    """

    rows: Int[Array, " edits"]
    ids: Int[Array, " edits"]
    bias: Float[Array, " edits"]
    forced: Int[Array, " rows"]

    @classmethod
    def ban(cls, ids: Sequence[int], rows: int, arrays: Arrays) -> "Edits":
        """Edits that forbid `ids` in every one of `rows` rows."""
        return cls(
            arrays.repeated(arrays.arange(rows), len(ids)),
            arrays.integers([*ids] * rows),
            arrays.filled_floats((rows * len(ids),), -math.inf),
            arrays.filled((rows,), -1),
        )

    def of_rows(self, rows: Int[Array, " chosen"]) -> "Edits":
        """The edits of some rows, by their place among these."""
        arrays = arrays_of(self.forced)
        place = arrays.filled(self.forced.shape, -1)
        place[rows] = arrays.arange(len(rows))
        places = place[self.rows]
        [kept] = arrays.places(places >= 0)
        return Edits(places[kept], self.ids[kept], self.bias[kept], self.forced[rows])


@runtime_checkable
class Step(Protocol):
    """The model's distribution of the next id in every row; rows of free slots hold -inf."""

    def top(
        self, k: int, edits: Edits
    ) -> tuple[Float[Array, "rows chosen"], Int[Array, "rows chosen"]]:
        """The log-probabilities and ids of the best `k` (or all) of each row, best first.

        They are normalised over the ids that the source allows (all others have -inf), then
        edited. Among equal ones the lowest id comes first.
        """
        ...

    def full(self, rows: Int[Array, " chosen"] | None = None) -> Float[Array, "chosen vocabulary"]:
        """All log-probabilities of some rows, or of all, without edits, as float32."""
        ...


@runtime_checkable
class Decoder(Protocol):
    """An engine: a model with a fixed number of slots, each holding a source and `beam` rows.

    Row `slot * beam + i` is hypothesis i of a slot, so that shapes never change.
    check_every: steps until a search asks which slots are done; asking synchronises with the
    device.
    """

    slots: int
    beam: int
    symbols: Symbols
    check_every: int

    @property
    def arrays(self) -> Arrays:
        """The array library and the device of what it is given and returns."""
        ...

    def admit(self, slots: Sequence[int], sources: Sequence[Source]) -> None:
        """Put new sources into free slots; their rows have no ids yet."""
        ...

    def retire(self, slots: Sequence[int]) -> None:
        """Free slots whose sources are done."""
        ...

    def step(self, parents: Int[Array, " rows"], ids: Int[Array, " rows"]) -> Step:
        """Row r becomes row `parents[r]` (of the same slot) followed by `ids[r]`."""
        ...


@runtime_checkable
class Recorder(Protocol):
    """An engine that can record what a search does at each step, its own step included."""

    def record(self, work: Callable[[], None]) -> Callable[[Hashable], None]:
        """A function that does the same as `work`, which contains a step of this engine.

        `work` changes arrays in place, always the same ones, and never synchronises with the
        device. It is recorded again when the argument of the function changes: the shapes of those
        arrays.
        """
        ...
