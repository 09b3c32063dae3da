"""Section 3.2.1 for training on a CPU: attention within sentences in C, forward and backward.

Sentences are not padded, and the weights of attention are not kept for the backward pass.
"""

import ctypes
import itertools
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nmt_cli.batch import Segments
from nmt_cli.kernels.training import (
    TrainingKernels,
    compute_in_ranges,
    find_training_kernels,
    require_instructions,
)
from nmt_cli.machine import cache_folder
from nmt_cli.model.attention import attention_weights, causal_mask
from nmt_cli.model.position_tables import rotation_table

# The largest difference from torch's numbers, of streams of about 1, in the self-test.
LARGEST_ERROR = 1e-5
# Fewer products of queries and keys than this are computed by one thread.
LEAST_WORK_PER_THREAD = 1 << 16
GRADIENTS = "query_gradient", "key_gradient", "value_gradient"


class _Stream(ctypes.Structure):
    """The struct `stream` of the kernels."""

    _fields_ = (("data", ctypes.c_void_p), ("stride", ctypes.c_int64))


class _Streams(ctypes.Structure):
    """The struct `attention` of the kernels."""

    _fields_ = (
        *((name, _Stream) for name in ("query", "key", "value", "output", "output_gradient")),
        *((name, _Stream) for name in GRADIENTS),
        *((name, ctypes.c_void_p) for name in ("log_sums", "rotation")),
        *((name, ctypes.c_void_p) for name in ("query_offsets", "key_offsets")),
        *((name, ctypes.c_int64) for name in ("heads", "d_k", "d_v", "causal", "is_bf16")),
        ("scale", ctypes.c_float),
    )


def native_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    query_segments: Segments,
    key_segments: Segments,
    *,
    causal: bool,
    rotation: Tensor | None = None,
) -> Tensor:
    """softmax(Q K^T / sqrt(d_k)) V within each sentence, in float32; filler gives zeros.

    query (tokens, heads, d_k), key (keys, heads, d_k), value (keys, heads, d_v), on the CPU, and
    not copied if they are float32 or bf16 and the numbers of a token are contiguous.
    rotation: (positions, 2, d_k), as `RotaryPositions.rotation` gives it, by which queries and keys
    are rotated; at least as many positions as the longest sentence has tokens.
    Returns (tokens, heads, d_v) in the dtype of `query`. It has a first derivative only.
    Raises RuntimeError where `attention_kernels` gives none, and for streams on a GPU.
    """
    if not query.is_cpu:
        raise RuntimeError(f"kernels of the CPU cannot read what is on {query.device}")
    kernels = attention_kernels(cache_folder())
    if kernels is None:
        raise RuntimeError("there are no kernels for this CPU")
    return _attend(
        kernels, query, key, value, query_segments, key_segments, causal=causal, rotation=rotation
    )


@cache
def attention_kernels(folder: Path | None) -> TrainingKernels | None:
    """The best kernels that give correct numbers here, from the library in `folder`, or None."""
    return find_training_kernels(folder, _are_right)


def _attend(
    kernels: TrainingKernels,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    query_segments: Segments,
    key_segments: Segments,
    *,
    causal: bool,
    rotation: Tensor | None = None,
) -> Tensor:
    is_bf16 = query.dtype == key.dtype == value.dtype == torch.bfloat16
    streams = (
        _with_whole_tokens(stream if is_bf16 else stream.float()) for stream in (query, key, value)
    )
    attended: Tensor = _NativeAttention.apply(  # type: ignore[no-untyped-call]
        kernels, *streams, (query_segments, key_segments), causal, rotation
    )
    return attended.to(query.dtype)


def _with_whole_tokens(stream: Tensor) -> Tensor:
    """The stream, copied if the numbers of a token are not contiguous."""
    width = stream.shape[2]
    return stream if stream.stride()[1:] == (width, 1) else stream.contiguous()


class _NativeAttention(torch.autograd.Function):
    """The two passes in C, as one function of torch."""

    @staticmethod
    def forward(
        ctx: Any,
        kernels: TrainingKernels,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        segments: tuple[Segments, Segments],
        causal: bool,
        rotation: Tensor | None,
    ) -> Tensor:
        tokens, heads = query.shape[:2]
        output = query.new_empty(tokens, heads, value.shape[2])
        _clear_unwritten([output], *segments)
        log_sums = torch.empty(tokens, heads)
        _compute(kernels, (query, key, value), segments, causal, rotation, log_sums, output=output)
        ctx.save_for_backward(query, key, value, log_sums)
        ctx.kernels, ctx.segments, ctx.causal, ctx.rotation = kernels, segments, causal, rotation
        return output

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, output_gradient: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, log_sums = ctx.saved_tensors
        own, other = ctx.segments
        # Side by side where the projections were, whose gradients are then computed in one product.
        if own.offsets.data_ptr() == other.offsets.data_ptr() and len(query) == len(key):
            gradients = _side_by_side(query, key, value)
        else:
            gradients = [torch.empty_like(query), *_side_by_side(key, value)]
        _clear_unwritten(gradients[:1], own, other)
        _clear_unwritten(gradients[1:], other, own)
        _compute(
            ctx.kernels, (query, key, value), ctx.segments, ctx.causal, ctx.rotation, log_sums,
            output_gradient=_with_whole_tokens(output_gradient),
            **dict(zip(GRADIENTS, gradients, strict=True)),
        )  # fmt: skip
        return None, *gradients, None, None, None


def _side_by_side(*streams: Tensor) -> list[Tensor]:
    """Streams like those given, whose tokens are parts of the rows of one matrix."""
    widths = [stream[0].numel() for stream in streams]
    joined = streams[0].new_empty(len(streams[0]), sum(widths))
    parts = joined.split_with_sizes(widths, dim=1)
    return [part.view(stream.shape) for part, stream in zip(parts, streams, strict=True)]


def _clear_unwritten(streams: list[Tensor], own: Segments, other: Segments) -> None:
    """Zeros in filler, or everywhere if a sentence of the `other` segments alone is empty."""
    begin = own.used
    if other.has_empty and bool(((own.lengths > 0) & (other.lengths == 0)).any()):
        begin = 0
    for stream in streams:
        if begin < len(stream):
            stream[begin:] = 0.0


def _compute(
    kernels: TrainingKernels,
    streams: tuple[Tensor, Tensor, Tensor],
    segments: tuple[Segments, Segments],
    causal: bool,
    rotation: Tensor | None,
    log_sums: Tensor,
    **others: Tensor,
) -> None:
    """One pass; others: `output`, or for the backward pass its gradient and the other gradients.

    Each thread takes a range of the sentences, which does not change the numbers.
    """
    query, key, value = streams
    d_k, d_v = query.shape[2], value.shape[2]
    tensors = {"query": query, "key": key, "value": value, **others}
    own, other = segments
    sentences, longest = own.sentences, other.longest
    if rotation is not None:
        _require_rotation(rotation, longest, d_k)
    struct = _Streams(
        heads=query.shape[1], d_k=d_k, d_v=d_v, causal=causal, scale=1.0 / math.sqrt(d_k),
        is_bf16=query.dtype == torch.bfloat16, log_sums=log_sums.data_ptr(),
        rotation=None if rotation is None else rotation.data_ptr(),
        query_offsets=own.offsets.data_ptr(), key_offsets=other.offsets.data_ptr(),
        **{name: _Stream(part.data_ptr(), part.stride(0)) for name, part in tensors.items()},
    )  # fmt: skip
    scratch_bytes = kernels.library.nmt_attention_bytes(longest, d_k, d_v)

    def compute(first: int, last: int) -> None:
        scratch = torch.empty(scratch_bytes, dtype=torch.uint8)
        failed = kernels.library.nmt_attention(
            kernels.lanes, "output_gradient" in others, ctypes.byref(struct), first, last,
            scratch.data_ptr(),
        )  # fmt: skip
        require_instructions(failed, kernels)

    threads = min(torch.get_num_threads(), sentences)
    threads = min(threads, len(query) * longest // LEAST_WORK_PER_THREAD)
    compute_in_ranges(sentences, threads, compute)


def _require_rotation(rotation: Tensor, longest: int, d_k: int) -> None:
    """Raise ValueError unless the kernels can read `rotation` for sentences of `longest` tokens."""
    is_read = rotation.is_cpu and rotation.dtype == torch.float32 and rotation.is_contiguous()
    if not is_read or rotation.shape[1:] != (2, d_k) or len(rotation) < longest:
        raise ValueError(
            f"the rotation has to be float32 on the CPU, contiguous, of at least {longest} "
            f"positions, 2 and {d_k}, not {rotation.dtype} {tuple(rotation.shape)}"
        )


def rotated(stream: Tensor, rotation: Tensor) -> Tensor:
    """The queries or keys (tokens, heads, d_k) of one sentence, rotated by `rotation` in torch."""
    cosines, sines = rotation[: len(stream), :, None].unbind(1)
    neighbours = stream.reshape(*stream.shape[:-1], -1, 2).flip(-1).flatten(-2)
    result: Tensor = stream * cosines + neighbours * sines
    return result


def _are_right(kernels: TrainingKernels) -> bool:
    """Whether output and gradients are those of equation 1, with and without rotation, in torch."""
    generator = torch.Generator().manual_seed(0)
    lengths = [19, 1, 70]
    segments = Segments.from_lengths(lengths)
    streams = [
        torch.randn(segments.tokens, 2, width, generator=generator).requires_grad_()
        for width in (20, 20, 33)
    ]
    weight = torch.randn(segments.tokens, 2, 33, generator=generator)
    rotation = torch.from_numpy(rotation_table(max(lengths), 20))

    def exact(causal: bool, rotation: Tensor | None) -> Tensor:
        parts = []
        for begin, end in itertools.pairwise(segments.offsets.tolist()):
            query, key, value = (stream[begin:end] for stream in streams)
            if rotation is not None:
                query, key = rotated(query, rotation), rotated(key, rotation)
            query, key, value = (stream.transpose(0, 1) for stream in (query, key, value))
            mask = causal_mask(end - begin) if causal else None
            parts.append((attention_weights(query, key, mask) @ value).transpose(0, 1))
        return torch.cat(parts)

    def native(causal: bool, rotation: Tensor | None) -> Tensor:
        query, key, value = streams
        return _attend(
            kernels, query, key, value, segments, segments, causal=causal, rotation=rotation
        )

    def results(
        attention: Callable[[bool, Tensor | None], Tensor], causal: bool, rotation: Tensor | None
    ) -> list[Tensor]:
        output = attention(causal, rotation)
        return [output, *torch.autograd.grad((output * weight).sum(), streams)]

    with torch.enable_grad(), torch.autocast("cpu", enabled=False):
        return all(
            torch.allclose(actual, expected, rtol=LARGEST_ERROR, atol=LARGEST_ERROR)
            for causal, turns in ((False, None), (True, None), (True, rotation))
            for actual, expected in zip(
                results(native, causal, turns), results(exact, causal, turns), strict=True
            )
        )
