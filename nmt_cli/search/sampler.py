"""Sampling: every hypothesis is drawn by itself, from the whole distribution or the top of it.

Random numbers belong to the source: neither its neighbours nor the batch size changes them.
"""

import math
from collections.abc import Sequence

import numpy as np

from nmt_cli.array_types import Bool, Float, Int
from nmt_cli.config.search import SearchConfig
from nmt_cli.search.arrays.interface import Array, arrays_of
from nmt_cli.search.decoder import Edits, Source, Step
from nmt_cli.search.full_distribution import edited_log_probs
from nmt_cli.search.strategy import BeamCandidates, LiveBeam


class Sampler:
    """Samples one id for each row; log-probabilities stay those of the model, as edited."""

    synchronizes = True

    def __init__(self, config: SearchConfig) -> None:
        self.initial_hypotheses = config.rows
        self._config = config
        # For each slot: the uniform random numbers of all steps, and its present step.
        self._uniforms: dict[int, Float[np.ndarray, "steps beam"]] = {}
        self._steps: dict[int, int] = {}

    def admit(self, slots: Sequence[int], sources: Sequence[Source], limits: Sequence[int]) -> None:
        """Draw the random numbers of every step of these sources, by seed and `sample_key`."""
        for slot, source, limit in zip(slots, sources, limits, strict=True):
            generator = np.random.default_rng([self._config.seed, *source.sample_key])
            uniforms = generator.random((limit + 1, self.initial_hypotheses))
            self._uniforms[slot] = uniforms
            self._steps[slot] = 0

    def expand(
        self, step: Step, edits: Edits, log_probs: Float[Array, "slots beam"]
    ) -> BeamCandidates:
        """One id for each live hypothesis."""
        arrays, shape = arrays_of(log_probs), log_probs.shape
        scores, ids = self._distribution(step, edits)
        scores = arrays.without_nan(scores)
        # (slots * beam, 1)
        indices = self._choose(scores, self._next_uniforms(log_probs).flatten()[:, None])
        scores = arrays.chosen(scores, indices).reshape(shape)
        chosen = (indices if ids is None else arrays.chosen(ids, indices)).reshape(shape)
        own = arrays.filled(shape, 0) + arrays.arange(self.initial_hypotheses)
        return BeamCandidates(log_probs + scores, scores, own, chosen)

    def select_live(
        self, candidates: BeamCandidates, ended: Bool[Array, "slots candidates"]
    ) -> LiveBeam:
        """All hypotheses that do not end, in the same rows."""
        log_probs = arrays_of(ended).replaced(candidates.log_probs, ended, -math.inf)
        return LiveBeam(log_probs, candidates.parents)

    def max_log_prob(self, log_probs: Float[Array, "slots beam"]) -> None:
        """None: every sample is completed, however unlikely."""

    def _distribution(
        self, step: Step, edits: Edits
    ) -> tuple[Float[Array, "rows choices"], Int[Array, "rows choices"] | None]:
        """Log-probabilities to choose from, and their ids; None: those of the whole vocabulary."""
        if self._config.top_k:
            return step.top(self._config.top_k, edits)
        scores = edited_log_probs(step.full(), edits)
        if self._config.top_p == 1.0:
            return scores, None
        return arrays_of(scores).best_first(scores)

    def _choose(
        self, scores: Float[Array, "rows choices"], uniforms: Float[Array, "rows 1"]
    ) -> Int[Array, "rows 1"]:
        """The first index at which the cumulative probability exceeds the random number."""
        arrays = arrays_of(scores)
        probabilities = arrays.softmax(arrays.as_doubles(scores) / self._config.temperature)
        sums = arrays.running_sums(probabilities)
        if self._config.top_p < 1.0:
            # An id is kept when those before it do not reach top_p; the first always is.
            probabilities[:, 1:] *= sums[:, :-1] < self._config.top_p
            sums = arrays.running_sums(probabilities)
        return arrays.first_above(sums, uniforms * sums[:, -1:])

    def _next_uniforms(self, live: Float[Array, "slots beam"]) -> Float[Array, "slots beam"]:
        result = np.zeros(live.shape)
        alive = (live > -math.inf).any(1).tolist()
        for slot, uniforms in self._uniforms.items():
            if alive[slot]:
                result[slot] = uniforms[self._steps[slot]]
                self._steps[slot] += 1
        return arrays_of(live).from_numpy(result)
