"""Sentences that must not be in the training text: of validation and test sets, found or made."""

import hashlib
from collections.abc import Sequence

import numpy as np

from nmt_cli.errors import DataError
from nmt_cli.plurals import counted

SENTENCE_DIGEST = np.dtype("<u8")
PAIR_DIGEST = np.dtype([("src", SENTENCE_DIGEST), ("tgt", SENTENCE_DIGEST)])
# More would be missed in training.
LARGEST_SPLIT = 0.2


def digest(sentence: str) -> bytes:
    """Eight bytes that stand for a cleaned sentence."""
    return hashlib.blake2b(sentence.encode(), digest_size=SENTENCE_DIGEST.itemsize).digest()


class HeldOut:
    """The source sentences of a validation or test set, looked for in the training text."""

    def __init__(self, name: str, sentences: Sequence[str]) -> None:
        """`sentences` are cleaned; empty ones are not looked for."""
        self.name = name
        digests = [digest(one) for one in sentences if one]
        self.digests = np.frombuffer(b"".join(digests), SENTENCE_DIGEST)
        self._found = np.zeros(len(digests), bool)

    def look(self, sources: np.ndarray) -> None:
        """Look among the digests of some training sentences."""
        self._found |= np.isin(self.digests, sources)

    @property
    def sentences(self) -> int:
        """How many sentences are looked for."""
        return len(self._found)

    @property
    def found(self) -> int:
        """How many of the sentences occur in what was looked at."""
        return int(self._found.sum())


def find_duplicates(digests: bytes | np.ndarray) -> np.ndarray:
    """(pairs,) bool, True where the same 16-byte digest stands further in front.

    >>> find_duplicates(b"a" * 16 + b"b" * 16 + b"a" * 16).tolist()
    [False, False, True]
    """
    values = np.frombuffer(digests, PAIR_DIGEST)
    order = np.lexsort((values["tgt"], values["src"]))
    ordered = values[order]
    duplicate = np.zeros(len(values), bool)
    duplicate[order[1:]] = ordered[1:] == ordered[:-1]
    return duplicate


def occurrences(digests: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(sentences,) how often each one occurs, and how many equal ones stand in front of it."""
    order = np.argsort(digests, kind="stable")
    ordered = digests[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    lengths = np.diff(np.append(starts, len(ordered)))
    counts, places = np.empty_like(order), np.empty_like(order)
    counts[order] = lengths.repeat(lengths)
    places[order] = np.arange(len(order)) - starts.repeat(lengths)
    return counts, places


def suitable_split(pairs: int) -> int:
    """How many of so many pairs suit as a validation set; 0: there are too few.

    >>> suitable_split(6_122), suitable_split(1_000_000), suitable_split(500), suitable_split(40)
    (300, 1000, 100, 0)
    """
    split = min(1_000, max(200, pairs // 20), int(LARGEST_SPLIT * pairs))
    return split // 100 * 100 if split >= 100 else split // 10 * 10


def require_small_split(wanted: int, pairs: int) -> None:
    """Raise DataError where a validation set of `wanted` pairs would take too many of `pairs`."""
    if wanted > LARGEST_SPLIT * pairs:
        raise DataError(
            f"a validation set of {counted(wanted, 'pair')} is too large for "
            f"{counted(pairs, 'training pair')}: more than {LARGEST_SPLIT:.0%} of them",
            f"use --valid-split {int(LARGEST_SPLIT * pairs)} or less, or more text",
        )


def choose_candidates(digests: np.ndarray, keep: np.ndarray, wanted: int, seed: int) -> np.ndarray:
    """Numbers of pairs that may become the validation set, in an order by chance from `seed`.

    Neither side of them occurs anywhere else. wanted: how many pairs it shall be; digests: (pairs,)
    PAIR_DIGEST; keep: (pairs,) bool, those to choose from. Raises DataError: there are too few.
    """
    require_small_split(wanted, int(keep.sum()))
    alone = np.flatnonzero(keep & _is_unique(digests["src"]) & _is_unique(digests["tgt"]))
    if len(alone) < wanted:
        raise DataError(
            f"only {counted(len(alone), 'training pair')} can become validation pairs, "
            f"{wanted:,} are asked for: the other pairs share a side with another pair",
            f"use --valid-split {len(alone)} or less",
        )
    chance = np.random.Generator(np.random.PCG64(seed)).permutation(len(alone))
    chosen: np.ndarray = alone[chance]
    return chosen


def _is_unique(digests: np.ndarray) -> np.ndarray:
    unique: np.ndarray = occurrences(digests)[0] == 1
    return unique
