"""A second translation of doubtful lines, with other settings; the better one is kept."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from nmt_cli.config.search import SearchConfig
from nmt_cli.translation.quality.flags import RETRIED
from nmt_cli.translation.result import Translation

Result = TypeVar("Result")
OnProgress = Callable[[float], None]
# Translates the lines with these indices.
Translate = Callable[[Sequence[int], SearchConfig, OnProgress], list[Result]]

RETRY_BEAM = 8
# A wider beam alone makes translations shorter, and many doubtful ones are too short. This exponent
# of the length penalty is that of the mean log-probability, or nearly so.
RETRY_ALPHA = 1.0
# No sequence of this many subwords occurs twice in the second translation.
RETRY_NGRAM = 4


def is_doubtful(translation: Translation) -> bool:
    """Whether other settings may give a better translation of the line."""
    return bool(_faults(translation))


def _faults(translation: Translation) -> set[str]:
    """What another search may avoid.

    Unknown words of the source stay unknown, broken characters of the translation may not.
    """
    broken = {"unknown_words"} if translation.is_broken else set()
    return set(translation.flags) & (RETRIED | broken)


def retry_settings(search: SearchConfig) -> SearchConfig:
    """The settings of the second translation.

    Sentences are split, the beam is wider, longer translations are preferred, nothing is repeated,
    and no output is empty.
    """
    return replace(
        search,
        retry=False,
        sentences="split",
        beam=max(search.beam, RETRY_BEAM),
        alpha=max(search.alpha, RETRY_ALPHA),
        min_length=max(search.min_length, 1),
        no_repeat_ngram=search.no_repeat_ngram or RETRY_NGRAM,
    )


def better(first: Translation, second: Translation) -> Translation:
    """The better of two translations.

    That is the one that did not fail, else the one with fewer flags, else that of the higher mean
    log-probability: scores of different settings of the length penalty cannot be compared.
    """

    def quality(translation: Translation) -> tuple[bool, int, float]:
        faults = len(_faults(translation))
        return "failed" not in translation.flags, -faults, _mean_log_prob(translation)

    return max(first, second, key=quality)


def _mean_log_prob(translation: Translation) -> float:
    """The mean log-probability of the subwords; the score where these are not known."""
    scores = translation.hypotheses[0].token_scores if translation.hypotheses else ()
    return sum(scores) / len(scores) if scores else translation.score


def with_retry(
    count: int,
    search: SearchConfig,
    translate: Translate[Result],
    translation_of: Callable[[Result], Translation],
    on_progress: OnProgress,
) -> list[Result]:
    """Results of this many lines; doubtful ones are translated twice if the settings ask for it.

    on_progress: called with the share of lines that are done in the first translation.
    """
    results = translate(range(count), search, on_progress)
    if not search.retry:
        return results
    doubtful = [
        index for index, result in enumerate(results) if is_doubtful(translation_of(result))
    ]
    again = translate(doubtful, retry_settings(search), lambda _: None)
    for index, result in zip(doubtful, again, strict=True):
        first, second = translation_of(results[index]), translation_of(result)
        if better(first, second) is second:
            results[index] = result
    return results
