"""Which source word each word of a translation comes from, by cross-attention."""

from collections.abc import Mapping, Sequence, Set

import torch
from torch import Tensor

from nmt_cli.translation.result import Links


def align_words(attention: Tensor, src_words: Sequence[int], tgt_words: Sequence[int]) -> Links:
    """(source word, word) for each word: where its subwords look most, together.

    attention: (target ids, source ids); src_words, tgt_words: the word of each id, -1 of EOS and
    of lone spaces, which nothing is linked to.

    >>> links = align_words(torch.tensor([[.4, .1, .5], [.2, .3, .5], [0., 0., 1.]]),
    ...                    [0, 1, -1], [0, 1, -1])
    >>> links
    ((0, 0), (1, 1))
    """
    counts = max(src_words, default=-1) + 1, max(tgt_words, default=-1) + 1
    if not all(counts):
        return ()
    # What belongs to no word goes to a last row or column, which is left out.
    src, tgt = (
        torch.tensor([one if one >= 0 else count for one in words])
        for words, count in zip((src_words, tgt_words), counts, strict=True)
    )
    by_source = attention.new_zeros(len(attention), counts[0] + 1).index_add_(1, src, attention)
    by_words = attention.new_zeros(counts[1] + 1, counts[0] + 1).index_add_(0, tgt, by_source)
    best = by_words[:-1, :-1].argmax(dim=1).tolist()
    return tuple((source, word) for word, source in enumerate(best))


def coverage_score(attention: Tensor) -> float:
    """log of how much of each source id was looked at, summed (Wu et al. 2016, equation 14).

    >>> round(coverage_score(torch.tensor([[1.0, 0.5], [0.5, 0.0]])), 4)
    -0.6931
    """
    return float(attention.sum(dim=0).clamp(min=1e-9, max=1.0).log().sum())


def with_words_of(source: str, text: str, unknown: Set[int], links: Links) -> str:
    """`text` with the words of these numbers given as the source has them.

    >>> with_words_of("Mr Ωmega sleeps", "Herr ⁇mega schläft", {1}, ((0, 0), (1, 1), (2, 2)))
    'Herr Ωmega schläft'
    """
    origin: Mapping[int, int] = {word: one for one, word in links}
    src, words = source.split(), text.split()
    for word in unknown:
        if word < len(words) and origin.get(word, len(src)) < len(src):
            words[word] = src[origin[word]]
    return " ".join(words)
