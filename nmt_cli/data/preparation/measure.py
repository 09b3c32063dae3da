"""The pass of `nmt prepare` that collects statistics of the kept text."""

import functools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from nmt_cli.config.schema import Config
from nmt_cli.data.cleaning.clean import CleanText, Progress
from nmt_cli.data.cleaning.held_out.digests import pair_hashes
from nmt_cli.data.cleaning.letters.side_letters import main_script
from nmt_cli.data.corpus.text_statistics import (
    LENGTH_BOUNDS,
    MAX_HASHES,
    SideStatistics,
    TextStatistics,
    has_spaced_mark,
    is_lower_case,
)
from nmt_cli.data.languages.trigrams import BUCKETS, log_odds, trigram_counts, verdicts
from nmt_cli.data.languages.unspaced import spaced_words
from nmt_cli.data.languages.wrong_sides import MIN_DISTINCT_SHARE, MIN_LINES
from nmt_cli.data.preparation.encode import EncodeJob, choose_sample, encode_jobs
from nmt_cli.data.process_pool import ProcessPool
from nmt_cli.data.sentences.learning import StopCounts
from nmt_cli.data.sentences.splitter import SentenceSplitter

# A random sample of this many pairs is measured.
SAMPLE_PAIRS = 200_000
# The lowest and the highest of the usual ratios of lengths.
QUANTILES = (0.001, 0.999)
# Where a length has fewer pairs than this, the ratios of all lengths hold.
MIN_PAIRS_OF_LENGTH = 100


class _Stops(NamedTuple):
    """Counts of a span: words and full stops of both sides."""

    words: tuple[Counter[str], Counter[str]]
    stops: tuple[StopCounts, StopCounts]


class _Measured(NamedTuple):
    """Measurements of a span.

    counts: (2, 3) lines with several sentences, in lower case, tokenised, of each side; lengths:
    (pairs, 2) characters of the two sides; trigrams: (2, BUCKETS).
    """

    counts: np.ndarray
    lengths: np.ndarray
    trigrams: np.ndarray


def measure_text(
    text: CleanText,
    keep: np.ndarray,
    config: Config,
    unknown: tuple[float, float],
    pool: ProcessPool,
    progress: Progress,
) -> TextStatistics:
    """Measure the pairs where `keep`, (pairs,) bool, is True.

    unknown: the shares of unknown tokens of both sides.
    """
    sample = choose_sample(keep, SAMPLE_PAIRS, config.data.seed)
    codes = config.languages.src, config.languages.tgt

    def jobs() -> Iterator[EncodeJob]:
        return encode_jobs(text, sample, config.data)

    words, stops = (Counter[str](), Counter[str]()), (StopCounts(), StopCounts())
    for span in pool.map(_count_stops, jobs()):
        for side in (0, 1):
            words[side].update(span.words[side])
            stops[side].merge(span.stops[side])
    splitters = tuple(
        counts.splitter(code, side_words)
        for counts, code, side_words in zip(stops, codes, words, strict=True)
    )
    counts, lengths, trigrams = np.zeros((2, 3)), [], np.ones((2, BUCKETS))
    done = 0
    for measured in pool.map(functools.partial(_measure_span, splitters), jobs()):
        counts += measured.counts
        lengths.append(measured.lengths)
        trigrams += measured.trigrams
        done += len(measured.lengths)
        progress("measure text", done, int(sample.sum()))
    odds = log_odds(trigrams)
    if not _are_distinct(pool, jobs(), odds, done):
        odds = odds[:0]
    src, tgt = (
        _side(code, splitter, side_counts / done, of_side, main_script(side_words))
        for code, splitter, side_counts, of_side, side_words in zip(
            codes, splitters, counts, unknown, words, strict=True
        )
    )
    # Test text is not repaired: copies may be equal to the training text before the repairs.
    pairs, others = text.other_forms
    trained = np.concatenate([text.digests[keep], others[keep[pairs]]])
    hashes = np.sort(pair_hashes(trained))[:MAX_HASHES]
    ratios = _length_ratios(np.concatenate(lengths))
    return TextStatistics(src, tgt, done, ratios, odds, hashes)


def _side(
    code: str, splitter: SentenceSplitter, shares: np.ndarray, unknown: float, script: str
) -> SideStatistics:
    several_sentences, lower_case, tokenized = shares.round(6).tolist()
    return SideStatistics(
        language=code,
        abbreviations=tuple(sorted(splitter.abbreviations)),
        titles=tuple(sorted(splitter.titles)),
        ordinals=splitter.ordinals,
        several_sentences=several_sentences,
        lower_case=lower_case,
        tokenized=tokenized,
        unknown=round(unknown, 6),
        script=script,
    )


def _count_stops(job: EncodeJob) -> _Stops:
    sides = job.lines()
    words = tuple(Counter(spaced_words(" ".join(lines))) for lines in sides)
    stops = (StopCounts(), StopCounts())
    for counts, lines in zip(stops, sides, strict=True):
        counts.add(lines)
    return _Stops((words[0], words[1]), stops)


def _measure_span(splitters: Sequence[SentenceSplitter], job: EncodeJob) -> _Measured:
    sides = job.lines()
    counts = [
        (
            sum(len(splitter.split(line)) > 1 for line in lines),
            sum(map(is_lower_case, lines)),
            sum(map(has_spaced_mark, lines)),
        )
        for splitter, lines in zip(splitters, sides, strict=True)
    ]
    lengths = np.array([[len(line) for line in lines] for lines in sides], np.int32).T
    trigrams = np.stack([trigram_counts(_text(lines)) for lines in sides])
    return _Measured(np.array(counts, float), lengths.reshape(-1, 2), trigrams)


def _text(lines: Sequence[str]) -> np.ndarray:
    return np.frombuffer("".join(f"{line}\n" for line in lines).encode(), np.uint8)


def _are_distinct(
    pool: ProcessPool, jobs: Iterator[EncodeJob], odds: np.ndarray, pairs: int
) -> bool:
    """Whether most lines of each side clearly belong to it."""
    right = np.zeros(2)
    for counts in pool.map(functools.partial(_count_right, odds), jobs):
        right += counts
    return pairs >= MIN_LINES and bool((right >= MIN_DISTINCT_SHARE * pairs).all())


def _count_right(odds: np.ndarray, job: EncodeJob) -> np.ndarray:
    src, tgt = job.lines()
    sides = (verdicts(_text(src), odds), verdicts(_text(tgt), -odds))
    return np.array([(side > 0).sum() for side in sides])


def _length_ratios(lengths: np.ndarray) -> tuple[tuple[float, float], ...]:
    """The usual ratios for sources of each of LENGTH_BOUNDS; lengths: (pairs, 2) characters."""
    src, ratios = lengths[:, 0], lengths[:, 1] / np.maximum(1, lengths[:, 0])
    result, lowest = [], 0
    for bound in LENGTH_BOUNDS:
        of_length = ratios[(src > lowest) & (src <= bound)]
        chosen = of_length if len(of_length) >= MIN_PAIRS_OF_LENGTH else ratios
        low, high = np.quantile(chosen, QUANTILES).round(4).tolist()
        result.append((low, high))
        lowest = bound
    return tuple(result)
