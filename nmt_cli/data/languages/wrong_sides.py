"""Finds lines in the language of the other side: swapped, copied and untranslated ones.

The languages are learnt from the two sides themselves, as counts of byte trigrams (Cavnar and
Trenkle 1994 count characters), and each line is compared with both. Where the function words of
one of the languages are known and the other language has few of their trigrams, they say which
pairs are swapped while the languages are learnt, so that half of the pairs and more may be.
Otherwise the languages are those of most lines. Sides that are too similar to be distinguished,
such as two spellings of one language, are not checked.

A line that is not in the language of its side is more like the other side also where it is in
neither language. Function words tell such lines, where those of the other side are known. They
also tell lines in a third language where one language is unknown: on the known side, such lines are
often more like the known language, and on the unknown side, they have words that are rare there.

Short lines of names and titles, such as credits, may be more like the other side although they are
translated. They are judged by the words that the other side lacks.
"""

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nmt_cli.data.cleaning.clean import CleanText, Progress, Span, read_side
from nmt_cli.data.cleaning.kinds import (
    CLEAN,
    SOURCE_WRONG,
    SWAPPED,
    TARGET_WRONG,
    THIRD_LANGUAGE,
)
from nmt_cli.data.languages.copied_names import without_copied_names
from nmt_cli.data.languages.third_languages import (
    LanguagesOf,
    count_function_words,
    is_third_language,
    third_languages,
    third_languages_beside_unknown,
    words_of_other_languages,
)
from nmt_cli.data.languages.trigrams import (
    BUCKETS,
    clear_sides,
    line_sums,
    lines_where,
    log_odds,
    trigram_counts,
)
from nmt_cli.data.languages.words import function_words
from nmt_cli.data.process_pool import ProcessPool

SIDES = ("src", "tgt")
# At least this share of the lines must clearly belong to their side, or nothing is reported.
MIN_DISTINCT_SHARE = 0.5
MIN_LINES = 100
# One side alone is wrong only with so much evidence: short names and titles of words that both
# languages have (`Secret ballot`, `Scrutin secret`) often have half as much.
MIN_EVIDENCE_ALONE = 8.0
# Other text than that from which the languages were learnt takes more: its names are others, too.
MIN_EVIDENCE_ELSEWHERE = 28.0
# The trigrams are learnt from this many spans at the beginning, and then from each span whose index
# is a multiple of this number.
LEARNT_SPANS = 16
# Function words say which side is which where a pair has so many trigrams of them, most of which
# say the same: for each one that says the opposite there are at least four.
LEAST_TRIGRAMS, LEAST_AGREEING_SHARE = 3, 0.6
# They are used if they say it of more than this share of the pairs that have any, and more than
# this share of these is swapped. With fewer, the languages are those of most lines, which include
# short ones. If only one language is known, this share must be right, too: text without any such
# pair is in another language than the known one.
MIN_TELLING_SHARE, MIN_SWAPPED_SHARE = 0.5, 0.1


class _WrongSidesJob(NamedTuple):
    directory: Path
    span: Span

    def side(self, side: str) -> np.ndarray:
        return np.frombuffer(read_side(self.directory, side, self.span), np.uint8)


class _SpanCounts(NamedTuple):
    """The trigrams of source and target in a span, and what its function words say.

    every: (2, BUCKETS), of all pairs; turned: the same of pairs of which function words say which
    side is which, each on its right side; pairs: (3,), the pairs with such words, those of which
    they say it, and the swapped ones of these.
    """

    every: np.ndarray
    turned: np.ndarray
    pairs: np.ndarray


class _SpanVerdicts(NamedTuple):
    """The verdicts on the pairs of a span.

    kinds: (pairs,) uint8, 0, one of WRONG_SIDES or THIRD_LANGUAGE; right, wrong: lines of each
    side that clearly belong there, and that clearly do not.
    """

    kinds: np.ndarray
    right: np.ndarray
    wrong: np.ndarray


class WrongSides(NamedTuple):
    """The pairs of a text that are not in the languages of its sides.

    kinds: (pairs,) uint8, for each pair 0, one of WRONG_SIDES or THIRD_LANGUAGE; judge: gives the
    kinds of other lines, (lines,) uint8, by what was learnt from the text; None if its sides are
    too few or too similar.
    """

    kinds: np.ndarray
    judge: Callable[[Sequence[str], Sequence[str]], np.ndarray] | None


def find_wrong_sides(
    text: CleanText, languages: tuple[str, str], pool: ProcessPool, progress: Progress
) -> WrongSides:
    """Return the pairs of the text with sides in other languages.

    languages: the codes of source and target.
    """
    nothing = WrongSides(np.zeros(text.pairs, np.uint8), None)
    if text.pairs < MIN_LINES:
        return nothing
    odds, uses_words = _learn(text, _words_of(languages), pool)
    others = _words_of_others(text, languages, pool)
    kinds, distinct, done = [], np.zeros(2), 0
    jobs = (_WrongSidesJob(text.directory, span) for span in text.spans)
    for verdict in pool.map(functools.partial(_check_span, odds, languages, others), jobs):
        kinds.append(verdict.kinds)
        # Without function words, lines in the language of most others are right.
        distinct += verdict.right + verdict.wrong if uses_words else verdict.right
        done += len(verdict.kinds)
        progress("compare languages", done, text.pairs)
    if (distinct < MIN_DISTINCT_SHARE * text.pairs).any():
        return nothing
    judge = functools.partial(_judge, odds, languages, others)
    return WrongSides(np.concatenate(kinds), judge)


def _words_of(languages: tuple[str, str]) -> np.ndarray | None:
    """1 for trigrams of the source's function words, -1 for the target's: (BUCKETS,) float32.

    None unless function words of one of them are known that the other one does not have.
    """
    src, tgt = (function_words(code) for code in languages)
    if src == tgt:
        return None
    in_src, in_tgt = (
        trigram_counts(np.frombuffer("".join(f" {word} \n" for word in words).encode(), np.uint8))
        for words in (src, tgt)
    )
    return ((in_src > 0) * 1.0 - (in_tgt > 0)).astype(np.float32)


def _learn(text: CleanText, words: np.ndarray | None, pool: ProcessPool) -> tuple[np.ndarray, bool]:
    """Return how much likelier each trigram is on the source side: (BUCKETS,) float32 log odds.

    And whether function words said which side is which: they do of enough pairs, of which enough
    are swapped.
    """
    # (source and target, BUCKETS)
    every, turned, pairs = np.ones((2, BUCKETS)), np.ones((2, BUCKETS)), np.zeros(3)
    jobs = _learnt_spans(text)
    for span in pool.map(functools.partial(_count_trigrams, words), jobs):
        every += span.every
        turned += span.turned
        pairs += span.pairs
    with_words, telling, swapped = pairs
    uses_words = telling > MIN_TELLING_SHARE * with_words and swapped > MIN_SWAPPED_SHARE * telling
    if words is not None and (words.min() == 0 or words.max() == 0):
        uses_words &= telling - swapped > MIN_SWAPPED_SHARE * telling
    return log_odds(turned if uses_words else every), bool(uses_words)


def _learnt_spans(text: CleanText) -> Iterator[_WrongSidesJob]:
    """The spans from which the languages of the sides are learnt."""
    for index, span in enumerate(text.spans):
        if index < LEARNT_SPANS or index % LEARNT_SPANS == 0:
            yield _WrongSidesJob(text.directory, span)


def _words_of_others(
    text: CleanText, languages: tuple[str, str], pool: ProcessPool
) -> dict[str, LanguagesOf]:
    """The words that show a third language, by the sides whose language is unknown.

    Only where the other language is known: a line of it is no third language.
    """
    result = {}
    for side, code, other in zip(SIDES, languages, languages[::-1], strict=True):
        if function_words(code) or not function_words(other):
            continue
        counts: Counter[str] = Counter()
        lines = 0
        count = functools.partial(_count_words, side)
        for span_lines, span_counts in pool.map(count, _learnt_spans(text)):
            lines += span_lines
            counts += span_counts
        result[side] = words_of_other_languages(counts, lines, [other])
    return result


def _count_trigrams(words: np.ndarray | None, job: _WrongSidesJob) -> _SpanCounts:
    sides = job.side("src"), job.side("tgt")
    every = np.stack([trigram_counts(side) for side in sides])
    turned, pairs = np.zeros((2, BUCKETS)), np.zeros(3)
    if words is None:
        return _SpanCounts(every, turned, pairs)
    on_src, on_tgt = (line_sums(side, words)[0] for side in sides)
    evidence = on_src - on_tgt
    found = np.add(*(line_sums(side, abs(words))[0] for side in sides))
    with_words = found >= LEAST_TRIGRAMS
    is_telling = with_words & (abs(evidence) >= LEAST_AGREEING_SHARE * found)
    for sign in (1, -1):
        lines = is_telling & (sign * evidence > 0)
        both = [trigram_counts(lines_where(side, lines)) for side in sides]
        turned += np.stack(both[::sign])
    swapped = is_telling & (evidence < 0)
    pairs += [each.sum() for each in (with_words, is_telling, swapped)]
    return _SpanCounts(every, turned, pairs)


def _count_words(side: str, job: _WrongSidesJob) -> tuple[int, Counter[str]]:
    """The number of lines of a side, and how many of them have each function word."""
    lines = _lines_of(job.side(side))
    return len(lines), count_function_words(lines)


def _check_span(
    odds: np.ndarray,
    languages: tuple[str, str],
    others: Mapping[str, LanguagesOf],
    job: _WrongSidesJob,
) -> _SpanVerdicts:
    return _check_sides(odds, languages, others, (job.side("src"), job.side("tgt")))


def _judge(
    odds: np.ndarray,
    languages: tuple[str, str],
    others: Mapping[str, LanguagesOf],
    src: Sequence[str],
    tgt: Sequence[str],
) -> np.ndarray:
    """Return the kinds of pairs of cleaned lines."""
    sides = (
        np.frombuffer("".join(f"{line}\n" for line in lines).encode(), np.uint8)
        for lines in (src, tgt)
    )
    both = next(sides), next(sides)
    return _check_sides(odds, languages, others, both, MIN_EVIDENCE_ELSEWHERE).kinds


def _check_sides(
    odds: np.ndarray,
    languages: tuple[str, str],
    others: Mapping[str, LanguagesOf],
    sides: tuple[np.ndarray, np.ndarray],
    least: float = MIN_EVIDENCE_ALONE,
) -> _SpanVerdicts:
    """Judge pairs of lines. sides: (bytes,) each, lines with newlines; least: see `clear_sides`."""
    sums = line_sums(sides[0], odds), line_sums(sides[1], -odds)
    src, tgt = (clear_sides(*of_side) for of_side in sums)
    kinds = np.zeros(len(src), np.uint8)
    for kind, of_side in zip((SOURCE_WRONG, TARGET_WRONG), sums, strict=True):
        kinds[clear_sides(*of_side, least=least) < 0] = kind
    kinds[(src < 0) & (tgt < 0)] = SWAPPED
    for kind, side, other in (
        (SOURCE_WRONG, sides[0], languages[1]),
        (TARGET_WRONG, sides[1], languages[0]),
    ):
        if function_words(other):
            kinds[_in_third_language(side, kinds == kind, languages)] = THIRD_LANGUAGE
    for kind, own, other_side, sign in ((SOURCE_WRONG, 0, 1, 1), (TARGET_WRONG, 1, 0, -1)):
        has_names = _has_copied_names(sides[own], sides[other_side], kinds == kind, sign * odds)
        kinds[has_names] = CLEAN
    for name, side, code, other in zip(SIDES, sides, languages, languages[::-1], strict=True):
        # Where both languages are known, `find_doubts` has found such lines.
        found: dict[str, list[int]] = {}
        if not function_words(other):
            found = third_languages(_lines_of(side), [code])
        elif name in others:
            found = third_languages_beside_unknown(_lines_of(side), others[name])
        indices = np.array([*chain.from_iterable(found.values())], np.int64)
        kinds[indices[kinds[indices] == CLEAN]] = THIRD_LANGUAGE
    right, wrong = (np.array([(sign * side > 0).sum() for side in (src, tgt)]) for sign in (1, -1))
    return _SpanVerdicts(kinds, right, wrong)


def _lines_of(side: np.ndarray) -> list[str]:
    return side.tobytes().decode().split("\n")[:-1]


def _has_copied_names(
    side: np.ndarray, other: np.ndarray, wrong: np.ndarray, odds: np.ndarray
) -> np.ndarray:
    """The indices of wrong lines that are in the language of their side without copied names.

    side, other: (bytes,), lines with newlines; wrong: (lines,) bool; odds: (BUCKETS,), positive for
    the language of the side.
    """
    lines, others = (_lines_of(lines_where(text, wrong)) for text in (side, other))
    own = "".join(
        f" {without_copied_names(line, partner)} \n"
        for line, partner in zip(lines, others, strict=True)
    )
    evidence, _ = line_sums(np.frombuffer(own.encode(), np.uint8), odds)
    indices: np.ndarray = np.flatnonzero(wrong)[evidence > 0]
    return indices


def _in_third_language(
    side: np.ndarray, wrong: np.ndarray, languages: tuple[str, str]
) -> np.ndarray:
    """The indices of those of the wrong lines of a side that are in neither of the languages.

    side: (bytes,), lines with newlines; wrong: (lines,) bool. At least one language is known.
    """
    known = [code for code in languages if function_words(code)]
    lines = lines_where(side, wrong).tobytes().split(b"\n")[:-1]
    is_third = [is_third_language(line.decode(), known) for line in lines]
    indices: np.ndarray = np.flatnonzero(wrong)[np.array(is_third, bool)]
    return indices
