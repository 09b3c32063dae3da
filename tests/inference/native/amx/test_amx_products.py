"""Products with bf16 and split weights by AMX, compared with NumPy and with exact numbers."""

import numpy as np
import pytest
import torch
from amx_cases import Emulation, product, some_affine, some_rows, tile_product
from native_cases import filled_with

from nmt_cli.inference.native import linear
from nmt_cli.inference.native.linear import NativeLinear
from nmt_cli.inference.native.packing.packer import Packer
from nmt_cli.inference.packed.weights import Affine
from nmt_cli.inference.weights import ProjectionRows

# How much a number changes when it is rounded to bf16, and what rounding it to two bf16 numbers
# leaves, at most, by its size.
BF16, TWO_BF16 = 2.0**-8, 2.0**-16
WHOLE_TILES = [(16, 32), (35, 64), (7, 96), (200, 512), (1, 160)]
PART_TILES = [(35, 37), (7, 100), (1, 1), (16, 31), (20, 33)]


@pytest.mark.parametrize("rows", [1, 2, 5, 15, 16, 17, 31, 32, 33, 40])
@pytest.mark.parametrize(
    ("precision", "outputs", "inputs"),
    [
        *(("bf16", *sizes) for sizes in WHOLE_TILES),
        *(("split", *sizes) for sizes in (*WHOLE_TILES, *PART_TILES)),
    ],
)
def test_products_have_the_bits_of_numpy(
    emulated: Emulation, precision: str, rows: int, outputs: int, inputs: int
) -> None:
    layer, x = some_affine(outputs, inputs, bias=rows != 5), some_rows(rows, inputs)
    expected = tile_product(x.numpy(), layer.weight.numpy(), precision)
    expected = expected if layer.bias is None else expected + layer.bias.numpy()
    result = product(emulated.amx, layer, precision, x).numpy()
    assert np.array_equal(result, expected)
    # The vectors add up otherwise, with rows in float32.
    if precision == "bf16":
        assert not np.array_equal(result, product(emulated.vectors, layer, precision, x).numpy())


@pytest.mark.parametrize("rows", [1, 4, 17, 40])
@pytest.mark.parametrize(("outputs", "inputs"), PART_TILES)
def test_bf16_inputs_that_do_not_fill_tiles_are_multiplied_by_vectors(
    emulated: Emulation, rows: int, outputs: int, inputs: int
) -> None:
    layer, x = some_affine(outputs, inputs), some_rows(rows, inputs)
    result = product(emulated.amx, layer, "bf16", x)
    assert torch.equal(result, product(emulated.vectors, layer, "bf16", x))


@pytest.mark.parametrize(("outputs", "inputs"), [*WHOLE_TILES, *PART_TILES, (50, 2048)])
def test_errors_are_within_their_bounds(emulated: Emulation, outputs: int, inputs: int) -> None:
    """The relative errors of both factors, and one of 2^-24 for each addition and product."""
    layer, x = some_affine(outputs, inputs, bias=False), some_rows(40, inputs)
    sizes = x.double().abs() @ layer.weight.double().abs().T
    additions = 3 * (inputs + 32) * 2.0**-24
    result = product(emulated.amx, layer, "split", x).double()
    exact = x.double() @ layer.weight.double().T
    # What both factors lose, and the product of both low halves.
    assert ((result - exact).abs() <= (3.1 * TWO_BF16 + additions) * sizes).all()
    result = product(emulated.amx, layer, "bf16", x).double()
    exact = x.double() @ layer.weight.bfloat16().double().T
    assert ((result - exact).abs() <= 1.01 * (BF16 + additions) * sizes).all()


@pytest.mark.parametrize("precision", ["bf16", "split"])
def test_a_row_does_not_depend_on_its_neighbours_or_threads(
    emulated: Emulation, precision: str
) -> None:
    layer, x = some_affine(50, 64), some_rows(2100, 64)
    together = product(emulated.amx, layer, precision, x)
    for first, count in [(0, 1), (1, 3), (5, 16), (90, 17), (1020, 40), (2099, 1)]:
        part = slice(first, first + count)
        assert torch.equal(product(emulated.amx, layer, precision, x[part]), together[part])
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        assert torch.equal(product(emulated.amx, layer, precision, x), together)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("precision", ["bf16", "int8", "split"])
@pytest.mark.parametrize("inputs", [37, 64])
def test_what_was_in_memory_before_does_not_matter(
    emulated: Emulation, monkeypatch, precision: str, inputs: int
) -> None:
    for count in (1, 3, 17):
        results = []
        for byte in (0, 255):
            monkeypatch.setattr(linear, "empty", filled_with(byte))
            layer, x = some_affine(35, inputs), some_rows(count, inputs)
            results.append(product(emulated.amx, layer, precision, x))
        assert torch.equal(*results)


def test_float32_weights_are_multiplied_by_vectors(emulated: Emulation) -> None:
    layer, x = some_affine(40, 64), some_rows(33, 64)
    result = product(emulated.amx, layer, "float32", x)
    assert torch.equal(result, product(emulated.vectors, layer, "float32", x))


@pytest.mark.parametrize("precision", ["bf16", "split"])
def test_rows_of_zeros_nan_and_infinity(emulated: Emulation, precision: str) -> None:
    layer = some_affine(20, 64)
    x = torch.zeros(6, 64)
    # The last NaN becomes -0 if its bits are rounded as those of a number.
    x[1, 3], x[2, 50], x[3, 63] = torch.nan, torch.inf, -torch.inf
    x[4].view(torch.int32)[9] = 0x7FFFFFFF
    result = product(emulated.amx, layer, precision, x)
    assert torch.equal(result[[0, 5]], layer.bias.expand(2, 20))
    assert not result[1:5].isfinite().any()


def test_rows_are_rounded_to_the_nearest_bf16_of_two_the_even_one(emulated: Emulation) -> None:
    step = 2.0**-7
    numbers = torch.tensor([1.0, 1 + step / 2, 1 + 1.5 * step, 1 + 0.51 * step, -1 - 1.5 * step])
    x = torch.zeros(1, 32)
    x[0, :5] = numbers
    result = product(emulated.amx, Affine(torch.eye(32), None), "bf16", x)
    assert result[0, :5].tolist() == [1.0, 1.0, 1 + 2 * step, 1 + step, -1 - 2 * step]


def test_subnormal_numbers_count_as_zero(emulated: Emulation) -> None:
    """As the instruction takes them; vectors do not."""
    layer = Affine(torch.full((1, 32), 1e30), None)
    x = torch.full((1, 32), 1e-39)
    assert product(emulated.amx, layer, "bf16", x).item() == 0.0
    assert product(emulated.vectors, layer, "bf16", x).item() > 0.0
    x = torch.full((1, 32), 1e-30)
    assert product(emulated.amx, Affine(torch.full((1, 32), 1e-9), None), "bf16", x).item() == 0.0


def test_other_kernels_refuse_split_weights(emulated: Emulation) -> None:
    weight = np.ones((16, 32), np.float32)
    layer = Packer(emulated.library, "split").pack(ProjectionRows.of(weight, None))
    assert layer.packed.shape == (1, 32, 16)
    NativeLinear(emulated.amx, layer)
    with pytest.raises(ValueError, match="kernels do not read split weights"):
        NativeLinear(emulated.vectors, layer)
