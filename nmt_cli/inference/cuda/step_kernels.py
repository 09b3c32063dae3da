"""Triton kernels of a decoding step: attention over the KV cache, and sums over the vocabulary.

torch's kernels take a mask that is made for them, compute all steps that the cache has room for,
and read the logits six times. These read lengths and ancestors themselves, stop at the last step of
each slot, and read the logits once. Softmax uses powers of two. Each number is written by one
program, so that every run gives the same bits.

Triton compiles the functions, so they are untyped.
"""

import math
from collections.abc import Sequence
from typing import no_type_check

import triton
import triton.language as tl
from torch import Tensor

from nmt_cli.model.backends.tiles import device_of

# log2(e): exp(x) = exp2(x * LOG2_E).
LOG2_E = tl.constexpr(1.4426950408889634)
# Below every finite number; with -inf instead, -inf - -inf would be NaN.
LOWEST = tl.constexpr(-3.4028234663852886e38)
# Rows of queries: the least that a GPU's matrix units take. A larger beam needs more.
ROWS = 16
# Keys that a program holds at a time, and its warps.
KEYS, ATTENTION_WARPS = 64, 2
# Blocks of logits that a program holds at a time, and its warps.
BLOCKS, ROW_WARPS = 64, 8


@triton.jit
@no_type_check
def _load(stream, rows, exist, depth: tl.constexpr, width: tl.constexpr, step=None):
    """(rows, width): rows of `depth` numbers, `step` apart; zeros beyond them, or not there."""
    columns = tl.arange(0, width)
    step = depth if step is None else step
    addresses = stream + rows[:, None] * step + columns[None, :]
    return tl.load(addresses, mask=exist[:, None] & (columns[None, :] < depth), other=0.0)


@triton.jit
@no_type_check
def attend_slot(
    query, keys, values, output, ancestors, lengths,
    query_slot, query_head, query_row, key_slot, key_head, value_slot, value_head,
    ancestors_slot, ancestors_row, heads, scale,
    beam: tl.constexpr, d_k: tl.constexpr, d_v: tl.constexpr,
    width_k: tl.constexpr, width_v: tl.constexpr, rows: tl.constexpr, block: tl.constexpr,
    own: tl.constexpr,
):  # fmt: skip
    """The rows of a slot attend to its keys: its own ones, each with one at a step, or a source's.

    own: key j is that of row j % beam at step j // beam, and row i sees it if `ancestors`
    (slots, beam, steps) has that row at that step; steps 0 to `lengths[slot]` are written. Without
    it, all rows see the first `lengths[slot]` keys. output: (slots * beam, heads * d_v).
    """
    slot = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1).to(tl.int64)
    row = tl.arange(0, rows)
    is_row = row < beam
    queries = _load(
        query + slot * query_slot + head * query_head, row, is_row, d_k, width_k, query_row
    )
    count = tl.load(lengths + slot).to(tl.int32)
    if own:
        count = (count + 1) * beam
    maximum = tl.full([rows], LOWEST, tl.float32)
    total = tl.zeros([rows], tl.float32)
    accumulated = tl.zeros([rows, width_v], tl.float32)
    for start in range(0, count, block):
        index = start + tl.arange(0, block)
        inside = index < count
        key = _load(keys + slot * key_slot + head * key_head, index, inside, d_k, width_k)
        value = _load(values + slot * value_slot + head * value_head, index, inside, d_v, width_v)
        scores = tl.dot(queries, tl.trans(key), input_precision="ieee") * (scale * LOG2_E)
        allowed = is_row[:, None] & inside[None, :]
        if own:
            ancestor = tl.load(
                ancestors + slot * ancestors_slot + row[:, None] * ancestors_row
                + (index // beam)[None, :],
                mask=allowed, other=-1,
            )  # fmt: skip
            allowed = ancestor.to(tl.int32) == (index % beam)[None, :]
        scores = tl.where(allowed, scores, float("-inf"))
        new_maximum = tl.maximum(maximum, tl.max(scores, 1))
        weights = tl.exp2(scores - new_maximum[:, None])
        rescale = tl.exp2(maximum - new_maximum)
        total = total * rescale + tl.sum(weights, 1)
        accumulated = accumulated * rescale[:, None]
        accumulated += tl.dot(weights.to(value.dtype), value, input_precision="ieee")
        maximum = new_maximum
    total = tl.where(is_row, total, 1.0)
    columns = tl.arange(0, width_v)
    tl.store(
        output + (slot * beam + row[:, None]) * (heads * d_v) + head * d_v + columns[None, :],
        (accumulated / total[:, None]).to(output.dtype.element_ty),
        mask=is_row[:, None] & (columns[None, :] < d_v),
    )


@triton.jit
@no_type_check
def reduce_row(logits, maxima, totals, columns, width: tl.constexpr, blocks: tl.constexpr):
    """The maximum of every `width` logits of a row, and the row's log-sum-exp."""
    row = tl.program_id(0).to(tl.int64)
    count = columns // width
    number = tl.arange(0, blocks)
    offsets = number[:, None] * width + tl.arange(0, width)[None, :]
    largest = LOWEST
    sums = tl.zeros([blocks], tl.float32)
    for first in range(0, count, blocks):
        exist = first + number < count
        chunk = tl.load(
            logits + row * columns + first * width + offsets,
            mask=exist[:, None], other=float("-inf"),
        )  # fmt: skip
        greatest = tl.max(chunk, 1)
        tl.store(maxima + row * count + first + number, greatest, mask=exist)
        new_largest = tl.maximum(largest, tl.max(greatest, 0))
        sums = sums * tl.exp(largest - new_largest)
        sums += tl.sum(tl.exp(chunk - new_largest), 1)
        largest = new_largest
    tl.store(totals + row, largest + tl.log(tl.sum(sums, 0)))


def attend_own(
    query: Tensor, cached: Sequence[Tensor], ancestors: Tensor, lengths: Tensor
) -> Tensor:
    """(slots * beam, heads * d_v): each row attends to its ancestors' keys of all steps so far.

    query: (slots, heads, beam, d_k); cached: keys and values (slots, heads, capacity, beam, width);
    ancestors: (slots, beam, capacity) int16; lengths: (slots,), the step of each slot, whose keys
    are written already.
    """
    return _attend(query, cached, ancestors, lengths, own=True)


def attend_source(query: Tensor, cached: Sequence[Tensor], lengths: Tensor) -> Tensor:
    """As `attend_own`, to the first `lengths[slot]` of the keys of a source.

    cached: (slots, heads, capacity, width).
    """
    return _attend(query, cached, None, lengths, own=False)


def _attend(
    query: Tensor, cached: Sequence[Tensor], ancestors: Tensor | None, lengths: Tensor, *, own: bool
) -> Tensor:
    slots, heads, beam, d_k = query.shape
    keys, values = cached
    output = query.new_empty(slots * beam, heads * values.shape[-1])
    ancestor_strides = (0, 0) if ancestors is None else ancestors.stride()[:2]
    with device_of(query):
        attend_slot[(slots, heads)](
            query, keys, values, output, ancestors, lengths, *query.stride()[:3],
            *keys.stride()[:2], *values.stride()[:2], *ancestor_strides, heads,
            1.0 / math.sqrt(d_k), **attention_constants(beam, d_k, values.shape[-1]), own=own,
        )  # fmt: skip
    return output


def attention_constants(beam: int, d_k: int, d_v: int) -> dict[str, int]:
    """What `attend_slot` is compiled for."""
    return {
        "beam": beam,
        "d_k": d_k,
        "d_v": d_v,
        "width_k": max(ROWS, triton.next_power_of_2(d_k)),
        "width_v": max(ROWS, triton.next_power_of_2(d_v)),
        "rows": max(ROWS, triton.next_power_of_2(beam)),
        "block": KEYS,
        "num_warps": ATTENTION_WARPS,
        "num_stages": 2,
    }


def reduce_rows(logits: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """The maxima of blocks of `width` logits, (rows, columns / width), and log-sum-exps, (rows, 1).

    logits: (rows, columns) float32, contiguous.
    """
    rows, columns = logits.shape
    maxima, totals = logits.new_empty(rows, columns // width), logits.new_empty(rows, 1)
    with device_of(logits):
        reduce_row[(rows,)](
            logits, maxima, totals, columns, width=width, blocks=BLOCKS, num_warps=ROW_WARPS
        )
    return maxima, totals
