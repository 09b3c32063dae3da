"""Teacher forcing: log-probabilities and attention of given pairs, in one pass of the model."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from nmt_cli.batch import Batch, make_batch
from nmt_cli.inference.cross_attention import captured_cross_attention
from nmt_cli.inference.forced_pairs import ForcedPair, Pair, batches_of
from nmt_cli.model.encoder_decoder import EncoderDecoder
from nmt_cli.search.decoder import Symbols

# Rows of logits computed at a time: those of a batch would take more memory than the model.
LOGIT_ROWS = 256


class TorchForcer:
    """A `inference.forced_pairs.Forcer` over a model in torch."""

    def __init__(self, model: EncoderDecoder) -> None:
        self._model = model

    def force(self, pairs: Sequence[Pair], *, attention: bool = False) -> list[ForcedPair]:
        """The results of the pairs, in their order."""
        return force_pairs(self._model, pairs, attention=attention)

    def cross_attentions(self, pairs: Sequence[Pair], last_layers: int) -> list[Tensor]:
        """The attention (target ids, source ids) of pairs: the mean of this many last layers."""
        return cross_attentions(self._model, pairs, last_layers)


@torch.inference_mode()
def force_pairs(
    model: EncoderDecoder, pairs: Sequence[Pair], *, attention: bool = False
) -> list[ForcedPair]:
    """The results of pairs of source and target ids, all of which end with EOS, in their order."""
    result: dict[int, ForcedPair] = {}
    for indices, batch in _forced_batches(model, pairs):
        result |= zip(indices, _force_batch(model, batch, attention=attention), strict=True)
    return [result[index] for index in range(len(pairs))]


@torch.inference_mode()
def cross_attentions(
    model: EncoderDecoder, pairs: Sequence[Pair], last_layers: int
) -> list[Tensor]:
    """The attention (target ids, source ids) of pairs like those of `force_pairs`.

    It is the mean of the heads of this many last layers of a Transformer.
    """
    result: dict[int, Tensor] = {}
    for indices, batch in _forced_batches(model, pairs):
        memory = model.encode(batch.src, batch.src_segments)
        with captured_cross_attention(model, last_layers) as cross_attention:
            model.decode(batch.tgt_in, batch.tgt_segments, memory, batch.src_segments)
        weights = [pair_weights.cpu() for pair_weights in cross_attention(batch, memory)]
        result |= zip(indices, weights, strict=True)
    return [result[index] for index in range(len(pairs))]


def _forced_batches(
    model: EncoderDecoder, pairs: Sequence[Pair]
) -> Iterator[tuple[list[int], Batch]]:
    """Batches of pairs of similar length, so that there is little padding, with their indices."""
    start_id = Symbols.of(model.config).start_id
    device = next(model.parameters()).device
    for indices in batches_of(pairs):
        sources, targets = (
            [np.array(pairs[index][side], dtype=np.int64) for index in indices] for side in (0, 1)
        )
        yield indices, make_batch(sources, targets, indices, start_id).to(device)


def _force_batch(model: EncoderDecoder, batch: Batch, *, attention: bool) -> Iterator[ForcedPair]:
    memory = model.encode(batch.src, batch.src_segments)
    with captured_cross_attention(model) as cross_attention:
        hidden = model.decode(batch.tgt_in, batch.tgt_segments, memory, batch.src_segments)
    chunks = zip(
        torch.split(hidden, LOGIT_ROWS), torch.split(batch.tgt_out, LOGIT_ROWS), strict=True
    )
    joined = torch.cat([_log_probs(model.logits(rows).float(), ids) for rows, ids in chunks])
    scores = torch.split(joined, batch.tgt_segments.lengths.tolist())
    if not attention:
        yield from (ForcedPair(pair_scores.tolist(), None) for pair_scores in scores)
        return
    for pair_scores, weights in zip(scores, cross_attention(batch, memory), strict=True):
        yield ForcedPair(pair_scores.tolist(), weights.cpu())


def _log_probs(logits: Tensor, ids: Tensor) -> Tensor:
    return logits.gather(1, ids[:, None])[:, 0] - logits.logsumexp(1)
