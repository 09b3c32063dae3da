"""Sections 3.1 and 3.3: feed-forward and residual connections, encoder and decoder layers."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from nmt_cli.batch import Segments
from nmt_cli.config.schema import ModelConfig
from nmt_cli.model.attention import MultiHeadAttention
from nmt_cli.model.backends.dispatch import attend, attend_joined
from nmt_cli.model.backends.native import native_attention
from nmt_cli.model.dropout import Dropout
from nmt_cli.model.native.feed_forward import native_feed_forward
from nmt_cli.model.native.norm import LayerNorm, TwoWidths, in_two_widths
from nmt_cli.model.native.part import NativePart
from nmt_cli.model.positions import Positions
from nmt_cli.model.relu_product import fuses_relu, relu_product

Stream = Float[Tensor, "tokens d_model"]
Sublayer = Callable[[Tensor], Tensor]


class FeedForward(NativePart, nn.Module):
    """Section 3.3: max(0, x W1 + b1) W2 + b2, or with another activation."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.inner = nn.Linear(config.d_model, config.d_ff, bias=config.feed_forward_bias)
        self.outer = nn.Linear(config.d_ff, config.d_model, bias=config.feed_forward_bias)
        self.activation = ACTIVATIONS[config.activation]

    @property
    def has_biased_relu(self) -> bool:
        """Whether the first product is followed by a bias and ReLU, as in the paper."""
        return self.activation is F.relu_ and self.inner.bias is not None

    @property
    def has_kernels(self) -> bool:
        """Whether bias and ReLU are computed in C while there are gradients."""
        return self.native and self.has_biased_relu

    def forward(self, x: Stream) -> Stream:
        """Position by position."""
        if self.has_kernels and torch.is_grad_enabled():
            return native_feed_forward(x, self.inner, self.outer)
        is_fused = self.has_biased_relu and torch.is_grad_enabled() and fuses_relu(x.device)
        inner = relu_product(x, self.inner) if is_fused else self.activation(self.inner(x))
        y: Tensor = self.outer(inner)
        return y


class GatedFeedForward(FeedForward):
    """SwiGLU (Shazeer 2020): (silu(x W1) * x V) W2."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.gate = nn.Linear(config.d_model, config.d_ff, bias=config.feed_forward_bias)

    def forward(self, x: Stream) -> Stream:
        """Position by position."""
        y: Tensor = self.outer(self.activation(self.inner(x)) * self.gate(x))
        return y


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    # Computed in place, since the backward pass does not need its input.
    "relu": F.relu_,
    "gelu": F.gelu,
    "silu": F.silu,
    "swiglu": F.silu,
}
FEED_FORWARDS: dict[str, type[FeedForward]] = {
    "relu": FeedForward,
    "gelu": FeedForward,
    "silu": FeedForward,
    "swiglu": GatedFeedForward,
}


def make_norm(config: ModelConfig) -> nn.Module:
    """The normalisation over d_model named by `config.norm`."""
    norms: dict[str, type[nn.LayerNorm | nn.RMSNorm]] = {
        "layer_norm": LayerNorm,
        "rms_norm": nn.RMSNorm,
    }
    return norms[config.norm](config.d_model, eps=config.norm_epsilon)


def make_sublayer_norm(config: ModelConfig) -> nn.Module:
    """The normalisation of a sublayer, whose output one function multiplies, except SwiGLU's.

    With pre-norm nothing else reads it, with post-norm the next residual connection does.
    """
    norm = make_norm(config)
    if isinstance(norm, LayerNorm) and config.activation != "swiglu":
        norm.narrows = config.norm_order == "pre"
        norm.doubles = config.norm_order == "post"
    return norm


def post_norm(
    x: Stream | TwoWidths, sublayer: Sublayer, norm: nn.Module, dropout: Dropout
) -> Stream | TwoWidths:
    """LayerNorm(x + Dropout(Sublayer(x))): sections 3.1 and 5.4."""
    wide, narrow = in_two_widths(x)
    total = dropout.add(wide, sublayer(narrow))
    normalised: Stream | TwoWidths
    normalised = norm.in_widths(total) if isinstance(norm, LayerNorm) else norm(total)
    return normalised


def pre_norm(
    x: Stream | TwoWidths, sublayer: Sublayer, norm: nn.Module, dropout: Dropout
) -> Stream | TwoWidths:
    """x + Dropout(Sublayer(LayerNorm(x))): easier to train deep; the stack ends with a norm."""
    wide, _ = in_two_widths(x)
    return dropout.add(wide, sublayer(norm(wide)))


RESIDUALS = {"post": post_norm, "pre": pre_norm}


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config)
        self.self_attention_norm = make_sublayer_norm(config)
        self.feed_forward = FEED_FORWARDS[config.activation](config)
        self.feed_forward_norm = make_sublayer_norm(config)
        self.dropout = Dropout(config.dropout)
        self.residual = RESIDUALS[config.norm_order]

    def forward(
        self, x: Stream | TwoWidths, segments: Segments, positions: Positions
    ) -> Stream | TwoWidths:
        """One layer over the source stream."""
        x = self.residual(
            x,
            lambda y: self_attend(self.self_attention, y, segments, positions, causal=False),
            self.self_attention_norm,
            self.dropout,
        )
        return self.residual(x, self.feed_forward, self.feed_forward_norm, self.dropout)


class DecoderLayer(nn.Module):
    """Masked self-attention, attention to the encoder's output, then feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config)
        self.self_attention_norm = make_sublayer_norm(config)
        self.cross_attention = MultiHeadAttention(config)
        self.cross_attention_norm = make_sublayer_norm(config)
        self.feed_forward = FEED_FORWARDS[config.activation](config)
        self.feed_forward_norm = make_sublayer_norm(config)
        self.dropout = Dropout(config.dropout)
        self.residual = RESIDUALS[config.norm_order]

    def forward(
        self, x: Stream | TwoWidths, attend_self: Sublayer, attend_memory: Sublayer
    ) -> Stream | TwoWidths:
        """One layer over the target stream, or over one new token of each hypothesis.

        The caller passes the two attentions: over whole sentences in training, over the KV cache
        in search. Everything else is the same code in both.
        """
        x = self.residual(x, attend_self, self.self_attention_norm, self.dropout)
        x = self.residual(x, attend_memory, self.cross_attention_norm, self.dropout)
        return self.residual(x, self.feed_forward, self.feed_forward_norm, self.dropout)


def self_attend(
    attention: MultiHeadAttention,
    x: Stream,
    segments: Segments,
    positions: Positions,
    *,
    causal: bool,
) -> Stream:
    """Each sentence attends to itself."""
    if attention.takes_joined(x.device) and not positions.rotates:
        joined = attention.join_self(x)
        return attention.project_output(
            attend_joined(attention, joined, segments, segments, causal=causal)
        )
    query, projected = attention.project_self(x)
    if attention.backend == "native" and positions.rotates:
        # The kernels rotate while they copy a head into the cache.
        rotation = positions.rotation(segments.max_length)
        heads = native_attention(
            query, projected.key, projected.value, segments, segments, causal=causal,
            rotation=rotation,
        )  # fmt: skip
    else:
        query = positions.rotate(query, segments.positions, segments.max_length)
        key = positions.rotate(projected.key, segments.positions, segments.max_length)
        heads = attend(
            query, key, projected.value, segments, segments, causal=causal,
            backend=attention.backend,
        )  # fmt: skip
    return attention.project_output(heads)


def cross_attend(
    attention: MultiHeadAttention,
    x: Stream,
    segments: Segments,
    memory: Float[Tensor, "src d_model"],
    memory_segments: Segments,
) -> Stream:
    """Each target sentence attends to its source sentence."""
    if attention.takes_joined(x.device):
        streams = attention.join_cross(x, memory)
        return attention.project_output(
            attend_joined(attention, streams, segments, memory_segments, causal=False)
        )
    projected = attention.project_keys_values(memory)
    query = attention.project_query(x)
    heads = attend(
        query, projected.key, projected.value, segments, memory_segments, causal=False,
        backend=attention.backend,
    )  # fmt: skip
    return attention.project_output(heads)
