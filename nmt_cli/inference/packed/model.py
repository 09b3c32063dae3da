"""The model's arithmetic in torch with packed weights: encoder, and one step of the decoder."""

import math
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmt_cli.batch import Segments
from nmt_cli.config.schema import ModelConfig
from nmt_cli.inference.packed.head import OutputLayer, PackedHead
from nmt_cli.inference.packed.linear import MakeProduct, make_product
from nmt_cli.inference.packed.weights import (
    CrossAttentionWeights,
    FeedForwardWeights,
    LayerWeights,
    SelfAttentionWeights,
    layer_weights,
    memory_weights,
    output_weights,
)
from nmt_cli.model.backends.dispatch import attend
from nmt_cli.model.layers import ACTIVATIONS
from nmt_cli.model.positions import Positions
from nmt_cli.model.shapes import head_widths
from nmt_cli.model.transformer import Transformer

# The attention of a layer, given its index, to the KV cache.
Attend = Callable[[int, Tensor], Tensor]
# From the ids of sources, (tokens,), to the output of the encoder, (tokens, d_model).
Encoder = Callable[[Tensor, Segments], Tensor]


class PackedFeedForward:
    """The feed-forward sublayer of section 3.3."""

    def __init__(self, weights: FeedForwardWeights, activation: str, make: MakeProduct) -> None:
        self.inner, self.outer = make(weights.inner), make(weights.outer)
        self.activation = ACTIVATIONS[activation]
        self.gated = weights.inner.outputs != weights.outer.weight.shape[1]

    def __call__(self, x: Tensor) -> Tensor:
        """(tokens, d_model) -> (tokens, d_model)"""
        if not self.gated:
            return self.outer(self.activation(self.inner(x)))
        inner, gates = self.inner(x).chunk(2, dim=1)
        return self.outer(self.activation(inner) * gates)


class PackedLayer:
    """A layer of the encoder or of the decoder; attention is computed by its callers."""

    def __init__(
        self, weights: LayerWeights, activation: str, make: MakeProduct, *, pre_norm: bool
    ) -> None:
        own: SelfAttentionWeights = weights.self_attention
        cross: CrossAttentionWeights | None = weights.cross_attention
        self.joined, self.output = make(own.joined), make(own.output)
        self.norms = [own.norm, weights.feed_forward.norm]
        if cross is not None:
            self.norms.insert(1, cross.norm)
            self.query, self.cross_output = make(cross.query), make(cross.output)
        self.feed_forward = PackedFeedForward(weights.feed_forward, activation, make)
        self.pre_norm = pre_norm

    def residual(self, x: Tensor, sublayer: Callable[[Tensor], Tensor], norm: nn.Module) -> Tensor:
        """Add a sublayer's output to `x` and normalise, before or after, as the model does."""
        if self.pre_norm:
            return x + sublayer(norm(x))
        normalised: Tensor = norm(sublayer(x).add_(x))
        return normalised

    def __call__(
        self,
        x: Tensor,
        attend_self: Callable[[Tensor], Tensor],
        attend_source: Callable[[Tensor], Tensor] | None = None,
    ) -> Tensor:
        """attend_self: given joined queries, keys and values; attend_source: given queries."""
        x = self.residual(x, lambda y: self.output(attend_self(self.joined(y))), self.norms[0])
        if attend_source is not None:
            x = self.residual(
                x, lambda y: self.cross_output(attend_source(self.query(y))), self.norms[1]
            )
        return self.residual(x, self.feed_forward, self.norms[-1])


class PackedInputs:
    """Embeddings with positions, and the queries, keys and values of self-attention, by side.

    positions: the positional encoding of "src" and of "tgt".
    """

    def __init__(self, model: Transformer, tgt_positions: Positions | None = None) -> None:
        """tgt_positions: instead of the model's own."""
        self.config = model.config
        self.d_k, self.d_v = head_widths(model.config)
        self.positions = {"src": model.positions, "tgt": tgt_positions or model.tgt_positions}
        self._embedding = model.embedding

    def embed(self, side: str, ids: Tensor, positions: Tensor, max_length: int) -> Tensor:
        """The embedding of section 3.4, with positions: (tokens, d_model)."""
        x = F.embedding(ids, self._embedding.matrix(side))
        if self.config.scale_embeddings:
            x = x * math.sqrt(self.config.d_model)
        return self.positions[side].add(x, positions, max_length)

    def split(
        self, joined: Tensor, side: str, positions: Tensor, max_length: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of self-attention, each (tokens, heads, width)."""
        keys = self.config.heads * self.d_k
        encoding, position = self.positions[side], (positions, max_length)
        return (
            encoding.rotate(self.by_head(joined[:, :keys]), *position),
            encoding.rotate(self.by_head(joined[:, keys : 2 * keys]), *position),
            self.by_head(joined[:, 2 * keys :]),
        )

    def by_head(self, joined: Tensor) -> Tensor:
        """(tokens, heads * width) -> (tokens, heads, width)"""
        heads = self.config.heads
        return joined.view(len(joined), heads, joined.shape[1] // heads)

    def extend_positions(self, steps: int) -> None:
        """Extend the target's position tables to `steps` now, so that no step reallocates them."""
        device = self._embedding.matrix("tgt").device
        first = torch.zeros(1, dtype=torch.int64, device=device)
        embedded = self.embed("tgt", first, first, steps)
        joined = embedded.new_zeros(1, self.config.heads * (2 * self.d_k + self.d_v))
        self.split(joined, "tgt", first, steps)


class PackedEncoder:
    """The layers of the encoder, with packed weights."""

    def __init__(self, model: Transformer, inputs: PackedInputs, make: MakeProduct) -> None:
        """make: packs each linear layer."""
        self._inputs = inputs
        self._layers = _layers(model.encoder, model.config, make)
        self._norm = model.encoder_norm

    def __call__(self, ids: Tensor, segments: Segments) -> Tensor:
        """The output of the encoder: (tokens, d_model)."""
        inputs, position = self._inputs, (segments.positions, segments.max_length)
        x = inputs.embed("src", ids, *position)

        def attend_self(joined: Tensor) -> Tensor:
            query, key, value = inputs.split(joined, "src", *position)
            return attend(query, key, value, segments, segments, causal=False).flatten(1)

        for layer in self._layers:
            x = layer(x, attend_self)
        normalised: Tensor = self._norm(x)
        return normalised


class SourceEncoder:
    """Encodes sources into the keys and values that each layer of the decoder attends to."""

    def __init__(
        self, model: Transformer, inputs: PackedInputs, make: MakeProduct, encoder: Encoder
    ) -> None:
        """make: packs the projections of the encoder's output."""
        self._encoder = encoder
        self._inputs = inputs
        self._projections = [make(memory_weights(layer)) for layer in model.decoder_layers]

    def __call__(self, ids: Tensor, segments: Segments) -> list[tuple[Tensor, Tensor]]:
        """Keys (tokens, heads, d_k) and values (..., d_v) of the sources, of each decoder layer."""
        memory = self._encoder(ids, segments)
        return [self._split(project(memory)) for project in self._projections]

    def _split(self, joined: Tensor) -> tuple[Tensor, Tensor]:
        keys, by_head = self._inputs.config.heads * self._inputs.d_k, self._inputs.by_head
        return by_head(joined[:, :keys]), by_head(joined[:, keys:])


class PackedModel:
    """A model prepared for inference; it does not follow later changes of its weights."""

    def __init__(
        self,
        model: Transformer,
        make: MakeProduct = make_product,
        *,
        inputs: PackedInputs | None = None,
        head: OutputLayer | None = None,
    ) -> None:
        """model: in evaluation mode; make: packs each linear layer.

        inputs: None: of the model; head: the output layer, None: packed by `make`.
        """
        self.config = model.config
        self.device = model.output_weight.device
        self.dtype = model.output_weight.dtype
        self.inputs = inputs or PackedInputs(model)
        self.d_k, self.d_v = self.inputs.d_k, self.inputs.d_v
        self.encode = SourceEncoder(
            model, self.inputs, make, PackedEncoder(model, self.inputs, make)
        )
        self.decoder = _layers(model.decoder, model.config, make)
        self.decoder_norm = model.decoder_norm
        self.head = head or PackedHead(output_weights(model), make)

    def decode(
        self,
        ids: Tensor,
        positions: Tensor,
        max_length: int,
        attend_self: Attend,
        attend_source: Attend,
    ) -> Tensor:
        """Logits, in whole blocks, of the token after each of `ids`, which are at `positions`.

        attend_self: given the layer's joined queries, keys and values, not yet split.
        """
        x = self.inputs.embed("tgt", ids, positions, max_length)
        for index, layer in enumerate(self.decoder):
            x = layer(x, partial(attend_self, index), partial(attend_source, index))
        return self.head.logits(self.decoder_norm(x))


def _layers(stack: nn.Module, config: ModelConfig, make: MakeProduct) -> list[PackedLayer]:
    pre_norm = config.norm_order == "pre"
    return [
        PackedLayer(layer_weights(layer), config.activation, make, pre_norm=pre_norm)
        for layer in stack.children()
    ]
