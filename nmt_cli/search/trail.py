"""The way back: which id and which parent every live hypothesis had, at each of its steps."""

import torch
from jaxtyping import Float, Int
from torch import Tensor


class Trail:
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

    def reserve(self, steps: int) -> None:
        """Room for so many steps of each slot."""
        missing = steps - self.ids.shape[1]
        if missing > 0:
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

    def paths(self, slot: int, ends: list[tuple[int, int]]) -> list[tuple[list[int], list[float]]]:
        """Ids and token scores of the hypotheses that have `(length, place in the beam)`."""
        steps = max((length for length, _ in ends), default=0)
        ids, parents, scores = (
            kind[slot, :steps].tolist() for kind in (self.ids, self.parents, self.scores)
        )
        paths = []
        for length, place in ends:
            path, path_scores = [], []
            for step in reversed(range(length)):
                path.append(ids[step][place])
                path_scores.append(scores[step][place])
                place = parents[step][place]
            paths.append((path[::-1], path_scores[::-1]))
        return paths
