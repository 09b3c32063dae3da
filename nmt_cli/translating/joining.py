"""The translations of a line's pieces put together."""

from collections.abc import Sequence

import torch

from nmt_cli.config import Search
from nmt_cli.data.pieces import Piece
from nmt_cli.data.subwords import Subwords
from nmt_cli.search.ranker import Ranker
from nmt_cli.translating.parts import Part
from nmt_cli.translating.translation import Alternative


def joined(
    pieces: Sequence[Piece],
    parts: Sequence[Part],
    config: Search,
    subwords: Subwords,
    *,
    spaced: bool,
) -> Alternative:
    """One translation of a line; `spaced`: whether its language has spaces between words."""
    ends = [piece.glue if spaced else "" for piece in pieces]
    text = "".join(part.text + end for part, end in zip(parts, ends, strict=True)).strip()
    found = [part.hypothesis for part in parts]
    ids = [one for part in found for one in part.ids]
    log_prob = sum(part.log_prob for part in found)
    score = found[0].score
    if len(parts) > 1:
        score = float(Ranker(config).score(torch.tensor(log_prob), torch.tensor(len(ids))))
    links, src_words, tgt_words = [], 0, 0
    for piece, part, end in zip(pieces, parts, ends, strict=True):
        links += [(src_words + src, tgt_words + tgt) for src, tgt in part.links]
        # Without a space between them, the last word and the next first are one.
        src_words += max(0, part.src_words - (not piece.glue))
        tgt_words += max(0, part.tgt_words - (not end))
    return Alternative(
        text,
        score,
        log_prob,
        tuple(subwords.target_pieces(ids)),
        tuple(one for part in found for one in part.token_scores),
        tuple(links),
        tuple(ids),
    )
