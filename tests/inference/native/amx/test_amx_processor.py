"""The tiles of the processor itself, where it has AMX: the same bits as the emulated ones."""

import pytest
import torch
from amx_cases import AMX, Emulation, product, some_affine, some_rows

from nmt_cli.inference.native.linear import Kernels


@pytest.mark.parametrize("precision", ["int8", "bf16", "split"])
@pytest.mark.parametrize("rows", [1, 4, 5, 16, 17, 32, 33, 70])
def test_products_have_the_bits_of_the_emulation(
    emulated: Emulation, kernels: Kernels, precision: str, rows: int
) -> None:
    # Inputs that do not fill tiles of bf16 are multiplied by vectors.
    odd = 96 if precision == "bf16" else 100
    for outputs, inputs in ((16, 64), (35, 128), (7, odd), (200, 512), (33, 2048)):
        layer, x = some_affine(outputs, inputs), some_rows(rows, inputs)
        try:
            result = product(Kernels(kernels.library, AMX), layer, precision, x)
        except RuntimeError:
            pytest.skip("this CPU has no AMX")
        assert torch.equal(result, product(emulated.amx, layer, precision, x))
