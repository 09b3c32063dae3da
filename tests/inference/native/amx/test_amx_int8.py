"""The AMX kernels for int8: exact sums, and so the bits of all other kernels."""

import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from amx_cases import Emulation
from native_cases import TorchSteps, native_linear, native_model

from nmt_cli.inference.native.decoder import NativeDecoder
from nmt_cli.inference.native.linear import Kernels
from nmt_cli.inference.packed.weights import Affine
from nmt_cli.search.arrays.torch_arrays import TorchArrays
from nmt_cli.search.decoder import Edits, Source


@pytest.mark.parametrize("rows", [1, 5, 16, 17, 31, 32, 33, 70])
@pytest.mark.parametrize(("outputs", "inputs"), [(16, 64), (35, 128), (200, 512), (7, 100)])
def test_products_have_the_bits_of_other_kernels(
    emulated: Emulation, kernels: Kernels, rows: int, outputs: int, inputs: int
) -> None:
    generator = torch.Generator().manual_seed(rows)
    weight = torch.randn(outputs, inputs, generator=generator)
    x, bias = torch.randn(rows, inputs, generator=generator), torch.randn(outputs)
    for affine in (Affine(weight, bias), Affine(weight, None)):
        result = native_linear(emulated.amx, affine)(x)
        assert torch.equal(result, native_linear(emulated.vectors, affine)(x))
        assert torch.equal(result, native_linear(kernels, affine)(x))


def test_many_rows(emulated: Emulation) -> None:
    generator = torch.Generator().manual_seed(0)
    affine = Affine(torch.randn(40, 64, generator=generator), None)
    x = torch.randn(2100, 64, generator=generator)
    results = [native_linear(each, affine)(x) for each in (emulated.amx, emulated.vectors)]
    assert torch.equal(*results)


@pytest.mark.parametrize("slots", [1, 9, 30])
def test_steps_have_the_bits_of_other_kernels(emulated: Emulation, make_model, slots: int) -> None:
    """The output layer too, with 2 rows of each slot: fewer than a tile has, and more than two."""
    sizes = {"model.src_vocab_size": 1500, "model.tgt_vocab_size": 1500}
    model = make_model({**sizes, "model.d_model": 64, "model.d_ff": 128, "model.heads": 4}).float()
    results = []
    for kernels in (emulated.amx, emulated.vectors):
        native = native_model(model, kernels, "int8")
        decoder = TorchSteps(NativeDecoder(native, slots, 2))
        decoder.admit(range(slots), [Source([4 + slot, 9, 3]) for slot in range(slots)])
        rows = torch.arange(2 * slots)
        edits = Edits.ban([0, 1499], 2 * slots, TorchArrays("cpu"))
        steps = [decoder.step(rows, rows + 10 * index + 4) for index in range(2)]
        results.append([*steps[-1].top(5, edits), steps[-1].full()])
    assert all(torch.equal(*pair) for pair in zip(*results, strict=True))


def test_the_library_has_the_instructions(kernels: Kernels, kernel_cache: Path) -> None:
    """What the compiler makes of the tiles, where it knows them."""
    if shutil.which("objdump") is None:
        pytest.skip("there is no objdump")
    (path,) = kernel_cache.glob("kernels-*.so")
    code = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", str(path)],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    version = subprocess.run(["cc", "-dumpversion"], check=True, capture_output=True, text=True)
    if "x86-64" not in code.splitlines()[1] or int(version.stdout.split(".")[0]) < 12:
        pytest.skip("no compiler for AMX")
    wanted = {"ldtilecfg", "tdpbusd", "tdpbf16ps", "tilerelease"}
    assert {name for name in wanted if name in code} == wanted
