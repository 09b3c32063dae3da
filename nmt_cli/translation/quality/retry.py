"""A second translation of doubtful lines, with other settings; the better one is kept."""

from dataclasses import replace

from nmt_cli.config.search import SearchConfig
from nmt_cli.translation.quality.flags import RETRIED
from nmt_cli.translation.result import Translation

RETRY_BEAM = 8
# No sequence of so many subwords occurs twice in the second translation.
RETRY_NGRAM = 4


def is_doubtful(translation: Translation) -> bool:
    """Whether other settings may give a better translation of the line."""
    return not RETRIED.isdisjoint(translation.flags)


def retry_settings(search: SearchConfig) -> SearchConfig:
    """The settings of the second translation: sentences split, a wider beam, no repetitions."""
    return replace(
        search,
        retry=False,
        sentences="split",
        beam=max(search.beam, RETRY_BEAM),
        no_repeat_ngram=search.no_repeat_ngram or RETRY_NGRAM,
    )


def better(first: Translation, second: Translation) -> Translation:
    """The translation with fewer flags; if both have as many, the one with the better score."""

    def quality(translation: Translation) -> tuple[int, float]:
        return -len(set(translation.flags) & RETRIED), translation.score

    return max(first, second, key=quality)
