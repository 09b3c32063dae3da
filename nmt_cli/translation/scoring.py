"""The scores of given translations: how likely a model, or an ensemble, finds them."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from nmt_cli.config.schema import Config
from nmt_cli.config.values import shortened
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.errors import DataError
from nmt_cli.inference.forced_pairs import ForcedPair, Forcer, Pair

# Pairs that are read and scored together.
SCORE_WINDOW = 256


class ScoringModel(Protocol):
    """The interface of a translator, or of a member of an ensemble, that scoring needs."""

    config: Config
    subwords: Subwords

    @property
    def forcer(self) -> Forcer:
        """The reference model."""
        ...


@dataclass(frozen=True)
class ScoredPair:
    """The score of a given pair of lines.

    tokens: the target's subwords, EOS included; token_scores: the log-probability of each, given
    the source and the tokens before it.
    """

    source: str
    target: str
    tokens: tuple[str, ...]
    token_scores: tuple[float, ...]

    @property
    def log_prob(self) -> float:
        """The log-probability of the whole target."""
        return sum(self.token_scores)

    @property
    def perplexity(self) -> float:
        """exp of the mean negative log-probability of the tokens."""
        return perplexity(self.log_prob, len(self.tokens))


def perplexity(log_prob: float, tokens: int) -> float:
    """exp(-log_prob / tokens), limited to what a float can hold.

    >>> round(perplexity(-6.0, 3), 4)
    7.3891
    """
    return math.exp(min(700.0, -log_prob / max(1, tokens)))


def mean_scores(scores: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """The logarithm of the mean probability of each token; scores: (models, tokens).

    >>> mean_scores([[math.log(0.5)], [math.log(0.25)]])[0] == math.log(0.375)
    True
    """
    if len(scores) == 1:
        return tuple(scores[0])
    return tuple(map(_mean_in_logarithms, zip(*scores, strict=True)))


def _mean_in_logarithms(scores: Sequence[float]) -> float:
    """The logarithm of the mean of exp(score)."""
    # Without the largest score, small probabilities would all become 0.
    largest = max(scores)
    return largest + math.log(sum(math.exp(score - largest) for score in scores) / len(scores))


def force_members(
    models: Sequence[Forcer], pairs: Sequence[Pair], *, attention: bool = False
) -> list[ForcedPair]:
    """The scores of pairs of ids, the mean of all models; the attention is that of the first."""
    by_model = [model.force(pairs, attention=attention and model is models[0]) for model in models]
    return [
        same_pair[0]._replace(
            token_scores=list(mean_scores([forced.token_scores for forced in same_pair]))
        )
        for same_pair in zip(*by_model, strict=True)
    ]


def check_positions(
    config: Config,
    pairs: Sequence[tuple[str, str]],
    ids: Sequence[tuple[Sequence[int], Sequence[int]]],
) -> None:
    """Raise DataError for a pair that is longer than the learned positions of a model.

    ids: the source and target ids of each pair.
    """
    positions = config.model.max_positions
    if config.model.positions != "learned":
        return
    for pair, sides in zip(pairs, ids, strict=True):
        if max(map(len, sides)) > positions:
            raise DataError(
                f"`{shortened(pair[0])}` and its translation have {len(sides[0]):,} and "
                f"{len(sides[1]):,} subwords, the model has {positions:,} positions",
                "cut the pair at a sentence",
            )


def score_pairs(
    members: Sequence[ScoringModel], pairs: Iterable[tuple[str, str]]
) -> Iterator[ScoredPair]:
    """The scores of pairs of lines, in order; those of several members are averaged.

    Raises DataError for a pair that is longer than the learned positions of a member.
    """
    window: list[tuple[str, str]] = []
    for index, pair in enumerate(pairs):
        if not _is_pair(pair):
            raise TypeError(
                f"element {index:,} is {shortened(repr(pair))}; "
                "score() takes pairs (source, target), each of two str"
            )
        window.append(pair)
        if len(window) == SCORE_WINDOW:
            yield from _score_window(members, window)
            window = []
    yield from _score_window(members, window)


def _is_pair(pair: object) -> bool:
    return (
        isinstance(pair, tuple | list)
        and len(pair) == 2
        and all(isinstance(side, str) for side in pair)
    )


def _score_window(
    members: Sequence[ScoringModel], pairs: Sequence[tuple[str, str]]
) -> Iterator[ScoredPair]:
    subwords = members[0].subwords
    sources = subwords.encode_source([src for src, _ in pairs])
    targets = subwords.encode_target([tgt for _, tgt in pairs])
    ids = list(zip(sources, targets, strict=True))
    for member in members:
        check_positions(member.config, pairs, ids)
    # (members, pairs, tokens)
    scores = [[forced.token_scores for forced in member.forcer.force(ids)] for member in members]
    for index, (src, tgt) in enumerate(pairs):
        tokens = tuple(subwords.target_pieces(targets[index]))
        yield ScoredPair(src, tgt, tokens, mean_scores([member[index] for member in scores]))
