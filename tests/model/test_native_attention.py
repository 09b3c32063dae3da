"""Attention in C for training on a CPU: output and gradients, on each instruction set."""

import itertools
import shutil
from pathlib import Path

import pytest
import torch
from native_kernels import require_kernels
from variants import model_config

from nmt_cli.batch import Segments
from nmt_cli.kernels.training import MissingInstructionsError, TrainingKernels
from nmt_cli.machine import cache_folder
from nmt_cli.model.backends import native
from nmt_cli.model.backends.dispatch import attend
from nmt_cli.model.backends.native import attention_kernels, native_attention
from nmt_cli.model.positions import RotaryPositions

# Shorter, as long as and longer than a block of 64 queries, of vectors of 8 and 16 floats.
LENGTHS = [3, 64, 1, 130, 17]


@pytest.fixture
def kernels() -> TrainingKernels:
    return require_kernels(attention_kernels(cache_folder()))


def streams(
    lengths: list[int], key_lengths: list[int], widths: tuple[int, int], filler: int = 0
) -> tuple[list[torch.Tensor], list[Segments]]:
    generator = torch.Generator().manual_seed(0)
    segments = [
        Segments.from_lengths(sizes, sum(sizes) + filler) for sizes in (lengths, key_lengths)
    ]
    sides = ((segments[0], widths[0]), (segments[1], widths[0]), (segments[1], widths[1]))
    made = [torch.randn(side.tokens, 3, width, generator=generator) for side, width in sides]
    return made, segments


def results(
    made: list[torch.Tensor], segments: list[Segments], backend: str, causal: bool
) -> list[torch.Tensor]:
    """The output and the gradients of the streams; filler has no influence on the loss."""
    leaves = [stream.clone().requires_grad_() for stream in made]
    output = attend(*leaves, *segments, causal=causal, backend=backend)
    return with_gradients(output, leaves, segments)


def with_gradients(
    output: torch.Tensor, leaves: list[torch.Tensor], segments: list[Segments]
) -> list[torch.Tensor]:
    used = segments[0].used
    weight = torch.linspace(-1.0, 1.0, output[:used].numel()).view_as(output[:used])
    return [
        output[:used].detach(),
        *torch.autograd.grad((output[:used].to(weight.dtype) * weight).sum(), leaves),
    ]


@pytest.mark.parametrize("lanes", [16, 8])
@pytest.mark.parametrize("widths", [(64, 64), (5, 33)])
@pytest.mark.parametrize("causal", [False, True])
def test_native_attention_equals_the_plain_one_in_double_precision(
    kernels, monkeypatch, lanes, widths, causal
) -> None:
    forced = TrainingKernels(kernels.library, lanes)
    monkeypatch.setattr(native, "attention_kernels", lambda _: forced)
    made, segments = streams(LENGTHS, LENGTHS if causal else [40, 7, 90, 2, 16], widths)
    expected = results([stream.double() for stream in made], segments, "plain", causal)
    if lanes > kernels.lanes:
        with pytest.raises(MissingInstructionsError, match="no kernels of 16 lanes"):
            results(made, segments, "native", causal)
        return
    for actual, exact in zip(results(made, segments, "native", causal), expected, strict=True):
        torch.testing.assert_close(actual.double(), exact, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("lanes", [16, 8])
@pytest.mark.parametrize("width", [64, 6])
def test_rotation_equals_that_of_rotary_positions_in_double_precision(
    kernels, monkeypatch, lanes: int, width: int
) -> None:
    if lanes > kernels.lanes:
        pytest.skip("this CPU has no such instructions")
    forced = TrainingKernels(kernels.library, lanes)
    monkeypatch.setattr(native, "attention_kernels", lambda _: forced)
    made, segments = streams(LENGTHS, LENGTHS, (width, 20), filler=3)
    kind = RotaryPositions(model_config({"model.positions": "rotary", "model.d_k": width}))
    leaves = [stream.clone().requires_grad_() for stream in made]
    rotation = kind.rotation(segments[0].max_length)
    ours = with_gradients(
        native_attention(*leaves, *segments, causal=True, rotation=rotation), leaves, segments
    )
    kind.double()
    exact = [stream.double().requires_grad_() for stream in made]
    query, key = (
        kind.rotate(stream, segments[0].positions, segments[0].max_length) for stream in exact[:2]
    )
    plain = attend(query, key, exact[2], *segments, causal=True, backend="plain")
    for actual, expected in zip(ours, with_gradients(plain, exact, segments), strict=True):
        torch.testing.assert_close(actual.double(), expected, rtol=1e-5, atol=1e-5)


@torch.no_grad()
def test_a_rotation_that_the_kernels_cannot_read_is_refused(kernels) -> None:
    made, segments = streams([5], [5], (8, 8))
    right = torch.zeros(5, 2, 8)
    native_attention(*made, *segments, causal=True, rotation=right)
    for wrong in (right[:4], right.double(), torch.zeros(5, 8, 2), torch.zeros(5, 8, 2).mT):
        with pytest.raises(ValueError, match="at least 5 positions, 2 and 8, not torch"):
            native_attention(*made, *segments, causal=True, rotation=wrong)


def test_sentences_without_a_counterpart_give_zeros_and_get_no_gradient(kernels) -> None:
    made, segments = streams([3, 4, 2, 0], [5, 0, 6, 4], (8, 8))
    before = torch.are_deterministic_algorithms_enabled()
    # New memory is filled with NaN in this mode.
    torch.use_deterministic_algorithms(True)
    try:
        output, *gradients = results(made, segments, "native", causal=False)
    finally:
        torch.use_deterministic_algorithms(before)
    assert not output[3:7].any()
    assert output[:3].any()
    query, key, value = gradients
    assert not query[3:7].any()
    for gradient in (key, value):
        assert gradient[:11].any()
        assert not gradient[11:].any()


@pytest.mark.parametrize("causal", [False, True])
def test_filler_gives_zeros_and_gets_no_gradient(kernels, causal: bool) -> None:
    made, segments = streams([5, 20, 0], [5, 20, 0], (16, 16), filler=7)
    output = attend(*made, *segments, causal=causal, backend="native")
    assert (output[25:] == 0).all()
    exact, filled = (
        results([stream[:length] for stream in made], sides, "native", causal)
        for length, sides in ((25, [Segments.from_lengths([5, 20])] * 2), (32, segments))
    )
    assert torch.equal(exact[0], filled[0])
    for own, other in zip(exact[1:], filled[1:], strict=True):
        assert torch.equal(own, other[:25])
        assert (other[25:] == 0).all()


def test_threads_change_no_bit(kernels, monkeypatch) -> None:
    monkeypatch.setattr(native, "LEAST_WORK_PER_THREAD", 1)
    made, segments = streams(LENGTHS, LENGTHS, (8, 8))
    found = []
    for threads in (1, 2, 4, 9):
        monkeypatch.setattr("torch.get_num_threads", lambda threads=threads: threads)
        found.append(results(made, segments, "native", causal=True))
    for one, other in itertools.pairwise(found):
        assert all(map(torch.equal, one, other))


def test_a_sentence_has_the_same_bits_in_any_batch(kernels) -> None:
    made, segments = streams(LENGTHS, LENGTHS, (8, 8))
    together = results(made, segments, "native", causal=True)[0]
    begin, end = 67, 67 + 1 + 130
    alone = [Segments.from_lengths([1, 130])] * 2
    own = attend(*(stream[begin:end] for stream in made), *alone, causal=True, backend="native")
    assert torch.equal(own, together[begin:end])


def test_bf16_streams_are_computed_in_float32(kernels) -> None:
    made, segments = streams([9, 4], [9, 4], (8, 8))
    narrow = [stream.bfloat16() for stream in made]
    with torch.autocast("cpu", torch.bfloat16):
        output = attend(*narrow, *segments, causal=True, backend="native")
    wide = [stream.float() for stream in narrow]
    exact = attend(*wide, *segments, causal=True, backend="native")
    assert output.dtype == torch.bfloat16
    assert torch.equal(output, exact.bfloat16())


def test_numbers_that_are_not_finite_stay_in_their_sentence(kernels) -> None:
    made, segments = streams([4, 6], [4, 6], (8, 8))
    made[2][1, 0, 0] = torch.nan
    output = attend(*made, *segments, causal=False, backend="native")
    assert output[:4, 0, 0].isnan().all()
    assert output[4:].isfinite().all()


def test_kernels_that_give_wrong_numbers_are_not_used(kernels, tmp_path, monkeypatch) -> None:
    shutil.copytree(cache_folder(), tmp_path / "cache")
    real, bad = native._compute, [16]

    def wrong(own: TrainingKernels, *arguments: object, **others: torch.Tensor) -> None:
        real(own, *arguments, **others)
        if "query_gradient" in others and own.lanes in bad:
            others["query_gradient"][0, 0, 0] += 1e-3

    monkeypatch.setattr(native, "_compute", wrong)
    for lanes in (8, None):
        attention_kernels.cache_clear()
        found = attention_kernels(tmp_path / "cache")
        assert (found and found.lanes) == lanes
        bad.append(8)
    attention_kernels.cache_clear()


@pytest.mark.parametrize(("name", "lanes"), [("avx2", 8), ("portable", None)])
def test_instruction_set_can_be_chosen(kernels, monkeypatch, name: str, lanes: int | None) -> None:
    monkeypatch.setenv("NMT_CPU_ISA", name)
    attention_kernels.cache_clear()
    found = attention_kernels(cache_folder())
    attention_kernels.cache_clear()
    assert (found and found.lanes) == lanes


def test_without_a_cache_or_a_compiler_there_are_no_kernels(tmp_path: Path, monkeypatch) -> None:
    assert attention_kernels(None) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert attention_kernels(tmp_path) is None
    monkeypatch.setattr(native, "attention_kernels", lambda _: None)
    made, segments = streams([2], [2], (4, 4))
    with pytest.raises(RuntimeError, match="no kernels for this CPU"):
        attend(*made, *segments, causal=True, backend="native")


def test_streams_on_a_gpu_are_refused() -> None:
    """Their addresses mean nothing to the CPU: reading them would end the process."""
    stream = torch.empty(4, 1, 8, device="meta")
    segments = Segments.from_lengths([4])
    with pytest.raises(RuntimeError, match="cannot read what is on meta"):
        native_attention(stream, stream, stream, segments, segments, causal=False)
