"""Logits processors: changes of log-probabilities before the best are chosen, and their list."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol, runtime_checkable

from nmt_cli.array_types import Float, Int
from nmt_cli.config.search import SearchConfig
from nmt_cli.search.arrays.choice import arrays_of
from nmt_cli.search.arrays.interface import Array, Arrays
from nmt_cli.search.decoder import Edits


class LiveHypotheses(NamedTuple):
    """The live hypotheses, as logits processors see them.

    ids: kept only where a processor needs the history; lengths: how many ids of each row count.
    """

    ids: Int[Array, "rows steps"]
    lengths: Int[Array, " rows"]


class LogitsEdits(NamedTuple):
    """`bias` is added to the log-probability of `ids` in `rows`; -inf forbids an id."""

    rows: Int[Array, " changes"]
    ids: Int[Array, " changes"]
    bias: Float[Array, " changes"]


@runtime_checkable
class LogitsProcessor(Protocol):
    """A rule that changes the log-probabilities of the next ids.

    needs_history: whether it reads the ids of live hypotheses; a processor that does not must
    never synchronise with the device.
    """

    needs_history: bool

    def __call__(self, live: LiveHypotheses) -> LogitsEdits:
        """The changes for the next id of every row."""
        ...


def forbid(rows: Int[Array, " changes"], ids: Int[Array, " changes"]) -> LogitsEdits:
    """Edits that forbid `ids[i]` in row `rows[i]`."""
    return LogitsEdits(rows, ids, arrays_of(rows).filled_floats(rows.shape, -math.inf))


class MinimumLength:
    """Forbids EOS before `length` ids; at the maximum length EOS is forced, and that wins."""

    needs_history = False

    def __init__(self, length: int, eos_id: int) -> None:
        self._length = length
        self._eos_id = eos_id

    def __call__(self, live: LiveHypotheses) -> LogitsEdits:
        """Forbid EOS in short rows; in the others its bias is 0."""
        arrays, count = arrays_of(live.lengths), len(live.lengths)
        bias = arrays.filled_floats((count,), 0.0)
        bias = arrays.replaced(bias, live.lengths < self._length, -math.inf)
        return LogitsEdits(arrays.arange(count), arrays.filled((count,), self._eos_id), bias)


class NoRepeat:
    """Forbids every n-gram of `size` ids that the hypothesis already contains."""

    needs_history = True

    def __init__(self, size: int) -> None:
        self._size = size

    def __call__(self, live: LiveHypotheses) -> LogitsEdits:
        """Forbid each id that followed an earlier occurrence of the last `size - 1` ids."""
        lengths, size, arrays = live.lengths[:, None], self._size, arrays_of(live.lengths)
        if live.ids.shape[1] < size:
            nothing = live.lengths[:0]
            return forbid(nothing, nothing)
        # (rows, n-grams, size)
        ngrams = arrays.windows(live.ids, size)
        last = lengths - size + 1 + arrays.arange(size - 1)
        # (rows, size - 1)
        context = arrays.chosen(live.ids, arrays.at_least(last, 0))
        ends = arrays.arange(ngrams.shape[1]) + size
        same = (ngrams[:, :, :-1] == context[:, None]).all(-1) & (ends <= lengths)
        rows, positions = arrays.places(same)
        return forbid(rows, ngrams[rows, positions, -1])


class RepetitionPenalty:
    """Divides the probability of ids that a hypothesis already contains by `factor`.

    (Dividing logits, as in Keskar et al. 2019, depends on a constant added to all of them; dividing
    log-probabilities hardly changes an id that is nearly certain, which is what a model that
    repeats itself produces.)
    """

    needs_history = True

    def __init__(self, factor: float) -> None:
        self._bias = -math.log(factor)

    def __call__(self, live: LiveHypotheses) -> LogitsEdits:
        """The same bias for each id that a row contains, once or more often."""
        arrays = arrays_of(live.lengths)
        positions = arrays.arange(live.ids.shape[1])
        rows, columns = arrays.places(positions < live.lengths[:, None])
        # (pairs, 2): row and id
        pairs = [rows[:, None], live.ids[rows, columns][:, None]]
        pairs = arrays.distinct_rows(arrays.joined(pairs, axis=1))
        bias = arrays.filled_floats((len(pairs),), self._bias)
        return LogitsEdits(pairs[:, 0], pairs[:, 1], bias)


def make_logits_processors(config: SearchConfig, eos_id: int) -> list[LogitsProcessor]:
    """The logits processors that the settings ask for."""
    processors: list[LogitsProcessor] = []
    if config.min_length:
        processors.append(MinimumLength(config.min_length, eos_id))
    if config.no_repeat_ngram:
        processors.append(NoRepeat(config.no_repeat_ngram))
    if config.repetition_penalty != 1.0:
        processors.append(RepetitionPenalty(config.repetition_penalty))
    return processors


class LogitsProcessorList:
    """All edits of a step: those of `banned_ids`, of the logits processors, and forced ids."""

    def __init__(
        self,
        banned_ids: Sequence[int],
        processors: Iterable[LogitsProcessor],
        rows: int,
        arrays: Arrays,
    ) -> None:
        self.banned_ids = banned_ids
        self._arrays = arrays
        self._bans = Edits.ban(banned_ids, rows, arrays)
        self.processors = list(processors)
        self.needs_history = any(processor.needs_history for processor in self.processors)

    def bans_only(self, forced: Int[Array, " rows"]) -> Edits:
        """The bans, where there are no processors and no id but EOS is forced."""
        return replace(self._bans, forced=forced)

    def edits(self, live: LiveHypotheses, forced: Int[Array, " rows"]) -> Edits:
        """All edits; `forced` ids (-1: none) take precedence over every processor."""
        bans = self._bans
        changes = [LogitsEdits(bans.rows, bans.ids, bans.bias)]
        changes += [processor(live) for processor in self.processors]
        arrays = self._arrays
        rows, ids, bias = (arrays.joined(columns) for columns in zip(*changes, strict=True))
        return Edits(rows, ids, arrays.replaced(bias, forced[rows] >= 0, 0.0), forced)
