"""Digests that find the same sentences; sizes of the sets that are set apart from the text."""

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nmt_cli.data.text.sanitize import remove_invisible
from nmt_cli.errors import DataError
from nmt_cli.plurals import counted

SENTENCE_DIGEST = np.dtype("<u8")
PAIR_DIGEST = np.dtype([("src", SENTENCE_DIGEST), ("tgt", SENTENCE_DIGEST)])
# A larger share would be missed in training.
LARGEST_SPLIT = 0.2
# Punctuation, except between digits: 1.5 is not 15.
_SIGNS = r"!-/:-@\[-`{-~\u00a1-\u00bf\u2010-\u205e\u3001-\u3011\uff01-\uff0f\uff1a-\uff20।॥،؛؟۔"
_PUNCTUATION = re.compile(rf"(?<!\d)[{_SIGNS}]+|[{_SIGNS}]+(?!\d)")
# Invisible characters that belong to the spelling: the zero-width space, non-joiner and joiner. The
# pattern also has the grapheme joiner and the variation selectors, which choose the form of a sign.
_ZERO_WIDTH = frozenset("\u200b\u200c\u200d")
_ZERO_WIDTH_OR_SELECTOR = re.compile("[\u034f\u200b-\u200d\ufe00-\ufe0f]")


def digest(sentence: str) -> bytes:
    """Return an eight-byte hash of a cleaned sentence.

    Sentences have the same hash if they differ only in spaces, in how letters with accents are
    written (NFC), or in invisible characters. Joiners, non-joiners and zero-width spaces that
    separate words do count, since they belong to the spelling.

    >>> digest("a  caf\u00e9") == digest("a\u00a0cafe\u0301") != digest("a cafe")
    True
    >>> digest("Bahn\u00adhof\u200b") == digest("Bahnhof")
    True
    """
    if not sentence.isprintable():
        sentence = _remove_format_characters(remove_invisible(sentence))
    sentence = " ".join(unicodedata.normalize("NFC", sentence).split())
    return hashlib.blake2b(sentence.encode(), digest_size=SENTENCE_DIGEST.itemsize).digest()


def _remove_format_characters(text: str) -> str:
    """Remove the format characters (Unicode category Cf) that do not belong to the spelling."""
    return "".join(
        letter for letter in text if letter in _ZERO_WIDTH or unicodedata.category(letter) != "Cf"
    )


def loose_digests(sentences: Sequence[str]) -> np.ndarray:
    """Return digests of cleaned sentences that ignore capital letters and punctuation.

    They also ignore all invisible characters, and are (sentences,) SENTENCE_DIGEST.

    >>> digests = loose_digests(["The dog sleeps!", "the dog, sleeps", "the dogs sleep"])
    >>> len(set(digests.tolist()))
    2
    >>> len(set(loose_digests(["1.5 km", "15 km"]).tolist()))
    2
    """
    loose = (
        _PUNCTUATION.sub(" ", _ZERO_WIDTH_OR_SELECTOR.sub("", sentence.lower()))
        for sentence in sentences
    )
    return np.frombuffer(b"".join(map(digest, loose)), SENTENCE_DIGEST)


def pair_hashes(digests: np.ndarray, *salts: int) -> np.ndarray:
    """Return a hash of each pair that also depends on `salts`: (pairs,) uint64.

    digests: (pairs,) PAIR_DIGEST. Mixed as by SplitMix64 (Steele, Lea and Flood 2014).

    >>> pairs = np.zeros(2, PAIR_DIGEST)
    >>> len({*pair_hashes(pairs, 1).tolist(), *pair_hashes(pairs, 2).tolist()})
    2
    """
    mixed = np.zeros(len(digests), np.uint64)
    for part in (*salts, digests["src"], digests["tgt"]):
        mixed = (mixed ^ np.asarray(part, np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    return mixed


def digests_of(src: Sequence[str], tgt: Sequence[str]) -> np.ndarray:
    """Return the digests of both sides of cleaned pairs: (pairs,) PAIR_DIGEST."""
    pairs = zip(src, tgt, strict=True)
    return np.frombuffer(b"".join(digest(line) for pair in pairs for line in pair), PAIR_DIGEST)


def sentence_digests(sentences: Sequence[str]) -> np.ndarray:
    """Return the digests of cleaned sentences: (sentences,) SENTENCE_DIGEST."""
    return np.frombuffer(b"".join(map(digest, sentences)), SENTENCE_DIGEST)


def find_duplicates(digests: bytes | np.ndarray) -> np.ndarray:
    """Return for each pair whether the same 16-byte digest occurs before it: (pairs,) bool.

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
    """Return how often each sentence occurs, and how often before it; both (sentences,)."""
    order = np.argsort(digests, kind="stable")
    ordered = digests[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    lengths = np.diff(np.append(starts, len(ordered)))
    counts, earlier = np.empty_like(order), np.empty_like(order)
    counts[order] = lengths.repeat(lengths)
    earlier[order] = np.arange(len(order)) - starts.repeat(lengths)
    return counts, earlier


def suitable_split(pairs: int) -> int:
    """Return a suitable size of a validation set for a number of pairs; 0: there are too few.

    >>> suitable_split(6_122), suitable_split(1_000_000), suitable_split(500), suitable_split(40)
    (300, 1000, 100, 0)
    """
    split = min(1_000, max(200, pairs // 20), int(LARGEST_SPLIT * pairs))
    return split // 100 * 100 if split >= 100 else split // 10 * 10


def no_validation_note(pairs: int, valid_option: str, split_option: str) -> str:
    """The warning that there is no validation text.

    pairs: the number of training pairs; valid_option: the option or argument that names validation
    files; split_option: the one that sets training pairs apart, up to where their number follows.
    """
    split = suitable_split(pairs)
    way = f"; to set training pairs apart: {split_option}{split}" if split else ""
    return (
        "there is no validation text: training cannot tell which checkpoint is best; "
        f"{valid_option} names it{way}"
    )


class SplitSizes(NamedTuple):
    """How many training pairs become validation pairs and test pairs."""

    valid: int
    test: int

    @property
    def total(self) -> int:
        """All pairs that are set apart."""
        return self.valid + self.test

    @property
    def name(self) -> str:
        """What the pairs become: "validation", "test" or "validation and test"."""
        names = (("validation", self.valid), ("test", self.test))
        return " and ".join(name for name, size in names if size)

    def require_small(self, pairs: int, *, share_kept: float = 1.0) -> None:
        """Raise DataError if the sets take too many of `pairs`.

        share_kept: for the advised size, the share of the pairs that cleaning is expected to keep.
        """
        if self.total > LARGEST_SPLIT * pairs:
            sets = f"{self.name} sets" if self.valid and self.test else f"a {self.name} set"
            verb = "are" if self.valid and self.test else "is"
            raise DataError(
                f"{sets} of {counted(self.total, 'pair')} {verb} too large for "
                f"{counted(pairs, 'training pair')}: more than {LARGEST_SPLIT:.0%} of them "
                f"({self.settings})",
                self.at_most(int(LARGEST_SPLIT * share_kept * pairs)),
            )

    def tight_note(self, pairs: int, *, share_kept: float) -> str:
        """The warning that cleaning, which drops some of `pairs`, may leave too few; or "".

        share_kept: as of `require_small`.
        """
        if self.total <= LARGEST_SPLIT * share_kept * pairs:
            return ""
        return (
            f"{self.total:,} {self.name} pairs are almost {LARGEST_SPLIT:.0%} of "
            f"{counted(pairs, 'training pair')}, more than which `nmt prepare` refuses, and it "
            f"counts them without those that it drops, such as duplicates: "
            + self.at_most(int(LARGEST_SPLIT * share_kept * pairs))
        )

    @property
    def settings(self) -> str:
        """The settings that ask for the pairs, with their values."""
        sizes = (("data.valid_split", self.valid), ("data.test_split", self.test))
        return ", ".join(f"{key}: {size:,}" for key, size in sizes if size)

    def at_most(self, pairs: int) -> str:
        """The hint that no more than so many `pairs` can be set apart."""
        files = f"--valid SRC TGT{' --test-split 0' if self.test else ''}"
        if pairs < bool(self.valid) + bool(self.test):
            sizes = (("--valid-split 0", self.valid), ("--test-split 0", self.test))
            no_splits = " ".join(option for option, size in sizes if size)
            more = f", or use validation text of its own: {files}" if self.valid else ""
            return f"use more text, or set no pairs apart: {no_splits}{more}"
        if self.valid and self.test:
            options = f"--valid-split and --test-split of {pairs} pairs together"
        else:
            options = f"--{'valid' if self.valid else 'test'}-split {pairs}"
        if not self.valid:
            return f"use {options} or less, or more text"
        return f"use {options} or less, more text, or validation text of its own: {files}"
