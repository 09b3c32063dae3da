"""Backpointers: the token and the parent of every live hypothesis at each of its steps."""

from collections.abc import Sequence

import numpy as np

from nmt_cli.array_types import Float, Int
from nmt_cli.search.arrays.interface import Array, Arrays

# The buffers grow by a multiple of this many steps.
GROWTH = 32


class Backpointers:
    """The history of every slot; a hypothesis is read back from its last step.

    ids, parents, scores: (slots, capacity, beam): the token, the hypothesis it was added to and
    its log-probability. With `keep_history` the ids of all live hypotheses are kept as well.
    """

    def __init__(
        self, slots: int, beam: int, arrays: Arrays, *, keep_history: bool = False
    ) -> None:
        self.ids = arrays.filled((slots, 0, beam), 0)
        self.parents = arrays.filled((slots, 0, beam), 0)
        self.scores = arrays.filled_floats((slots, 0, beam), 0.0)
        self._arrays = arrays
        self._slots = arrays.arange(slots)
        # (slots, beam, capacity)
        self._history = arrays.filled((slots, beam, 0), 0)
        self._keep_history = keep_history
        self._steps = 0

    @property
    def capacity(self) -> int:
        """The number of steps that the buffers hold."""
        capacity: int = self.ids.shape[1]
        return capacity

    def reserve(self, steps: int) -> None:
        """Grow the buffers to hold this many steps of each slot."""
        missing = steps - self.capacity
        if missing > 0:
            missing += -steps % GROWTH
            padded = self._arrays.padded
            self.ids = padded(self.ids, 1, missing)
            self.parents = padded(self.parents, 1, missing)
            self.scores = padded(self.scores, 1, missing)
            if self._keep_history:
                self._history = padded(self._history, 2, missing)

    def write(
        self,
        steps: Int[Array, " slots"],
        ids: Int[Array, "slots beam"],
        parents: Int[Array, "slots beam"],
        scores: Float[Array, "slots beam"],
    ) -> None:
        """Store step `steps[slot]` of every slot."""
        self.ids[self._slots, steps] = ids
        self.parents[self._slots, steps] = parents
        self.scores[self._slots, steps] = scores
        if self._keep_history:
            self._history = self._arrays.chosen(self._history, parents)
            self._history[self._slots, :, steps] = ids
            self._steps = int(steps.max()) + 1

    def live_ids(self) -> Int[Array, "rows steps"]:
        """The ids of every live hypothesis, up to the longest; the rest of a row is undefined."""
        slots, beam, capacity = self._history.shape
        return self._history.reshape(slots * beam, capacity)[:, : self._steps]

    def paths(
        self, slots: Int[Array, " some"], ends: Sequence[tuple[int, int, int]]
    ) -> list[tuple[list[int], list[float]]]:
        """The ids and token scores of hypotheses.

        ends: for each, the index of its slot in `slots`, its length and its index in the beam.
        """
        slot_indices, lengths, beams = np.array(ends, dtype=np.int64).reshape(-1, 3).T
        steps = int(lengths.max(initial=0))
        # (some, steps, beam)
        ids, parents, scores = (
            self._arrays.to_numpy(history[slots, :steps])
            for history in (self.ids, self.parents, self.scores)
        )
        # The beam index of each hypothesis at each step, followed from the last to the first.
        path = np.zeros((steps, len(ends)), dtype=np.int64)
        for step in reversed(range(steps)):
            path[step] = beams
            beams = np.where(step < lengths, parents[slot_indices, step, beams], beams)
        every_step = np.arange(steps)[:, None]
        # (ends, steps)
        path_ids = ids[slot_indices, every_step, path].T
        path_scores = scores[slot_indices, every_step, path].T
        return [
            (row_ids[:length].tolist(), row_scores[:length].tolist())
            for row_ids, row_scores, length in zip(path_ids, path_scores, lengths, strict=True)
        ]
