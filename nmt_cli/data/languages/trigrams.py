"""Byte trigrams of a text, hashed: their counts, sums of weights by line, and what these say."""

import numpy as np

BUCKETS = 1 << 16
# The factor of Knuth's multiplicative hashing: 2^32 divided by the golden ratio.
_FACTOR = np.uint32(2_654_435_769)
# A line is on the wrong side if these natural log odds say that it is likelier on the other one: in
# total, and on average for each of its trigrams.
MIN_EVIDENCE = 4.0
MIN_EVIDENCE_EACH = 0.15
_NEWLINE = ord("\n")
_LOWER = np.array([byte + 32 if 65 <= byte <= 90 else byte for byte in range(256)], np.uint32)


def _buckets(text: np.ndarray) -> np.ndarray:
    """Return the bucket of each trigram: (bytes - 2,)."""
    lower = _LOWER[text]
    whole = lower[:-2] << np.uint32(16) | lower[1:-1] << np.uint32(8) | lower[2:]
    buckets: np.ndarray = (whole * _FACTOR) >> np.uint32(16)
    return buckets


def _hashes(text: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the bucket of each trigram and whether it lies within a line, both (bytes - 2,)."""
    ends = text == _NEWLINE
    return _buckets(text), ~(ends[:-2] | ends[1:-1] | ends[2:])


def trigram_counts(text: np.ndarray) -> np.ndarray:
    """Count the trigrams of `text`, (bytes,) uint8 lines with newlines; returns (BUCKETS,)."""
    hashes, within = _hashes(text)
    return np.bincount(hashes[within], minlength=BUCKETS)


def log_odds(counts: np.ndarray) -> np.ndarray:
    """Return how much likelier each trigram is in the first text: (BUCKETS,) float32 log odds.

    counts: (2, BUCKETS), those of two texts, none of them 0.
    """
    shares = np.log(counts / counts.sum(1, keepdims=True))
    odds: np.ndarray = (shares[0] - shares[1]).astype(np.float32)
    return odds


def line_sums(text: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum of the trigram weights of each line and their number, both (lines,).

    text: (bytes,) uint8, lines with newlines; weights: (BUCKETS,).
    """
    ends = np.flatnonzero(text == _NEWLINE)
    hashes, within = _hashes(text)
    sums = np.concatenate([[0.0], np.cumsum(np.where(within, weights[hashes], 0), dtype=float)])
    counts = np.concatenate([[0], np.cumsum(within)])
    # Trigrams that begin in the last two bytes of a line extend beyond its end and weigh nothing.
    bounds = np.minimum(np.concatenate([[0], ends + 1]), len(hashes))
    return np.diff(sums[bounds]), np.diff(counts[bounds])


def lines_where(text: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The lines that are wanted, (bytes,); text: (bytes,), lines with newlines; wanted: (lines,).

    >>> lines = np.frombuffer(b"a\\nbc\\n\\n", np.uint8)
    >>> lines_where(lines, np.array([False, True, True])).tobytes()
    b'bc\\n\\n'
    """
    ends = np.flatnonzero(text == _NEWLINE) + 1
    lengths = np.diff(ends, prepend=0)
    lines: np.ndarray = text[np.repeat(wanted, lengths)]
    return lines


def verdicts(text: np.ndarray, odds: np.ndarray) -> np.ndarray:
    """Return 1 for each line clearly on the side that `odds` favour, -1 on the other, else 0.

    text: (bytes,) uint8, lines with newlines; odds: (BUCKETS,).
    """
    return clear_sides(*line_sums(text, odds))


def clear_sides(
    evidence: np.ndarray, trigrams: np.ndarray, least: float = MIN_EVIDENCE
) -> np.ndarray:
    """Return what `verdicts` returns, for `line_sums`; least: the least evidence in total.

    >>> clear_sides(np.array([9.0, -9.0, 5.0]), np.array([9, 90, 9]), least=8.0)
    array([1., 0., 0.])
    """
    clear = np.abs(evidence) > np.maximum(least, MIN_EVIDENCE_EACH * trigrams)
    return np.where(clear, np.sign(evidence), 0)


def verdict(line: bytes, odds: np.ndarray) -> int:
    """Return what `verdicts` returns for one line, sooner; odds: (BUCKETS,)."""
    count = len(line) - 2
    if count < 1:
        return 0
    weights = odds[_buckets(np.frombuffer(line, np.uint8))]
    # Added up in the order of `line_sums`.
    evidence = float(weights.cumsum(dtype=float)[-1])
    if abs(evidence) <= max(MIN_EVIDENCE, MIN_EVIDENCE_EACH * count):
        return 0
    return 1 if evidence > 0 else -1
