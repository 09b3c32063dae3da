"""The target subwords that may translate a line, by the source subwords it holds; as a file.

It lies in the model directory as `shortlist.safetensors`, listed in the manifest.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import safetensors
import safetensors.numpy

from nmt_cli.config.search import LONGEST_SHORTLIST
from nmt_cli.data.lexical.lexicon import Lexicon
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.errors import ConfigError, DataError, NoInputError
from nmt_cli.storage import files, manifest

SHORTLIST = "shortlist.safetensors"
FORMAT = "1"
# Target subwords that every line may have: the most frequent ones.
FREQUENT = 100
HINT = "`nmt shortlist` learns one from the training corpus, without training again"


@dataclass(frozen=True)
class Shortlist:
    """What each source subword lets into a translation.

    candidates: (source vocabulary, LONGEST_SHORTLIST) int32, the likeliest first, then -1;
    same: (source vocabulary,) int32, the target subword that is spelt the same, or -1;
    frequent: int32, what is always let in.
    """

    candidates: np.ndarray
    same: np.ndarray
    frequent: np.ndarray

    def allowed(self, ids: Sequence[int], count: int, more: Iterable[int] = ()) -> np.ndarray:
        """(words,) int64, ascending: what may translate a source, `count` for each of its ids.

        more: ids that are let in too.
        """
        chosen = np.unique(ids)
        parts = (self.candidates[chosen, :count].ravel(), self.same[chosen], self.frequent)
        found = np.unique(np.concatenate([*parts, np.fromiter(more, np.int32)]))
        return found[np.searchsorted(found, 0) :].astype(np.int64)

    def save(self, directory: Path, subwords: Subwords) -> None:
        """Write it into a model directory."""
        arrays = {"candidates": self.candidates, "same": self.same, "frequent": self.frequent}
        facts = {"format": FORMAT, "vocabulary": vocabulary_digest(subwords)}
        data: bytes = safetensors.numpy.save(arrays, facts)
        manifest.add_to_manifest(directory, SHORTLIST, _in_order(data))

    @classmethod
    def load(cls, directory: Path, subwords: Subwords) -> "Shortlist":
        """That of a model directory, whose subwords are given.

        Raises NoInputError where there is none, DataError where it is damaged, ConfigError where it
        belongs to other subwords.
        """
        if SHORTLIST not in manifest.read_manifest(directory):
            raise NoInputError(f"`{directory}` holds no shortlist", HINT)
        manifest.check_manifest(directory, [SHORTLIST])
        path = directory / SHORTLIST
        try:
            arrays = safetensors.numpy.load(files.read_bytes(path, "shortlist"))
            with safetensors.safe_open(path, framework="np") as file:
                facts = dict(file.metadata() or {})
            found = cls(**{name: arrays[name] for name in ("candidates", "same", "frequent")})
        except (safetensors.SafetensorError, ValueError, KeyError) as error:
            raise DataError(f"`{path}` is damaged: {error}", HINT) from error
        if facts.get("format") != FORMAT:
            raise DataError(f"`{path}` is not a shortlist of format {FORMAT}", HINT)
        if facts.get("vocabulary") != vocabulary_digest(subwords):
            raise ConfigError(f"`{path}` belongs to a model with other subwords", HINT)
        found._check(path, subwords)
        return found

    def _check(self, path: Path, subwords: Subwords) -> None:
        src = subwords.src_size
        shapes = {"candidates": (src, LONGEST_SHORTLIST), "same": (src,)}
        for name in ("candidates", "same", "frequent"):
            array = getattr(self, name)
            fits = array.dtype == np.int32 and array.shape == shapes.get(name, array.shape[:1])
            inside = fits and (not array.size or -1 <= array.min() <= array.max())
            if not inside or (array.size and array.max() >= subwords.tgt_size):
                raise DataError(f"`{path}` is damaged: `{name}` does not fit the subwords", HINT)


def _in_order(data: bytes) -> bytes:
    """The same file with a sorted header: safetensors writes its facts in any order."""
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.dumps(json.loads(data[8:end]), sort_keys=True, separators=(",", ":"))
    return data[:8] + header.encode("utf-8").ljust(end - 8) + data[end:]


def vocabulary_digest(subwords: Subwords) -> str:
    """Changes with the subwords of either side, or their order."""
    pieces = (
        subwords.source_pieces(range(subwords.src_size)),
        subwords.target_pieces(range(subwords.tgt_size)),
    )
    return hashlib.sha256("\0\0".join("\0".join(side) for side in pieces).encode()).hexdigest()


def make_shortlist(
    lexicon: Lexicon, frequencies: np.ndarray, subwords: Subwords, left_out: Sequence[int]
) -> Shortlist:
    """The best of a lexicon; frequencies: (target vocabulary,) in the training corpus.

    left_out: target ids that are let in elsewhere or never. Candidates are ranked by their expected
    counts; of equals the lowest id comes first.
    """
    lengths = np.diff(lexicon.offsets)
    sources = np.arange(len(lengths)).repeat(lengths)
    order = np.lexsort((lexicon.ids, -lexicon.counts, sources))
    order = order[~np.isin(lexicon.ids[order], left_out)]
    rows = sources[order]
    places = np.arange(len(rows)) - np.searchsorted(rows, rows)
    kept = places < LONGEST_SHORTLIST
    candidates = np.full((len(lengths), LONGEST_SHORTLIST), -1, np.int32)
    candidates[rows[kept], places[kept]] = lexicon.ids[order][kept]
    number_of = {piece: one for one, piece in _target_pieces(subwords) if one not in left_out}
    pieces = subwords.source_pieces(range(subwords.src_size))
    same = np.array([number_of.get(piece, -1) for piece in pieces], np.int32)
    ranked = np.argsort(-frequencies, kind="stable")
    ranked = ranked[(frequencies[ranked] > 0) & ~np.isin(ranked, left_out)]
    return Shortlist(candidates, same, np.sort(ranked[:FREQUENT]).astype(np.int32))


def _target_pieces(subwords: Subwords) -> Iterable[tuple[int, str]]:
    return enumerate(subwords.target_pieces(range(subwords.tgt_size)))
