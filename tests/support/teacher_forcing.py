"""Logits by teacher forcing: what every other way to compute them is compared with."""

import torch
from torch import Tensor

from nmt_cli.batch import Batch, make_batch
from nmt_cli.model.encoder_decoder import EncoderDecoder

Pair = tuple[Tensor, Tensor]


def assert_close(result: Tensor, expected: Tensor) -> None:
    """The same number by another order of float64 sums."""
    torch.testing.assert_close(result, expected, rtol=1e-9, atol=1e-9)


def pairs_of(batch: Batch) -> list[Pair]:
    return list(
        zip(
            batch.src.split(batch.src_segments.lengths.tolist()),
            batch.tgt_out.split(batch.tgt_segments.lengths.tolist()),
            strict=True,
        )
    )


def batch_of(pairs: list[Pair], start_id: int) -> Batch:
    sources, targets = ([pair[side].numpy() for pair in pairs] for side in (0, 1))
    return make_batch(sources, targets, range(len(pairs)), start_id)


def logits_of(model: EncoderDecoder, pairs: list[Pair]) -> list[Tensor]:
    """The logits of each pair, computed in one batch."""
    batch = batch_of(pairs, model.config.bos_id)
    with torch.no_grad():
        return list(model(batch).split(batch.tgt_segments.lengths.tolist()))
