"""Three bytes running, as numbers: how often each occurs in a text, and what they add up to."""

import numpy as np

BUCKETS = 1 << 16
# Knuth's multiplicative hashing, by 2^32 over the golden ratio.
_FACTOR = np.uint32(2_654_435_769)
_NEWLINE = ord("\n")
_LOWER = np.array([one + 32 if 65 <= one <= 90 else one for one in range(256)], np.uint32)


def _hashes(text: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(bytes - 2,) the bucket of each trigram, and whether it lies within one line."""
    lower = _LOWER[text]
    whole = lower[:-2] << np.uint32(16) | lower[1:-1] << np.uint32(8) | lower[2:]
    ends = text == _NEWLINE
    return (whole * _FACTOR) >> np.uint32(16), ~(ends[:-2] | ends[1:-1] | ends[2:])


def trigram_counts(text: np.ndarray) -> np.ndarray:
    """(BUCKETS,) how often the trigrams of `text` occur: (bytes,) uint8, lines with newlines."""
    hashes, within = _hashes(text)
    return np.bincount(hashes[within], minlength=BUCKETS)


def line_sums(text: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(lines,) the sum of the weights of each line's trigrams, and how many these are.

    text: (bytes,) uint8, lines with newlines; weights: (BUCKETS,).
    """
    ends = np.flatnonzero(text == _NEWLINE)
    hashes, within = _hashes(text)
    sums = np.concatenate([[0.0], np.cumsum(np.where(within, weights[hashes], 0), dtype=float)])
    counts = np.concatenate([[0], np.cumsum(within)])
    # A line's last trigram begins two bytes before its end at the latest: those that end beyond
    # it weigh nothing.
    places = np.minimum(np.concatenate([[0], ends + 1]), len(hashes))
    return np.diff(sums[places]), np.diff(counts[places])
