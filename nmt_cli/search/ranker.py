"""The score by which finished hypotheses are ranked, and the best that a live one can reach."""

from jaxtyping import Float, Int
from torch import Tensor

from nmt_cli.config import Search
from nmt_cli.search.length import penalties

Scores = Float[Tensor, "*rows"]
Lengths = Int[Tensor, "#*rows"]


class Ranker:
    """score = log_prob / lp(n) + word_reward * n; n counts EOS."""

    def __init__(self, config: Search) -> None:
        self._kind = config.length_penalty
        self._alpha = config.alpha
        self._reward = config.word_reward

    def score(self, log_probs: Scores, lengths: Lengths) -> Scores:
        """Of hypotheses with so many ids, EOS among them."""
        scores = log_probs / penalties(self._kind, lengths, self._alpha)
        return scores + self._reward * lengths if self._reward else scores

    def bound(self, log_probs: Scores, fewest: Lengths, most: Lengths) -> Scores:
        """No hypothesis that goes on from here and ends with so many ids scores more.

        Log-probabilities only fall, and a greater penalty raises what is negative.
        """
        scores = log_probs / penalties(self._kind, most, self._alpha)
        if not self._reward:
            return scores
        return scores + self._reward * (most if self._reward > 0 else fewest)
