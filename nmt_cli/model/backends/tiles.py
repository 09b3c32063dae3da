"""Section 3.2.1 on a GPU: attention within sentences in small tiles, forward and backward.

FlashAttention's tiles of 128 tokens are mostly empty at sentence length; these have 32. The tables
of tiles are tensors of a fixed size, so that a launch depends on no number on the GPU, and
torch.compile treats the kernels as two custom operators. Triton is loaded at the first call.
"""

import math
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

MAX_WIDTH = 128
# The smallest tile edge that a GPU's matrix units take.
MIN_WIDTH = 16
DTYPES = (torch.bfloat16, torch.float16, torch.float32)


def tile_attention_function(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    tiles: tuple[Tensor, Tensor],
    offsets: tuple[Tensor, Tensor],
    *,
    causal: bool,
    size: int,
) -> Tensor:
    """softmax(Q K^T / sqrt(d_k)) V within each sentence; filler gives zeros.

    query (tokens, heads, d_k), key (keys, heads, d_k), value (keys, heads, d_v) of one dtype,
    bfloat16, float16 or float32; d_k and d_v up to 128. Returns (tokens, heads, d_v), contiguous.
    tiles: `batch.tile_table` with tiles of `size`, of the queries' and of the keys' segments;
    offsets: of the same segments, each (sentences + 1,). causal: the two segments are the same.
    Raises ValueError for other widths, dtypes or numbers of sentences.
    """
    widths = query.shape[-1], value.shape[-1]
    if max(widths) > MAX_WIDTH or min(widths) < 1:
        raise ValueError(f"heads of width {widths}: tiles hold 1 to {MAX_WIDTH}")
    if query.dtype not in DTYPES or not query.dtype == key.dtype == value.dtype:
        raise ValueError(f"dtypes {query.dtype}, {key.dtype}, {value.dtype}: one of {DTYPES}")
    if offsets[0].shape != offsets[1].shape:
        raise ValueError("queries and keys are not of the same sentences")
    output: Tensor = _forward(query, key, value, *tiles, *offsets, causal, size)[0]
    return output


@torch.library.custom_op("nmt_cli::segment_attention", mutates_args=())
def _forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    query_tiles: Tensor,
    key_tiles: Tensor,
    query_offsets: Tensor,
    key_offsets: Tensor,
    causal: bool,
    size: int,
) -> tuple[Tensor, Tensor]:
    """The output, and log2 of each softmax's sum: (heads, tokens) float32."""
    from nmt_cli.model.backends.tile_kernels import attend_tile

    del key_tiles, query_offsets  # the backward pass needs them
    query, key, value = (_dense_rows(stream) for stream in (query, key, value))
    output, log_sums = _empty_forward(query, value)
    with _device_of(query):
        attend_tile[_grid(query_tiles, query)](
            query, key, value, output, log_sums, query_tiles, key_offsets,
            *_strides(query, key, value), _scale(query), len(query),
            **_constants(query, value, size), causal=causal,
        )  # fmt: skip
    return output, log_sums


@torch.library.custom_op("nmt_cli::segment_attention_backward", mutates_args=())
def _backward(
    output_gradient: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    output: Tensor,
    log_sums: Tensor,
    query_tiles: Tensor,
    key_tiles: Tensor,
    query_offsets: Tensor,
    key_offsets: Tensor,
    causal: bool,
    size: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of query, key and value, given that of the output."""
    from nmt_cli.model.backends.tile_kernels import key_gradient_tile, query_gradient_tile

    streams = query, key, value, output_gradient
    query, key, value, output_gradient = (_dense_rows(stream) for stream in streams)
    gradients = _empty_backward(query, key, value)
    deltas = torch.empty_like(log_sums)
    scalars = *_strides(query, key, value, output_gradient), _scale(query), len(query)
    constants = _constants(query, value, size)
    with _device_of(query):
        query_gradient_tile[_grid(query_tiles, query)](
            query, key, value, output, output_gradient, log_sums, deltas, gradients[0], query_tiles,
            key_offsets, *scalars, **constants, causal=causal,
        )  # fmt: skip
        key_gradient_tile[_grid(key_tiles, query)](
            query, key, value, output_gradient, log_sums, deltas, *gradients[1:], key_tiles,
            query_offsets, *scalars, **constants, causal=causal,
        )  # fmt: skip
    return gradients


def _empty_forward(query: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    tokens, heads = query.shape[:2]
    return (
        query.new_empty(tokens, heads, value.shape[2]),
        query.new_empty(heads, tokens, dtype=torch.float32),
    )


def _empty_backward(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return query.new_empty(query.shape), key.new_empty(key.shape), value.new_empty(value.shape)


@_forward.register_fake
def _(query: Tensor, key: Tensor, value: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    del key
    return _empty_forward(query, value)


@_backward.register_fake
def _(
    output_gradient: Tensor, query: Tensor, key: Tensor, value: Tensor, *_: Any
) -> tuple[Tensor, Tensor, Tensor]:
    del output_gradient
    return _empty_backward(query, key, value)


def _save_for_backward(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    ctx.save_for_backward(*inputs[:3], *output, *inputs[3:7])
    ctx.causal, ctx.size = inputs[7:]


def _backward_of_forward(ctx: Any, output_gradient: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
    return *_backward(output_gradient, *ctx.saved_tensors, ctx.causal, ctx.size), *[None] * 6


_forward.register_autograd(_backward_of_forward, setup_context=_save_for_backward)


def _device_of(stream: Tensor) -> AbstractContextManager[object]:
    """The tensors' GPU as the current one, on which Triton launches."""
    return torch.cuda.device(stream.device) if stream.is_cuda else nullcontext()


def _dense_rows(stream: Tensor) -> Tensor:
    """A stream whose last axis is contiguous, as the kernels need; other strides may be any."""
    return stream if stream.stride(-1) == 1 else stream.contiguous()


def _grid(tiles: Tensor, query: Tensor) -> tuple[int, int]:
    return len(tiles), query.shape[1]


def _strides(*streams: Tensor) -> list[int]:
    return [stream.stride(axis) for stream in streams for axis in (0, 1)]


def _scale(query: Tensor) -> float:
    return 1.0 / math.sqrt(query.shape[2])


def _constants(query: Tensor, value: Tensor, size: int) -> dict[str, int]:
    """Compile-time constants of a kernel; warps and stages as its registers allow."""
    d_k, d_v = query.shape[2], value.shape[2]
    is_float32 = query.dtype == torch.float32
    return {
        "heads": query.shape[1],
        "d_k": d_k,
        "d_v": d_v,
        "width_k": _padded(d_k),
        "width_v": _padded(d_v),
        "size": size,
        "num_warps": min(max(size // 8, 1), 4) * (2 if is_float32 else 1),
        "num_stages": 1 if is_float32 else 2,
    }


def _padded(width: int) -> int:
    """The next power of two, as Triton's blocks must be."""
    return max(MIN_WIDTH, 1 << (width - 1).bit_length())
