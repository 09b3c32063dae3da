"""Digests that find the same sentences."""

import hashlib
import re
import unicodedata
from collections.abc import Sequence

import numpy as np

from nmt_cli.data.text.sanitize import remove_invisible

SENTENCE_DIGEST = np.dtype("<u8")
PAIR_DIGEST = np.dtype([("src", SENTENCE_DIGEST), ("tgt", SENTENCE_DIGEST)])
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
