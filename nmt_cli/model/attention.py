"""Section 3.2: scaled dot-product attention, and several heads of it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from nmt_cli.config.schema import ModelConfig
from nmt_cli.model.native.part import NativePart
from nmt_cli.model.native.projection import joined_projections
from nmt_cli.model.shapes import head_widths

# On a CPU, the weights of attention to longer sentences are not kept for the backward pass.
MAX_KEYS_KEPT = 100
# The elements of these weights that are computed at once: 1 MB fits into the caches of a core.
GROUP_WEIGHTS = 1 << 18


def scaled_dot_product_attention(
    query: Float[Tensor, "*batch queries d_k"],
    key: Float[Tensor, "*batch keys d_k"],
    value: Float[Tensor, "*batch keys d_v"],
    mask: Bool[Tensor, "... #queries keys"] | None = None,
) -> Float[Tensor, "*batch queries d_v"]:
    """Equation 1: softmax(Q K^T / sqrt(d_k)) V, written as in the paper; mask True = may attend.

    The reference that the other forms are tested against.
    """
    return attention_weights(query, key, mask) @ value


def attention_weights(
    query: Float[Tensor, "*batch queries d_k"],
    key: Float[Tensor, "*batch keys d_k"],
    mask: Bool[Tensor, "... #queries keys"] | None = None,
) -> Float[Tensor, "*batch queries keys"]:
    """softmax(Q K^T / sqrt(d_k)): the weight of each key for each query."""
    # Q has fewer numbers to divide than Q K^T.
    scores = (query / math.sqrt(query.shape[-1])) @ key.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill_(~mask, -math.inf)
    return scores.softmax(dim=-1)


def fused_attention(
    query: Float[Tensor, "*batch queries d_k"],
    key: Float[Tensor, "*batch keys d_k"],
    value: Float[Tensor, "*batch keys d_v"],
    mask: Bool[Tensor, "... #queries keys"] | None = None,
) -> Float[Tensor, "*batch queries d_v"]:
    """Equation 1 in torch's fused kernels."""
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


class _RecomputedAttention(torch.autograd.Function):
    """Equation 1; the backward pass computes the weights again instead of keeping them.

    Both passes take a few sentences at a time, so that their intermediate results stay small.
    """

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        ctx.save_for_backward(query, key, value, mask)
        attended = query.new_empty(*query.shape[:-1], value.shape[-1])
        for group in _groups(query, key):
            attended[group] = scaled_dot_product_attention(
                query[group], key[group], value[group], _mask_of(mask, group, query)
            )
        return attended

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, mask = ctx.saved_tensors
        query_gradient, key_gradient, value_gradient = map(torch.empty_like, (query, key, value))
        for group in _groups(query, key):
            group_query, group_key = (
                stream[group].detach().requires_grad_() for stream in (query, key)
            )
            with torch.enable_grad():
                weights = attention_weights(group_query, group_key, _mask_of(mask, group, query))
            # The products that autograd computes, so that the gradients have the same bits.
            flat_weights = weights.detach().flatten(0, -3)
            flat_gradient = gradient[group].flatten(0, -3)
            value_gradient[group] = (flat_weights.transpose(1, 2) @ flat_gradient).view_as(
                value[group]
            )
            weights_gradient = flat_gradient @ value[group].flatten(0, -3).transpose(1, 2)
            query_gradient[group], key_gradient[group] = torch.autograd.grad(
                weights, (group_query, group_key), weights_gradient.view_as(weights)
            )
        return query_gradient, key_gradient, value_gradient, None


def _groups(query: Tensor, key: Tensor) -> list[slice]:
    """Sentences whose attention weights have at most GROUP_WEIGHTS elements together, or one."""
    weights = query[0].numel() // query.shape[-1] * key.shape[-2]
    count = max(1, GROUP_WEIGHTS // weights)
    return [slice(start, start + count) for start in range(0, len(query), count)]


def _mask_of(mask: Tensor | None, group: slice, query: Tensor) -> Tensor | None:
    """The mask of these sentences; one that has no sentences or a single one holds for all."""
    if mask is None or mask.dim() < query.dim() or len(mask) == 1:
        return mask
    return mask[group]


def recomputed_attention(
    query: Float[Tensor, "*batch queries d_k"],
    key: Float[Tensor, "*batch keys d_k"],
    value: Float[Tensor, "*batch keys d_v"],
    mask: Bool[Tensor, "... #queries keys"] | None = None,
) -> Float[Tensor, "*batch queries d_v"]:
    """Equation 1 for training on long sentences: less memory, the same bits.

    The weights grow with the square of the length: two shards of long sentences in one step set the
    memory of a whole run.
    """
    attended: Tensor = _RecomputedAttention.apply(query, key, value, mask)  # type: ignore[no-untyped-call]
    return attended


FORMULAS = {"plain": scaled_dot_product_attention, "fused": fused_attention}


def float32_attention(
    query: Float[Tensor, "*batch queries d_k"],
    key: Float[Tensor, "*batch keys d_k"],
    value: Float[Tensor, "*batch keys d_v"],
    mask: Bool[Tensor, "... #queries keys"] | None = None,
) -> Float[Tensor, "*batch queries d_v"]:
    """Equation 1 in float32, without autocast; returns the dtype of `query`.

    The small products of attention gain nothing from bf16 on a CPU. In float32 MKL computes them,
    which needs no kernel for each shape.
    """
    formula = scaled_dot_product_attention
    if torch.is_grad_enabled() and key.shape[-2] > MAX_KEYS_KEPT:
        formula = recomputed_attention
    with torch.autocast(query.device.type, enabled=False):
        is_half = query.dtype in (torch.bfloat16, torch.float16)
        streams = (query.float(), key.float(), value.float()) if is_half else (query, key, value)
        return formula(*streams, mask).to(query.dtype)


def rectangle_backend(device: torch.device) -> str:
    """The faster of FORMULAS: on a CPU the plain one, 1.5 times faster in a training step."""
    return "plain" if device.type == "cpu" else "fused"


def dot_product_attention(
    query: Float[Tensor, "*batch queries d_k"],
    key: Float[Tensor, "*batch keys d_k"],
    value: Float[Tensor, "*batch keys d_v"],
    mask: Bool[Tensor, "... #queries keys"] | None = None,
) -> Float[Tensor, "*batch queries d_v"]:
    """Equation 1, by the faster of FORMULAS on the device."""
    return FORMULAS[rectangle_backend(query.device)](query, key, value, mask)


def causal_mask(length: int, device: torch.device | str = "cpu") -> Bool[Tensor, "length length"]:
    """True where position i (row) may attend to position j (column): j <= i.

    >>> causal_mask(3).int().tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


@dataclass(frozen=True)
class KeysValues:
    """The keys (tokens, heads, d_k) and values (tokens, heads, d_v) that queries attend to."""

    key: Tensor
    value: Tensor


def _split_heads(projected: Tensor, heads: int) -> Tensor:
    # (tokens, heads * width) -> (tokens, heads, width)
    return projected.view(len(projected), heads, -1)


def joins_projections(device: torch.device) -> bool:
    """Whether projections of one input are computed as one product: on a GPU, to read it once.

    On a CPU a training step takes 0 to 5 % longer with it, for concatenating and splitting copies.
    """
    return device.type != "cpu"


def project(
    x: Float[Tensor, "tokens d_model"], layers: Sequence[nn.Linear]
) -> list[Float[Tensor, "tokens _"]]:
    """`x` through each of `layers`, which all have a bias or none; in one product where faster."""
    if not joins_projections(x.device):
        return [layer(x) for layer in layers]
    sizes = [layer.out_features for layer in layers]
    return list(torch.split_with_sizes(joined_product(x, layers), sizes, dim=-1))


def joined_product(
    x: Float[Tensor, "tokens d_model"], layers: Sequence[nn.Linear]
) -> Float[Tensor, "tokens _"]:
    """`x` through all of `layers` in one product; their outputs are side by side."""
    device_type = x.device.type
    is_autocast = torch.is_autocast_enabled(device_type)
    dtype = torch.get_autocast_dtype(device_type) if is_autocast else layers[0].weight.dtype
    # Cast before concatenating: autocast would concatenate in float32, then cast.
    weight = torch.cat([layer.weight.to(dtype) for layer in layers])
    biases = [layer.bias.to(dtype) for layer in layers if layer.bias is not None]
    return F.linear(x, weight, torch.cat(biases) if biases else None)


class MultiHeadAttention(NativePart, nn.Module):
    """Section 3.2.2: h heads with their own projections, concatenated and projected once more."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        d_k, d_v = head_widths(config)
        self.heads = config.heads
        self.backend = "auto"  # the argument of `attend`; see `use_backend`
        bias = config.attention_bias
        self.query = nn.Linear(config.d_model, config.heads * d_k, bias=bias)
        self.key = nn.Linear(config.d_model, config.heads * d_k, bias=bias)
        self.value = nn.Linear(config.d_model, config.heads * d_v, bias=bias)
        self.output = nn.Linear(config.heads * d_v, config.d_model, bias=bias)

    def project_query(
        self, x: Float[Tensor, "tokens d_model"]
    ) -> Float[Tensor, "tokens heads d_k"]:
        """Q W^Q of every head."""
        return _split_heads(self.query(x), self.heads)

    def project_keys_values(self, x: Float[Tensor, "tokens d_model"]) -> KeysValues:
        """K W^K and V W^V of every head."""
        key, value = self._project(x, [self.key, self.value])
        return KeysValues(_split_heads(key, self.heads), _split_heads(value, self.heads))

    def project_self(
        self, x: Float[Tensor, "tokens d_model"]
    ) -> tuple[Float[Tensor, "tokens heads d_k"], KeysValues]:
        """`project_query` and `project_keys_values` of the same `x`."""
        query, key, value = self._project(x, [self.query, self.key, self.value])
        keys_values = KeysValues(_split_heads(key, self.heads), _split_heads(value, self.heads))
        return _split_heads(query, self.heads), keys_values

    def takes_joined(self, device: torch.device) -> bool:
        """Whether `attend_joined` computes this attention, from joined projections."""
        return self.backend == "tiles" and joins_projections(device)

    def join_self(self, x: Float[Tensor, "tokens d_model"]) -> list[Float[Tensor, "tokens _"]]:
        """Queries, keys and values of the same `x` in one tensor, for `attend_joined`."""
        return [joined_product(x, [self.query, self.key, self.value])]

    def join_cross(
        self, x: Float[Tensor, "tokens d_model"], memory: Float[Tensor, "src d_model"]
    ) -> list[Tensor]:
        """Queries of `x`, and keys and values of `memory` in one tensor, for `attend_joined`."""
        return [self.query(x), joined_product(memory, [self.key, self.value])]

    def _project(self, x: Tensor, layers: Sequence[nn.Linear]) -> list[Tensor]:
        if self.native and torch.is_grad_enabled():
            return joined_projections(x, layers)
        return project(x, layers)

    def project_output(
        self, heads: Float[Tensor, "tokens heads d_v"]
    ) -> Float[Tensor, "tokens d_model"]:
        """Concat(head_1, ..., head_h) W^O."""
        joined: Tensor = self.output(heads.flatten(-2))
        return joined
