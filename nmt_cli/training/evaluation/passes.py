"""The passes over the validation pairs: those of a validation, and of the comparison at the end."""

from collections.abc import Sequence
from typing import NamedTuple

from nmt_cli.config.automatic import Intervals, max_steps
from nmt_cli.config.schema import Config
from nmt_cli.data.corpus.corpus import Corpus

# Sentences that are translated, at most, to compare the last average with the published weights.
FINAL_SENTENCES = 2_000


def sample_of(lines: Sequence[str], count: int) -> list[str]:
    """`count` lines at equal distances, or all if there are not more.

    The first ones of a text that is sorted by length are easier than the rest.

    >>> sample_of("abcdefg", 3), sample_of("ab", 3)
    (['a', 'c', 'e'], ['a', 'b'])
    """
    size = min(count, len(lines))
    return [lines[index * len(lines) // size] for index in range(size)]


class Pass(NamedTuple):
    """One pass over the validation pairs, of several that belong together.

    activity: what it does, for the screen; before: sentences that the passes before it translate;
    whole: sentences of all of them, 0 if there is no other.
    """

    activity: str = "validating"
    before: int = 0
    whole: int = 0


VALIDATION = Pass()


class ComparisonPasses(NamedTuple):
    """The passes at the end of a run; the third follows only if the last average is better."""

    published: Pass
    last: Pass
    usual: Pass

    @classmethod
    def of(cls, sentences: int, usual: int) -> "ComparisonPasses":
        """sentences: that both weights translate; usual: those of a validation.

        >>> [each.before for each in ComparisonPasses.of(300, 200)]
        [0, 300, 600]
        """
        whole = 2 * sentences + usual
        return cls(
            Pass("comparing: published weights", 0, whole),
            Pass("comparing: last average", sentences, whole),
            Pass("validating the last average", 2 * sentences, whole),
        )


def compared_sentences(config: Config, corpus: Corpus) -> int:
    """The sentences that both weights translate at the end of a run; 0 if none are compared."""
    train = config.train
    if corpus.valid_text is None or not 0 < train.validation_sentences < len(corpus.valid_text[0]):
        return 0
    checkpoints = min(train.keep_last, max_steps(train) // Intervals.of(train).checkpoint)
    if checkpoints < 2 and not train.ema:
        return 0
    return min(len(corpus.valid_text[0]), FINAL_SENTENCES)


def comparison_share(config: Config, corpus: Corpus) -> float:
    """How long the comparison takes, at most, as a multiple of a validation; 0 if there is none."""
    sentences, usual = compared_sentences(config, corpus), config.train.validation_sentences
    return ComparisonPasses.of(sentences, usual).usual.whole / usual if sentences else 0.0
