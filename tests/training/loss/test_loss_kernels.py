"""The fused loss, its Triton kernel interpreted on the CPU, against the formula in float64."""

import json
import os
import subprocess
import sys
from functools import partial

import pytest
import torch
from torch import Tensor
from torch._subclasses import FakeTensorMode

from nmt_cli.batch import NO_TARGET
from nmt_cli.training.loss.cross_entropy import label_smoothed_cross_entropy, linear_cross_entropy
from nmt_cli.training.loss.softmax_gradient import choose_softmax, softmax_gradient

pytest.importorskip("triton")

from nmt_cli.training.loss.kernels import fused_softmax_gradient

# Of a gradient: float32 arithmetic, and its rounding (bfloat16's is a cut in Triton's interpreter).
ROUNDING = {torch.float32: 0.0, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-7}
SMALLEST = {torch.float32: 0.0, torch.float16: 2.0**-25, torch.bfloat16: 0.0}
FLOAT32 = 3e-7


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch) -> None:
    """Several blocks a row, and several chunks, in small tests."""
    monkeypatch.setattr("nmt_cli.training.loss.kernels.BLOCK", 64)
    monkeypatch.setattr("nmt_cli.training.loss.cross_entropy.CHUNK_ELEMENTS", {"cpu": 0, "cuda": 0})
    monkeypatch.setattr("nmt_cli.training.loss.cross_entropy.CHUNK_ROWS", 3)


@pytest.fixture
def _fused(monkeypatch) -> None:
    """`linear_cross_entropy` takes the kernel on the CPU too."""
    monkeypatch.setattr(
        "nmt_cli.training.loss.cross_entropy.choose_softmax",
        lambda weight, dtype: partial(fused_softmax_gradient, size=len(weight)),
    )


class Rows:
    """Random logits of a few tokens, within memory that holds poison before and behind them."""

    def __init__(self, size, padding=0, *, dtype=torch.float32, biased=False, epsilon=0.1) -> None:
        generator = torch.Generator().manual_seed(size)
        self.size, self.epsilon = size, epsilon
        self.memory = torch.full((7, size + padding), torch.nan, dtype=dtype)
        self.logits = self.memory[1:-1]
        self.logits.copy_(torch.randn(self.logits.shape, generator=generator) * 3.0)
        self.logits[:, size:] = 0.0
        self.bias = torch.randn(size, generator=generator) if biased else None
        self.targets = torch.tensor([0, size - 1, size // 2, NO_TARGET, 0])

    def wide(self) -> Tensor:
        """The logits that the loss is of: (4, vocabulary), float64, without the row of filler."""
        wide = self.logits[self.kept(), : self.size].double()
        return wide if self.bias is None else wide + self.bias.double()

    def kept(self) -> Tensor:
        return self.targets >= 0

    def run(self, *, needs_gradient=True) -> tuple[Tensor, Tensor | None]:
        """What the kernel gives; the means are those of the formula."""
        means = torch.full((len(self.targets),), torch.nan)
        means[self.kept()] = self.wide().mean(dim=1).float()
        return fused_softmax_gradient(
            self.logits, self.bias, self.targets, means, self.epsilon,
            needs_gradient=needs_gradient, size=self.size,
        )  # fmt: skip

    def check(self) -> None:
        """Sums and gradient are the formula's in float64, to rounding."""
        wide = self.wide().requires_grad_()
        loss = label_smoothed_cross_entropy(wide, self.targets[self.kept()], self.epsilon)
        expected = torch.autograd.grad(loss.total, wide)[0] + self.epsilon / self.size
        sums, gradient = self.run()
        wanted = torch.stack([loss.total.detach(), loss.nll])
        # Of a single word the nll is 0.
        torch.testing.assert_close(sums.double(), wanted, rtol=1e-6, atol=1e-7)
        assert gradient is self.logits
        dtype = self.logits.dtype
        error = (gradient[self.kept(), : self.size].double() - expected).abs()
        assert (error <= expected.abs() * ROUNDING[dtype] + SMALLEST[dtype] + FLOAT32).all()
        assert not gradient[~self.kept()].any()
        assert not gradient[:, self.size :].any()
        assert self.memory[[0, -1]].isnan().all()


@pytest.mark.parametrize("dtype", ROUNDING, ids=str)
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_loss_kernel_equals_the_formula(dtype, biased, epsilon) -> None:
    Rows(200, dtype=dtype, biased=biased, epsilon=epsilon).check()


@pytest.mark.parametrize("size", [1, 5, 63, 64, 65, 128])
@pytest.mark.parametrize("padding", [0, 1, 70])
def test_loss_kernel_handles_any_vocabulary_and_padding(size, padding) -> None:
    Rows(size, padding, biased=True).check()


def test_loss_kernel_ignores_padding_columns() -> None:
    rows = Rows(100, 28)
    rows.logits[:, 100:] = torch.tensor([torch.nan, 50.0]).repeat(14)
    rows.check()


@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:All-NaN slice encountered:RuntimeWarning")
def test_loss_kernel_nan_in_padding_rows_does_not_spread() -> None:
    rows = Rows(100)
    rows.logits[3, ::2] = torch.nan
    rows.check()


@pytest.mark.filterwarnings("ignore:overflow encountered in subtract:RuntimeWarning")
@pytest.mark.parametrize(
    ("dtype", "factor"), [(torch.float32, 1e36), (torch.bfloat16, 1e36), (torch.float16, 6e3)]
)
def test_loss_kernel_handles_logits_that_overflow_exp(dtype, factor) -> None:
    rows = Rows(200, dtype=dtype)
    rows.logits.mul_(factor)
    rows.check()


def test_loss_kernel_is_exact_with_a_common_offset() -> None:
    """logsumexp, rounded to float32, would be off by 1e-3, and so the nll and every gradient."""
    rows = Rows(200)
    rows.logits.add_(2.0**14)
    # Means in float32 would not be exact enough either.
    rows.epsilon = 0.0
    rows.check()


def test_loss_kernel_gradient_of_impossible_words_is_zero() -> None:
    """-inf through the first block and at places in the others."""
    rows = Rows(200, epsilon=0.0)
    rows.logits[:, :70] = rows.logits[:, 80:150:7] = -torch.inf
    rows.targets = torch.tensor([199, 72, 77, NO_TARGET, 72])
    means = torch.zeros(5)
    wide = rows.wide().requires_grad_()
    normalised = -wide.log_softmax(dim=1).gather(1, rows.targets[rows.kept()][:, None])
    (expected,) = torch.autograd.grad(normalised.sum(), wide)
    sums, gradient = fused_softmax_gradient(
        rows.logits, None, rows.targets, means, 0.0, needs_gradient=True, size=200
    )
    assert float(sums[1]) == pytest.approx(float(normalised.detach().sum()), rel=1e-6)
    torch.testing.assert_close(gradient[rows.kept()].double(), expected, rtol=0, atol=FLOAT32)


def test_loss_kernel_without_gradient_keeps_the_logits() -> None:
    rows, others = Rows(100, 28), Rows(100, 28)
    sums, gradient = rows.run(needs_gradient=False)
    assert gradient is None
    assert torch.equal(rows.logits, others.logits)
    assert torch.equal(sums, others.run()[0])


TARGETS = torch.tensor([0, 149, NO_TARGET, 3, 3, 77, NO_TARGET, 64])


def layer() -> list[Tensor]:
    """hidden (8, 6), weight (150, 6), bias (150,), float32."""
    generator = torch.Generator().manual_seed(4)
    return [torch.randn(shape, generator=generator) for shape in ((8, 6), (150, 6), (150,))]


def results(inputs: list[Tensor], *, biased: bool) -> list[Tensor]:
    """Total, nll and the gradients of the output layer's loss as it is configured."""
    leaves = [tensor.detach().requires_grad_() for tensor in inputs[: 3 if biased else 2]]
    loss = linear_cross_entropy(*leaves, *([] if biased else [None]), TARGETS, 0.1)
    return [loss.total.detach(), loss.nll, *torch.autograd.grad(loss.total * 3.0, leaves)]


def formula(inputs: list[Tensor], *, biased: bool) -> list[Tensor]:
    """The same of all logits at once, in float64."""
    leaves = [tensor.double().requires_grad_() for tensor in inputs[: 3 if biased else 2]]
    kept = TARGETS >= 0
    logits = leaves[0][kept] @ leaves[1].T + (leaves[2] if biased else 0.0)
    loss = label_smoothed_cross_entropy(logits, TARGETS[kept], 0.1)
    return [loss.total.detach(), loss.nll, *torch.autograd.grad(loss.total * 3.0, leaves)]


@pytest.mark.usefixtures("_fused")
@pytest.mark.parametrize("biased", [True, False])
def test_output_layer_loss_and_gradients_equal_the_formula(biased) -> None:
    inputs = layer()
    pairs = zip(results(inputs, biased=biased), formula(inputs, biased=biased), strict=True)
    for found, expected in pairs:
        assert (found.double() - expected).abs().max() <= 1e-6 * expected.abs().max()


@pytest.mark.usefixtures("_fused")
@pytest.mark.parametrize("biased", [True, False])
def test_narrow_products_are_padded_and_close(biased, monkeypatch) -> None:
    """float16 has 11 bits: logits of 10 are off by 2**-8, and so are gradient, of their size."""
    widths = []

    def watched(logits, *rest, **options):
        assert logits.dtype == torch.float16
        widths.append(logits.shape[1])
        return fused_softmax_gradient(logits, *rest, size=150, **options)

    monkeypatch.setattr(
        "nmt_cli.training.loss.cross_entropy.choose_softmax", lambda weight, dtype: watched
    )
    inputs = [tensor.half().float() for tensor in layer()]
    with torch.autocast("cpu", torch.float16):
        narrow = results(inputs, biased=biased)
    assert widths == [256] * 3
    for found, expected in zip(narrow, formula(inputs, biased=biased), strict=True):
        assert found.dtype == torch.float32
        assert (found.double() - expected).abs().max() <= 2.0**-8 * expected.abs().max()


@pytest.mark.usefixtures("_fused")
def test_loss_kernel_keeps_small_label_smoothing() -> None:
    """In float16 the share of each word would be a number that float16 hardly has."""
    size = 2_000
    hidden, weight = torch.ones(3, 1, requires_grad=True), torch.zeros(size, 1, requires_grad=True)
    weight.data[0] = 24.0
    with torch.autocast("cpu", torch.float16):
        linear_cross_entropy(
            hidden, weight, None, torch.zeros(3, dtype=torch.long), 0.1
        ).total.backward()
    # Words that the softmax gives nothing keep the share alone: 3 tokens of epsilon / V.
    torch.testing.assert_close(
        weight.grad[1:], torch.full((size - 1, 1), -0.3 / size), rtol=1e-6, atol=0
    )


def test_loss_kernel_is_used_on_gpus_with_its_dtypes(monkeypatch) -> None:
    def chosen(wide=torch.float32, narrow=torch.bfloat16, capability=(9, 0)):
        monkeypatch.setattr("torch.cuda.get_device_capability", lambda device: capability)
        with FakeTensorMode():
            return choose_softmax(torch.empty(7, 2, dtype=wide, device="cuda"), narrow)

    fused = chosen()
    assert fused.func is fused_softmax_gradient
    assert fused.keywords == {"size": 7}
    assert chosen(narrow=torch.float32).func is fused_softmax_gradient
    for plain in (
        chosen(wide=torch.float64, narrow=torch.float64),
        chosen(wide=torch.bfloat16),
        chosen(narrow=torch.float64),
        chosen(capability=(7, 5)),
    ):
        assert plain is softmax_gradient
    monkeypatch.setattr("nmt_cli.training.loss.softmax_gradient.find_spec", lambda name: None)
    assert chosen() is softmax_gradient


_COMPILE = """
import json, re, sys
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile
from nmt_cli.training.loss.kernels import kernel_constants, loss_row

KINDS = {"targets": "*i64", "means": "*fp32", "losses": "*fp32", "bias": "*fp32",
         "epsilon": "fp32", "tokens": "i32"}
names = loss_row.arg_names
aligned = {(names.index("logits"),): [["tt.divisibility", 16]]}
programs = []
for biased in (False, True):
    known = {**kernel_constants(37_120, 37_000), "needs_gradient": True}
    known |= {} if biased else {"bias": None}
    options = {"num_warps": known.pop("num_warps")}
    kinds = {name: "constexpr" if name in known else KINDS.get(name, "*bf16") for name in names}
    source = ASTSource(fn=loss_row, signature=kinds, constexprs=known, attrs=aligned)
    done = compile(source, target=GPUTarget("cuda", int(sys.argv[1]), 32), options=options)
    text = done.asm["ptx"]
    programs.append([len(re.findall(pattern, text)) for pattern in (
        r"ld\\.global[.\\w:]*\\.v4", r"st\\.global[.\\w:]*\\.v4", r"cvt\\.rn\\.bf16", r"\\.local")])
print(json.dumps(programs))
"""


@pytest.mark.slow
def test_the_kernel_compiles_for_a_gpu_and_moves_16_bytes_at_a_time(tmp_path) -> None:
    """Triton brings NVIDIA's assembler; a GPU is needed only to run what comes out."""
    done = subprocess.run(
        [sys.executable, "-c", _COMPILE, "90"], capture_output=True, text=True, check=False,
        env={**os.environ, "TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for loads, stores, rounded, spilled in json.loads(done.stdout):
        assert loads >= 2
        assert stores >= 1
        assert rounded
        assert not spilled
