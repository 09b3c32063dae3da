"""Word alignment by cross-attention, and what is derived from it."""

from collections.abc import Mapping, Sequence, Set

import numpy as np

from nmt_cli.search.arrays.choice import arrays_of
from nmt_cli.search.arrays.interface import Array
from nmt_cli.translation.result import Links


def align_words(attention: Array, src_words: Sequence[int], tgt_words: Sequence[int]) -> Links:
    """(source word, target word) links: each target word to the source word it attends to most.

    attention: (target ids, source ids); src_words, tgt_words: the word of each id, or -1 for EOS
    and for lone spaces, which are not linked.

    >>> links = align_words(np.array([[.4, .1, .5], [.2, .3, .5], [0., 0., 1.]]),
    ...                    [0, 1, -1], [0, 1, -1])
    >>> links
    ((0, 0), (1, 1))
    """
    counts = max(src_words, default=-1) + 1, max(tgt_words, default=-1) + 1
    if not all(counts):
        return ()
    # Ids that belong to no word go to a last row or column, which is dropped.
    src, tgt = (
        [word if word >= 0 else count for word in words]
        for words, count in zip((src_words, tgt_words), counts, strict=True)
    )
    weights = arrays_of(attention).to_numpy(attention)
    # (target ids, source words), then (target words, source words)
    by_source = np.zeros((len(weights), counts[0] + 1), weights.dtype)
    np.add.at(by_source.T, src, weights.T)
    by_words = np.zeros((counts[1] + 1, counts[0] + 1), weights.dtype)
    np.add.at(by_words, tgt, by_source)
    best = by_words[:-1, :-1].argmax(axis=1).tolist()
    return tuple((source, word) for word, source in enumerate(best))


def coverage_score(attention: Array) -> float:
    """The sum of log(attention to each source id) (Wu et al. 2016, equation 14).

    >>> round(coverage_score(np.array([[1.0, 0.5], [0.5, 0.0]])), 4)
    -0.6931
    """
    covered = attention.sum(0).clip(1e-9, 1.0)
    return float(arrays_of(covered).logarithms(covered).sum())


def copy_source_words(source: str, text: str, unknown: Set[int], links: Links) -> str:
    """`text` with the words `unknown`, given by index, replaced by those they are linked to.

    >>> copy_source_words("Mr Ωmega sleeps", "Herr ⁇mega schläft", {1}, ((0, 0), (1, 1), (2, 2)))
    'Herr Ωmega schläft'
    """
    origin: Mapping[int, int] = {tgt_word: src_word for src_word, tgt_word in links}
    src, words = source.split(), text.split()
    for word in unknown:
        if word < len(words) and origin.get(word, len(src)) < len(src):
            words[word] = src[origin[word]]
    return " ".join(words)
