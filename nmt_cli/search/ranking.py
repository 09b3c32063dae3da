"""The score by which finished hypotheses are ranked, and the best that a live one can reach."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt_cli.config.search import SearchConfig
from nmt_cli.search.decoder import Source
from nmt_cli.search.length_penalty import penalty_table

Scores = Float[Tensor, "*rows"]
Lengths = Int[Tensor, "#*rows"]


class HypothesisRanker:
    """score = log_prob / lp(n) + word_reward * n; n counts EOS.

    The same log-probability and length have the same score, to the bit, whatever stands beside.
    """

    def __init__(self, config: SearchConfig) -> None:
        self._kind = config.length_penalty
        self._alpha = config.alpha
        self._reward = config.word_reward
        self._table: Tensor | None = None

    def reserve(self, longest: int, device: torch.device) -> None:
        """Keep the penalties of lengths up to `longest` on `device`; others may not come then.

        Without it each call asks the device which lengths there are.
        """
        if self._table is None or len(self._table) <= longest:
            self._table = penalty_table(self._kind, self._alpha, longest).to(device)

    def score(self, log_probs: Scores, lengths: Lengths) -> Scores:
        """Of hypotheses with so many ids, EOS among them."""
        scores = log_probs / self._penalty(lengths)
        return scores + self._reward * lengths if self._reward else scores

    def bound(self, log_probs: Scores, fewest: Lengths, most: Lengths) -> Scores:
        """No hypothesis that goes on from here and ends with so many ids scores more.

        Log-probabilities only fall, and a greater penalty raises what is negative.
        """
        scores = log_probs / self._penalty(most)
        if not self._reward:
            return scores
        return scores + self._reward * (most if self._reward > 0 else fewest)

    def _penalty(self, lengths: Lengths) -> Scores:
        table = self._table
        if table is None:
            longest = int(lengths.max()) if lengths.numel() else 0
            table = penalty_table(self._kind, self._alpha, longest).to(lengths.device)
        return table.take(lengths.long())


def max_target_length(source: Source, config: SearchConfig) -> int:
    """Ids of the longest translation of `source`, EOS not counted; a prefix always fits.

    >>> max_target_length(Source([7, 8, 9, 3]), SearchConfig(max_extra_length=50))
    53
    """
    limit = len(source.ids) - 1 + config.max_extra_length
    if config.max_length:
        limit = min(limit, config.max_length)
    return max(limit, len(source.prefix))
