"""One pass of the plain model over given pairs: how likely each id is, and where it looked."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from nmt_cli.batch import Batch, make_batch
from nmt_cli.model.attention import MultiHeadAttention, attention_weights
from nmt_cli.model.transformer import Transformer
from nmt_cli.search.decoder import Symbols

BATCH_TOKENS = 4_096
# Rows of logits at a time: all of a batch would take more memory than the model.
LOGIT_ROWS = 256

Pair = tuple[Sequence[int], Sequence[int]]


class Forced(NamedTuple):
    """What the model makes of one pair.

    token_scores: log-probability of each target id; attention: (target ids, source ids), how much
    each target id takes of each source id, the mean of the heads; None where it was not asked for.
    """

    token_scores: list[float]
    attention: Tensor | None


@torch.inference_mode()
def force(model: Transformer, pairs: Sequence[Pair], *, attention: bool = False) -> list[Forced]:
    """Of each pair of source and target ids, both of which end with EOS, in their order."""
    found: dict[int, Forced] = {}
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


def _forced(model: Transformer, batch: Batch, *, attention: bool) -> Iterator[Forced]:
    memory = model.encode(batch.src, batch.src_segments)
    layer = looked_at(model)
    with outputs_of(layer.query) as queries:
        place = batch.tgt_segments, memory, batch.src_segments
        hidden = model.decode(batch.tgt_in, *place)
    sizes = batch.tgt_segments.lengths.tolist()
    rows = zip(torch.split(hidden, LOGIT_ROWS), torch.split(batch.tgt_out, LOGIT_ROWS), strict=True)
    joined = torch.cat([_log_probs(model.logits(some).float(), ids) for some, ids in rows])
    scores = torch.split(joined, sizes)
    if not attention:
        yield from (Forced(one.tolist(), None) for one in scores)
        return
    heads = model.config.heads
    query = queries[0].view(len(queries[0]), heads, -1)
    key = layer.project_keys_values(memory).key
    sides = torch.split(query, sizes), torch.split(key, batch.src_segments.lengths.tolist())
    for queries_of_one, keys_of_one, score in zip(*sides, scores, strict=True):
        weights = attention_weights(queries_of_one.transpose(0, 1), keys_of_one.transpose(0, 1))
        yield Forced(score.tolist(), weights.float().mean(dim=0).cpu())


def _log_probs(logits: Tensor, ids: Tensor) -> Tensor:
    return logits.gather(1, ids[:, None])[:, 0] - logits.logsumexp(1)


def looked_at(model: Transformer) -> MultiHeadAttention:
    """The cross-attention that tells most of alignment: of the last layer but one.

    (Garg et al. 2019: its heads together find more of the alignments than the last layer's.)
    """
    layers = model.decoder_layers
    return layers[max(0, len(layers) - 2)].cross_attention


@contextmanager
def outputs_of(layer: nn.Module) -> Iterator[list[Tensor]]:
    """What `layer` gives as long as the context lasts."""
    outputs: list[Tensor] = []
    handle = layer.register_forward_hook(lambda *call: outputs.append(call[-1]))
    try:
        yield outputs
    finally:
        handle.remove()
