"""Sampling: every hypothesis is drawn by itself, from the whole distribution or the top of it.

Random numbers belong to the source: neither its neighbours nor the batch size changes them.
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
    """Samples one id for each row; log-probabilities stay those of the model, as edited."""

    synchronizes = True

    def __init__(self, config: SearchConfig) -> None:
        self.initial_hypotheses = config.rows
        self._config = config
        # For each slot: the uniform random numbers of all steps, and its present step.
        self._uniforms: dict[int, Float[Tensor, "steps beam"]] = {}
        self._steps: dict[int, int] = {}

    def admit(self, slots: Sequence[int], sources: Sequence[Source], limits: Sequence[int]) -> None:
        """Draw the random numbers of every step of these sources, by seed and `sample_key`."""
        for slot, source, limit in zip(slots, sources, limits, strict=True):
            generator = np.random.default_rng([self._config.seed, *source.sample_key])
            uniforms = generator.random((limit + 1, self.initial_hypotheses))
            self._uniforms[slot] = torch.from_numpy(uniforms)
            self._steps[slot] = 0

    def expand(
        self, step: Step, edits: Edits, log_probs: Float[Tensor, "slots beam"]
    ) -> BeamCandidates:
        """One id for each live hypothesis."""
        scores, ids = self._distribution(step, edits)
        scores = scores.nan_to_num(nan=-torch.inf, neginf=-torch.inf)
        # (slots * beam, 1)
        indices = self._choose(scores, self._next_uniforms(log_probs).flatten()[:, None])
        scores = scores.gather(1, indices).view_as(log_probs)
        chosen = (indices if ids is None else ids.gather(1, indices)).view_as(log_probs)
        own = torch.arange(self.initial_hypotheses, device=chosen.device).expand_as(chosen)
        return BeamCandidates(log_probs + scores, scores, own, chosen)

    def select_live(
        self, candidates: BeamCandidates, ended: Bool[Tensor, "slots candidates"]
    ) -> LiveBeam:
        """All hypotheses that do not end, in the same rows."""
        return LiveBeam(candidates.log_probs.masked_fill(ended, -torch.inf), candidates.parents)

    def max_log_prob(self, log_probs: Float[Tensor, "slots beam"]) -> None:
        """None: every sample is completed, however unlikely."""

    def _distribution(
        self, step: Step, edits: Edits
    ) -> tuple[Float[Tensor, "rows choices"], Int[Tensor, "rows choices"] | None]:
        """Log-probabilities to choose from, and their ids; None: those of the whole vocabulary."""
        if self._config.top_k:
            return step.top(self._config.top_k, edits)
        scores = edited_log_probs(step.full(), edits)
        if self._config.top_p == 1.0:
            return scores, None
        return scores.sort(dim=1, descending=True, stable=True)

    def _choose(
        self, scores: Float[Tensor, "rows choices"], uniforms: Float[Tensor, "rows 1"]
    ) -> Int[Tensor, "rows 1"]:
        """The first index at which the cumulative probability exceeds the random number."""
        scaled = scores.double() / self._config.temperature
        probabilities = scaled.softmax(dim=1).nan_to_num(0.0)
        sums = probabilities.cumsum(dim=1)
        if self._config.top_p < 1.0:
            # An id is kept when those before it do not reach top_p; the first always is.
            probabilities[:, 1:] *= sums[:, :-1] < self._config.top_p
            sums = probabilities.cumsum(dim=1)
        wanted = uniforms * sums[:, -1:]
        return torch.searchsorted(sums, wanted, right=True).clamp(max=scores.shape[1] - 1)

    def _next_uniforms(self, live: Float[Tensor, "slots beam"]) -> Float[Tensor, "slots beam"]:
        result = torch.zeros(live.shape, dtype=torch.float64)
        alive = (live > -torch.inf).any(dim=1).tolist()
        for slot, uniforms in self._uniforms.items():
            if alive[slot]:
                result[slot] = uniforms[self._steps[slot]]
                self._steps[slot] += 1
        return result.to(live.device)
