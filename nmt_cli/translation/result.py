"""What a translation of one line is, and what a reader should know of it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nmt_cli.config.schema import Config
from nmt_cli.config.search import SearchConfig
from nmt_cli.config.values import shortened
from nmt_cli.errors import DataError
from nmt_cli.search.decoder import Hypothesis, Source
from nmt_cli.search.ranking import max_target_length

# So many copies of the same few subwords in a row are taken for a model that got stuck.
REPEATS, LONGEST_REPEATED = 5, 8

Links = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Alternative:
    """One of the n best translations of a line.

    score: as search.ranker has it; tokens: its subwords, the end of the sentence among them;
    token_scores: log-probability of each; alignment: (source word, word) pairs, both from 0, where
    it was asked for; ids: of the tokens.
    """

    text: str
    score: float
    log_prob: float
    tokens: tuple[str, ...] = ()
    token_scores: tuple[float, ...] = ()
    alignment: Links = ()
    ids: tuple[int, ...] = ()


@dataclass(frozen=True)
class Translation:
    """One line's translation, always one line.

    source: the line as it came; hypotheses: best first, the first is `text` and `score`; flags:
    `empty` (nothing to translate), `split` (a long line, translated in pieces), `at_limit` (cut off
    at the greatest length), `repetition`, `term_missing` (there was no room for a term of the
    glossary), `failed` (the model gives no finite numbers).
    """

    source: str
    text: str
    score: float
    hypotheses: tuple[Alternative, ...]
    flags: tuple[str, ...] = ()


def without_words(line: str, flag: str) -> Translation:
    """An empty translation, and why."""
    return Translation(line, "", 0.0, (Alternative("", 0.0, 0.0),), (flag,))


def flags_of(
    sources: Sequence[Source], best: Sequence[Hypothesis], config: SearchConfig
) -> tuple[str, ...]:
    """What a reader should know of a translation."""
    facts = {
        "split": len(sources) > 1,
        "at_limit": any(
            len(one.ids) - 1 >= max_target_length(source, config)
            for one, source in zip(best, sources, strict=True)
        ),
        "repetition": any(repeats(one.ids) for one in best),
        "term_missing": any(one.missing for one in best),
    }
    return tuple(name for name, so in facts.items() if so)


def repeats(ids: Sequence[int]) -> bool:
    """Whether a few ids come over and over without anything between.

    >>> repeats([7, 8] * 5), repeats([7, 8] * 4)
    (True, False)
    """
    for period in range(1, LONGEST_REPEATED + 1):
        run = 0
        for one, earlier in zip(ids[period:], ids, strict=False):
            run = run + 1 if one == earlier else 0
            if run >= period * (REPEATS - 1):
                return True
    return False


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
