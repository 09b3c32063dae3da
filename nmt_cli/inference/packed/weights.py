"""A model's weights for the CPU engines: projections of the same input are joined into one."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from nmt_cli.model.attention import MultiHeadAttention
from nmt_cli.model.layers import DecoderLayer, EncoderLayer, FeedForward, GatedFeedForward
from nmt_cli.model.transformer import Transformer


@dataclass(frozen=True)
class Affine:
    """x W^T + b; weight: (outputs, inputs), bias: (outputs,) or None."""

    weight: Tensor
    bias: Tensor | None

    @property
    def outputs(self) -> int:
        """The number of outputs."""
        return len(self.weight)


@dataclass(frozen=True)
class FeedForwardWeights:
    """Section 3.3; `inner` of a gated layer gives the inner values, then as many gates."""

    inner: Affine
    outer: Affine
    norm: nn.Module


@dataclass(frozen=True)
class SelfAttentionWeights:
    """Section 3.2.3; `joined` gives queries, keys and values, one after the other."""

    joined: Affine
    output: Affine
    norm: nn.Module


@dataclass(frozen=True)
class CrossAttentionWeights:
    """Section 3.2.3; the projection to keys and values is in `memory_weights`."""

    query: Affine
    output: Affine
    norm: nn.Module


@dataclass(frozen=True)
class LayerWeights:
    """A layer of the encoder (without `cross_attention`) or of the decoder."""

    self_attention: SelfAttentionWeights
    cross_attention: CrossAttentionWeights | None
    feed_forward: FeedForwardWeights


def output_weights(model: Transformer) -> Affine:
    """The weights of the output layer, shared with the model."""
    return Affine(model.output_weight.detach(), _detached(model.output_bias))


@torch.no_grad()
def layer_weights(layer: nn.Module) -> LayerWeights:
    """The weights of a layer; single projections are shared with it, joined ones are copies."""
    assert isinstance(layer, EncoderLayer | DecoderLayer)
    own = layer.self_attention
    return LayerWeights(
        SelfAttentionWeights(
            join([own.query, own.key, own.value]), join([own.output]), layer.self_attention_norm
        ),
        _cross(layer.cross_attention, layer.cross_attention_norm)
        if isinstance(layer, DecoderLayer)
        else None,
        _feed_forward(layer.feed_forward, layer.feed_forward_norm),
    )


@torch.no_grad()
def memory_weights(layer: DecoderLayer) -> Affine:
    """The projection of the encoder's output to keys, then values."""
    return join([layer.cross_attention.key, layer.cross_attention.value])


def _cross(attention: MultiHeadAttention, norm: nn.Module) -> CrossAttentionWeights:
    return CrossAttentionWeights(join([attention.query]), join([attention.output]), norm)


def _feed_forward(layer: FeedForward, norm: nn.Module) -> FeedForwardWeights:
    gates = [layer.gate] if isinstance(layer, GatedFeedForward) else []
    return FeedForwardWeights(join([layer.inner, *gates]), join([layer.outer]), norm)


def join(layers: Sequence[nn.Linear]) -> Affine:
    """Projections of the same input as one, with outputs in order; all have a bias or none has."""
    if len(layers) == 1:
        return Affine(layers[0].weight.detach(), _detached(layers[0].bias))
    biases = [layer.bias.detach() for layer in layers if layer.bias is not None]
    weight = torch.cat([layer.weight.detach() for layer in layers])
    return Affine(weight, torch.cat(biases) if biases else None)


def _detached(weight: Tensor | None) -> Tensor | None:
    return None if weight is None else weight.detach()
