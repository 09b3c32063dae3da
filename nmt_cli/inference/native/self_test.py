"""The self-test of the kernels: which of them give correct numbers on this machine."""

import ctypes
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from nmt_cli.config.schema import ModelConfig
from nmt_cli.inference.native.decoder import NativeDecoder
from nmt_cli.inference.native.library import load_library
from nmt_cli.inference.native.linear import (
    LARGEST_INPUT,
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
# A step accumulates more rounding errors than a product; those of weights and rows count, too.
LARGEST_STEP_ERRORS = {"float32": 1e-4, "bf16": 0.05, "int8": 0.25, "split": 2e-4}
SMALL = ModelConfig(
    layers=1, d_model=40, d_ff=24, heads=2, src_vocab_size=70, tgt_vocab_size=70, dropout=0.0
)
# The same with inputs that fill tiles.
TILED = replace(SMALL, d_model=64, d_ff=64)
SOURCES = ([4, 5, 6, 3], [7, 3])
BEAM, STEPS, START = 2, 3, 2
BANNED = (0, 69)
# Of each row after the first step: the row of its slot that it continues.
PARENTS = (1, 1, 2, 2)


def find_kernels(folder: Path, precision: str = "float32") -> tuple[Kernels | None, str]:
    """The best kernels that give correct numbers here and "", or None and why there are none.

    Better ones than NMT_CPU_ISA names are left out. folder: a folder of this user, where the
    library is kept. precision: of the weights; kernels for float32 take the place of those for
    split weights, which need AMX.
    """
    library, reason = load_library(folder)
    if library is None:
        return None, reason
    kernels = _best_kernels(library, precision)
    notices = []
    if kernels is None and precision == "split":
        notices.append(f"split needs AMX for bf16, {_why_not_split(library)}; float32 is used")
        kernels = _best_kernels(library, "float32")
    if kernels is None:
        return None, "the kernels give wrong numbers here"
    notices.append(_notice(os.environ.get(VARIABLE, ""), kernels, precision))
    return kernels._replace(notice="; ".join(filter(None, notices))), ""


def _best_kernels(library: ctypes.CDLL, precision: str) -> Kernels | None:
    """The best kernels with a form for this precision that gives correct numbers."""
    for lanes in wanted_lanes():
        kernels = Kernels(library, lanes, precision)
        if not kernels.has_form(precision):
            continue
        if _products_are_right(kernels) and _steps_are_right(kernels):
            return kernels
    return None


def _why_not_split(library: ctypes.CDLL) -> str:
    """Why the kernels for split weights are not used; continues "AMX for bf16"."""
    lanes = INSTRUCTION_SETS["amx"]
    if lanes not in wanted_lanes():
        return f"which {VARIABLE}={os.environ[VARIABLE]} leaves out"
    if not Kernels(library, lanes).has_form("split"):
        return "which this machine lacks"
    return "whose kernels give wrong numbers here"


def _notice(wanted: str, kernels: Kernels, precision: str) -> str:
    """What to tell a user who asked for an instruction set, if another one is used."""
    used = kernels.instruction_set
    if wanted in ("", used) or (wanted == "amx" and precision == "split"):
        return ""
    if wanted not in INSTRUCTION_SETS:
        return f"{VARIABLE}={wanted} is none of {', '.join(INSTRUCTION_SETS)}; {used} is used"
    if wanted == "amx" and precision == "float32":
        return f"{VARIABLE}=amx: AMX does not multiply float32 weights; {used} is used"
    return f"{VARIABLE}={wanted}: this CPU cannot run these kernels; {used} is used"


def _products_are_right(kernels: Kernels) -> bool:
    """Whether products agree with NumPy's."""
    return all(_product_is_right(kernels, inputs) for inputs in INPUTS)


def _product_is_right(kernels: Kernels, inputs: int) -> bool:
    weight, x, bias = _random_arrays([(35, inputs), (29, inputs), (35,)])
    if kernels.precision == "bf16" and kernels.instruction_set == "amx" and not inputs % 32:
        x = _rounded_to_bf16(x)
    expected = _exact_product(x, weight, kernels.precision) + bias
    layer = Packer(kernels.library, kernels.precision).pack(ProjectionRows.of(weight, bias))
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


def _rounded_to_bf16(numbers: np.ndarray) -> np.ndarray:
    """To the nearest bf16, of two the even one, in float32."""
    bits = numbers.view(np.uint32)
    rounded = bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))
    return (rounded & np.uint32(0xFFFF0000)).view(np.float32)


def _steps_are_right(kernels: Kernels) -> bool:
    """Whether steps of a small random model agree with those of the model in NumPy.

    Tiles, which take part in none of them if inputs do not fill them, get another model.
    """
    if not _agrees(kernels, SMALL, "float32"):
        return False
    return kernels.instruction_set != "amx" or _agrees(kernels, TILED, kernels.precision)


def _agrees(kernels: Kernels, config: ModelConfig, precision: str) -> bool:
    """Whether steps of a random model of these settings are those of the model in NumPy."""
    shapes = transformer_shapes(config)
    weights = dict(zip(shapes, _random_arrays(shapes.values()), strict=True))
    for name, weight in weights.items():
        # Norms near 1, and embeddings and projections that keep sums near 1.
        weight *= np.float32(0.1 if weight.ndim == 1 else config.d_model**-0.5)
        weight += np.float32("norm.weight" in name)
    arrays = TransformerArrays(config, weights)
    expected = _expected_steps(PlainModel(arrays))
    model = NativeModel(PackedWeights.of(arrays, kernels.library, precision), kernels)
    actual = _steps(NativeDecoder(model, len(SOURCES), BEAM))
    error = LARGEST_STEP_ERRORS[precision]
    return all(
        np.allclose(log_probs, right, rtol=0.0, atol=error)
        and np.allclose(values, best, rtol=0.0, atol=error)
        and np.array_equal(values, np.take_along_axis(log_probs, ids, axis=1))
        for (log_probs, values, ids), (right, best) in zip(actual, expected, strict=True)
    )


def _random_arrays(shapes: Iterable[tuple[int, ...]]) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    return [generator.standard_normal(shape, dtype=np.float32) for shape in shapes]


def _ids_after(step: int, rows: int) -> list[int]:
    """The ids that the rows get before a step."""
    return [START] * rows if not step else [row + 10 * step - 6 for row in range(rows)]


def _steps(decoder: NativeDecoder) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The results of a decoder over a few steps in which rows are reordered.

    Of each step: all log-probabilities, the best allowed ones and their ids.
    """
    rows = len(SOURCES) * BEAM
    decoder.admit([0, 1], [Source(ids) for ids in SOURCES])
    results = []
    for index in range(STEPS):
        parents = PARENTS if index else range(rows)
        step = decoder.step(
            np.array(parents, np.int64), np.array(_ids_after(index, rows), np.int64)
        )
        values, ids = step.top(BEAM, Edits.ban(BANNED, rows, decoder.arrays))
        results.append((step.full(), values, ids))
    return results


def _expected_steps(model: PlainModel) -> list[tuple[np.ndarray, np.ndarray]]:
    """The same results without the ids, from whole sentences in each step."""
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
        allowed = log_probs.copy()
        allowed[:, BANNED] = -np.inf
        results.append((log_probs, NUMPY.top_k(allowed, BEAM)[0]))
    return results
