"""The score that ranks finished hypotheses, and the best score a live one can reach."""

import numpy as np

from nmt_cli.array_types import Float, Int
from nmt_cli.config.search import SearchConfig
from nmt_cli.search.arrays.interface import Array, Arrays
from nmt_cli.search.decoder import Source
from nmt_cli.search.length_penalty import penalty_of, penalty_table

Scores = Float[Array, "*rows"]
Lengths = Int[Array, "#*rows"]


class HypothesisRanker:
    """score = log_prob / lp(n) + word_reward * n; n counts EOS.

    A score depends on log-probability and length only, to the bit, never on the rest of the batch.
    penalties: (lengths,), the length penalties that were reserved.
    """

    def __init__(self, config: SearchConfig) -> None:
        self._penalty_name = config.length_penalty
        self._alpha = config.alpha
        self._reward = config.word_reward
        self._arrays: Arrays | None = None
        self.penalties: Array = ()

    def reserve(self, longest: int, arrays: Arrays) -> None:
        """Keep the penalties of lengths up to `longest` in arrays; no other may be asked for."""
        if len(self.penalties) <= longest:
            table = penalty_table(self._penalty_name, self._alpha, longest)
            self._arrays, self.penalties = arrays, arrays.from_numpy(table)

    def score_of(self, log_prob: float, length: int) -> float:
        """The score of one hypothesis, with the bits of `score`."""
        penalty = np.float32(penalty_of(self._penalty_name, self._alpha, length))
        score = np.float32(log_prob) / penalty
        if self._reward:
            score += np.float32(self._reward) * np.float32(length)
        return float(score)

    def score(self, log_probs: Scores, lengths: Lengths) -> Scores:
        """Scores of hypotheses with these log-probabilities and lengths, EOS included.

        `reserve` has to be called before.
        """
        scores = log_probs / self.penalties[lengths]
        return scores + self._rewards(lengths) if self._reward else scores

    def upper_bound(self, log_probs: Scores, min_lengths: Lengths, max_lengths: Lengths) -> Scores:
        """The best score of any continuation that ends with a length between these.

        Log-probabilities only fall, and a greater penalty raises a negative one.
        """
        scores = log_probs / self.penalties[max_lengths]
        if not self._reward:
            return scores
        return scores + self._rewards(max_lengths if self._reward > 0 else min_lengths)

    def _rewards(self, lengths: Lengths) -> Scores:
        assert self._arrays is not None
        return self._reward * self._arrays.as_floats(lengths)


def max_target_length(source: Source, config: SearchConfig) -> int:
    """The ids of the longest translation of `source` without EOS; a prefix always fits.

    >>> max_target_length(Source([7, 8, 9, 3]), SearchConfig(max_extra_length=50))
    53
    """
    limit = len(source.ids) - 1 + config.max_extra_length
    if config.max_length:
        limit = min(limit, config.max_length)
    return max(limit, len(source.prefix))
