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


def comparison_passes(contenders: Sequence[str], sentences: int, usual: int) -> list[Pass]:
    """The passes at the end of a run; the last one follows only if other weights are published.

    contenders: the names of the weights; sentences: that are translated with each of them; usual:
    those of a validation.

    >>> passes = comparison_passes(["published weights", "last average"], 300, 200)
    >>> [one_pass.before for one_pass in passes]
    [0, 300, 600]
    """
    activities = [
        *(f"comparing: {contender}" for contender in contenders),
        "validating the chosen weights",
    ]
    whole = len(contenders) * sentences + usual
    return [Pass(activity, index * sentences, whole) for index, activity in enumerate(activities)]


def most_contenders(config: Config, corpus: Corpus) -> int:
    """The weights that are compared at the end of a run, at most; 0 if none are compared.

    They are those that are published, the last average, and those that fine-tuning began with.
    """
    train = config.train
    if not train.compare_at_end or corpus.valid_text is None:
        return 0
    if not 0 < train.validation_sentences < len(corpus.valid_text[0]):
        return 0
    checkpoints = min(train.keep_last, max_steps(train) // Intervals.of(train).checkpoint)
    others = (checkpoints > 1 or train.ema > 0) + bool(train.init_from)
    return 1 + others if others else 0


def compared_sentences(config: Config, corpus: Corpus) -> int:
    """The sentences that all of them translate at the end of a run; 0 if none are compared."""
    if not most_contenders(config, corpus):
        return 0
    assert corpus.valid_text is not None
    return min(len(corpus.valid_text[0]), FINAL_SENTENCES)


def comparison_share(config: Config, corpus: Corpus) -> float:
    """How long the comparison takes, at most, as a multiple of a validation; 0 if there is none."""
    usual = config.train.validation_sentences
    sentences = compared_sentences(config, corpus)
    return most_contenders(config, corpus) * sentences / usual + 1 if sentences else 0.0
