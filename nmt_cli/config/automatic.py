"""Settings derived from the size of the data: vocabulary size, steps, intervals.

They depend on the data alone, so that the same data give the same model on every machine.
"""

import math
from typing import NamedTuple

from nmt_cli.config.schema import TrainConfig
from nmt_cli.errors import ConfigError

# An entry that occurs less often is learnt too badly.
FEWEST_OCCURRENCES = 10
# The vocabulary size for a text of this many words, both sides together. In equal time, 8,000 is
# better than 4,000 for 10,000 and 29,000 pairs (docs/results.md).
VOCABULARY, VOCABULARY_WORDS = 10_000, 2_000_000
GROWTH = 0.2
WORDS_PER_ENTRY = 20
LARGEST_VOCABULARY = 32_000
# The training steps for a text of this many target tokens.
STEPS, STEPS_TOKENS = 2_750, 1_000_000
FEWEST_STEPS, MOST_STEPS = 400, 20_000
CHECKPOINTS = 30
CHECKPOINTS_PER_VALIDATION = 3
# In a short run, validations must not take longer than the training itself: a model that is hardly
# trained repeats itself up to the length limit. No run of automatic length has a smaller interval.
FEWEST_STEPS_BETWEEN_VALIDATIONS = 30
# The warm-up of few steps: 4 to 12 % of the steps are those of the presets that have a number of
# steps. The shortest run of `small` has four times its warm-up.
WARMUP_SHARE = 0.1
FEWEST_STEPS_PER_WARMUP = 4


def vocabulary_size(words: int) -> int:
    """The vocabulary size for a text of `words` words (of both languages, if they share it).

    It grows with the power 0.2 of the text, and there are at least 20 words for each entry.

    >>> vocabulary_size(10_000), vocabulary_size(700_000), vocabulary_size(29_000_000)
    (500, 8100, 17100)
    """
    unbounded = VOCABULARY * (words / VOCABULARY_WORDS) ** GROWTH
    return _rounded(min(unbounded, words / WORDS_PER_ENTRY, LARGEST_VOCABULARY), 100)


def training_steps(tokens: int) -> int:
    """The training steps for a corpus of `tokens` target tokens; they grow with its square root.

    >>> training_steps(300_000), training_steps(3_000_000), training_steps(10**9)
    (1500, 4750, 20000)
    """
    unbounded = STEPS * math.sqrt(tokens / STEPS_TOKENS)
    return _rounded(min(max(unbounded, FEWEST_STEPS), MOST_STEPS), 50)


def _rounded(number: float, multiple: int) -> int:
    return max(1, round(number / multiple)) * multiple


def shorter_warmup(steps: int, warmup: int) -> int:
    """The warm-up that suits a run of `steps` better than `warmup`; 0 where that is short enough.

    >>> shorter_warmup(63, 100), shorter_warmup(399, 100), shorter_warmup(400, 100)
    (6, 39, 0)
    """
    if steps >= FEWEST_STEPS_PER_WARMUP * warmup:
        return 0
    advised = max(1, int(WARMUP_SHARE * steps))
    return advised if advised < warmup else 0


def max_steps(train: TrainConfig) -> int:
    """`train.max_steps` as a number; raises ConfigError if it is `auto`."""
    if isinstance(train.max_steps, str):
        raise ConfigError(
            "train.max_steps is auto, but no corpus is given from which it could be derived",
            "give a number: --max-steps N",
        )
    return train.max_steps


class Intervals(NamedTuple):
    """Steps between reports, checkpoints and validations."""

    log: int
    checkpoint: int
    validate: int

    @classmethod
    def of(cls, train: TrainConfig) -> "Intervals":
        """The configured intervals, with `auto` derived from the number of steps."""
        automatic = isinstance(train.checkpoint_every, str)
        checkpoint = _or_automatic(
            train.checkpoint_every, max(1, max_steps(train) // CHECKPOINTS) if automatic else 1
        )
        validate = checkpoint
        if automatic:
            fewest = math.ceil(FEWEST_STEPS_BETWEEN_VALIDATIONS / checkpoint)
            validate *= max(CHECKPOINTS_PER_VALIDATION, fewest)
        return cls(
            log=_or_automatic(train.log_every, max(1, checkpoint // 10)),
            checkpoint=checkpoint,
            validate=_or_automatic(train.validate_every, validate),
        )


def _or_automatic(value: int | str, automatic: int) -> int:
    return automatic if isinstance(value, str) else value
