"""The lexical shortlist: the target subwords that may translate a line, by its source subwords.

It is stored in the model directory as `shortlist.safetensors` and listed in the manifest.
"""

import hashlib
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import safetensors
import safetensors.numpy

from nmt_cli.config.search import LONGEST_SHORTLIST
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.errors import ConfigError, DataError, NoInputError
from nmt_cli.storage import files, manifest
from nmt_cli.storage.tensor_header import with_sorted_header

if TYPE_CHECKING:
    from nmt_cli.data.lexical.lexicon import Lexicon

SHORTLIST = "shortlist.safetensors"
FORMAT = "1"
# The number of most frequent target subwords, which are allowed for every line.
FREQUENT = 100
WITHOUT = "translate without one (`--shortlist 0`), which is slower on a CPU"


@dataclass(frozen=True)
class Shortlist:
    """The target subwords that each source subword allows.

    candidates: (source vocabulary, LONGEST_SHORTLIST) int32, the likeliest first, padded with -1;
    same: (source vocabulary,) int32, the target subword with the same spelling, or -1;
    frequent: (FREQUENT,) int32 or fewer, the target subwords that are always allowed.
    """

    candidates: np.ndarray
    same: np.ndarray
    frequent: np.ndarray

    def allowed(self, ids: Sequence[int], count: int, more: Iterable[int] = ()) -> np.ndarray:
        """Return the ids allowed for a source, (words,) int64, ascending.

        count: candidates for each source id; more: other ids to allow.
        """
        chosen = np.unique(ids)
        groups = (self.candidates[chosen, :count].ravel(), self.same[chosen], self.frequent)
        allowed = np.unique(np.concatenate([*groups, np.fromiter(more, np.int32)]))
        return allowed[np.searchsorted(allowed, 0) :].astype(np.int64)

    def save(self, directory: Path, subwords: Subwords) -> None:
        """Write the shortlist into a model directory."""
        arrays = {"candidates": self.candidates, "same": self.same, "frequent": self.frequent}
        metadata = {"format": FORMAT, "vocabulary": vocabulary_digest(subwords)}
        data: bytes = safetensors.numpy.save(arrays, metadata)
        manifest.add_to_manifest(directory, SHORTLIST, with_sorted_header(data))

    @classmethod
    def load(cls, directory: Path, subwords: Subwords) -> "Shortlist":
        """Load the shortlist of a model directory with the given subwords.

        Raises NoInputError if there is none, DataError if it is damaged, ConfigError if it belongs
        to other subwords.
        """
        if SHORTLIST not in manifest.read_manifest(directory):
            raise NoInputError(f"`{directory}` holds no shortlist", _hint(directory))
        manifest.check_manifest(directory, [SHORTLIST])
        path, hint = directory / SHORTLIST, _hint(directory)
        try:
            arrays = safetensors.numpy.load(files.read_bytes(path, "shortlist"))
            with safetensors.safe_open(path, framework="np") as file:
                metadata = dict(file.metadata() or {})
            shortlist = cls(**{name: arrays[name] for name in ("candidates", "same", "frequent")})
        except (safetensors.SafetensorError, ValueError, KeyError) as error:
            raise DataError(f"`{path}` is damaged: {error}", hint) from error
        if metadata.get("format") != FORMAT:
            raise DataError(f"`{path}` is not a shortlist of format {FORMAT}", hint)
        if metadata.get("vocabulary") != vocabulary_digest(subwords):
            raise ConfigError(f"`{path}` belongs to a model with other subwords", hint)
        shortlist._check(path, subwords, hint)
        return shortlist

    def _check(self, path: Path, subwords: Subwords, hint: str) -> None:
        src = subwords.src_size
        shapes = {"candidates": (src, LONGEST_SHORTLIST), "same": (src,)}
        for name in ("candidates", "same", "frequent"):
            array = getattr(self, name)
            fits = array.dtype == np.int32 and array.shape == shapes.get(name, array.shape[:1])
            inside = fits and (not array.size or -1 <= array.min() <= array.max())
            if not inside or (array.size and array.max() >= subwords.tgt_size):
                raise DataError(f"`{path}` is damaged: `{name}` does not fit the subwords", hint)


def _hint(directory: Path) -> str:
    """What to do about a shortlist that `directory` lacks, with and without a training corpus."""
    return (
        f"learn it from the training corpus: `nmt shortlist --model {shlex.quote(str(directory))}` "
        "(--corpus names the corpus); without that corpus, ask the owner of the model for its "
        f"directory with {SHORTLIST}, or {WITHOUT}"
    )


def vocabulary_digest(subwords: Subwords) -> str:
    """Return a hash of the subwords of both sides in their order."""
    pieces = (
        subwords.source_pieces(range(subwords.src_size)),
        subwords.target_pieces(range(subwords.tgt_size)),
    )
    return hashlib.sha256("\0\0".join("\0".join(side) for side in pieces).encode()).hexdigest()


def make_shortlist(
    lexicon: "Lexicon", frequencies: np.ndarray, subwords: Subwords, excluded: Sequence[int]
) -> Shortlist:
    """Build the shortlist from a lexicon.

    frequencies: (target vocabulary,) counts in the training corpus; excluded: target ids that are
    allowed elsewhere or never. Candidates are ranked by their expected counts; of ties the lowest
    id comes first.
    """
    lengths = np.diff(lexicon.offsets)
    sources = np.arange(len(lengths)).repeat(lengths)
    order = np.lexsort((lexicon.ids, -lexicon.counts, sources))
    order = order[~np.isin(lexicon.ids[order], excluded)]
    rows = sources[order]
    ranks = np.arange(len(rows)) - np.searchsorted(rows, rows)
    kept = ranks < LONGEST_SHORTLIST
    candidates = np.full((len(lengths), LONGEST_SHORTLIST), -1, np.int32)
    candidates[rows[kept], ranks[kept]] = lexicon.ids[order][kept]
    target_ids = {piece: i for i, piece in _target_pieces(subwords) if i not in excluded}
    pieces = subwords.source_pieces(range(subwords.src_size))
    same = np.array([target_ids.get(piece, -1) for piece in pieces], np.int32)
    ranked = np.argsort(-frequencies, kind="stable")
    ranked = ranked[(frequencies[ranked] > 0) & ~np.isin(ranked, excluded)]
    return Shortlist(candidates, same, np.sort(ranked[:FREQUENT]).astype(np.int32))


def _target_pieces(subwords: Subwords) -> Iterable[tuple[int, str]]:
    return enumerate(subwords.target_pieces(range(subwords.tgt_size)))
