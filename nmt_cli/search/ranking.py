"""The score that ranks finished hypotheses, and the best score a live one can reach."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt_cli.config.search import SearchConfig
from nmt_cli.search.decoder import Source
from nmt_cli.search.length_penalty import penalties_of, penalty_table

Scores = Float[Tensor, "*rows"]
Lengths = Int[Tensor, "#*rows"]


class HypothesisRanker:
    """score = log_prob / lp(n) + word_reward * n; n counts EOS.

    A score depends on log-probability and length only, to the bit, never on the rest of the batch.
    """

    def __init__(self, config: SearchConfig) -> None:
        self._penalty_name = config.length_penalty
        self._alpha = config.alpha
        self._reward = config.word_reward
        self._table: Tensor | None = None

    def reserve(self, longest: int, device: torch.device) -> None:
        """Keep the penalties of lengths up to `longest` on `device`; no other may be asked for.

        Without it each call synchronises with the device to know the greatest length.
        """
        if self._table is None or len(self._table) <= longest:
            self._table = penalty_table(self._penalty_name, self._alpha, longest).to(device)

    def score(self, log_probs: Scores, lengths: Lengths) -> Scores:
        """Scores of hypotheses with these log-probabilities and lengths, EOS included."""
        scores = log_probs / self._penalty(lengths)
        return scores + self._reward * lengths if self._reward else scores

    def upper_bound(self, log_probs: Scores, min_lengths: Lengths, max_lengths: Lengths) -> Scores:
        """The best score of any continuation that ends with a length between these.

        Log-probabilities only fall, and a greater penalty raises a negative one.
        """
        scores = log_probs / self._penalty(max_lengths)
        if not self._reward:
            return scores
        return scores + self._reward * (max_lengths if self._reward > 0 else min_lengths)

    def _penalty(self, lengths: Lengths) -> Scores:
        if self._table is None:
            return penalties_of(self._penalty_name, self._alpha, lengths)
        return self._table.take(lengths.long())


def max_target_length(source: Source, config: SearchConfig) -> int:
    """The ids of the longest translation of `source` without EOS; a prefix always fits.

    >>> max_target_length(Source([7, 8, 9, 3]), SearchConfig(max_extra_length=50))
    53
    """
    limit = len(source.ids) - 1 + config.max_extra_length
    if config.max_length:
        limit = min(limit, config.max_length)
    return max(limit, len(source.prefix))
