"""Backpointers: the token and the parent of every live hypothesis at each of its steps."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

# The buffers grow by a multiple of this many steps.
GROWTH = 32


class Backpointers:
    """The history of every slot; a hypothesis is read back from its last step.

    ids, parents, scores: (slots, capacity, beam): the token, the hypothesis it was added to and
    its log-probability. With `keep_history` the ids of all live hypotheses are kept as well.
    """

    def __init__(
        self, slots: int, beam: int, device: torch.device, *, keep_history: bool = False
    ) -> None:
        self.ids = torch.zeros(slots, 0, beam, dtype=torch.int64, device=device)
        self.parents = torch.zeros_like(self.ids)
        self.scores = torch.zeros(slots, 0, beam, device=device)
        self._slots = torch.arange(slots, device=device)
        # (slots, beam, capacity)
        self._history = torch.zeros(slots, beam, 0, dtype=torch.int64, device=device)
        self._keep_history = keep_history
        self._steps = 0

    @property
    def capacity(self) -> int:
        """The number of steps that the buffers hold."""
        return self.ids.shape[1]

    def reserve(self, steps: int) -> None:
        """Grow the buffers to hold this many steps of each slot."""
        missing = steps - self.capacity
        if missing > 0:
            missing += -steps % GROWTH
            padding = (0, 0, 0, missing)
            self.ids = torch.nn.functional.pad(self.ids, padding)
            self.parents = torch.nn.functional.pad(self.parents, padding)
            self.scores = torch.nn.functional.pad(self.scores, padding)
            if self._keep_history:
                self._history = torch.nn.functional.pad(self._history, (0, missing))

    def write(
        self,
        steps: Int[Tensor, " slots"],
        ids: Int[Tensor, "slots beam"],
        parents: Int[Tensor, "slots beam"],
        scores: Float[Tensor, "slots beam"],
    ) -> None:
        """Store step `steps[slot]` of every slot."""
        self.ids[self._slots, steps] = ids
        self.parents[self._slots, steps] = parents
        self.scores[self._slots, steps] = scores
        if self._keep_history:
            self._history = self._history.gather(1, parents[:, :, None].expand_as(self._history))
            self._history[self._slots, :, steps] = ids
            self._steps = int(steps.max()) + 1

    def live_ids(self) -> Int[Tensor, "rows steps"]:
        """The ids of every live hypothesis, up to the longest; the rest of a row is undefined."""
        return self._history.flatten(0, 1)[:, : self._steps]

    def paths(
        self, slots: Int[Tensor, " some"], ends: Sequence[tuple[int, int, int]]
    ) -> list[tuple[list[int], list[float]]]:
        """The ids and token scores of hypotheses.

        ends: for each, the index of its slot in `slots`, its length and its index in the beam.
        """
        slot_indices, lengths, beams = np.array(ends, dtype=np.int64).reshape(-1, 3).T
        steps = int(lengths.max(initial=0))
        # (some, steps, beam)
        ids, parents, scores = (
            history[slots, :steps].cpu().numpy()
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
