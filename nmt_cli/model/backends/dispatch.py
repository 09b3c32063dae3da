"""Which kernel computes attention within the sentences of a stream: the backends and their choice.

Section 3.2.1 over the streams of `nmt_cli.batch`. Every backend takes the same arguments and gives
the same numbers, up to rounding.
"""

from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nmt_cli.batch import TILE, Segments
from nmt_cli.machine import cache_folder
from nmt_cli.model.attention import (
    MultiHeadAttention,
    causal_mask,
    float32_attention,
    fused_attention,
    rectangle_backend,
)
from nmt_cli.model.backends.native import attention_kernels, native_attention
from nmt_cli.model.backends.tiles import (
    MAX_WIDTH,
    HeadWidths,
    joined_tile_attention,
    tile_attention_function,
)
from nmt_cli.model.backends.varlen import (
    VARLEN_DTYPES,
    has_varlen,
    varlen_attention,
    varlen_widths_fit,
)
from nmt_cli.model.native.part import NativePart, has_native_parts

# The compute capability from which on GPUs have matrix units for bfloat16.
FIRST_CAPABILITY = (8, 0)


def rectangle_attention(
    formula: Callable[..., Tensor],
    query: Float[Tensor, "tokens heads d_k"],
    key: Float[Tensor, "keys heads d_k"],
    value: Float[Tensor, "keys heads d_v"],
    query_segments: Segments,
    key_segments: Segments,
    *,
    causal: bool,
) -> Float[Tensor, "tokens heads d_v"]:
    """`formula`, one of FORMULAS, over sentences padded to one length."""
    mask = None
    if causal:
        mask = causal_mask(query_segments.max_length, query.device)
    elif not key_segments.is_rectangular:
        mask = key_segments.inside[:, None, None, :]
    attended = formula(
        query_segments.to_rectangle(query).transpose(1, 2),
        key_segments.to_rectangle(key).transpose(1, 2),
        key_segments.to_rectangle(value).transpose(1, 2),
        mask,
    )
    return query_segments.to_stream(attended.transpose(1, 2))


def tile_attention(
    query: Float[Tensor, "tokens heads d_k"],
    key: Float[Tensor, "keys heads d_k"],
    value: Float[Tensor, "keys heads d_v"],
    query_segments: Segments,
    key_segments: Segments,
    *,
    causal: bool,
) -> Float[Tensor, "tokens heads d_v"]:
    """The Triton kernels of `tiles`, over sentences cut into small tiles."""
    tables = _tables(query_segments, key_segments)
    return tile_attention_function(query, key, value, tables, causal=causal, size=TILE)


def _tables(queries: Segments, keys: Segments) -> tuple[Tensor, Tensor]:
    """The tables (tiles, 4) of the queries' and of the keys' tiles, for attention between them.

    Raises ValueError if these are different segments that were not made for each other.
    """
    if queries is keys:
        return queries.tiles[0], keys.tiles[0]
    if min(len(queries.tiles), len(keys.tiles)) < 2:
        raise ValueError("segments made without those of the other side have no tiles for it")
    return queries.tiles[1], keys.tiles[1]


def unequal_attention(
    query: Float[Tensor, "tokens heads d_k"],
    key: Float[Tensor, "keys heads d_k"],
    value: Float[Tensor, "keys heads d_v"],
    query_segments: Segments,
    key_segments: Segments,
    *,
    causal: bool,
) -> Float[Tensor, "tokens heads d_v"]:
    """torch's kernel for unequal sentences; the fused one for float32, which torch's lacks."""
    streams = query, key, value, query_segments, key_segments
    if query.dtype in VARLEN_DTYPES:
        return varlen_attention(*streams, causal=causal)
    return rectangle_attention(fused_attention, *streams, causal=causal)


BACKENDS: dict[str, Callable[..., Tensor]] = {
    "plain": partial(rectangle_attention, float32_attention),
    "fused": partial(rectangle_attention, fused_attention),
    "varlen": unequal_attention,
    "tiles": tile_attention,
    "native": native_attention,
}


def attend(
    query: Float[Tensor, "tokens heads d_k"],
    key: Float[Tensor, "keys heads d_k"],
    value: Float[Tensor, "keys heads d_v"],
    query_segments: Segments,
    key_segments: Segments,
    *,
    causal: bool,
    backend: str = "auto",
) -> Float[Tensor, "tokens heads d_v"]:
    """Attention within sentences: sentence i of the queries attends to sentence i of the keys.

    `causal` (section 3.1) masks later positions, and so padding too; the two segments are the same
    then. The output of filler is finite and has no meaning. backend: a key of BACKENDS; auto:
    the faster of "plain" and "fused" on the device.
    """
    name = rectangle_backend(query.device) if backend == "auto" else backend
    return BACKENDS[name](query, key, value, query_segments, key_segments, causal=causal)


def attend_joined(
    attention: MultiHeadAttention,
    streams: Sequence[Float[Tensor, "_ _"]],
    query_segments: Segments,
    key_segments: Segments,
    *,
    causal: bool,
) -> Float[Tensor, "tokens heads d_v"]:
    """As `attend`, of what `join_self` or `join_cross` gives, without splitting it."""
    heads = attention.heads
    widths = HeadWidths(
        heads, attention.key.out_features // heads, attention.value.out_features // heads
    )
    tables = _tables(query_segments, key_segments)
    return joined_tile_attention(streams, widths, tables, causal=causal, size=TILE)


def choose_backend(device: torch.device, d_k: int, d_v: int) -> str:
    """The fastest of BACKENDS for training on `device` with heads of these widths.

    On a CPU, kernels are compiled for it if they were not before.
    """
    if device.type == "cpu" and attention_kernels(cache_folder()) is not None:
        return "native"
    if device.type != "cuda" or torch.cuda.get_device_capability(device) < FIRST_CAPABILITY:
        return rectangle_backend(device)
    if find_spec("triton") is not None and max(d_k, d_v) <= MAX_WIDTH:
        return "tiles"
    return "varlen" if has_varlen() and varlen_widths_fit(d_k, d_v) else "fused"


def use_backend(model: nn.Module, backend: str) -> None:
    """Use this one of BACKENDS in every attention of `model` over whole sentences.

    With "native", what else has kernels in C is computed by them, too.
    """
    if backend not in BACKENDS:
        raise ValueError(f"unknown backend {backend}: one of {', '.join(BACKENDS)}")
    native = backend == "native" and has_native_parts()
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            module.backend = backend
        if isinstance(module, NativePart):
            module.native = native
