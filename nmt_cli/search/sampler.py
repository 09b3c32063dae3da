"""Sampling: every hypothesis is drawn by itself, from the whole distribution or the top of it.

Random numbers belong to the source: neither its neighbours nor the batch size changes them.
"""

import math
from collections.abc import Sequence

import numpy as np

from nmt_cli.array_types import Bool, Float, Int
from nmt_cli.config.search import SearchConfig
from nmt_cli.search.arrays.choice import arrays_of
from nmt_cli.search.arrays.interface import Array
from nmt_cli.search.decoder import Edits, Source, Step
from nmt_cli.search.full_distribution import edited_log_probs
from nmt_cli.search.strategy import BeamCandidates, LiveBeam

# So many ids are looked at first for those that reach top_p, and so many times more each time
# that they do not.
NUCLEUS = 64
WIDER = 16


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
        uniforms = self._next_uniforms(log_probs).flatten()[:, None]
        # Most hypotheses of a source may have ended when the longest goes on.
        [live] = arrays.places(log_probs.flatten() > -math.inf)
        if self._config.top_p < 1.0 and not self._config.top_k:
            chosen = self._from_nucleus(step, edits, live, uniforms[live])
        else:
            chosen = self._from_distribution(step, edits, live, uniforms[live])
        scores, ids = arrays.filled_floats(shape, 0.0), arrays.filled(shape, 0)
        for column, live_column in zip((scores, ids), chosen, strict=True):
            column.reshape(-1)[live] = live_column[:, 0]
        own = arrays.filled(shape, 0) + arrays.arange(self.initial_hypotheses)
        return BeamCandidates(log_probs + scores, scores, own, ids)

    def select_live(
        self, candidates: BeamCandidates, ended: Bool[Array, "slots candidates"]
    ) -> LiveBeam:
        """All hypotheses that do not end, in the same rows."""
        log_probs = arrays_of(ended).replaced(candidates.log_probs, ended, -math.inf)
        return LiveBeam(log_probs, candidates.parents)

    def max_log_prob(self, log_probs: Float[Array, "slots beam"]) -> None:
        """None: every sample is completed, however unlikely."""

    def _from_distribution(
        self, step: Step, edits: Edits, live: Int[Array, " rows"], uniforms: Float[Array, "rows 1"]
    ) -> tuple[Float[Array, "rows 1"], Int[Array, "rows 1"]]:
        """Log-probability and id of a choice from the top_k, or from the whole vocabulary."""
        config = self._config
        if config.top_k:
            scores, ids = (best[live] for best in step.top(config.top_k, edits))
        else:
            scores, ids = edited_log_probs(step.full(live), edits.of_rows(live)), None
        arrays = arrays_of(scores)
        scores = arrays.without_nan(scores)
        probabilities = arrays.softmax(arrays.as_doubles(scores) / config.temperature)
        indices = self._choose(probabilities, uniforms)
        chosen = indices if ids is None else arrays.chosen(ids, indices)
        return arrays.chosen(scores, indices), chosen

    def _from_nucleus(
        self, step: Step, edits: Edits, live: Int[Array, " rows"], uniforms: Float[Array, "rows 1"]
    ) -> tuple[Float[Array, "rows 1"], Int[Array, "rows 1"]]:
        """Log-probability and id of a choice from the fewest of the best ids that reach top_p.

        Only the best ids of each row are sorted; more for the rows in which these do not reach it.
        """
        arrays = arrays_of(uniforms)
        scores = arrays.without_nan(edited_log_probs(step.full(live), edits.of_rows(live)))
        whole = arrays.softmax(scores / self._config.temperature)
        rows = arrays.arange(len(scores))
        count, ids = NUCLEUS, step.top(NUCLEUS, edits)[1][live]
        chosen = arrays.copied(ids[:, :1])
        while True:
            probabilities = arrays.as_doubles(arrays.chosen(whole[rows], ids))
            # A row that has no probabilities never reaches top_p.
            enough = (probabilities.sum(1) >= self._config.top_p) | (probabilities[:, -1] == 0)
            indices = self._choose(probabilities, uniforms[rows])
            chosen[rows] = arrays.chosen(ids, indices)
            [missing] = arrays.places(~enough)
            if count >= scores.shape[1] or not len(missing):
                return arrays.chosen(scores, chosen), chosen
            rows, count = rows[missing], WIDER * count
            _, ids = arrays.top_k(scores[rows], count)

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
