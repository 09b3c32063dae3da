"""The way back: which id and which parent every live hypothesis had, at each of its steps."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

# Room is made for so many steps at a time.
GROWTH = 32


class Backpointers:
    """What was written at each step of each slot; a hypothesis is read from its end.

    ids, parents, scores: (slots, capacity, beam); the token, the hypothesis it was added to, its
    log-probability. With `whole`, what every live hypothesis holds is kept at hand too.
    """

    def __init__(self, slots: int, beam: int, device: torch.device, *, whole: bool = False) -> None:
        self.ids = torch.zeros(slots, 0, beam, dtype=torch.int64, device=device)
        self.parents = torch.zeros_like(self.ids)
        self.scores = torch.zeros(slots, 0, beam, device=device)
        self._slots = torch.arange(slots, device=device)
        self._whole = torch.zeros(slots, beam, 0, dtype=torch.int64, device=device)
        self._keeps_whole = whole
        self._steps = 0

    @property
    def capacity(self) -> int:
        """Steps that there is room for."""
        return self.ids.shape[1]

    def reserve(self, steps: int) -> None:
        """Room for so many steps of each slot."""
        missing = steps - self.capacity
        if missing > 0:
            missing += -steps % GROWTH
            room = (0, 0, 0, missing)
            self.ids = torch.nn.functional.pad(self.ids, room)
            self.parents = torch.nn.functional.pad(self.parents, room)
            self.scores = torch.nn.functional.pad(self.scores, room)
            if self._keeps_whole:
                self._whole = torch.nn.functional.pad(self._whole, (0, missing))

    def write(
        self,
        steps: Int[Tensor, " slots"],
        ids: Int[Tensor, "slots beam"],
        parents: Int[Tensor, "slots beam"],
        scores: Float[Tensor, "slots beam"],
    ) -> None:
        """Note step `steps[slot]` of every slot."""
        self.ids[self._slots, steps] = ids
        self.parents[self._slots, steps] = parents
        self.scores[self._slots, steps] = scores
        if self._keeps_whole:
            self._whole = self._whole.gather(1, parents[:, :, None].expand_as(self._whole))
            self._whole[self._slots, :, steps] = ids
            self._steps = int(steps.max()) + 1

    def written(self) -> Int[Tensor, "rows steps"]:
        """The ids of every live hypothesis, as far as the longest goes; the rest means nothing."""
        return self._whole.flatten(0, 1)[:, : self._steps]

    def paths(
        self, slots: Int[Tensor, " some"], ends: Sequence[tuple[int, int, int]]
    ) -> list[tuple[list[int], list[float]]]:
        """Ids and token scores of hypotheses.

        ends: of each, the number of its slot among `slots`, its length, its place in the beam.
        """
        numbers, lengths, places = np.array(ends, dtype=np.int64).reshape(-1, 3).T
        steps = int(lengths.max(initial=0))
        ids, parents, scores = (
            kind[slots, :steps].cpu().numpy() for kind in (self.ids, self.parents, self.scores)
        )
        # The place that each hypothesis had at each step, from the last to the first.
        way = np.zeros((steps, len(ends)), dtype=np.int64)
        for step in reversed(range(steps)):
            way[step] = places
            places = np.where(step < lengths, parents[numbers, step, places], places)
        every = np.arange(steps)[:, None]
        found_ids, found_scores = ids[numbers, every, way].T, scores[numbers, every, way].T
        return [
            (one[:length].tolist(), own[:length].tolist())
            for one, own, length in zip(found_ids, found_scores, lengths, strict=True)
        ]
