"""Sampling: every hypothesis is drawn by itself, from the model's distribution or the top of it.

The numbers of chance belong to the source: neither its neighbours nor the batch changes them.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from nmt_cli.config.search import SearchConfig
from nmt_cli.search.decoder import Edits, Source, Step
from nmt_cli.search.strategy import BeamCandidates, LiveBeam
from nmt_cli.search.top_k import edited_log_probs


class Sampler:
    """Each row of a slot goes its own way; log-probabilities stay the model's, as edited."""

    waits = True

    def __init__(self, config: SearchConfig) -> None:
        self.starts = config.rows
        self._config = config
        self._draws: dict[int, Float[Tensor, "steps beam"]] = {}
        self._steps: dict[int, int] = {}

    def admit(self, slots: Sequence[int], sources: Sequence[Source], limits: Sequence[int]) -> None:
        """Draw the numbers of every step of these sources, by seed and `Source.draw`."""
        for slot, source, limit in zip(slots, sources, limits, strict=True):
            chooser = np.random.default_rng([self._config.seed, *source.draw])
            self._draws[slot] = torch.from_numpy(chooser.random((limit + 1, self.starts)))
            self._steps[slot] = 0

    def expand(
        self, step: Step, edits: Edits, log_probs: Float[Tensor, "slots beam"]
    ) -> BeamCandidates:
        """One id for each live hypothesis."""
        scores, ids = self._distribution(step, edits)
        scores = scores.nan_to_num(nan=-torch.inf, neginf=-torch.inf)
        places = self._choose(scores, self._next_draws(log_probs).flatten()[:, None])
        scores = scores.gather(1, places).view_as(log_probs)
        chosen = (places if ids is None else ids.gather(1, places)).view_as(log_probs)
        own = torch.arange(self.starts, device=chosen.device).expand_as(chosen)
        return BeamCandidates(log_probs + scores, scores, own, chosen)

    def survive(self, found: BeamCandidates, ended: Bool[Tensor, "slots candidates"]) -> LiveBeam:
        """All that do not end, in their places."""
        return LiveBeam(found.log_probs.masked_fill(ended, -torch.inf), found.parents)

    def ceiling(self, log_probs: Float[Tensor, "slots beam"]) -> None:
        """Every sample is wanted, however likely."""

    def _distribution(
        self, step: Step, edits: Edits
    ) -> tuple[Float[Tensor, "rows choices"], Int[Tensor, "rows choices"] | None]:
        """Log-probabilities to choose from, and their ids; None: the whole vocabulary's."""
        if self._config.top_k:
            return step.top(self._config.top_k, edits)
        scores = edited_log_probs(step.full(), edits)
        if self._config.top_p == 1.0:
            return scores, None
        return scores.sort(dim=1, descending=True, stable=True)

    def _choose(
        self, scores: Float[Tensor, "rows choices"], draws: Float[Tensor, "rows 1"]
    ) -> Int[Tensor, "rows 1"]:
        """The place where the summed probabilities pass the number drawn."""
        chances = (scores.double() / self._config.temperature).softmax(dim=1).nan_to_num(0.0)
        sums = chances.cumsum(dim=1)
        if self._config.top_p < 1.0:
            # What is still needed when all before it do not make up top_p; the first always is.
            chances[:, 1:] *= sums[:, :-1] < self._config.top_p
            sums = chances.cumsum(dim=1)
        wanted = draws * sums[:, -1:]
        return torch.searchsorted(sums, wanted, right=True).clamp(max=scores.shape[1] - 1)

    def _next_draws(self, live: Float[Tensor, "slots beam"]) -> Float[Tensor, "slots beam"]:
        draws = torch.zeros(live.shape, dtype=torch.float64)
        alive = (live > -torch.inf).any(dim=1).tolist()
        for slot, numbers in self._draws.items():
            if alive[slot]:
                draws[slot] = numbers[self._steps[slot]]
                self._steps[slot] += 1
        return draws.to(live.device)
