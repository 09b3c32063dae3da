"""Finds lines that stand in place of translations, such as `n/a`, `TODO` or `see above`.

They stand beside several long sentences that have nothing in common: neither their words nor their
length. A short sentence that is frequent, such as `Yes.`, stands beside short ones or similar ones.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from nmt_cli.data.cleaning.alignment.cooccurrence import split_words
from nmt_cli.data.cleaning.clean import CleanText, lines_at
from nmt_cli.data.cleaning.held_out.digests import digests_of, occurrences
from nmt_cli.data.cleaning.signs import joined_lines
from nmt_cli.data.languages.unspaced import rough_word_count

# A placeholder stands beside so many different lines at least; more in a large text, where more
# lines meet the other conditions by chance.
FEWEST_PARTNERS, MOST_PARTNERS, PAIRS_FOR_EACH = 5, 50, 20_000
# So many of these lines are compared, and so many pairs of the text show what is usual.
COMPARED_PARTNERS, USUAL_PAIRS = 64, 2_000
# Half of these lines have at least so many words.
LEAST_WORDS = 4
# The mean similarity of these lines (0 to 1) is at most so much above that of any lines.
MOST_ALIKE = 0.05
# Their log lengths vary at least by this share of the variation in the text, and so large a share
# of them is more than twice as long as a translation of the line would be.
LEAST_SPREAD, LEAST_LONG = 0.5, 0.6
# Of a placeholder that is a sentence itself, more lines have to vary more.
FACTOR_OF_SENTENCE, SPREAD_OF_SENTENCE = 2, 0.7


def least_partners(pairs: int) -> int:
    """Return beside how many different lines a placeholder stands, in a text of some pairs.

    >>> least_partners(3_000), least_partners(200_000), least_partners(10_000_000)
    (5, 10, 50)
    """
    return min(MOST_PARTNERS, max(FEWEST_PARTNERS, pairs // PAIRS_FOR_EACH))


def find_placeholder_lines(text: CleanText, used: np.ndarray) -> np.ndarray:
    """Return whether a side of each pair is a placeholder: (pairs,) bool.

    used: (pairs,) bool, the pairs that show what is one.
    """
    is_placeholder = np.zeros(text.pairs, bool)
    indices = np.flatnonzero(used)
    least = least_partners(len(indices))
    for side, other in (("src", "tgt"), ("tgt", "src")):
        own, others = text.digests[side], text.digests[other]
        groups = [indices[group] for group in _groups(own[indices], others[indices], least)]
        if not groups:
            continue
        usual_indices = indices[:: max(1, len(indices) // USUAL_PAIRS)][:USUAL_PAIRS]
        lines = lines_at(text, np.unique(np.concatenate([usual_indices, *groups])))
        if side == "tgt":
            lines = {index: pair[::-1] for index, pair in lines.items()}
        usual = _Usual.of([lines[index] for index in usual_indices.tolist()])
        placeholders = [
            own[group[0]]
            for group in groups
            if usual.is_placeholder([lines[index] for index in group.tolist()], least)
        ]
        is_placeholder |= np.isin(own, np.array(placeholders, own.dtype))
    return is_placeholder


def placeholder_targets(src: Sequence[str], tgt: Sequence[str]) -> list[int]:
    """Return the indices of the pairs whose target is a placeholder; the source is any other line.

    src, tgt: as many lines. Pairs with an empty side are none, and show nothing.
    """
    kept = [
        index for index, pair in enumerate(zip(src, tgt, strict=True)) if all(map(str.strip, pair))
    ]
    pairs = [(tgt[index], src[index]) for index in kept]
    digests = digests_of([src[index] for index in kept], [tgt[index] for index in kept])
    least = least_partners(len(pairs))
    groups = _groups(digests["tgt"], digests["src"], least)
    if not groups:
        return []
    usual = _Usual.of(pairs[:: max(1, len(pairs) // USUAL_PAIRS)][:USUAL_PAIRS])
    placeholders = {
        digests["tgt"][group[0]]
        for group in groups
        if usual.is_placeholder([pairs[index] for index in group.tolist()], least)
    }
    return [index for index, own in zip(kept, digests["tgt"], strict=True) if own in placeholders]


def _groups(own: np.ndarray, others: np.ndarray, least: int) -> list[np.ndarray]:
    """Return the pairs of each line that stands beside at least so many different ones.

    own, others: (pairs,) digests of both sides. Of each group, (COMPARED_PARTNERS,) at most, the
    other sides are different ones.
    """
    if not len(own):
        return []
    frequent = np.flatnonzero(occurrences(own)[0] >= least)
    order = frequent[np.lexsort((others[frequent], own[frequent]))]
    is_first = np.ones(len(order), bool)
    is_first[1:] = (own[order][1:] != own[order][:-1]) | (others[order][1:] != others[order][:-1])
    different = order[is_first]
    ends = np.flatnonzero(own[different][1:] != own[different][:-1]) + 1
    groups = (group for group in np.split(different, ends) if len(group) >= least)
    # Digests are in no order that has to do with the text.
    return [group[:COMPARED_PARTNERS] for group in groups]


class _Usual(NamedTuple):
    """What is usual beside any lines, for one direction.

    lines: how many were looked at; seen: how many of them have each word; similarity: their mean
    similarity; spread: the mean deviation of their log lengths; longer: by how much these are
    above those of their translations.
    """

    lines: int
    seen: Counter[int]
    similarity: float
    spread: float
    longer: float

    @classmethod
    def of(cls, pairs: Sequence[tuple[str, str]]) -> "_Usual":
        """Learn from pairs of a line and the line beside it."""
        partners = [partner for _, partner in pairs]
        words = _words(partners)
        lengths = _log_lengths(partners)
        longer = lengths - _log_lengths([line for line, _ in pairs])
        seen = Counter(word for line_words in words for word in line_words)
        usual = cls(len(pairs), seen, 0.0, _spread(lengths), float(np.median(longer)))
        return usual._replace(similarity=usual.similarity_of(words))

    def is_placeholder(self, pairs: Sequence[tuple[str, str]], least: int) -> bool:
        """Whether the first sides of some pairs, which are the same line, are a placeholder."""
        partners = [partner for _, partner in pairs]
        # Capital letters and punctuation make no line a different one.
        different = dict(zip(map(frozenset, _words(partners)), partners, strict=True))
        partners = list(different.values())
        if (
            len(partners) < least
            or float(np.median([rough_word_count(partner) for partner in partners])) < LEAST_WORDS
            or self.similarity_of(different) > self.similarity + MOST_ALIKE
        ):
            return False
        lengths = _log_lengths(partners)
        spread = _spread(lengths)
        are_too_long = lengths - _log_lengths([pairs[0][0]]) - self.longer > math.log(2)
        if float(are_too_long.mean()) >= LEAST_LONG:
            return spread >= LEAST_SPREAD * self.spread
        enough = len(partners) >= min(FACTOR_OF_SENTENCE * least, MOST_PARTNERS)
        return enough and spread >= SPREAD_OF_SENTENCE * self.spread

    def similarity_of(self, lines: Iterable[Iterable[int]]) -> float:
        """Return the mean similarity of different lines, given as the hashes of their words.

        The similarity of two lines is the cosine of their words, weighted by their rarity (inverse
        document frequency).
        """
        total: defaultdict[int, float] = defaultdict(float)
        count = 0
        for line in lines:
            weights = {word: math.log((self.lines + 1) / (self.seen[word] + 1)) for word in line}
            norm = math.sqrt(sum(weight**2 for weight in weights.values()))
            if norm:
                count += 1
                for word, weight in weights.items():
                    total[word] += weight / norm
        if count < 2:
            return 0.0
        # The squared length of `total` is the sum over all pairs of lines, to which each line with
        # itself adds 1.
        return (sum(weight**2 for weight in total.values()) - count) / (count * (count - 1))


def _spread(values: np.ndarray) -> float:
    """Return the mean deviation from the median, which a few very long lines hardly change."""
    return float(np.abs(values - np.median(values)).mean())


def _words(lines: Sequence[str]) -> list[set[int]]:
    """Return the hashes of the words of each line."""
    words: list[set[int]] = [set() for _ in lines]
    text = np.frombuffer(joined_lines(lines).encode(), np.uint8)
    for word, line in zip(*(part.tolist() for part in split_words(text)), strict=True):
        words[line].add(word)
    return words


def _log_lengths(lines: Sequence[str]) -> np.ndarray:
    """Return the logarithms of the lengths in characters: (lines,) float64."""
    lengths: np.ndarray = np.log1p(np.array([len(line) for line in lines], float))
    return lengths
