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

# So many ids are looked at first for those that reach top_p.
NUCLEUS = 64


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
        scores, ids, probabilities = self._distribution(step, edits)
        # (slots * beam, 1)
        indices = self._choose(probabilities, self._next_uniforms(log_probs).flatten()[:, None])
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
    ) -> tuple[
        Float[Array, "rows choices"],
        Int[Array, "rows choices"] | None,
        Float[Array, "rows choices"],
    ]:
        """Log-probabilities to choose from, their ids, and their probabilities in doubles.

        ids: None for those of the whole vocabulary, in its order; else the best come first.
        """
        config = self._config
        if not config.top_k and config.top_p < 1.0:
            return self._nucleus(step, edits)
        if config.top_k:
            scores, ids = step.top(config.top_k, edits)
        else:
            scores, ids = edited_log_probs(step.full(), edits), None
        arrays = arrays_of(scores)
        scores = arrays.without_nan(scores)
        return scores, ids, arrays.softmax(arrays.as_doubles(scores) / config.temperature)

    def _nucleus(
        self, step: Step, edits: Edits
    ) -> tuple[
        Float[Array, "rows choices"], Int[Array, "rows choices"], Float[Array, "rows choices"]
    ]:
        """The best of each row, at least as many as reach top_p; results as of `_distribution`.

        How many there are depends on the neighbours of a row, but not which of them it chooses.
        """
        scores = edited_log_probs(step.full(), edits)
        arrays = arrays_of(scores)
        whole = arrays.softmax(arrays.without_nan(scores) / self._config.temperature)
        count = NUCLEUS
        while True:
            best, ids = step.top(count, edits)
            probabilities = arrays.as_doubles(arrays.chosen(whole, ids))
            # A row that has no probabilities never reaches top_p.
            enough = (probabilities.sum(1) >= self._config.top_p) | (probabilities[:, -1] == 0)
            if count >= scores.shape[1] or bool(enough.all()):
                return arrays.without_nan(best), ids, probabilities
            count *= 4

    def _choose(
        self, probabilities: Float[Array, "rows choices"], uniforms: Float[Array, "rows 1"]
    ) -> Int[Array, "rows 1"]:
        """The first index at which the cumulative probability exceeds the random number."""
        arrays = arrays_of(probabilities)
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
