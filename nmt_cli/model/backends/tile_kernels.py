"""Triton kernels of attention within sentences: a program takes one tile of one head.

A tile is up to `size` neighbouring tokens of one sentence, a row of `Segments.tiles`; a program
walks over its sentence's tokens on the other side. Streams are (tokens, heads, width), the last
axis contiguous. Softmax is in powers of two. Each number is written by one program: no atomics,
the same bits in every run.

Triton compiles the functions, so they are untyped; every argument after `tokens` is a constant.
"""

from typing import no_type_check

import triton
import triton.language as tl

# log2(e): exp(x) = exp2(x * LOG2_E).
LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
@no_type_check
def _own(tiles, size: tl.constexpr):
    """This program's tile: its rows, which of them exist, its sentence, its place in it."""
    entry = tiles + 4 * tl.program_id(0)
    start = tl.load(entry)
    end = tl.load(entry + 1)
    sentence = tl.load(entry + 2)
    first = tl.load(entry + 3)
    rows = start + tl.arange(0, size)
    return rows, rows < end, sentence, first


@triton.jit
@no_type_check
def _other(offsets, sentence):
    """Where the sentence begins and ends on the other side; nothing for filler (-1)."""
    known = sentence >= 0
    begin = tl.load(offsets + sentence, mask=known, other=0)
    end = tl.load(offsets + sentence + 1, mask=known, other=0)
    return begin.to(tl.int32), end.to(tl.int32)


@triton.jit
@no_type_check
def _load(stream, row_step, head_step, rows, exist, depth: tl.constexpr, width: tl.constexpr):
    """Rows of this program's head, (rows, width); zeros beyond `depth` and where none exist."""
    columns = tl.arange(0, width)
    head = stream + tl.program_id(1).to(tl.int64) * head_step
    places = head + rows.to(tl.int64)[:, None] * row_step + columns[None, :]
    return tl.load(places, mask=exist[:, None] & (columns[None, :] < depth), other=0.0)


@triton.jit
@no_type_check
def _store(stream, block, rows, exist, heads, depth: tl.constexpr, width: tl.constexpr):
    """Write (rows, width) into a contiguous stream."""
    columns = tl.arange(0, width)
    line = rows.to(tl.int64) * heads + tl.program_id(1)
    places = stream + line[:, None] * depth + columns[None, :]
    inside = exist[:, None] & (columns[None, :] < depth)
    tl.store(places, block.to(stream.dtype.element_ty), mask=inside)


@triton.jit
@no_type_check
def attend_tile(
    query, key, value, output, log_sums, tiles, offsets,
    query_row, query_head, key_row, key_head, value_row, value_head, scale, tokens,
    heads: tl.constexpr, d_k: tl.constexpr, d_v: tl.constexpr, width_k: tl.constexpr,
    width_v: tl.constexpr, size: tl.constexpr, causal: tl.constexpr,
):  # fmt: skip
    """Output and log2 of the softmax's sum for a tile of queries; zeros where no key is."""
    rows, exist, sentence, first = _own(tiles, size)
    begin, end = _other(offsets, sentence)
    last = end
    if causal:
        last = tl.minimum(end, begin + first + size)
    asked = _load(query, query_row, query_head, rows, exist, d_k, width_k)
    largest = tl.full([size], float("-inf"), tl.float32)
    total = tl.zeros([size], tl.float32)
    mixed = tl.zeros([size, width_v], tl.float32)
    steps = tl.arange(0, size)
    for here in range(begin, last, size):
        columns = here + steps
        seen = columns < last
        keys = _load(key, key_row, key_head, columns, seen, d_k, width_k)
        values = _load(value, value_row, value_head, columns, seen, d_v, width_v)
        scores = tl.dot(asked, tl.trans(keys), input_precision="ieee") * (scale * LOG2_E)
        allowed = seen[None, :]
        if causal:
            allowed = allowed & ((columns - begin)[None, :] <= (first + steps)[:, None])
        scores = tl.where(allowed, scores, float("-inf"))
        # The first key is always allowed, so `raised` is finite.
        raised = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.exp2(scores - raised[:, None])
        shrink = tl.exp2(largest - raised)
        total = total * shrink + tl.sum(weights, 1)
        mixed = mixed * shrink[:, None]
        mixed += tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        largest = raised
    some = total > 0.0
    total = tl.where(some, total, 1.0)
    _store(output, mixed / total[:, None], rows, exist, heads, d_v, width_v)
    sums = tl.where(some, largest, 0.0) + tl.log2(total)
    tl.store(log_sums + tl.program_id(1).to(tl.int64) * tokens + rows, sums, mask=exist)


@triton.jit
@no_type_check
def query_gradient_tile(
    query, key, value, output, slope, log_sums, shares, query_slope, tiles, offsets,
    query_row, query_head, key_row, key_head, value_row, value_head, slope_row, slope_head,
    scale, tokens,
    heads: tl.constexpr, d_k: tl.constexpr, d_v: tl.constexpr, width_k: tl.constexpr,
    width_v: tl.constexpr, size: tl.constexpr, causal: tl.constexpr,
):  # fmt: skip
    """Gradient of a tile of queries, and `shares`: output times its gradient, summed."""
    rows, exist, sentence, first = _own(tiles, size)
    begin, end = _other(offsets, sentence)
    last = end
    if causal:
        last = tl.minimum(end, begin + first + size)
    asked = _load(query, query_row, query_head, rows, exist, d_k, width_k)
    pull = _load(slope, slope_row, slope_head, rows, exist, d_v, width_v)
    found = _load(output, heads * d_v, d_v, rows, exist, d_v, width_v)
    share = tl.sum(found.to(tl.float32) * pull.to(tl.float32), 1)
    places = tl.program_id(1).to(tl.int64) * tokens + rows
    tl.store(shares + places, share, mask=exist)
    sums = tl.load(log_sums + places, mask=exist, other=0.0)
    gradient = tl.zeros([size, width_k], tl.float32)
    steps = tl.arange(0, size)
    for here in range(begin, last, size):
        columns = here + steps
        seen = columns < last
        keys = _load(key, key_row, key_head, columns, seen, d_k, width_k)
        values = _load(value, value_row, value_head, columns, seen, d_v, width_v)
        scores = tl.dot(asked, tl.trans(keys), input_precision="ieee") * (scale * LOG2_E)
        allowed = seen[None, :] & exist[:, None]
        if causal:
            allowed = allowed & ((columns - begin)[None, :] <= (first + steps)[:, None])
        weights = tl.exp2(tl.where(allowed, scores - sums[:, None], float("-inf")))
        pulled = tl.dot(pull, tl.trans(values), input_precision="ieee")
        moved = weights * (pulled - share[:, None])
        gradient += tl.dot(moved.to(keys.dtype), keys, input_precision="ieee")
    _store(query_slope, gradient * scale, rows, exist, heads, d_k, width_k)


@triton.jit
@no_type_check
def key_gradient_tile(
    query, key, value, slope, log_sums, shares, key_slope, value_slope, tiles, offsets,
    query_row, query_head, key_row, key_head, value_row, value_head, slope_row, slope_head,
    scale, tokens,
    heads: tl.constexpr, d_k: tl.constexpr, d_v: tl.constexpr, width_k: tl.constexpr,
    width_v: tl.constexpr, size: tl.constexpr, causal: tl.constexpr,
):  # fmt: skip
    """Gradients of a tile of keys and of their values; runs after `query_gradient_tile`."""
    rows, exist, sentence, first = _own(tiles, size)
    begin, end = _other(offsets, sentence)
    keys = _load(key, key_row, key_head, rows, exist, d_k, width_k)
    values = _load(value, value_row, value_head, rows, exist, d_v, width_v)
    key_sum = tl.zeros([size, width_k], tl.float32)
    value_sum = tl.zeros([size, width_v], tl.float32)
    steps = tl.arange(0, size)
    start = begin
    if causal:
        # Earlier queries see none of these keys.
        start = begin + first
    for here in range(start, end, size):
        columns = here + steps
        seen = columns < end
        places = tl.program_id(1).to(tl.int64) * tokens + columns
        asked = _load(query, query_row, query_head, columns, seen, d_k, width_k)
        pull = _load(slope, slope_row, slope_head, columns, seen, d_v, width_v)
        sums = tl.load(log_sums + places, mask=seen, other=0.0)
        share = tl.load(shares + places, mask=seen, other=0.0)
        # Keys down, queries across, so that nothing is transposed on the way to the sums.
        scores = tl.dot(keys, tl.trans(asked), input_precision="ieee") * (scale * LOG2_E)
        allowed = seen[None, :] & exist[:, None]
        if causal:
            allowed = allowed & ((first + steps)[:, None] <= (columns - begin)[None, :])
        weights = tl.exp2(tl.where(allowed, scores - sums[None, :], float("-inf")))
        value_sum += tl.dot(weights.to(pull.dtype), pull, input_precision="ieee")
        pulled = tl.dot(values, tl.trans(pull), input_precision="ieee")
        moved = weights * (pulled - share[None, :])
        key_sum += tl.dot(moved.to(asked.dtype), asked, input_precision="ieee")
    _store(key_slope, key_sum * scale, rows, exist, heads, d_k, width_k)
    _store(value_slope, value_sum, rows, exist, heads, d_v, width_v)
