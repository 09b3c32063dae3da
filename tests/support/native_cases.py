"""The engine in C for tests that compare with torch: models, layers and steps in tensors."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import DTypeLike
from torch import Tensor

from nmt_cli.inference.native.linear import PRECISIONS, Kernels, NativeLinear
from nmt_cli.inference.native.memory import empty
from nmt_cli.inference.native.model import NativeModel
from nmt_cli.inference.native.packing.packed_weights import PackedWeights
from nmt_cli.inference.native.packing.packer import Packer
from nmt_cli.inference.packed.weights import Affine
from nmt_cli.inference.weights import ProjectionRows, TransformerArrays
from nmt_cli.model.transformer import Transformer
from nmt_cli.search.arrays.interface import Array
from nmt_cli.search.arrays.numpy_arrays import NUMPY
from nmt_cli.search.decoder import Decoder, Edits, Source, Step

# Those of weights that all kernels read; split ones are for AMX only.
VECTOR_PRECISIONS = tuple(precision for precision in PRECISIONS if precision != "split")


def filled_with(byte: int) -> Callable[..., np.ndarray]:
    """In place of `memory.empty`: an array whose bytes are all this one."""

    def make(shape: int | Sequence[int], dtype: DTypeLike = np.float32) -> np.ndarray:
        array = empty(shape, dtype)
        array.view(np.uint8)[...] = byte
        return array

    return make


def arrays_of_model(model: Transformer) -> TransformerArrays:
    """The weights of a model, shared with it."""
    weights = {name: weight.detach().numpy() for name, weight in model.named_parameters()}
    return TransformerArrays(model.config, weights)


def native_model(model: Transformer, kernels: Kernels, precision: str = "float32") -> NativeModel:
    return NativeModel(
        PackedWeights.of(arrays_of_model(model), kernels.library, precision), kernels
    )


def native_linear(
    kernels: Kernels, layer: Affine, precision: str = "int8"
) -> Callable[[Tensor], Tensor]:
    bias = None if layer.bias is None else layer.bias.numpy()
    packed = Packer(kernels.library, precision).pack(ProjectionRows.of(layer.weight.numpy(), bias))
    product = NativeLinear(kernels, packed)
    return lambda x: torch.from_numpy(product(x.numpy()))


class TorchSteps:
    """A decoder of any library that is given tensors and returns them."""

    def __init__(self, decoder: Decoder) -> None:
        self.decoder = decoder
        self.slots, self.beam, self.symbols = decoder.slots, decoder.beam, decoder.symbols

    def admit(self, slots: Sequence[int], sources: Sequence[Source]) -> None:
        self.decoder.admit(slots, sources)

    def retire(self, slots: Sequence[int]) -> None:
        self.decoder.retire(slots)

    def step(self, parents: Tensor, ids: Tensor) -> "TorchStep":
        own = self.decoder.arrays is NUMPY
        given = (parents.numpy(), ids.numpy()) if own else (parents, ids)
        return TorchStep(self.decoder.step(*given), numpy=own)


class TorchStep:
    """A step whose results are tensors."""

    def __init__(self, step: Step, *, numpy: bool) -> None:
        self.step = step
        self._numpy = numpy

    def top(self, k: int, edits: Edits) -> tuple[Tensor, Tensor]:
        if self._numpy:
            columns = (edits.rows, edits.ids, edits.bias, edits.forced)
            edits = Edits(*(np.asarray(column) for column in columns))
        values, ids = self.step.top(k, edits)
        return tensor_of(values), tensor_of(ids)

    def full(self, rows: Tensor | None = None) -> Tensor:
        chosen = np.asarray(rows) if self._numpy and rows is not None else rows
        return tensor_of(self.step.full(chosen))


def tensor_of(array: Array) -> Tensor:
    return torch.as_tensor(array)
