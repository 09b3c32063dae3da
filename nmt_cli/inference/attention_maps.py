"""How much every head of every layer looks at what (section 3.2.2), in one pass over a pair."""

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

    encoder: (.., src, src). decoder: (.., tgt, tgt), where key j is what the decoder has read at
    place j: the start symbol, then the target without its last id. cross: (.., tgt, src).
    """

    encoder: Tensor
    decoder: Tensor
    cross: Tensor


class _Watched(NamedTuple):
    """An attention, and what its projections give while the model runs."""

    heads: int
    queries: list[Tensor]
    keys: list[Tensor]

    def weights(
        self, query_place: Segments, key_place: Segments, positions: Positions, *, causal: bool
    ) -> Tensor:
        """(heads, queries, keys), by the equation that the model itself computes."""
        query, key = (
            positions.rotate(
                found[0].view(len(found[0]), self.heads, -1), place.positions, place.max_length
            ).transpose(0, 1)
            for found, place in ((self.queries, query_place), (self.keys, key_place))
        )
        mask = causal_mask(query.shape[1]) if causal else None
        return attention_weights(query, key, mask).float()


@torch.inference_mode()
def attention_maps(
    model: EncoderDecoder, source: Sequence[int], target: Sequence[int]
) -> AttentionMaps:
    """Of source and target ids, both of which end with EOS; `model` is on the CPU.

    (On a GPU the projections are joined into one product, and there is nothing to watch.)
    Raises ConfigError for a model that has no self-attention.
    """
    if not isinstance(model, Transformer):
        raise ConfigError(
            f"a model of the kind {model.config.kind} has no heads to show",
            "`nmt translate --alignment` tells which source word each of its words comes from",
        )
    if next(model.parameters()).device.type != "cpu":
        raise ValueError("attention is watched on the CPU")
    sides = [np.array(ids, dtype=np.int64) for ids in (source, target)]
    batch = make_batch(sides[:1], sides[1:], [0], Symbols.of(model.config).start_id)
    src, tgt = batch.src_segments, batch.tgt_segments
    with ExitStack() as hooks:
        encoder = [
            _watch(cast(EncoderLayer, layer).self_attention, hooks) for layer in model.encoder
        ]
        decoder = [_watch(layer.self_attention, hooks) for layer in model.decoder_layers]
        cross = [_watch(layer.cross_attention, hooks) for layer in model.decoder_layers]
        model.hidden(batch)
    # Positions turn queries and keys of self-attention only.
    unturned = Positions()
    return AttentionMaps(
        _stacked([one.weights(src, src, model.positions, causal=False) for one in encoder]),
        _stacked([one.weights(tgt, tgt, model.tgt_positions, causal=True) for one in decoder]),
        _stacked([one.weights(tgt, src, unturned, causal=False) for one in cross]),
    )


def _watch(attention: MultiHeadAttention, hooks: ExitStack) -> _Watched:
    queries, keys = (
        hooks.enter_context(outputs_of(layer)) for layer in (attention.query, attention.key)
    )
    return _Watched(attention.heads, queries, keys)


def _stacked(layers: list[Tensor]) -> Tensor:
    """One tensor of all layers; an encoder may have none."""
    return torch.stack(layers) if layers else torch.empty(0, 0, 0, 0)
