"""Split products: near the exact ones for all sizes and layouts, in whole models too.

The instructions of AMX are emulated in C, since few machines have them.
"""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from emulated_tiles import emulated_tiles
from lanes import first_fast
from older_models import older_model
from torch import Tensor
from variants import VARIANTS

from nmt_cli.errors import ConfigError
from nmt_cli.kernels import library
from nmt_cli.kernels.instruction_sets import VARIABLE
from nmt_cli.kernels.training import SOURCES, TrainingKernels
from nmt_cli.machine import cache_folder
from nmt_cli.model.backends.dispatch import choose_backend, use_backend
from nmt_cli.model.native import split_products as products
from nmt_cli.model.native.split_products import (
    LARGEST_ERROR,
    PRODUCTS,
    largest_errors,
    multiply,
    split_kernels,
)
from nmt_cli.model.precision import check_precision, precision_name, split_products
from nmt_cli.model.torch_adapter import OperatorMode
from nmt_cli.training.loss.cross_entropy import linear_cross_entropy

CPU = torch.device("cpu")
SIZES = [1, 2, 15, 16, 17, 31, 33, 64, 70]


@pytest.fixture
def kernels(kernel_cache: Path) -> Iterator[TrainingKernels]:
    torch.manual_seed(1)
    with emulated_tiles(kernel_cache.parent / "emulated"):
        found, reason = split_kernels(cache_folder())
        assert found is not None, reason
        yield found


def in_layout(matrix: Tensor, layout: str) -> Tensor:
    """The same numbers with other strides."""
    if layout == "transposed":
        return matrix.T.clone().T
    if layout == "apart":
        return torch.stack([matrix, -matrix], dim=2)[:, :, 0]
    if layout == "part":
        return F.pad(matrix, (3, 5, 2, 1), value=torch.nan)[2:-1, 3:-5]
    return matrix


def assert_right(kernels: TrainingKernels, left: Tensor, right: Tensor, out: Tensor) -> None:
    exact, limit = left.double() @ right.double(), largest_errors(left, right)
    multiply(kernels, left, right, out, accumulates=False)
    assert ((out - exact).abs() <= limit).all()
    multiply(kernels, left, right, out, accumulates=True)
    assert ((out - 2 * exact).abs() <= 2 * limit).all()


@pytest.mark.parametrize("rows", SIZES)
@pytest.mark.parametrize("columns", SIZES)
def test_products_of_all_sizes_are_near_the_exact_ones(kernels, rows, columns) -> None:
    for depth in (*SIZES, 255, 256, 257, 515):
        left, right = torch.randn(rows, depth), torch.randn(depth, columns)
        assert_right(kernels, left, right, torch.full((rows, columns), torch.nan))


@pytest.mark.parametrize(("rows", "columns"), [(1100, 40), (40, 1100), (530, 529)])
def test_products_of_several_parts_are_near_the_exact_ones(kernels, rows, columns) -> None:
    left, right = torch.randn(rows, 300), torch.randn(300, columns)
    assert_right(kernels, left, right, torch.empty(rows, columns))


def test_the_tiles_of_the_processor_have_the_bits_of_the_emulation(kernel_cache: Path) -> None:
    real, reason = split_kernels(cache_folder())
    if real is None:
        pytest.skip(reason)
    torch.manual_seed(1)
    with emulated_tiles(kernel_cache.parent / "emulated"):
        emulated, reason = split_kernels(cache_folder())
    assert emulated is not None, reason
    for rows, depth, columns in ((1, 1, 1), (37, 300, 70), (64, 33, 1100), (600, 70, 31)):
        left, right = torch.randn(rows, depth), torch.randn(depth, columns)
        for first, second in ((left, right), (left, right.T.clone().T), (left.T.clone().T, right)):
            outs = torch.empty(2, rows, columns)
            multiply(real, first, second, outs[0], accumulates=False)
            multiply(emulated, first, second, outs[1], accumulates=False)
            assert torch.equal(*outs)


@pytest.mark.parametrize("layout", ["plain", "transposed", "apart", "part"])
@pytest.mark.parametrize("other", ["plain", "transposed", "apart", "part"])
def test_strides_change_nothing(kernels, layout, other) -> None:
    for rows, depth, columns in ((37, 45, 50), (1, 33, 40), (40, 33, 1), (5, 1, 7), (64, 64, 64)):
        left, right = torch.randn(rows, depth), torch.randn(depth, columns)
        expected = torch.empty(rows, columns)
        multiply(kernels, left, right, expected, accumulates=False)
        twice = expected.clone()
        multiply(kernels, left, right, twice, accumulates=True)
        for kept in ("plain", "transposed", "apart", "part"):
            out = in_layout(torch.zeros(rows, columns), kept)
            multiply(
                kernels, in_layout(left, layout), in_layout(right, other), out, accumulates=False
            )
            assert torch.equal(out, expected)
            multiply(kernels, left, right, out, accumulates=True)
            assert torch.equal(out, twice)


def test_strides_of_single_numbers_do_not_matter(kernels) -> None:
    numbers = torch.randn(9)
    one, column = numbers.as_strided((1, 1), (5, 7)), numbers.as_strided((9, 1), (1, 7))
    for left, right in ((one, one), (column, one), (column, column.T), (column.T, column)):
        for strides in ((9, 1), (1, 9), (20, 2)):
            out = torch.zeros(200).as_strided((len(left), right.shape[1]), strides)
            assert_right(kernels, left, right, out)


def test_nothing_is_written_beside_the_output(kernels) -> None:
    whole = torch.full((50, 60), 7.0)
    out = whole[4:43, 8:53]
    multiply(kernels, torch.randn(39, 20), torch.randn(20, 45), out, accumulates=False)
    beside = torch.ones(50, 60, dtype=torch.bool)
    beside[4:43, 8:53] = False
    assert (whole[beside] == 7.0).all()
    assert not (out == 7.0).any()


def test_empty_products_are_those_of_torch(kernels) -> None:
    for rows, depth, columns in ((0, 3, 4), (4, 3, 0), (4, 0, 5)):
        left, right = torch.ones(rows, depth), torch.ones(depth, columns)
        out = torch.full((rows, columns), 3.0)
        multiply(kernels, left, right, out, accumulates=True)
        assert (out == 3.0).all()
        multiply(kernels, left, right, out, accumulates=False)
        assert not out.any()


def test_the_stated_error_is_reached_and_not_exceeded(kernels) -> None:
    """Numbers that are halfway between two high ones, and whose rest is nearly so."""
    worst = 1 + 2**-8 - 2**-17
    left = torch.cat([torch.tensor([worst]), 1 + torch.rand(2_000)])[:, None]
    right = torch.cat([torch.tensor([worst]), 1 + torch.rand(500)])[None]
    out = torch.empty(2_001, 501)
    multiply(kernels, left, right, out, accumulates=False)
    exact = left.double() * right.double()
    errors = (out - exact).abs() / exact
    assert 0.4 * LARGEST_ERROR < errors.max() <= LARGEST_ERROR + 2**-23


@pytest.mark.parametrize("value", [torch.inf, -torch.inf, torch.nan, 3.4e38])
def test_numbers_without_a_finite_high_part_are_not_lost(kernels, value) -> None:
    left, right = torch.ones(20, 40), torch.ones(40, 18)
    left[3, 5] = value
    right[7, 9] = torch.tensor(0x7FFFFFFF, dtype=torch.int32).view(torch.float32)
    out = torch.zeros(20, 18)
    multiply(kernels, left, right, out, accumulates=False)
    assert not out[3].isfinite().any()
    assert not out[:, 9].isfinite().any()
    assert (out[:3, :9] == 40.0).all()


def test_the_number_of_threads_changes_nothing(kernels, monkeypatch) -> None:
    monkeypatch.setattr(products, "LEAST_WORK_PER_THREAD", 1)
    for rows, columns in ((700, 90), (90, 700)):
        left, right = torch.randn(rows, 270), torch.randn(270, columns)
        results = []
        for count in (1, 2, 5):
            monkeypatch.setattr(torch, "get_num_threads", lambda count=count: count)
            results.append(torch.empty(rows, columns))
            multiply(kernels, left, right, results[-1], accumulates=False)
        assert all(torch.equal(result, results[0]) for result in results[1:])


@pytest.fixture
def computed(kernels, monkeypatch) -> list[tuple[int, ...]]:
    """Rows, depth and columns of each split product that is computed from now on."""
    shapes = []

    def counted(kernels, left, right, out, *, accumulates):
        shapes.append((*left.shape, right.shape[1]))
        multiply(kernels, left, right, out, accumulates=accumulates)

    monkeypatch.setattr(products, "multiply", counted)
    return shapes


def test_all_products_of_linear_layers_are_split(computed) -> None:
    layers = torch.nn.Linear(24, 40), torch.nn.Linear(40, 8, bias=False)
    x = torch.randn(50, 24, requires_grad=True)
    leaves = [x, *layers[0].parameters(), *layers[1].parameters()]

    def passes() -> list[Tensor]:
        y = layers[1](layers[0](x))
        return [y, *torch.autograd.grad(y.square().sum(), leaves)]

    exact = passes()
    assert computed == []
    with split_products("split"):
        split = passes()
    assert sorted(computed) == sorted(
        [(50, 24, 40), (50, 40, 8), (50, 8, 40), (8, 50, 40), (50, 40, 24), (40, 50, 24)]
    )
    for own, other in zip(split, exact, strict=True):
        assert (own - other).norm() < 1e-4 * other.norm()
        assert not torch.equal(own, other) or own.dim() == 1


def test_forms_of_torch_products(computed) -> None:
    left, right, start = torch.randn(5, 6), torch.randn(6, 7), torch.randn(7)
    exact = left @ right
    with split_products("split"):
        given, total = torch.empty(5, 7), torch.ones(5, 7)
        forms = [
            left @ right, torch.mm(left, right, out=given), given,
            torch.addmm(start, left, right) - start, total.addmm_(left, right) - 1, total - 1,
            torch.addmm(start, left, right, out=torch.empty(5, 7)) - start,
        ]  # fmt: skip
        assert len(computed) == 5
        others = [
            left.double() @ right.double(), left.bfloat16() @ right.bfloat16(),
            torch.bmm(left[None], right[None])[0], left @ right[:, 0],
            torch.addmm(start, left, right, alpha=2), torch.mm(left, right, out=torch.empty(0)),
        ]  # fmt: skip
        with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
            left @ left
    assert len(computed) == 5
    assert len(others) == 6
    for form in forms:
        torch.testing.assert_close(form, exact, rtol=0, atol=1e-3)


class _WorstProducts(OperatorMode):
    """Errors as large as a split product may have, of random sign, in each product."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if func in PRODUCTS:
            left, right = args[-2:]
            errors = largest_errors(left, right)
            result += errors * (torch.randint(0, 2, errors.shape) * 2 - 1)
        return result


def passes(model, batch) -> list[Tensor]:
    loss = linear_cross_entropy(
        model.hidden(batch), model.output_weight, model.output_bias, batch.tgt_out, 0.1
    )
    weights = list(model.parameters())
    return [loss.total.detach(), *torch.autograd.grad(loss.total, weights)]


def assert_within_worst_errors(model, batch, backend: str | None = None) -> None:
    """The loss and gradients are no farther from the exact ones than those of the worst products.

    The distance is that of the largest of eight draws, and 16 roundings of all gradients, for what
    is computed in float32 between the products.
    """
    double, single = model.double(), None
    exact = passes(double, batch)
    others = 16 * 2**-24 * torch.cat([gradient.flatten() for gradient in exact[1:]]).norm()
    limits = torch.zeros(len(exact), dtype=torch.float64)
    for _ in range(8):
        with _WorstProducts():
            worst = passes(double, batch)
        distances = [(own - other).norm() for own, other in zip(worst, exact, strict=True)]
        limits = torch.maximum(limits, torch.stack(distances))
    single = model.float()
    if backend is not None:
        use_backend(single, backend)
    with split_products("split"):
        ours = passes(single, batch)
    for own, other, limit in zip(ours, exact, limits, strict=True):
        assert (own - other).norm() <= limit + others


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("settings", first_fast(VARIANTS, 12))
def test_gradients_of_models_are_within_the_error_of_their_products(
    settings, make_model, random_batch
) -> None:
    model = make_model(settings)
    assert_within_worst_errors(model, random_batch(model.config, [3, 5], [4, 4]))


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("order", ["pre", "post"])
def test_gradients_of_models_in_c_are_within_the_error_of_their_products(
    order, make_model, random_batch
) -> None:
    widths = {"model.d_model": 32, "model.heads": 2, "model.d_ff": 48, "model.max_positions": 32}
    model = make_model({"model.norm_order": order, **widths})
    batch = random_batch(model.config, [3, 7, 20], [4, 9, 17])
    assert_within_worst_errors(model, batch, choose_backend(CPU, 16, 16))


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("kind", ["rnn", "conv"])
def test_gradients_of_older_models_are_within_the_error_of_their_products(
    kind, random_batch
) -> None:
    positions = {"model.positions": "learned", "model.max_positions": 16} if kind == "conv" else {}
    model = older_model({"model.kind": kind, **positions})
    assert_within_worst_errors(model, random_batch(model.config, [3, 5], [4, 4]))


def test_self_test_finds_wrong_numbers(kernels, monkeypatch) -> None:
    right = multiply

    def damaged(kernels, left, right_side, out, *, accumulates):
        right(kernels, left, right_side, out, accumulates=accumulates)
        out[-1, -1] *= 1 + 2**-12

    assert products._are_right(kernels)
    monkeypatch.setattr(products, "multiply", damaged)
    assert not products._are_right(kernels)
    split_kernels.cache_clear()
    with pytest.raises(ConfigError, match="wrong numbers here"):
        check_precision("split", CPU)
    split_kernels.cache_clear()


@pytest.mark.usefixtures("kernels")
def test_split_is_taken_where_it_works_and_refused_where_not(monkeypatch, tmp_path) -> None:
    check_precision("split", CPU)
    assert precision_name("split", CPU) == "split"
    with pytest.raises(ConfigError, match="CPUs with AMX, and this run uses a GPU"):
        check_precision("split", torch.device("cuda"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv(VARIABLE, "avx512")
    with pytest.raises(ConfigError, match=f"{VARIABLE} names an instruction set without AMX"):
        check_precision("split", CPU)
    monkeypatch.setenv(VARIABLE, "amx")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    with pytest.raises(ConfigError, match="no C compiler"):
        check_precision("split", CPU)


@pytest.mark.parametrize("code", list(products.REASONS))
def test_each_reason_against_split_is_told(kernels, code, monkeypatch) -> None:
    class Refusing:
        @staticmethod
        def nmt_find_split() -> int:
            return code

    monkeypatch.setattr(products, "load_training_kernels", lambda folder: (Refusing(), ""))
    split_kernels.cache_clear()
    with pytest.raises(ConfigError, match="split cannot be used here") as raised:
        check_precision("split", CPU)
    split_kernels.cache_clear()
    assert products.REASONS[code] in raised.value.message
    assert "`auto`" in raised.value.hint


def test_this_cpu_is_judged_by_its_instructions() -> None:
    """Without emulation: the flags that Linux names decide."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    found, reason = split_kernels(cache_folder())
    if "amx_bf16" not in flags:
        assert found is None
        assert reason in products.REASONS.values()
    else:
        assert found is not None or reason in products.REASONS.values()


def test_the_library_has_the_instructions(kernel_cache: Path) -> None:
    """What the compiler makes of the tiles, where it knows them."""
    if shutil.which("objdump") is None or shutil.which("cc") is None:
        pytest.skip("there is no objdump or no C compiler")
    loaded, reason = library.load_library(kernel_cache, SOURCES)
    assert loaded is not None, reason
    path = Path(loaded._name)
    code = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", str(path)],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    version = subprocess.run(["cc", "-dumpversion"], check=True, capture_output=True, text=True)
    if "x86-64" not in code.splitlines()[1] or int(version.stdout.split(".")[0]) < 12:
        pytest.skip("no compiler for AMX")
    assert {name for name in ("ldtilecfg", "tdpbf16ps", "tilerelease") if name in code} == {
        "ldtilecfg", "tdpbf16ps", "tilerelease",
    }  # fmt: skip
