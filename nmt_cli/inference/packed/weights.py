"""A model's weights as the CPU engines want them: projections of one input joined into one."""

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
        """Width of what comes out."""
        return len(self.weight)


@dataclass(frozen=True)
class FeedForwardWeights:
    """Section 3.3; of a gated one `inner` makes the inner values, then as many gates."""

    inner: Affine
    outer: Affine
    norm: nn.Module


@dataclass(frozen=True)
class SelfAttentionWeights:
    """Section 3.2.3; `joined` makes queries, keys and values, one after the other."""

    joined: Affine
    output: Affine
    norm: nn.Module


@dataclass(frozen=True)
class CrossAttentionWeights:
    """Section 3.2.3; what makes keys and values of the memory is in `memory_weights`."""

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
    """What makes logits; shared with the model."""
    return Affine(model.output_weight.detach(), _detached(model.output_bias))


@torch.no_grad()
def layer_weights(layer: nn.Module) -> LayerWeights:
    """Those of a layer; single projections are shared with it, joined ones are new."""
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
    """What makes keys, then values, of the encoder's output."""
    return join([layer.cross_attention.key, layer.cross_attention.value])


def _cross(attention: MultiHeadAttention, norm: nn.Module) -> CrossAttentionWeights:
    return CrossAttentionWeights(join([attention.query]), join([attention.output]), norm)


def _feed_forward(part: FeedForward, norm: nn.Module) -> FeedForwardWeights:
    gates = [part.gate] if isinstance(part, GatedFeedForward) else []
    return FeedForwardWeights(join([part.inner, *gates]), join([part.outer]), norm)


def join(parts: Sequence[nn.Linear]) -> Affine:
    """Projections of one input as one, outputs one after the other; all have a bias or none has."""
    if len(parts) == 1:
        return Affine(parts[0].weight.detach(), _detached(parts[0].bias))
    biases = [part.bias.detach() for part in parts if part.bias is not None]
    return Affine(
        torch.cat([part.weight.detach() for part in parts]), torch.cat(biases) if biases else None
    )


def _detached(weight: Tensor | None) -> Tensor | None:
    return None if weight is None else weight.detach()
