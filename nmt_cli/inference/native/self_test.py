"""The self-test of the kernels: which of them give correct numbers on this machine."""

import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from nmt_cli.config.schema import ModelConfig
from nmt_cli.inference.native.decoder import NativeDecoder
from nmt_cli.inference.native.library import load_library
from nmt_cli.inference.native.linear import (
    LARGEST_INPUT,
    PRECISIONS,
    Kernels,
    NativeLinear,
    QuantizedMatrix,
)
from nmt_cli.inference.native.model import NativeModel
from nmt_cli.inference.native.packing.packed_weights import PackedWeights
from nmt_cli.inference.native.packing.packer import Packer
from nmt_cli.inference.plain.layers import log_sum_exp
from nmt_cli.inference.plain.model import PlainModel, Sentences
from nmt_cli.inference.weights import ProjectionRows, TransformerArrays
from nmt_cli.kernels.instruction_sets import INSTRUCTION_SETS, VARIABLE, wanted_lanes
from nmt_cli.model.shapes import transformer_shapes
from nmt_cli.search.arrays.numpy_arrays import NUMPY
from nmt_cli.search.decoder import Edits, Source

LARGEST_ERROR = 1e-5
# Inputs of the products that are compared: some that fill no vector, and whole tiles of AMX.
INPUTS = (37, 128)
# A step accumulates more rounding errors than a product.
LARGEST_STEP_ERROR = 1e-4
SMALL = ModelConfig(
    layers=1, d_model=40, d_ff=24, heads=2, src_vocab_size=70, tgt_vocab_size=70, dropout=0.0
)
SOURCES = ([4, 5, 6, 3], [7, 3])
BEAM, STEPS, START = 2, 3, 2
BANNED = (0, 69)
# Of each row after the first step: the row of its slot that it continues.
PARENTS = (1, 1, 2, 2)


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
    """Whether products agree with NumPy's; raises RuntimeError where there are no such kernels."""
    return all(_product_is_right(kernels, precision, inputs) for inputs in INPUTS)


def _product_is_right(kernels: Kernels, precision: str, inputs: int) -> bool:
    weight, x, bias = _random_arrays([(35, inputs), (29, inputs), (35,)])
    expected = _exact_product(x, weight, precision) + bias
    layer = Packer(kernels.library, precision).pack(ProjectionRows.of(weight, bias))
    actual = NativeLinear(kernels, layer)(x)
    return bool(np.abs(actual - expected).max() < LARGEST_ERROR * np.abs(expected).max() * 10)


def _exact_product(x: np.ndarray, weight: np.ndarray, precision: str) -> np.ndarray:
    """The product with weights of this precision, computed in 64 bits."""
    if precision == "int8":
        integers, scales = QuantizedMatrix.of(weight)
        width = x.max(axis=1, keepdims=True).clip(0) - x.min(axis=1, keepdims=True).clip(None, 0)
        largest = np.float32(LARGEST_INPUT)
        rounded = np.rint(x * (largest / width)).astype(np.float64)
        exact: np.ndarray = rounded @ integers.astype(np.float64).T * (scales * (width / largest))
        return exact
    if precision == "bf16":
        weight = _rounded_to_bf16(weight)
    return x.astype(np.float64) @ weight.astype(np.float64).T


def _rounded_to_bf16(weight: np.ndarray) -> np.ndarray:
    """To the nearest bf16, of two the even one, in float32."""
    bits = weight.view(np.uint32)
    rounded = bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))
    return (rounded & np.uint32(0xFFFF0000)).view(np.float32)


def _steps_are_right(kernels: Kernels) -> bool:
    """Whether steps of a small random model agree with those of the model in NumPy."""
    shapes = transformer_shapes(SMALL)
    weights = dict(zip(shapes, _random_arrays(shapes.values()), strict=True))
    for name, weight in weights.items():
        # Norms near 1, and embeddings and projections that keep sums near 1.
        weight *= np.float32(0.1 if weight.ndim == 1 else SMALL.d_model**-0.5)
        weight += np.float32("norm.weight" in name)
    arrays = TransformerArrays(SMALL, weights)
    packed = PackedWeights.of(arrays, kernels.library)
    return all(
        np.allclose(actual, expected, rtol=0.0, atol=LARGEST_STEP_ERROR)
        for actual, expected in zip(
            _steps(NativeDecoder(NativeModel(packed, kernels), len(SOURCES), BEAM)),
            _expected_steps(PlainModel(arrays)),
            strict=True,
        )
    )


def _random_arrays(shapes: Iterable[tuple[int, ...]]) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    return [generator.standard_normal(shape, dtype=np.float32) for shape in shapes]


def _ids_after(step: int, rows: int) -> list[int]:
    """The ids that the rows get before a step."""
    return [START] * rows if not step else [row + 10 * step - 6 for row in range(rows)]


def _steps(decoder: NativeDecoder) -> list[np.ndarray]:
    """The results of a decoder over a few steps in which rows are reordered."""
    rows = len(SOURCES) * BEAM
    decoder.admit([0, 1], [Source(ids) for ids in SOURCES])
    results = []
    for index in range(STEPS):
        parents = PARENTS if index else range(rows)
        step = decoder.step(
            np.array(parents, np.int64), np.array(_ids_after(index, rows), np.int64)
        )
        values, ids = step.top(BEAM, Edits.ban(BANNED, rows, decoder.arrays))
        results += [step.full(), values, ids]
    return results


def _expected_steps(model: PlainModel) -> list[np.ndarray]:
    """The same results, from whole sentences in each step."""
    rows = len(SOURCES) * BEAM
    histories: list[list[int]] = [[] for _ in range(rows)]
    sources = Sentences.of([SOURCES[row // BEAM] for row in range(rows)])
    memory = model.encode(sources)
    results = []
    for index in range(STEPS):
        parents = PARENTS if index else range(rows)
        ids = _ids_after(index, rows)
        histories = [[*histories[parent], ids[row]] for row, parent in enumerate(parents)]
        decoded = model.decode(Sentences.of(histories), memory, sources)
        logits = model.logits(decoded.hidden[index :: index + 1])
        log_probs = logits - log_sum_exp(logits)
        results.append(log_probs)
        allowed = log_probs.copy()
        allowed[:, BANNED] = -np.inf
        results += NUMPY.top_k(allowed, BEAM)
    return results
