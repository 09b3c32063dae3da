"""How likely a model finds a translation that somebody else made."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nmt_cli.config import Config
from nmt_cli.conversion import shortened
from nmt_cli.errors import DataError


@dataclass(frozen=True)
class ScoredPair:
    """A pair of lines; tokens: the target's subwords, its end among them.

    token_scores: the log-probability of each, given the source and those before it.
    """

    source: str
    target: str
    tokens: tuple[str, ...]
    token_scores: tuple[float, ...]

    @property
    def log_prob(self) -> float:
        """Of the whole target."""
        return sum(self.token_scores)

    @property
    def perplexity(self) -> float:
        """exp of the mean of -log p of the tokens."""
        return perplexity(self.log_prob, len(self.tokens))


def perplexity(log_prob: float, tokens: int) -> float:
    """exp(-log_prob / tokens), at most what a float can hold.

    >>> round(perplexity(-6.0, 3), 4)
    7.3891
    """
    return math.exp(min(700.0, -log_prob / max(1, tokens)))


def mean_scores(scores: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """The logarithm of the mean probability of each token; scores: of each model.

    >>> mean_scores([[math.log(0.5)], [math.log(0.25)]])[0] == math.log(0.375)
    True
    """
    if len(scores) == 1:
        return tuple(scores[0])
    return tuple(
        max(one) + math.log(sum(math.exp(p - max(one)) for p in one) / len(one))
        for one in zip(*scores, strict=True)
    )


def check_places(
    config: Config,
    pairs: Sequence[tuple[str, str]],
    ids: Sequence[tuple[Sequence[int], Sequence[int]]],
) -> None:
    """Raise DataError for a pair that is longer than learned positions of a model reach.

    ids: the subwords of each pair's sides.
    """
    places = config.model.max_positions
    if config.model.positions != "learned":
        return
    for pair, sides in zip(pairs, ids, strict=True):
        if max(map(len, sides)) > places:
            raise DataError(
                f"`{shortened(pair[0])}` and its translation have {len(sides[0]):,} and "
                f"{len(sides[1]):,} subwords, the model has {places:,} positions",
                "cut the pair at a sentence",
            )
