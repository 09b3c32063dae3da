"""Sets training pairs apart for validation and testing, by hashes of their text.

The place of a pair depends on its own text and on `data.seed`, not on the other pairs. If pairs are
added, or the text is cleaned in another way, almost all pairs that were set apart are so again.
"""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import compress
from pathlib import Path

import numpy as np

from nmt_cli.config.schema import DataConfig
from nmt_cli.data.cleaning.clean import CleanText, read_span
from nmt_cli.data.cleaning.held_out.digests import occurrences, pair_hashes
from nmt_cli.data.corpus.layout import read_description
from nmt_cli.data.languages.unspaced import length_in_words
from nmt_cli.data.preparation.encode import drop_reasons
from nmt_cli.data.preparation.split_sizes import SplitSizes
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.text.line_pairs import read_pairs
from nmt_cli.errors import DataError, NmtError
from nmt_cli.plurals import agreeing, counted

Pairs = list[tuple[str, str]]


@dataclass(frozen=True)
class Split:
    """The pairs that are set apart.

    indices: (pairs,) of all of them in the cleaned text; valid, test: their text.
    """

    indices: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    valid: Pairs = field(default_factory=list)
    test: Pairs = field(default_factory=list)

    def is_trainable(self, data: DataConfig, subwords: Subwords) -> bool:
        """Whether training would keep all of these pairs, by their lengths in subwords."""
        return all(_are_trainable([*self.valid, *self.test], data, subwords))


def set_apart(
    text: CleanText, keep: np.ndarray, data: DataConfig, subwords: Subwords | None = None
) -> Split:
    """Choose `data.valid_split` and `data.test_split` pairs among those to `keep`, (pairs,) bool.

    Neither side of a chosen pair occurs in another pair, not even behind another verse number, and
    with `subwords` it is none that training drops for its length. Raises DataError if there are
    too few.
    """
    sizes = SplitSizes(data.valid_split, data.test_split)
    candidates = _candidates(text, keep, sizes)
    choose = partial(_choose, text, data, subwords)
    valid = choose(candidates, "valid", sizes.valid)
    candidates = candidates[~np.isin(candidates, list(valid))]
    test = choose(candidates, "test", sizes.test)
    chosen = len(valid) + len(test)
    if chosen < sizes.total:
        raise DataError(
            f"only {counted(chosen, 'training pair')} can become {sizes.name} pairs, "
            f"{sizes.total:,} were requested ({sizes.settings}): the others are too long or too "
            "short",
            sizes.at_most(chosen),
        )
    indices = np.array([*valid, *test], np.int64)
    return Split(indices, list(valid.values()), list(test.values()))


def changed_test_notes(corpus: Path, files: Sequence[Path]) -> list[str]:
    """The warning that `corpus`, which is about to be replaced, has another test set, if it has.

    files: the text of the test pairs of the corpus that replaces it; none: it sets none apart.
    """
    before, now = set(_test_pairs_of(corpus)), set(_pairs_of(files))
    if not before or not now or before == now:
        return []
    stay = len(before & now)
    return [
        f"the test set changes: {stay:,} of {counted(len(before), 'pair')} "
        f"{agreeing(stay, 'stays', 'stay')}; scores on it cannot be compared with earlier ones, "
        "and models trained on the replaced corpus may have learnt from its pairs"
    ]


def _test_pairs_of(corpus: Path) -> Pairs:
    """The test pairs that a corpus has set apart; none if it is not there or cannot be read."""
    try:
        files = read_description(corpus)["prepared"]["test_files"]
        return _pairs_of([corpus / Path(file).name for file in files])
    except (NmtError, LookupError, TypeError):
        return []


def _pairs_of(files: Sequence[Path]) -> Pairs:
    return list(read_pairs(tuple(map(str, files)))) if files else []


def _candidates(text: CleanText, keep: np.ndarray, sizes: SplitSizes) -> np.ndarray:
    """The indices of the pairs to keep neither of whose sides occurs in another pair.

    Not even on the other side there: texts may hold pairs in both directions. Nor in another form,
    without the repairs or without a verse number. Raises DataError if there are too few.
    """
    sizes.require_small(int(keep.sum()))
    own = np.arange(text.pairs)
    others, digests = _other_sentences(text)
    pairs = np.concatenate([own, own, others])
    sentences = np.concatenate([text.digests["src"], text.digests["tgt"], digests])
    is_unique = np.ones(text.pairs, bool)
    is_unique[pairs[occurrences(sentences)[0] > 1]] = False
    unique = np.flatnonzero(keep & is_unique)
    if len(unique) < sizes.total:
        raise DataError(
            f"only {counted(len(unique), 'training pair')} can become {sizes.name} pairs, "
            f"{sizes.total:,} were requested ({sizes.settings}): the other pairs share a "
            "side with another pair",
            sizes.at_most(len(unique)),
        )
    return unique


def _other_sentences(text: CleanText) -> tuple[np.ndarray, np.ndarray]:
    """The sentences of pairs in other forms that differ: (sentences,) int64, pairs; digests."""
    pairs, digests = text.other_forms
    differing = {side: digests[side] != text.digests[side][pairs] for side in ("src", "tgt")}
    return (
        np.concatenate([pairs[differs] for differs in differing.values()]),
        np.concatenate([digests[side][differs] for side, differs in differing.items()]),
    )


def _choose(
    text: CleanText,
    data: DataConfig,
    subwords: Subwords | None,
    candidates: np.ndarray,
    use: str,
    size: int,
) -> dict[int, tuple[str, str]]:
    """The `size` candidates of suitable length with the smallest hashes, by their index.

    The hashes differ for each use, so that the pairs for one hardly depend on how many the other
    has. They are the same for a pair with its sides swapped: corpora for both directions have the
    same validation and test pairs.
    """
    digests = text.digests[candidates]
    sides = np.sort(np.stack([digests["src"], digests["tgt"]], axis=-1), axis=-1)
    in_order = np.empty_like(digests)
    in_order["src"], in_order["tgt"] = sides[:, 0], sides[:, 1]
    hashes = pair_hashes(in_order, data.seed, zlib.crc32(use.encode()))
    ordered = candidates[np.argsort(hashes, kind="stable")]
    chosen: dict[int, tuple[str, str]] = {}
    for begin in range(0, len(ordered) if size else 0, max(1, size)):
        indices = ordered[begin : begin + size].tolist()
        pairs = _read_pairs_at(text, np.sort(indices))
        usual = [index for index in indices if _has_usual_length(*pairs[index], data)]
        if subwords is not None:
            trainable = _are_trainable([pairs[index] for index in usual], data, subwords)
            usual = list(compress(usual, trainable))
        chosen |= {index: pairs[index] for index in usual[: size - len(chosen)]}
        if len(chosen) == size:
            break
    return chosen


def _has_usual_length(src: str, tgt: str, data: DataConfig) -> bool:
    """Whether training will hardly drop a pair of so many words, as far as these show."""
    short, long = sorted((length_in_words(src), length_in_words(tgt)))
    return long <= data.max_length // 2 and long <= max(4, data.max_ratio / 2 * short)


def _are_trainable(pairs: Pairs, data: DataConfig, subwords: Subwords) -> Iterator[bool]:
    """Whether training keeps each of some pairs, by their lengths in subwords."""
    src = subwords.encode_source([src for src, _ in pairs])
    tgt = subwords.encode_target([tgt for _, tgt in pairs])
    return (not reason for reason in drop_reasons(data, src, tgt))


def _read_pairs_at(text: CleanText, indices: np.ndarray) -> dict[int, tuple[str, str]]:
    """Return the text of some pairs by their index; `indices` are ascending."""
    pairs: dict[int, tuple[str, str]] = {}
    for span in text.spans:
        first, after = span.first, span.first + span.pairs
        wanted = indices[(indices >= first) & (indices < after)].tolist()
        if wanted:
            src = read_span(text.directory, "src", span.src_start, span.src_end)
            tgt = read_span(text.directory, "tgt", span.tgt_start, span.tgt_end)
            pairs |= {index: (src[index - first], tgt[index - first]) for index in wanted}
    return pairs
