"""What a translation of one line is, and what a reader should know of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from nmt_cli.config import Search
from nmt_cli.search.decoder import Hypothesis, Source
from nmt_cli.search.limits import longest

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
    sources: Sequence[Source], best: Sequence[Hypothesis], config: Search
) -> tuple[str, ...]:
    """What a reader should know of a translation."""
    facts = {
        "split": len(sources) > 1,
        "at_limit": any(
            len(one.ids) - 1 >= longest(source, config)
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
