"""Section 3.2.1 on a GPU: attention within sentences in small tiles, forward and backward.

FlashAttention's tiles of 128 tokens are mostly empty at sentence length; these have 32. The tables
of tiles are tensors of a fixed size, so that a launch depends on no number on the GPU, and
torch.compile treats the kernels as two custom operators. Triton is loaded at the first call.
"""

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

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
    *,
    causal: bool,
    size: int,
) -> Tensor:
    """softmax(Q K^T / sqrt(d_k)) V within each sentence; filler gives zeros.

    query (tokens, heads, d_k), key (keys, heads, d_k), value (keys, heads, d_v) of one dtype,
    bfloat16, float16 or float32; d_k and d_v up to 128. Returns (tokens, heads, d_v), contiguous.
    tiles: of `batch.tile_table` with tiles of `size`: the table of the queries' tokens with the
    ranges of their keys, and that of the keys' with the ranges of their queries. causal: queries
    and keys are of the same tokens.
    Raises ValueError for other widths, dtypes or numbers of sentences.
    """
    widths = HeadWidths(query.shape[1], query.shape[2], value.shape[2])
    return joined_tile_attention([query, key, value], widths, tiles, causal=causal, size=size)


def joined_tile_attention(
    streams: Sequence[Tensor],
    widths: "HeadWidths",
    tiles: tuple[Tensor, Tensor],
    *,
    causal: bool,
    size: int,
) -> Tensor:
    """As `tile_attention_function`, for streams of which one tensor may hold several.

    streams: [query, key, value], each (tokens, heads, width); or as a joined product gives them,
    [queries, keys and values], or all in one, each (tokens, heads * the sum of its widths). The
    gradient of a joined tensor is written as one, so that nothing has to be copied together.
    """
    if max(widths.d_k, widths.d_v) > MAX_WIDTH or min(widths.d_k, widths.d_v) < 1:
        raise ValueError(f"heads of width {(widths.d_k, widths.d_v)}: tiles hold 1 to {MAX_WIDTH}")
    dtypes = [stream.dtype for stream in streams]
    if dtypes[0] not in DTYPES or len(set(dtypes)) > 1:
        raise ValueError(f"dtypes {dtypes}: one of {DTYPES}")
    sides = zip(tiles, (streams[0], streams[-1]), strict=True)
    rows = {len(table) - len(stream) // size for table, stream in sides}
    if len(rows) > 1:
        raise ValueError("queries and keys are not of the same sentences")
    output: Tensor = _forward(list(streams), *widths, *tiles, causal, size)[0]
    return output


class HeadWidths(NamedTuple):
    """The number of heads, and the widths of keys (and queries) and of values."""

    heads: int
    d_k: int
    d_v: int


@torch.library.custom_op("nmt_cli::segment_attention", mutates_args=())
def _forward(
    streams: Sequence[Tensor],
    heads: int,
    d_k: int,
    d_v: int,
    query_tiles: Tensor,
    key_tiles: Tensor,
    causal: bool,
    size: int,
) -> tuple[Tensor, Tensor]:
    """The output, and log2 of each softmax's sum: (heads, tokens) float32."""
    from nmt_cli.model.backends.tile_kernels import attend_tile

    del key_tiles  # the backward pass needs them
    query, key, value = _of_heads([_dense_rows(stream) for stream in streams], heads, d_k, d_v)
    output, log_sums = _empty_forward(streams, heads, d_v)
    with device_of(query):
        attend_tile[_grid(query_tiles, query)](
            query, key, value, output, log_sums, query_tiles,
            *_strides(query, key, value), _scale(query), len(query),
            **_constants(query, value, size), causal=causal,
        )  # fmt: skip
    return output, log_sums


@torch.library.custom_op("nmt_cli::segment_attention_backward", mutates_args=())
def _backward(
    output_gradient: Tensor,
    streams: Sequence[Tensor],
    output: Tensor,
    log_sums: Tensor,
    heads: int,
    d_k: int,
    d_v: int,
    query_tiles: Tensor,
    key_tiles: Tensor,
    causal: bool,
    size: int,
) -> list[Tensor]:
    """Gradients of `streams`, given that of the output."""
    from nmt_cli.model.backends.tile_kernels import key_gradient_tile, query_gradient_tile

    output_gradient = _dense_rows(output_gradient)
    query, key, value = _of_heads([_dense_rows(stream) for stream in streams], heads, d_k, d_v)
    gradients = _empty_backward(streams)
    query_gradient, key_gradient, value_gradient = _of_heads(gradients, heads, d_k, d_v)
    deltas = torch.empty_like(log_sums)
    strides = _strides(query, key, value, output_gradient)
    scalars = _scale(query), len(query)
    constants = _constants(query, value, size)
    with device_of(query):
        query_gradient_tile[_grid(query_tiles, query)](
            query, key, value, output, output_gradient, log_sums, deltas, query_gradient,
            query_tiles, *strides, *_strides(query_gradient), *scalars, **constants, causal=causal,
        )  # fmt: skip
        key_gradient_tile[_grid(key_tiles, query)](
            query, key, value, output_gradient, log_sums, deltas, key_gradient, value_gradient,
            key_tiles, *strides, *_strides(key_gradient, value_gradient), *scalars, **constants,
            causal=causal,
        )  # fmt: skip
    return gradients


def _of_heads(streams: Sequence[Tensor], heads: int, d_k: int, d_v: int) -> list[Tensor]:
    """Views of queries, keys and values in `streams`, (tokens, heads, width) each."""
    widths = [d_k, d_k, d_v]
    views: list[Tensor] = []
    for stream in streams:
        if stream.dim() == 3:
            views.append(stream)
            continue
        begin = 0
        while begin < stream.shape[1]:
            end = begin + heads * widths[len(views)]
            views.append(stream[:, begin:end].view(len(stream), heads, -1))
            begin = end
    return views


def _empty_forward(streams: Sequence[Tensor], heads: int, d_v: int) -> tuple[Tensor, Tensor]:
    tokens = len(streams[0])
    return (
        streams[0].new_empty(tokens, heads, d_v),
        streams[0].new_empty(heads, tokens, dtype=torch.float32),
    )


def _empty_backward(streams: Sequence[Tensor]) -> list[Tensor]:
    return [stream.new_empty(stream.shape) for stream in streams]


@_forward.register_fake
def _(streams: Sequence[Tensor], heads: int, d_k: int, d_v: int, *_: Any) -> tuple[Tensor, Tensor]:
    del d_k
    return _empty_forward(streams, heads, d_v)


@_backward.register_fake
def _(output_gradient: Tensor, streams: Sequence[Tensor], *_: Any) -> list[Tensor]:
    del output_gradient
    return _empty_backward(streams)


def _save_for_backward(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    streams, *widths, query_tiles, key_tiles, causal, size = inputs
    ctx.save_for_backward(*streams, *output, query_tiles, key_tiles)
    ctx.count, ctx.widths, ctx.causal, ctx.size = len(streams), widths, causal, size


def _backward_of_forward(ctx: Any, output_gradient: Tensor, _: Tensor) -> tuple[Any, ...]:
    saved = list(ctx.saved_tensors)
    streams, (output, log_sums, *tables) = saved[: ctx.count], saved[ctx.count :]
    gradients = _backward(
        output_gradient, streams, output, log_sums, *ctx.widths, *tables, ctx.causal, ctx.size
    )
    return gradients, *[None] * 7


_forward.register_autograd(_backward_of_forward, setup_context=_save_for_backward)


def device_of(tensor: Tensor) -> AbstractContextManager[object]:
    """The tensor's GPU as the current one, on which Triton launches."""
    return torch.cuda.device(tensor.device) if tensor.is_cuda else nullcontext()


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
