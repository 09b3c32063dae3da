"""Which words translate each other, learnt from pairs without subwords: how well does a pair match?

As in IBM model 1 (Brown et al. 1993), by expectation maximisation, but cut down to be quick: of
each sentence only its rarest words count, of each word only its beginning, and what occurs
together is counted in a table that some entries share.
"""

from typing import NamedTuple

import numpy as np

BITS = 18
WORDS = 1 << BITS
CELL_BITS = 22
# Of each side so many words are looked at: the rarest of those that were seen often enough.
KEPT_WORDS = 8
LEAST_SEEN = 3
ITERATIONS = 2
# Pairs that are worked on at a time: they fit a cache.
CHUNK = 4_096
# Weight of the belief that two words have nothing to do with each other.
PRIOR = 5.0
# By so much the same word on both sides speaks for a translation: names and numbers.
SAME_WORD = 50.0
_MIXED = np.uint64(0x9E37_79B9_7F4A_7C15)
_SRC_FACTOR, _TGT_FACTOR = np.uint32(0x9E37_79B1), np.uint32(0x85EB_CA77)
_NEWLINE = ord("\n")
# Bytes of a word's beginning by its first byte: five ASCII letters, about four of other alphabets,
# two characters of Chinese and Japanese, where each character begins a word.
_LONGEST_PREFIX = 8


def _tables() -> tuple[np.ndarray, np.ndarray]:
    letters = np.zeros(256, np.uint8)
    prefixes = np.full(256, _LONGEST_PREFIX, np.uint8)
    for one in range(256):
        if one >= 0x80 or chr(one).isalnum():
            letters[one] = ord(chr(one).lower()) if one < 0x80 else one
    prefixes[:0x80], prefixes[0xC3:0xC6], prefixes[0xE3:0xEA] = 5, 6, 6
    return letters, prefixes


_LETTERS, _PREFIXES = _tables()


def split_words(text: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(words,) numbers below WORDS, and (words,) lines, of (bytes,) UTF-8 lines with newlines."""
    letters = np.concatenate([_LETTERS[text], np.zeros(_LONGEST_PREFIX, np.uint8)])
    # Quotes, dashes and signs outside ASCII.
    for first, length in ((0xE2, 3), (0xC2, 2)):
        places = np.flatnonzero(text == first)
        for more in range(length):
            letters[places + more] = 0
    is_letter = letters > 0
    begins = is_letter & ~np.concatenate([[False], is_letter[:-1]])
    begins |= (letters >= 0xE3) & (letters <= 0xE9)
    starts = np.flatnonzero(begins)
    longest = _PREFIXES[letters[starts]]
    words = letters[starts].astype(np.uint64)
    within = np.ones(len(starts), bool)
    for more in range(1, _LONGEST_PREFIX):
        letter = letters[starts + more]
        within &= (letter > 0) & (longest > more)
        words |= (letter * within).astype(np.uint64) << np.uint64(8 * more)
    ends = np.searchsorted(starts, np.flatnonzero(text == _NEWLINE))
    lines = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
    return ((words * _MIXED) >> np.uint64(64 - BITS)).astype(np.int32), lines.astype(np.int32)


class Table(NamedTuple):
    """What is learnt from some pairs: how often words, and (hashed) pairs of words, occur."""

    pairs: int
    src: np.ndarray
    tgt: np.ndarray
    joint: np.ndarray


def rarest_first(seen: np.ndarray) -> np.ndarray:
    """(WORDS,) all words, those seen too seldom at the end."""
    return np.argsort(np.where(seen >= LEAST_SEEN, seen, seen + (1 << 40)), kind="stable")


def select_words(words: np.ndarray, lines: np.ndarray, count: int, order: np.ndarray) -> np.ndarray:
    """(count, KEPT_WORDS) int32, the words of each line that come first in `order`; else -1."""
    ranks = np.empty(WORDS, np.int64)
    ranks[order] = np.arange(WORDS)
    keys = np.sort(lines.astype(np.int64) << BITS | ranks[words])
    keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])[: len(keys)]]
    lines = keys >> BITS
    places = np.arange(len(keys)) - np.searchsorted(lines, np.arange(count))[lines]
    chosen = places < KEPT_WORDS
    selected = np.full((count, KEPT_WORDS), -1, np.int32)
    selected[lines[chosen], places[chosen]] = order[keys[chosen] & (WORDS - 1)]
    return selected


def learn(src: np.ndarray, tgt: np.ndarray) -> Table:
    """The table of some pairs, each (pairs, KEPT_WORDS) as `select_words` gives them."""
    counts = [np.bincount(one[one >= 0], minlength=WORDS).astype(np.float32) for one in (src, tgt)]
    table = Table(len(src), counts[0], counts[1], np.zeros(0, np.float32))
    for _ in range(ITERATIONS):
        joint = np.zeros(1 << CELL_BITS, np.float32)
        for begin in range(0, len(src), CHUNK * 4):
            part = src[begin : begin + CHUNK * 4], tgt[begin : begin + CHUNK * 4]
            cells, there = _cells(*part), _both(*part)
            weights = _posteriors(table, *part)[there] if len(table.joint) else None
            joint += np.bincount(cells[there], weights, 1 << CELL_BITS)
        table = table._replace(joint=joint)
    return table


def _cells(src: np.ndarray, tgt: np.ndarray) -> np.ndarray:
    """(pairs, KEPT_WORDS, KEPT_WORDS) where each pair of words is counted."""
    mixed = (src.astype(np.uint32) * _SRC_FACTOR)[:, :, None] ^ (
        tgt.astype(np.uint32) * _TGT_FACTOR
    )[:, None, :]
    cells: np.ndarray = mixed >> np.uint32(32 - CELL_BITS)
    return cells


def _both(src: np.ndarray, tgt: np.ndarray) -> np.ndarray:
    there: np.ndarray = (src >= 0)[:, :, None] & (tgt >= 0)[:, None, :]
    return there


def _ratios(table: Table, src: np.ndarray, tgt: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How much likelier each target word is beside each source word, and the other way round."""
    joint = table.joint[_cells(src, tgt)]
    src_seen, tgt_seen = table.src[src], table.tgt[tgt]
    src_share, tgt_share = (src_seen + 0.5) / table.pairs, (tgt_seen + 0.5) / table.pairs
    there = _both(src, tgt)
    of_tgt = (joint / tgt_share[:, None, :] + PRIOR) / (src_seen + PRIOR)[:, :, None]
    of_src = (joint / src_share[:, :, None] + PRIOR) / (tgt_seen + PRIOR)[:, None, :]
    same = src[:, :, None] == tgt[:, None, :]
    return tuple(
        np.where(same, np.maximum(one, SAME_WORD), one) * there for one in (of_tgt, of_src)
    )


def _posteriors(table: Table, src: np.ndarray, tgt: np.ndarray) -> np.ndarray:
    """How likely each pair of words is a translation; the 1 in the sums is an empty word."""
    of_tgt, of_src = _ratios(table, src, tgt)
    of_tgt /= of_tgt.sum(1, keepdims=True) + 1
    of_src /= of_src.sum(2, keepdims=True) + 1
    agreed: np.ndarray = np.sqrt(of_tgt * of_src)
    return agreed


def scores(table: Table, src: np.ndarray, tgt: np.ndarray) -> np.ndarray:
    """(pairs,) float32 how much likelier the sides are together than apart."""
    found = [np.zeros(0, np.float32)]
    for begin in range(0, len(src), CHUNK):
        one, other = src[begin : begin + CHUNK], tgt[begin : begin + CHUNK]
        of_tgt, of_src = _ratios(table, one, other)
        src_words, tgt_words = (one >= 0).sum(1), (other >= 0).sum(1)
        tgt_logs = np.log((of_tgt.sum(1) + 1) / (src_words + 1)[:, None])
        src_logs = np.log((of_src.sum(2) + 1) / (tgt_words + 1)[:, None])
        total = np.where(other >= 0, tgt_logs, 0).sum(1) / np.sqrt(np.maximum(tgt_words, 1))
        total += np.where(one >= 0, src_logs, 0).sum(1) / np.sqrt(np.maximum(src_words, 1))
        found.append(total.astype(np.float32))
    return np.concatenate(found)
