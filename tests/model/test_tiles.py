"""Attention in tiles, its Triton kernels interpreted on the CPU, against the paper's formula."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from nmt_cli.batch import Segments, tile_table
from nmt_cli.model.backends.dispatch import attend_joined, tile_attention, use_backend
from nmt_cli.model.backends.tiles import (
    HeadWidths,
    _forward,
    joined_tile_attention,
    tile_attention_function,
)

pytest.importorskip("triton")

# bfloat16 is left out: Triton's interpreter multiplies its bits as if they were whole numbers.
TOLERANCES = {torch.float32: 1e-5, torch.float16: 2e-3}


def after_poison(tensor: Tensor) -> Tensor:
    """The same numbers, and before them in memory some that nobody should read."""
    poison = torch.nan if tensor.is_floating_point() else -2
    return torch.cat([torch.full_like(tensor[:1], poison).expand(2, *tensor.shape[1:]), tensor])[2:]


class Case:
    """Random queries, keys and values of sentences, and what is asked of them."""

    def __init__(
        self, queries, keys=None, *, d_k=8, d_v=8, heads=1, size=16, filler=0, dtype=torch.float32
    ) -> None:
        self.causal = keys is None
        self.lengths = queries, queries if keys is None else keys
        self.size = size
        self.tokens = [sum(length) + filler for length in self.lengths]
        sides = [np.array(length) for length in self.lengths]
        self.tiles = tuple(
            after_poison(tile_table(side, tokens, size, other)[-1])
            for side, tokens, other in zip(sides, self.tokens, reversed(sides), strict=True)
        )
        generator = torch.Generator().manual_seed(1)
        shapes = [(self.tokens[0], d_k), (self.tokens[1], d_k), (self.tokens[1], d_v)]
        shapes.append((self.tokens[0], d_v))
        *self.streams, self.slope = (
            after_poison(torch.randn(tokens, heads, width, generator=generator).to(dtype))
            for tokens, width in shapes
        )

    def run(self) -> tuple[Tensor, ...]:
        """Output and gradients of the kernels."""
        leaves = [stream.detach().requires_grad_() for stream in self.streams]
        output = tile_attention_function(*leaves, self.tiles, causal=self.causal, size=self.size)
        return output, *torch.autograd.grad(output, leaves, self.slope)

    def formula(self) -> tuple[Tensor, ...]:
        """Output and gradients of equation 1 in float64, sentence by sentence; filler gives 0."""
        leaves = [stream.detach().double().requires_grad_() for stream in self.streams]
        parts = []
        for index in range(len(self.lengths[0])):
            rows, columns = (
                slice(sum(length[:index]), sum(length[: index + 1])) for length in self.lengths
            )
            query, key, value = leaves[0][rows], leaves[1][columns], leaves[2][columns]
            scores = torch.einsum("qhd,khd->hqk", query, key) / query.shape[2] ** 0.5
            if self.causal:
                scores = scores + torch.full(scores.shape, -torch.inf).triu(1)
            parts.append(torch.einsum("hqk,khd->qhd", scores.softmax(-1), value))
        filler = torch.zeros(self.tokens[0] - sum(self.lengths[0]), *parts[0].shape[1:])
        output = torch.cat([*parts, filler.double()])
        return output, *torch.autograd.grad(output, leaves, self.slope.double())

    def check(self) -> None:
        """What `run` gives is `formula`, to rounding."""
        names = "output", "query", "key", "value"
        for name, result, expected in zip(names, self.run(), self.formula(), strict=True):
            error = (result.double() - expected).abs().max()
            # A sentence of one token has no gradient but its value's.
            assert error <= TOLERANCES[result.dtype] * (expected.abs().max() or 1.0), name


@given(
    pairs=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=6),
    filler=st.integers(0, 5),
    size=st.sampled_from([1, 2, 4]),
)
def test_tiles_hold_each_token_once_and_the_ranges_of_its_sentence(pairs, filler, size) -> None:
    lengths, other = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    tokens = int(lengths.sum()) + filler
    tables = tile_table(lengths, tokens, size, other)
    assert tables.dtype == torch.int32
    assert tables.is_contiguous()
    assert tables.shape == (2, tokens // size + len(pairs) + 1, 4)
    assert torch.equal(tables[:1], tile_table(lengths, tokens, size))
    own_rows, other_rows = tables.tolist()
    assert [row[:2] for row in own_rows] == [row[:2] for row in other_rows]
    used = [row for row in own_rows if row[1] > row[0]]
    for rows in (own_rows, other_rows):
        assert rows[len(used) :] == [[0, 0, 0, 0]] * (len(rows) - len(used))
    assert [token for start, end, *_ in used for token in range(start, end)] == list(range(tokens))
    ranges = [
        [(sum(side[:index]), sum(side[: index + 1])) for index in range(len(pairs))]
        for side in (lengths.tolist(), other.tolist())
    ]
    owners = [sentence for sentence, length in enumerate(lengths) for _ in range(length)]
    for own_row, other_row in zip(used, other_rows, strict=False):
        start, end = own_row[:2]
        assert end - start <= size
        if start >= len(owners):
            assert own_row[2:] == other_row[2:] == [0, 0]
            continue
        sentence = owners[start]
        assert (*own_row[2:],) == ranges[0][sentence]
        assert (*other_row[2:],) == ranges[1][sentence]
        assert (start - own_row[2]) % size == 0
        assert end == min(start + size, own_row[3])


@settings(max_examples=8)
@given(
    pairs=st.lists(st.tuples(st.integers(0, 35), st.integers(1, 35)), min_size=1, max_size=3),
    causal=st.booleans(),
)
def test_tiles_pair_each_query_with_each_allowed_key_once(pairs, causal) -> None:
    queries, keys = ([pair[side] for pair in pairs] for side in (0, 1))
    case = Case(queries, None if causal else keys, filler=2)
    query, key, value = case.streams
    # All weights are equal for queries of zero: the softmax's sum counts the keys.
    _, log_sums = _forward(
        [torch.zeros_like(query), key, value], 1, 8, 8, *case.tiles, case.causal, case.size
    )
    expected = [
        position + 1 if causal else keys[sentence]
        for sentence, length in enumerate(queries)
        for position in range(length)
    ]
    torch.testing.assert_close(log_sums[0].exp2(), torch.tensor([*expected, 1, 1]).float())


CASES = {
    "lengths around a tile's": Case([15, 16, 17, 1, 3], filler=2),
    "single tokens": Case([1] * 4),
    "one long sentence": Case([70], d_k=16, d_v=16),
    "sentences without tokens": Case([0, 3, 0, 2, 0, 0], filler=20),
    "cross": Case([3, 1, 18, 0], [5, 19, 2, 1], filler=1),
    "cross, one long source": Case([2], [50], d_k=16, d_v=64),
    "values wider": Case([5, 20], d_k=8, d_v=24, heads=2),
    "keys wider": Case([20, 5], d_k=40, d_v=5, heads=2),
    "the width of the base model": Case([40, 7], d_k=64, d_v=64, size=32),
    "one number a head": Case([4], [6], d_k=1, d_v=1),
    "float16": Case([20, 3], d_k=16, dtype=torch.float16),
    "float16, cross": Case([3, 20], [18, 2], d_k=16, d_v=32, dtype=torch.float16),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_tile_attention_output_and_gradients_equal_the_formula(case) -> None:
    case.check()


def test_tile_attention_nan_in_filler_does_not_spread() -> None:
    clean, poisoned = (Case([3, 18], [2, 17], filler=4) for _ in range(2))
    for stream in (*poisoned.streams, poisoned.slope):
        stream[-4:] = torch.nan
    for result, expected in zip(poisoned.run(), clean.run(), strict=True):
        assert torch.equal(result, expected)
        assert not result[-4:].any()


@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
def test_tile_attention_nan_stays_in_its_sentence() -> None:
    clean, poisoned = (Case([3, 2, 20]) for _ in range(2))
    for stream in poisoned.streams:
        stream[3:5] = torch.nan
    others = [0, 1, 2, *range(5, 25)]
    for result, expected in zip(poisoned.run(), clean.run(), strict=True):
        assert result[3:5].isnan().all()
        assert torch.equal(result[others], expected[others])


def test_tiles_handle_scores_that_overflow_exp() -> None:
    case = Case([5, 20])
    case.streams[0] *= 1e3
    result, expected = case.run()[0], case.formula()[0]
    torch.testing.assert_close(result.double(), expected, rtol=0, atol=1e-3)


def test_tile_attention_accepts_non_contiguous_streams() -> None:
    case = Case([5, 17], heads=2)
    expected = case.run()
    together = torch.cat(case.streams, dim=-1)
    case.streams = list(together.split(8, dim=-1))
    case.streams[2] = case.streams[2].transpose(0, 2).contiguous().transpose(0, 2)
    assert not any(stream.is_contiguous() for stream in case.streams)
    for result, wanted in zip(case.run(), expected, strict=True):
        assert torch.equal(result, wanted)
    case.slope = torch.ones(1).expand(case.slope.shape)
    case.check()


def test_tile_attention_refuses_other_widths_and_dtypes() -> None:
    wide, double, unequal = Case([2], d_k=129), Case([2], dtype=torch.float64), Case([2])
    unequal.tiles = unequal.tiles[0], tile_table(np.array([1, 1]), 2, 16)[0]
    mixed = Case([2])
    mixed.streams[1] = mixed.streams[1].half()
    for case, message in ((wide, "129"), (double, "float64"), (mixed, "16"), (unequal, "same")):
        with pytest.raises(ValueError, match=message):
            case.run()


def test_tile_operator_passes_opcheck() -> None:
    case = Case([2, 3])
    leaves = [stream.requires_grad_() for stream in case.streams]
    arguments = (leaves, 1, 8, 8, *case.tiles, True, 16)
    torch.library.opcheck(_forward, arguments, test_utils=("test_schema", "test_faketensor"))


def test_model_with_tiles_equals_plain_model(make_model, random_batch) -> None:
    model = make_model({"model.layers": 1, "model.heads": 2, "model.positions": "rotary"}).float()
    batch = random_batch(model.config, [3, 5], [4, 2])
    results = []
    for backend in ("plain", "tiles"):
        use_backend(model, backend)
        logits = model(batch)
        results.append([logits, *torch.autograd.grad(logits.square().sum(), model.parameters())])
    for result, expected in zip(*results, strict=True):
        torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("bias", [False, True])
def test_joined_projections_give_the_same_as_separate_ones(
    make_model, random_batch, monkeypatch, bias: bool
) -> None:
    """As on a GPU: the kernels read queries, keys and values from one tensor, and write one."""
    settings = {"model.layers": 1, "model.heads": 2, "model.attention_bias": bias}
    model = make_model(settings).float()
    batch = random_batch(model.config, [3, 5], [4, 2])
    use_backend(model, "tiles")
    results, joined = [], []
    monkeypatch.setattr(
        "nmt_cli.model.layers.attend_joined",
        lambda *given, **more: joined.append(len(given[1])) or attend_joined(*given, **more),
    )
    for joins in (False, True):
        monkeypatch.setattr("nmt_cli.model.attention.joins_projections", lambda _, j=joins: j)
        logits = model(batch)
        results.append([logits, *torch.autograd.grad(logits.square().sum(), model.parameters())])
    assert joined == [1, 1, 2]
    for result, expected in zip(*results, strict=True):
        torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("d_k", "d_v"), [(8, 8), (16, 8), (8, 24)])
def test_gradient_of_joined_streams_is_one_tensor(d_k: int, d_v: int) -> None:
    case = Case([5, 17, 1], filler=2, d_k=d_k, d_v=d_v, heads=2)
    leaf = torch.cat([stream.flatten(1) for stream in case.streams], dim=1).requires_grad_()
    output = joined_tile_attention(
        [leaf], HeadWidths(2, d_k, d_v), case.tiles, causal=True, size=case.size
    )
    (gradient,) = torch.autograd.grad(output, leaf, case.slope)
    expected, *gradients = case.run()
    assert torch.equal(output, expected)
    assert torch.equal(gradient, torch.cat([part.flatten(1) for part in gradients], dim=1))


def test_segments_have_a_tile_table() -> None:
    lengths, other = np.array([40, 3]), np.array([2, 70])
    segments = Segments.from_lengths(lengths, 50, other=other)
    assert torch.equal(segments.tiles, tile_table(lengths, 50, 32, other))
    assert torch.equal(segments.to("cpu").tiles, segments.tiles)
    square = Segments.rectangle(2, 5)
    assert torch.equal(square.tiles, tile_table(np.array([5, 5]), 10, 32))


def test_both_sides_of_a_batch_have_the_ranges_of_the_other(random_batch, make_model) -> None:
    batch = random_batch(make_model({}).config, [40, 3], [2, 70])
    src, tgt = batch.src_segments, batch.tgt_segments
    assert src.tiles[1, :3, 2:].tolist() == [[0, 2], [0, 2], [2, 72]]
    assert tgt.tiles[1, :4, 2:].tolist() == [[0, 40], [40, 43], [40, 43], [40, 43]]


def test_attention_between_segments_not_made_for_each_other_is_refused() -> None:
    queries = Segments.from_lengths([2, 1])
    keys = Segments.from_lengths([4, 1], other=[2, 1])
    streams = torch.zeros(3, 1, 8), torch.zeros(5, 1, 8), torch.zeros(5, 1, 8)
    for sides in ((queries, keys), (keys, queries)):
        with pytest.raises(ValueError, match="other side"):
            tile_attention(*streams, *sides, causal=False)


_COMPILE = """
import json, sys
import torch
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile
from nmt_cli.model.backends import tile_kernels as kernels
from nmt_cli.model.backends.tiles import _constants

KINDS = {"tiles": "*i32", "log_sums": "*fp32", "shares": "*fp32",
         "scale": "fp32", "tokens": "i32"}
stream = torch.empty(4, 8, 64, dtype=torch.bfloat16)
constants = {**_constants(stream, stream, 32), "causal": True}
options = {name: constants.pop(name) for name in ("num_warps", "num_stages")}
programs = {}
for kernel in (kernels.attend_tile, kernels.query_gradient_tile, kernels.key_gradient_tile):
    kinds = {name: "constexpr" if name in constants else KINDS.get(name, "*bf16")
             for name in kernel.arg_names}
    kinds.update({n: "i32" for n in kernel.arg_names if n.endswith(("_row", "_head"))})
    source = ASTSource(fn=kernel, signature=kinds, constexprs=constants)
    done = compile(source, target=GPUTarget("cuda", int(sys.argv[1]), 32), options=options)
    programs[kernel.__name__] = done.asm["ptx"].count("mma.sync")
print(json.dumps(programs))
"""


@pytest.mark.slow
def test_tile_kernels_compile_for_gpu_with_matrix_units(tmp_path) -> None:
    """Triton brings NVIDIA's assembler; a GPU is needed only to run what comes out."""
    done = subprocess.run(
        [sys.executable, "-c", _COMPILE, "90"], capture_output=True, text=True, check=False,
        env={**os.environ, "TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    products = json.loads(done.stdout)
    assert len(products) == 3
    assert all(products.values()), products
