"""One pass of the plain model over given pairs: how likely each id is, and where it looked."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from nmt_cli.batch import Batch, make_batch
from nmt_cli.inference.cross_attention import captured_cross_attention
from nmt_cli.model.encoder_decoder import EncoderDecoder
from nmt_cli.search.decoder import Symbols

BATCH_TOKENS = 4_096
# Rows of logits at a time: all of a batch would take more memory than the model.
LOGIT_ROWS = 256

Pair = tuple[Sequence[int], Sequence[int]]


class ForcedPair(NamedTuple):
    """What the model makes of one pair.

    token_scores: log-probability of each target id; attention: (target ids, source ids), how much
    each target id takes of each source id, the mean of the heads; None where it was not asked for.
    """

    token_scores: list[float]
    attention: Tensor | None


@torch.inference_mode()
def force_pairs(
    model: EncoderDecoder, pairs: Sequence[Pair], *, attention: bool = False
) -> list[ForcedPair]:
    """Of each pair of source and target ids, both of which end with EOS, in their order."""
    found: dict[int, ForcedPair] = {}
    # Of about one length together: padding is little.
    order = sorted(range(len(pairs)), key=lambda one: (len(pairs[one][1]), len(pairs[one][0])))
    start_id = Symbols.of(model.config).start_id
    device = next(model.parameters()).device
    for numbers in _batches(pairs, order):
        sources, targets = (
            [np.array(pairs[one][side], dtype=np.int64) for one in numbers] for side in (0, 1)
        )
        batch = make_batch(sources, targets, numbers, start_id).to(device)
        found |= zip(numbers, _forced(model, batch, attention=attention), strict=True)
    return [found[number] for number in range(len(pairs))]


def _batches(pairs: Sequence[Pair], order: Sequence[int]) -> Iterator[list[int]]:
    batch: list[int] = []
    widest = 0
    for one in order:
        width = len(pairs[one][0]) + len(pairs[one][1])
        if batch and max(widest, width) * (len(batch) + 1) > BATCH_TOKENS:
            yield batch
            batch, widest = [], 0
        batch.append(one)
        widest = max(widest, width)
    if batch:
        yield batch


def _forced(model: EncoderDecoder, batch: Batch, *, attention: bool) -> Iterator[ForcedPair]:
    memory = model.encode(batch.src, batch.src_segments)
    with captured_cross_attention(model) as looks:
        hidden = model.decode(batch.tgt_in, batch.tgt_segments, memory, batch.src_segments)
    rows = zip(torch.split(hidden, LOGIT_ROWS), torch.split(batch.tgt_out, LOGIT_ROWS), strict=True)
    joined = torch.cat([_log_probs(model.logits(some).float(), ids) for some, ids in rows])
    scores = torch.split(joined, batch.tgt_segments.lengths.tolist())
    if not attention:
        yield from (ForcedPair(one.tolist(), None) for one in scores)
        return
    for score, weights in zip(scores, looks(batch, memory), strict=True):
        yield ForcedPair(score.tolist(), weights.cpu())


def _log_probs(logits: Tensor, ids: Tensor) -> Tensor:
    return logits.gather(1, ids[:, None])[:, 0] - logits.logsumexp(1)
