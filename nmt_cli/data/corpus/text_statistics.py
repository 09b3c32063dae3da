"""Statistics of the training text of a model: its sentences, its lengths, its two languages.

`nmt prepare` measures it, training copies it into the model directory, and translation compares
input and output with it. Stored as `text.safetensors`: the header has the numbers as JSON, and the
tensors are `language_odds` and `pair_hashes`.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from nmt_cli.data.cleaning.letters.look_alikes import SCRIPT_RUNS
from nmt_cli.data.languages.trigrams import BUCKETS
from nmt_cli.data.languages.word_characters import CHARACTERS
from nmt_cli.data.sentences.splitter import SentenceSplitter
from nmt_cli.errors import DataError
from nmt_cli.storage import manifest
from nmt_cli.storage.tensor_header import read_metadata, with_sorted_header

TEXT = "text.safetensors"
FORMAT = 1
MAX_BYTES = 1 << 22
# As many hashes of training pairs take 256 KiB.
MAX_HASHES = 1 << 15
# Training lines count as single sentences where fewer than this share of them have several, and
# as mostly single where fewer than half do.
SINGLE_SENTENCES, MOSTLY_SINGLE_SENTENCES = 0.05, 0.5
# Sources of at most this many characters share a range of lengths; longer ones have the last.
LENGTH_BOUNDS = (10, 20, 40, 80, 160, 1 << 30)
# A range reaches at least so many times the root of the source's characters to both sides of its
# middle. For the deviation of one translation, Gale and Church (1993) measured 2.6 times that root.
# Only the ranges of a few templates that are repeated are narrower.
LEAST_DEVIATION = 2.0
HINT = "copy the directory again"
# Text is searched fastest for a pattern that begins with a given character.
_SPACED_MARK = re.compile(rf" (?<=[{CHARACTERS}] )[.!?,;](?: |$)")


@dataclass(frozen=True)
class SideStatistics:
    """One side of the training text.

    language: its code. abbreviations, titles, ordinals: see SentenceSplitter. several_sentences,
    lower_case, tokenized: the shares of lines that have several sentences, no capital letter, and
    spaces before their punctuation. unknown: the share of unknown tokens. script: LATIN, CYRILLIC
    or GREEK, if nearly all letters are of it, or "".
    """

    language: str
    abbreviations: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    ordinals: bool | None = None
    several_sentences: float = 0.0
    lower_case: float = 0.0
    tokenized: float = 0.0
    unknown: float = 0.0
    script: str = ""

    @property
    def splitter(self) -> SentenceSplitter:
        """The sentence splitter of this side."""
        return SentenceSplitter(
            self.language, frozenset(self.abbreviations), frozenset(self.titles), self.ordinals
        )


@dataclass(frozen=True)
class TextStatistics:
    """Both sides of the training text, and what holds between them.

    lines: the pairs that were measured. length_ratios: for each of LENGTH_BOUNDS, the 0.1 % and
    99.9 % quantiles of the target's characters per source character. language_odds: (BUCKETS,)
    float32, how much likelier each byte trigram is in the source language, as natural log odds;
    empty where the sides are too similar. pair_hashes: the smallest hashes of training pairs, as
    they were read and as they were repaired, at most MAX_HASHES, sorted: uint64; empty if they are
    not known. test_digest: that of the test
    pairs that were set apart from the text, else "".
    """

    src: SideStatistics
    tgt: SideStatistics
    lines: int
    length_ratios: tuple[tuple[float, float], ...]
    language_odds: np.ndarray
    pair_hashes: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint64))
    test_digest: str = ""

    @property
    def has_single_sentences(self) -> bool:
        """Whether the lines of the training text were single sentences."""
        return self.src.several_sentences < SINGLE_SENTENCES

    def lengths_of(self, characters: int) -> tuple[float, float]:
        """The lowest and highest usual length of the translation of this many characters."""
        index = next(i for i, bound in enumerate(LENGTH_BOUNDS) if characters <= bound)
        low, high = (ratio * characters for ratio in self.length_ratios[index])
        deviation = LEAST_DEVIATION * math.sqrt(characters)
        middle = (low + high) / 2
        return min(low, middle - deviation), max(high, middle + deviation)

    def seen_share(self, hashes: np.ndarray) -> float:
        """The share of pairs, by their `hashes`, that are in the training text; 0 if unknown.

        hashes: (pairs,), or (forms, pairs) of pairs any of whose forms may be there. An estimate
        from the pairs with small hashes, if more than MAX_HASHES training pairs exist, and of the
        commonest form alone.
        """
        forms = np.atleast_2d(hashes)
        if len(self.pair_hashes) < MAX_HASHES:
            seen = np.isin(forms, self.pair_hashes)
            return float(seen.any(axis=0).mean()) if seen.size else 0.0
        samples = [form[form <= self.pair_hashes[-1]] for form in forms]
        return max(
            float(np.isin(form, self.pair_hashes).mean()) if len(form) else 0.0 for form in samples
        )

    def joined_to(self, earlier: "TextStatistics") -> "TextStatistics":
        """The same, for a training that goes on from a model of an earlier text.

        The training pairs of both are known. If the lines of one of them have several sentences,
        those of both do, so that a model that translates such lines as they are goes on doing so.
        A side has a script if it has the same in both.
        """
        hashes = np.union1d(self.pair_hashes, earlier.pair_hashes)[:MAX_HASHES]
        share = max(self.src.several_sentences, earlier.src.several_sentences)
        src = replace(self.src, several_sentences=share, script=_joint(self.src, earlier.src))
        tgt = replace(self.tgt, script=_joint(self.tgt, earlier.tgt))
        return replace(self, pair_hashes=hashes, src=src, tgt=tgt)

    def to_bytes(self) -> bytes:
        """The content of the file."""
        numbers = {
            "src": asdict(self.src), "tgt": asdict(self.tgt), "lines": self.lines,
            "length_ratios": self.length_ratios, "test_digest": self.test_digest,
        }  # fmt: skip
        header = {"format": str(FORMAT), "numbers": json.dumps(numbers)}
        tensors = {
            "language_odds": self.language_odds.astype(np.float16),
            "pair_hashes": self.pair_hashes,
        }
        content: bytes = safetensors.numpy.save(tensors, header)
        return with_sorted_header(content)

    @classmethod
    def load(cls, directory: Path) -> "TextStatistics | None":
        """Read the statistics of a corpus or a model directory; None if it has none.

        Raises DataError if the file is damaged or of another version.
        """
        if TEXT not in manifest.read_manifest(directory):
            return None
        path = directory / TEXT
        data = manifest.read_checked(directory, TEXT, MAX_BYTES)
        try:
            tensors = safetensors.numpy.load(data)
            header = read_metadata(data)
            if header["format"] != str(FORMAT):
                raise DataError(f"`{path}` is of another version of nmt", HINT)
            return cls._from_json(json.loads(header["numbers"]), tensors)
        except (safetensors.SafetensorError, ValueError, KeyError, TypeError) as error:
            raise DataError(f"`{path}` is damaged: {error}", HINT) from error

    @classmethod
    def _from_json(
        cls, numbers: Mapping[str, Any], tensors: Mapping[str, np.ndarray]
    ) -> "TextStatistics":
        odds = tensors["language_odds"].astype(np.float32)
        # Older versions stored no hashes.
        hashes = tensors.get("pair_hashes", np.zeros(0, np.uint64))
        ratios = tuple((float(low), float(high)) for low, high in numbers["length_ratios"])
        if len(ratios) != len(LENGTH_BOUNDS) or odds.shape not in ((0,), (BUCKETS,)):
            raise ValueError("wrong sizes")
        if hashes.dtype != np.uint64 or hashes.ndim != 1 or len(hashes) > MAX_HASHES:
            raise ValueError("wrong hashes")
        src, tgt = (_side_from_json(numbers[name]) for name in ("src", "tgt"))
        digest = str(numbers.get("test_digest", ""))
        return cls(src, tgt, int(numbers["lines"]), ratios, odds, hashes, digest)


def _joint(side: SideStatistics, other: SideStatistics) -> str:
    return side.script if side.script == other.script else ""


def _side_from_json(values: Mapping[str, Any]) -> SideStatistics:
    ordinals = values["ordinals"]
    # Older versions stored none.
    script = values.get("script", "")
    if script not in ("", *SCRIPT_RUNS):
        raise ValueError("not a script")
    return SideStatistics(
        language=str(values["language"]),
        abbreviations=_texts(values["abbreviations"]),
        titles=_texts(values["titles"]),
        ordinals=None if ordinals is None else bool(ordinals),
        several_sentences=float(values["several_sentences"]),
        lower_case=float(values["lower_case"]),
        tokenized=float(values["tokenized"]),
        unknown=float(values["unknown"]),
        script=script,
    )


def _texts(values: object) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError("not a list of texts")
    return tuple(str(value) for value in values)


def digest_of_pairs(pairs: Iterable[tuple[str, str]]) -> str:
    """Return the SHA-256 of the text of some pairs, in their order.

    >>> digest_of_pairs([("a", "b")]) == digest_of_pairs([("a", "b"), ("c", "d")])
    False
    """
    lines = "".join(f"{src}\n{tgt}\n" for src, tgt in pairs)
    return hashlib.sha256(lines.encode(errors="replace")).hexdigest()


def is_lower_case(line: str) -> bool:
    """Return whether a line has letters, and no capital one."""
    return line == line.lower() and line != line.upper()


def has_spaced_mark(line: str) -> bool:
    """Return whether a line has a space before its punctuation, as tokenised text has.

    >>> has_spaced_mark("The dog , he sleeps ."), has_spaced_mark("The dog .45")
    (True, False)
    """
    return _SPACED_MARK.search(line) is not None
