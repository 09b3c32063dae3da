"""Learns which words translate each other, and scores how well the sides of a pair match.

This is IBM model 1 (Brown et al. 1993), trained by expectation maximisation, simplified for speed:
only the rarest words of a sentence and the beginning of each word are used, and cooccurrences are
counted in a hash table in which some word pairs share a cell.
"""

from typing import NamedTuple

import numpy as np

BITS = 18
WORDS = 1 << BITS
CELL_BITS = 22
# The words used of each side: the rarest ones that occur at least MIN_COUNT times.
KEPT_WORDS = 8
MIN_COUNT = 3
ITERATIONS = 2
# Pairs that are processed at a time, so that they fit a CPU cache.
CHUNK = 4_096
# The weight of the prior that two words are unrelated.
PRIOR = 5.0
# The ratio for the same word on both sides, such as a name or a number.
SAME_WORD = 50.0
_HASH_FACTOR = np.uint64(0x9E37_79B9_7F4A_7C15)
_SRC_FACTOR, _TGT_FACTOR = np.uint32(0x9E37_79B1), np.uint32(0x85EB_CA77)
_NEWLINE = ord("\n")
# Only a prefix of each word is used. Its length in bytes depends on the first byte: five ASCII
# letters, about four letters of other alphabets, or two characters of Chinese and Japanese, where
# each character begins a word.
_LONGEST_PREFIX = 8


def _tables() -> tuple[np.ndarray, np.ndarray]:
    """Return two arrays (256,): the lower-cased letter of each byte or 0, and prefix lengths."""
    letters = np.zeros(256, np.uint8)
    prefixes = np.full(256, _LONGEST_PREFIX, np.uint8)
    for byte in range(256):
        if byte >= 0x80 or chr(byte).isalnum():
            letters[byte] = ord(chr(byte).lower()) if byte < 0x80 else byte
    prefixes[:0x80], prefixes[0xC3:0xC6], prefixes[0xE3:0xEA] = 5, 6, 6
    return letters, prefixes


_LETTERS, _PREFIXES = _tables()


def split_words(text: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Split (bytes,) UTF-8 lines with newlines into words.

    Returns the hash of each word, (words,) int32 below WORDS, and its line, (words,) int32.
    """
    letters = np.concatenate([_LETTERS[text], np.zeros(_LONGEST_PREFIX, np.uint8)])
    # Quotation marks, dashes and other symbols outside ASCII are not letters.
    for first, length in ((0xE2, 3), (0xC2, 2)):
        positions = np.flatnonzero(text == first)
        for offset in range(length):
            letters[positions + offset] = 0
    is_letter = letters > 0
    begins = is_letter & ~np.concatenate([[False], is_letter[:-1]])
    begins |= (letters >= 0xE3) & (letters <= 0xE9)
    starts = np.flatnonzero(begins)
    longest = _PREFIXES[letters[starts]]
    words = letters[starts].astype(np.uint64)
    within = np.ones(len(starts), bool)
    for offset in range(1, _LONGEST_PREFIX):
        letter = letters[starts + offset]
        within &= (letter > 0) & (longest > offset)
        words |= (letter * within).astype(np.uint64) << np.uint64(8 * offset)
    ends = np.searchsorted(starts, np.flatnonzero(text == _NEWLINE))
    lines = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
    return ((words * _HASH_FACTOR) >> np.uint64(64 - BITS)).astype(np.int32), lines.astype(np.int32)


class Table(NamedTuple):
    """The counts learnt from some pairs.

    pairs: how many; src, tgt: (WORDS,) counts of words; joint: (1 << CELL_BITS,) expected counts of
    hashed word pairs.
    """

    pairs: int
    src: np.ndarray
    tgt: np.ndarray
    joint: np.ndarray


def rarest_first(seen: np.ndarray) -> np.ndarray:
    """Return all words from the rarest on, (WORDS,), with too rare ones at the end."""
    return np.argsort(np.where(seen >= MIN_COUNT, seen, seen + (1 << 40)), kind="stable")


def select_words(words: np.ndarray, lines: np.ndarray, count: int, order: np.ndarray) -> np.ndarray:
    """Return the words of each line that come first in `order`, (count, KEPT_WORDS) int32.

    Lines with fewer words are padded with -1.
    """
    ranks = np.empty(WORDS, np.int64)
    ranks[order] = np.arange(WORDS)
    keys = np.sort(lines.astype(np.int64) << BITS | ranks[words])
    keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])[: len(keys)]]
    lines = keys >> BITS
    positions = np.arange(len(keys)) - np.searchsorted(lines, np.arange(count))[lines]
    chosen = positions < KEPT_WORDS
    selected = np.full((count, KEPT_WORDS), -1, np.int32)
    selected[lines[chosen], positions[chosen]] = order[keys[chosen] & (WORDS - 1)]
    return selected


def learn(src: np.ndarray, tgt: np.ndarray) -> Table:
    """Train the table of some pairs, each side (pairs, KEPT_WORDS) from `select_words`."""
    counts = [
        np.bincount(words[words >= 0], minlength=WORDS).astype(np.float32) for words in (src, tgt)
    ]
    table = Table(len(src), counts[0], counts[1], np.zeros(0, np.float32))
    for _ in range(ITERATIONS):
        joint = np.zeros(1 << CELL_BITS, np.float32)
        for begin in range(0, len(src), CHUNK * 4):
            chunk = src[begin : begin + CHUNK * 4], tgt[begin : begin + CHUNK * 4]
            cells, mask = _cells(*chunk), _pair_mask(*chunk)
            weights = _posteriors(table, *chunk)[mask] if len(table.joint) else None
            joint += np.bincount(cells[mask], weights, 1 << CELL_BITS)
        table = table._replace(joint=joint)
    return table


def _cells(src: np.ndarray, tgt: np.ndarray) -> np.ndarray:
    """Return the cell in which each word pair is counted: (pairs, KEPT_WORDS, KEPT_WORDS)."""
    mixed = (src.astype(np.uint32) * _SRC_FACTOR)[:, :, None] ^ (
        tgt.astype(np.uint32) * _TGT_FACTOR
    )[:, None, :]
    cells: np.ndarray = mixed >> np.uint32(32 - CELL_BITS)
    return cells


def _pair_mask(src: np.ndarray, tgt: np.ndarray) -> np.ndarray:
    """Return (pairs, KEPT_WORDS, KEPT_WORDS) bool, False where either word is missing."""
    mask: np.ndarray = (src >= 0)[:, :, None] & (tgt >= 0)[:, None, :]
    return mask


def _ratios(table: Table, src: np.ndarray, tgt: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return p(target word | source word) / p(target word), and the same with the sides exchanged.

    Both arrays are (pairs, KEPT_WORDS, KEPT_WORDS), with 0 where either word is missing.
    """
    joint = table.joint[_cells(src, tgt)]
    src_seen, tgt_seen = table.src[src], table.tgt[tgt]
    src_share, tgt_share = (src_seen + 0.5) / table.pairs, (tgt_seen + 0.5) / table.pairs
    mask = _pair_mask(src, tgt)
    tgt_ratios = (joint / tgt_share[:, None, :] + PRIOR) / (src_seen + PRIOR)[:, :, None]
    src_ratios = (joint / src_share[:, :, None] + PRIOR) / (tgt_seen + PRIOR)[:, None, :]
    same = src[:, :, None] == tgt[:, None, :]
    return tuple(
        np.where(same, np.maximum(ratios, SAME_WORD), ratios) * mask
        for ratios in (tgt_ratios, src_ratios)
    )


def _posteriors(table: Table, src: np.ndarray, tgt: np.ndarray) -> np.ndarray:
    """Return how likely each word pair is a translation: (pairs, KEPT_WORDS, KEPT_WORDS).

    Each word may also be aligned with the empty word, whose ratio is 1. The result is the geometric
    mean of both directions.
    """
    tgt_ratios, src_ratios = _ratios(table, src, tgt)
    tgt_ratios /= tgt_ratios.sum(1, keepdims=True) + 1
    src_ratios /= src_ratios.sum(2, keepdims=True) + 1
    posteriors: np.ndarray = np.sqrt(tgt_ratios * src_ratios)
    return posteriors


def scores(table: Table, src: np.ndarray, tgt: np.ndarray) -> np.ndarray:
    """Return how much likelier the sides are together than apart: (pairs,) float32.

    src, tgt: (pairs, KEPT_WORDS) from `select_words`. The score of a pair is the sum of the
    logarithms of the ratios of its words, divided by the root of the number of words of each side.
    """
    chunks = [np.zeros(0, np.float32)]
    for begin in range(0, len(src), CHUNK):
        src_chunk, tgt_chunk = src[begin : begin + CHUNK], tgt[begin : begin + CHUNK]
        tgt_ratios, src_ratios = _ratios(table, src_chunk, tgt_chunk)
        src_words, tgt_words = (src_chunk >= 0).sum(1), (tgt_chunk >= 0).sum(1)
        tgt_logs = np.log((tgt_ratios.sum(1) + 1) / (src_words + 1)[:, None])
        src_logs = np.log((src_ratios.sum(2) + 1) / (tgt_words + 1)[:, None])
        total = np.where(tgt_chunk >= 0, tgt_logs, 0).sum(1) / np.sqrt(np.maximum(tgt_words, 1))
        total += np.where(src_chunk >= 0, src_logs, 0).sum(1) / np.sqrt(np.maximum(src_words, 1))
        chunks.append(total.astype(np.float32))
    return np.concatenate(chunks)
