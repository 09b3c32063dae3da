"""A Transformer's weights in the form that the kernels read."""

import ctypes
import os
import weakref
from collections.abc import Mapping
from typing import BinaryIO, NamedTuple

import numpy as np

from nmt_cli.inference.native.linear import BLOCK, PackedLinear
from nmt_cli.inference.native.packing.packer import Packer
from nmt_cli.inference.weights import ProjectionRows, TransformerArrays

# The name of the output layer.
HEAD = "head"


class FileRows:
    """A float32 matrix in a file, of which rows are read when they are needed.

    descriptor: of the open file, which is closed with this object; begin: the byte where it begins.
    """

    def __init__(self, file: BinaryIO, begin: int) -> None:
        """file: may be closed meanwhile."""
        self.name, self.begin = file.name, begin
        self.descriptor = os.dup(file.fileno())
        weakref.finalize(self, os.close, self.descriptor)


class PackedWeights(NamedTuple):
    """A model's weights, those of linear layers packed.

    linears: the packed linear layers by name, such as `decoder.0.memory`; arrays: all other
    weights; precision: of the packed ones, one of `linear.PRECISIONS`; stored: embeddings that stay
    in a file, by name, and are not among `arrays`. In float32, the matrix of the output layer need
    not be among `arrays` either.
    """

    arrays: TransformerArrays
    linears: Mapping[str, PackedLinear]
    precision: str
    stored: Mapping[str, FileRows] = {}

    @classmethod
    def of(
        cls, arrays: TransformerArrays, library: ctypes.CDLL, precision: str = "float32"
    ) -> "PackedWeights":
        """Pack the linear layers; the other weights are those of `arrays`, read when needed."""
        packer = Packer(library, precision)
        linears = {HEAD: packer.pack(whole_blocks(arrays.output_rows))}
        # In float32 the packed matrix is the embedding too.
        if precision == "float32" or not (arrays.is_output("src") or arrays.is_output("tgt")):
            arrays.forget_output()
        linears |= {
            name: packer.pack(projection)
            for stack in ("encoder", "decoder")
            for name, projection in arrays.projections(stack)
        }
        return cls(arrays, linears, precision)


def whole_blocks(output: ProjectionRows) -> ProjectionRows:
    """The output layer with words added to fill the last block; their logits are -inf."""
    words, inputs = output.shape
    missing, bias = -words % BLOCK, output.bias
    if not missing:
        return output
    bias = np.zeros(words, np.float32) if bias is None else bias
    bias = np.pad(bias, (0, missing), constant_values=-np.inf)
    return output._replace(shape=(words + missing, inputs), bias=bias)
