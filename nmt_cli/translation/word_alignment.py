"""Word alignment by cross-attention, and what is derived from it."""

from collections.abc import Mapping, Sequence, Set

import torch
from torch import Tensor

from nmt_cli.translation.result import Links


def align_words(attention: Tensor, src_words: Sequence[int], tgt_words: Sequence[int]) -> Links:
    """(source word, target word) links: each target word to the source word it attends to most.

    attention: (target ids, source ids); src_words, tgt_words: the word of each id, or -1 for EOS
    and for lone spaces, which are not linked.

    >>> links = align_words(torch.tensor([[.4, .1, .5], [.2, .3, .5], [0., 0., 1.]]),
    ...                    [0, 1, -1], [0, 1, -1])
    >>> links
    ((0, 0), (1, 1))
    """
    counts = max(src_words, default=-1) + 1, max(tgt_words, default=-1) + 1
    if not all(counts):
        return ()
    # Ids that belong to no word go to a last row or column, which is dropped.
    src, tgt = (
        torch.tensor([word if word >= 0 else count for word in words])
        for words, count in zip((src_words, tgt_words), counts, strict=True)
    )
    # (target ids, source words), then (target words, source words)
    by_source = attention.new_zeros(len(attention), counts[0] + 1).index_add_(1, src, attention)
    by_words = attention.new_zeros(counts[1] + 1, counts[0] + 1).index_add_(0, tgt, by_source)
    best = by_words[:-1, :-1].argmax(dim=1).tolist()
    return tuple((source, word) for word, source in enumerate(best))


def coverage_score(attention: Tensor) -> float:
    """The sum of log(attention to each source id) (Wu et al. 2016, equation 14).

    >>> round(coverage_score(torch.tensor([[1.0, 0.5], [0.5, 0.0]])), 4)
    -0.6931
    """
    return float(attention.sum(dim=0).clamp(min=1e-9, max=1.0).log().sum())


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
