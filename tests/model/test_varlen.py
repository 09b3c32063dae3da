"""What torch's kernel for unequal sentences is given, and what of its answer is kept."""

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from nmt_cli.batch import Segments
from nmt_cli.model.backends.dispatch import attend
from nmt_cli.model.backends.varlen import has_varlen, varlen_attention, varlen_widths_fit


class _LikeTheKernel(torch.autograd.Function):
    """The identity, but rows of no sentence are NaN in both directions, as memory may be."""

    @staticmethod
    def forward(ctx, stream: Tensor, used: int) -> Tensor:
        ctx.used = used
        poisoned = stream.clone()
        poisoned[used:] = torch.nan
        return poisoned

    @staticmethod
    def backward(ctx, slope: Tensor):
        poisoned = slope.clone()
        poisoned[ctx.used :] = torch.nan
        return poisoned, None


def stand_in(query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, *, window_size=(-1, -1)):
    """`varlen_attn` by the formula; it refuses what the kernel would."""
    assert cu_seq_q.dtype == cu_seq_k.dtype == torch.int32
    assert cu_seq_q.shape == cu_seq_k.shape
    lengths = [value.diff().tolist() for value in (cu_seq_q, cu_seq_k)]
    assert (type(max_q), type(max_k)) == (int, int)
    assert max(lengths[0]) <= max_q
    assert max(lengths[1]) <= max_k
    segments = [Segments.from_lengths(length) for length in lengths]
    used = [segment.used for segment in segments]
    query = _LikeTheKernel.apply(query, used[0])
    key, value = (_LikeTheKernel.apply(entry, used[1]) for entry in (key, value))
    causal = {(-1, 0): True, (-1, -1): False}[window_size]
    parts = query[: used[0]], key[: used[1]], value[: used[1]]
    output = attend(*parts, *segments, causal=causal)
    filler = torch.full((len(query) - used[0], *output.shape[1:]), torch.nan)
    return torch.cat([output, filler])


def random_streams(*tokens: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(token, 2, 8, generator=generator).requires_grad_() for token in tokens]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("filler", [0, 3])
def test_varlen_calls_torch_kernel_with_offsets_and_window(causal, filler, monkeypatch) -> None:
    monkeypatch.setattr("torch.nn.attention.varlen.varlen_attn", stand_in)
    lengths = ([3, 1, 4], [3, 1, 4]) if causal else ([3, 1, 4], [2, 5, 1])
    segments = [Segments.from_lengths(length, sum(length) + filler) for length in lengths]
    tokens = [segment.tokens for segment in segments]
    streams = random_streams(tokens[0], tokens[1], tokens[1])
    used = [segment.used for segment in segments]
    plain = [
        stream[:argument]
        for stream, argument in zip(streams, (used[0], *used[1:] * 2), strict=True)
    ]
    packed = [Segments.from_lengths(length) for length in lengths]
    expected = attend(*plain, *packed, causal=causal)
    result = varlen_attention(*streams, *segments, causal=causal)
    assert torch.equal(result[: used[0]], expected)
    assert not result[used[0] :].any()
    slopes = torch.autograd.grad(result.square().sum(), streams)
    for slope, expected_slope in zip(
        slopes, torch.autograd.grad(expected.square().sum(), streams), strict=True
    ):
        torch.testing.assert_close(slope, expected_slope)


@pytest.mark.filterwarnings("ignore")
def test_torch_varlen_function_takes_the_arguments() -> None:
    assert has_varlen()
    segments = Segments.from_lengths([3, 2], 6)
    streams = [random_stream.detach().half() for random_stream in random_streams(6, 6, 6)]
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        faked = [mode.from_tensor(stream) for stream in streams]
        result = varlen_attention(*faked, segments, segments, causal=True)
    assert (result.shape, result.dtype) == ((6, 2, 8), torch.float16)


def test_has_varlen_is_false_without_window_argument(monkeypatch) -> None:
    monkeypatch.setattr("torch.nn.attention.varlen.varlen_attn", lambda query, is_causal: query)
    assert not has_varlen()
    monkeypatch.setitem(__import__("sys").modules, "torch.nn.attention.varlen", None)
    assert not has_varlen()


def test_varlen_kernel_supports_head_widths() -> None:
    assert varlen_widths_fit(64, 64)
    assert varlen_widths_fit(256, 256)
    assert not varlen_widths_fit(64, 32)
    assert not varlen_widths_fit(20, 20)
    assert not varlen_widths_fit(264, 264)
