"""Triton kernels of attention within sentences: a program computes one tile of one head.

A tile is up to `size` neighbouring tokens of one sentence; a program loops over that sentence's
tokens on the other side. `tiles` (tiles, 4) int32 has the ranges of both (`batch.tile_table`).
Streams are (tokens, heads, width), the last axis contiguous; the output is contiguous as a whole.
Softmax uses powers of two. Each number is written by one program, without atomics, so that every
run gives the same bits.

Triton compiles the functions, so they are untyped; every argument after `tokens` is a constant.
"""

from typing import no_type_check

import triton
import triton.language as tl

# log2(e): exp(x) = exp2(x * LOG2_E).
LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
@no_type_check
def _load_tile(tiles, size: tl.constexpr):
    """This program's tile: its rows, a mask of existing rows, the range on the other side."""
    entry = tiles + 4 * tl.program_id(0)
    start = tl.load(entry)
    end = tl.load(entry + 1)
    other_begin = tl.load(entry + 2)
    other_end = tl.load(entry + 3)
    rows = start + tl.arange(0, size)
    return rows, rows < end, start, other_begin, other_end


@triton.jit
@no_type_check
def _load(stream, row_step, head_step, rows, exist, depth: tl.constexpr, width: tl.constexpr):
    """Rows of this program's head, (rows, width); zeros beyond `depth` and for rows not there."""
    columns = tl.arange(0, width)
    head = stream + tl.program_id(1).to(tl.int64) * head_step
    addresses = head + rows.to(tl.int64)[:, None] * row_step + columns[None, :]
    return tl.load(addresses, mask=exist[:, None] & (columns[None, :] < depth), other=0.0)


@triton.jit
@no_type_check
def _store(
    stream, block, row_step, head_step, rows, exist, depth: tl.constexpr, width: tl.constexpr
):
    """Write a block (rows, width) to this program's head."""
    columns = tl.arange(0, width)
    head = stream + tl.program_id(1).to(tl.int64) * head_step
    addresses = head + rows.to(tl.int64)[:, None] * row_step + columns[None, :]
    inside = exist[:, None] & (columns[None, :] < depth)
    tl.store(addresses, block.to(stream.dtype.element_ty), mask=inside)


@triton.jit
@no_type_check
def attend_tile(
    query, key, value, output, log_sums, tiles,
    query_row, query_head, key_row, key_head, value_row, value_head, scale, tokens,
    heads: tl.constexpr, d_k: tl.constexpr, d_v: tl.constexpr, width_k: tl.constexpr,
    width_v: tl.constexpr, size: tl.constexpr, causal: tl.constexpr,
):  # fmt: skip
    """Output and log2 of the softmax's sum for a tile of queries; zeros where there is no key."""
    rows, exist, first, begin, end = _load_tile(tiles, size)
    if causal:
        # Keys and queries are of one stream.
        end = tl.minimum(end, first + size)
    queries = _load(query, query_row, query_head, rows, exist, d_k, width_k)
    maximum = tl.full([size], float("-inf"), tl.float32)
    total = tl.zeros([size], tl.float32)
    accumulated = tl.zeros([size, width_v], tl.float32)
    steps = tl.arange(0, size)
    for block_start in range(begin, end, size):
        columns = block_start + steps
        inside_block = columns < end
        keys = _load(key, key_row, key_head, columns, inside_block, d_k, width_k)
        values = _load(value, value_row, value_head, columns, inside_block, d_v, width_v)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * (scale * LOG2_E)
        allowed = inside_block[None, :]
        if causal:
            allowed = allowed & (columns[None, :] <= rows[:, None])
        scores = tl.where(allowed, scores, float("-inf"))
        # The first key is never masked, so `new_maximum` is finite.
        new_maximum = tl.maximum(maximum, tl.max(scores, 1))
        weights = tl.exp2(scores - new_maximum[:, None])
        rescale = tl.exp2(maximum - new_maximum)
        total = total * rescale + tl.sum(weights, 1)
        accumulated = accumulated * rescale[:, None]
        accumulated += tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        maximum = new_maximum
    has_keys = total > 0.0
    total = tl.where(has_keys, total, 1.0)
    _store(output, accumulated / total[:, None], heads * d_v, d_v, rows, exist, d_v, width_v)
    sums = tl.where(has_keys, maximum, 0.0) + tl.log2(total)
    tl.store(log_sums + tl.program_id(1).to(tl.int64) * tokens + rows, sums, mask=exist)


@triton.jit
@no_type_check
def query_gradient_tile(
    query, key, value, output, output_gradient, log_sums, deltas, query_gradient, tiles,
    query_row, query_head, key_row, key_head, value_row, value_head, upstream_row,
    upstream_head, gradient_row, gradient_head, scale, tokens,
    heads: tl.constexpr, d_k: tl.constexpr, d_v: tl.constexpr, width_k: tl.constexpr,
    width_v: tl.constexpr, size: tl.constexpr, causal: tl.constexpr,
):  # fmt: skip
    """Gradient of a tile of queries; writes `deltas`, the sums of output times its gradient."""
    rows, exist, first, begin, end = _load_tile(tiles, size)
    if causal:
        # Keys and queries are of one stream.
        end = tl.minimum(end, first + size)
    queries = _load(query, query_row, query_head, rows, exist, d_k, width_k)
    upstream = _load(output_gradient, upstream_row, upstream_head, rows, exist, d_v, width_v)
    outputs = _load(output, heads * d_v, d_v, rows, exist, d_v, width_v)
    delta = tl.sum(outputs.to(tl.float32) * upstream.to(tl.float32), 1)
    addresses = tl.program_id(1).to(tl.int64) * tokens + rows
    tl.store(deltas + addresses, delta, mask=exist)
    sums = tl.load(log_sums + addresses, mask=exist, other=0.0)
    gradient = tl.zeros([size, width_k], tl.float32)
    steps = tl.arange(0, size)
    for block_start in range(begin, end, size):
        columns = block_start + steps
        inside_block = columns < end
        keys = _load(key, key_row, key_head, columns, inside_block, d_k, width_k)
        values = _load(value, value_row, value_head, columns, inside_block, d_v, width_v)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * (scale * LOG2_E)
        allowed = inside_block[None, :] & exist[:, None]
        if causal:
            allowed = allowed & (columns[None, :] <= rows[:, None])
        weights = tl.exp2(tl.where(allowed, scores - sums[:, None], float("-inf")))
        weight_gradient = tl.dot(upstream, tl.trans(values), input_precision="ieee")
        score_gradient = weights * (weight_gradient - delta[:, None])
        gradient += tl.dot(score_gradient.to(keys.dtype), keys, input_precision="ieee")
    _store(query_gradient, gradient * scale, gradient_row, gradient_head, rows, exist, d_k, width_k)


@triton.jit
@no_type_check
def key_gradient_tile(
    query, key, value, output_gradient, log_sums, deltas, key_gradient, value_gradient, tiles,
    query_row, query_head, key_row, key_head, value_row, value_head, upstream_row,
    upstream_head, keys_row, keys_head, values_row, values_head, scale, tokens,
    heads: tl.constexpr,  # noqa: ARG001 (all kernels are given the same constants)
    d_k: tl.constexpr, d_v: tl.constexpr, width_k: tl.constexpr,
    width_v: tl.constexpr, size: tl.constexpr, causal: tl.constexpr,
):  # fmt: skip
    """Gradients of a tile of keys and of their values; runs after `query_gradient_tile`."""
    rows, exist, first, begin, end = _load_tile(tiles, size)
    keys = _load(key, key_row, key_head, rows, exist, d_k, width_k)
    values = _load(value, value_row, value_head, rows, exist, d_v, width_v)
    key_sum = tl.zeros([size, width_k], tl.float32)
    value_sum = tl.zeros([size, width_v], tl.float32)
    steps = tl.arange(0, size)
    if causal:
        # Earlier queries attend to none of these keys.
        begin = first
    for block_start in range(begin, end, size):
        columns = block_start + steps
        inside_block = columns < end
        addresses = tl.program_id(1).to(tl.int64) * tokens + columns
        queries = _load(query, query_row, query_head, columns, inside_block, d_k, width_k)
        upstream = _load(
            output_gradient, upstream_row, upstream_head, columns, inside_block, d_v, width_v
        )
        sums = tl.load(log_sums + addresses, mask=inside_block, other=0.0)
        delta = tl.load(deltas + addresses, mask=inside_block, other=0.0)
        # (keys, queries), so that nothing is transposed before the sums.
        scores = tl.dot(keys, tl.trans(queries), input_precision="ieee") * (scale * LOG2_E)
        allowed = inside_block[None, :] & exist[:, None]
        if causal:
            allowed = allowed & (rows[:, None] <= columns[None, :])
        weights = tl.exp2(tl.where(allowed, scores - sums[None, :], float("-inf")))
        value_sum += tl.dot(weights.to(upstream.dtype), upstream, input_precision="ieee")
        weight_gradient = tl.dot(values, tl.trans(upstream), input_precision="ieee")
        score_gradient = weights * (weight_gradient - delta[None, :])
        key_sum += tl.dot(score_gradient.to(queries.dtype), queries, input_precision="ieee")
    _store(key_gradient, key_sum * scale, keys_row, keys_head, rows, exist, d_k, width_k)
    _store(value_gradient, value_sum, values_row, values_head, rows, exist, d_v, width_v)
