"""The self-test of the kernels: which of them give correct numbers on this machine."""

import os
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from nmt_cli.config.schema import ModelConfig
from nmt_cli.inference.native.decoder import NativeDecoder
from nmt_cli.inference.native.library import load_library
from nmt_cli.inference.native.linear import (
    PRECISIONS,
    Kernels,
    NativeLinear,
    make_int8_emulation,
)
from nmt_cli.inference.native.model import NativeModel
from nmt_cli.inference.packed.weights import Affine
from nmt_cli.inference.reference import ReferenceDecoder
from nmt_cli.kernels.instruction_sets import INSTRUCTION_SETS, VARIABLE, wanted_lanes
from nmt_cli.model.encoder_decoder import initialise
from nmt_cli.model.transformer import Transformer
from nmt_cli.search.decoder import Decoder, Edits, Source

LARGEST_ERROR = 1e-5
# Inputs of the products that are compared: some that fill no vector, and whole tiles of AMX.
INPUTS = (37, 128)
# A step accumulates more rounding errors than a product.
LARGEST_STEP_ERROR = 1e-4


def find_kernels(folder: Path) -> tuple[Kernels | None, str]:
    """The best kernels that give correct numbers here and "", or None and why there are none.

    Better ones than NMT_CPU_ISA names are left out. folder: a folder of this user, where the
    library is kept.
    """
    library, reason = load_library(folder)
    if library is None:
        return None, reason
    for lanes in wanted_lanes():
        kernels = Kernels(library, lanes)
        try:
            products = all(_products_are_right(kernels, precision) for precision in PRECISIONS)
            correct = products and _steps_are_right(kernels)
        except RuntimeError:
            continue
        if correct:
            notice = _notice(os.environ.get(VARIABLE, ""), kernels.instruction_set)
            return kernels._replace(notice=notice), ""
    return None, "the kernels give wrong numbers here"


def _notice(wanted: str, used: str) -> str:
    """What to tell a user who asked for an instruction set, if another one is used."""
    if wanted in ("", used):
        return ""
    if wanted in INSTRUCTION_SETS:
        return f"{VARIABLE}={wanted}: this CPU cannot run these kernels; {used} is used"
    return f"{VARIABLE}={wanted} is none of {', '.join(INSTRUCTION_SETS)}; {used} is used"


def _products_are_right(kernels: Kernels, precision: str) -> bool:
    """Whether products agree with torch's; raises RuntimeError where there are no such kernels."""
    return all(_product_is_right(kernels, precision, inputs) for inputs in INPUTS)


def _product_is_right(kernels: Kernels, precision: str, inputs: int) -> bool:
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(35, inputs, generator=generator)
    x, bias = torch.randn(29, inputs, generator=generator), torch.randn(35, generator=generator)
    exact = weight.to(torch.bfloat16).double() if precision == "bf16" else weight.double()
    expected = F.linear(x.double(), exact, bias.double())
    if precision == "int8":
        expected = make_int8_emulation(Affine(weight, bias))(x).double()
    actual = NativeLinear(kernels, Affine(weight, bias), precision)(x)
    return bool((actual - expected).abs().max() < LARGEST_ERROR * expected.abs().max() * 10)


def _steps_are_right(kernels: Kernels) -> bool:
    """Whether steps of a small random model agree with those of the reference engine."""
    config = ModelConfig(
        layers=1, d_model=40, d_ff=24, heads=2, src_vocab_size=70, tgt_vocab_size=70, dropout=0.0
    )
    model = initialise(Transformer(config), 0).eval()
    slots, beam = 2, 2
    decoders = (
        NativeDecoder(NativeModel(model, kernels), slots, beam),
        ReferenceDecoder(model, slots, beam),
    )
    actual, expected = (_run(decoder, slots * beam) for decoder in decoders)
    return all(
        torch.allclose(tensor, other, rtol=0.0, atol=LARGEST_STEP_ERROR)
        for tensor, other in zip(actual, expected, strict=True)
    )


def _run(decoder: Decoder, rows: int) -> list[Tensor]:
    """The results of a decoder over a few steps in which rows are reordered."""
    decoder.admit([0, 1], [Source([4, 5, 6, 3]), Source([7, 3])])
    parents, ids = torch.arange(rows), torch.full((rows,), 2)
    results = []
    for index in range(3):
        step = decoder.step(parents, ids)
        values, best_ids = step.top(2, Edits.ban([0, 69], rows, decoder.device))
        results += [step.full(), values, best_ids.float()]
        parents, ids = torch.tensor([1, 1, 2, 2]), torch.arange(rows) + 10 * index + 4
    return results
