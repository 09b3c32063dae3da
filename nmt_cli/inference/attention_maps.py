"""The attention weights of all heads and layers (section 3.2.2), in one pass over a pair."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import NamedTuple, cast

import numpy as np
import torch
from torch import Tensor

from nmt_cli.batch import Segments, make_batch
from nmt_cli.errors import ConfigError
from nmt_cli.inference.cross_attention import outputs_of
from nmt_cli.model.attention import MultiHeadAttention, attention_weights, causal_mask
from nmt_cli.model.encoder_decoder import EncoderDecoder
from nmt_cli.model.layers import EncoderLayer
from nmt_cli.model.positions import Positions
from nmt_cli.model.transformer import Transformer
from nmt_cli.search.decoder import Symbols


class AttentionMaps(NamedTuple):
    """Weights (layers, heads, queries, keys) of the three kinds of attention; rows sum to one.

    encoder: (.., src, src). decoder: (.., tgt, tgt), where key j is the decoder's input at position
    j: the start symbol, then the target without its last id. cross: (.., tgt, src).
    """

    encoder: Tensor
    decoder: Tensor
    cross: Tensor


class _CapturedAttention(NamedTuple):
    """The outputs of an attention's projections, captured while the model runs."""

    heads: int
    queries: list[Tensor]
    keys: list[Tensor]

    def weights(
        self,
        query_segments: Segments,
        key_segments: Segments,
        positions: Positions,
        *,
        causal: bool,
    ) -> Tensor:
        """(heads, queries, keys), by the same equation that the model uses."""
        query, key = (
            # (tokens, heads * width) -> (heads, tokens, width)
            positions.rotate(
                outputs[0].view(len(outputs[0]), self.heads, -1),
                segments.positions,
                segments.max_length,
            ).transpose(0, 1)
            for outputs, segments in ((self.queries, query_segments), (self.keys, key_segments))
        )
        mask = causal_mask(query.shape[1]) if causal else None
        return attention_weights(query, key, mask).float()


@torch.inference_mode()
def attention_maps(
    model: EncoderDecoder, source: Sequence[int], target: Sequence[int]
) -> AttentionMaps:
    """The attention weights for source and target ids, both of which end with EOS.

    `model` must be on the CPU: on a GPU the projections are joined into one, which has no hooks.
    Raises ConfigError for a model that has no self-attention.
    """
    if not isinstance(model, Transformer):
        raise ConfigError(
            f"a model of the kind {model.config.kind} has no heads to show",
            "`nmt translate --alignment` tells which source word each of its words comes from",
        )
    if next(model.parameters()).device.type != "cpu":
        raise ValueError("attention is captured on the CPU only")
    sides = [np.array(ids, dtype=np.int64) for ids in (source, target)]
    batch = make_batch(sides[:1], sides[1:], [0], Symbols.of(model.config).start_id)
    src, tgt = batch.src_segments, batch.tgt_segments
    with ExitStack() as hooks:
        encoder = [
            _capture(cast(EncoderLayer, layer).self_attention, hooks) for layer in model.encoder
        ]
        decoder = [_capture(layer.self_attention, hooks) for layer in model.decoder_layers]
        cross = [_capture(layer.cross_attention, hooks) for layer in model.decoder_layers]
        model.hidden(batch)
    # Only queries and keys of self-attention are rotated by their positions.
    unrotated = Positions()
    return AttentionMaps(
        _stacked([layer.weights(src, src, model.positions, causal=False) for layer in encoder]),
        _stacked([layer.weights(tgt, tgt, model.tgt_positions, causal=True) for layer in decoder]),
        _stacked([layer.weights(tgt, src, unrotated, causal=False) for layer in cross]),
    )


def _capture(attention: MultiHeadAttention, hooks: ExitStack) -> _CapturedAttention:
    queries, keys = (
        hooks.enter_context(outputs_of(layer)) for layer in (attention.query, attention.key)
    )
    return _CapturedAttention(attention.heads, queries, keys)


def _stacked(layers: list[Tensor]) -> Tensor:
    """One tensor of all layers; an encoder may have no layers."""
    return torch.stack(layers) if layers else torch.empty(0, 0, 0, 0)
