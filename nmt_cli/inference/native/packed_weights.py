"""A Transformer's weights in the form that the kernels read."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from nmt_cli.inference.native.huge_pages import Arena
from nmt_cli.inference.native.linear import BLOCK, PackedLinear
from nmt_cli.inference.weights import Projection, TransformerArrays

# The name of the output layer.
HEAD = "head"


class PackedWeights(NamedTuple):
    """linears: the packed linear layers by name, such as `decoder.0.memory`; arrays: all other
    weights; precision: of the packed ones, one of `linear.PRECISIONS`. In float32, the matrix of
    the output layer need not be among `arrays`.
    """

    arrays: TransformerArrays
    linears: Mapping[str, PackedLinear]
    precision: str

    @classmethod
    def of(cls, arrays: TransformerArrays, precision: str = "float32") -> "PackedWeights":
        """Pack copies of the linear layers."""
        arena = Arena()
        output = PackedLinear.of(whole_blocks(arrays.output), precision, arena)
        # In float32 the packed matrix has all that the model needs. It is packed first, so that the
        # largest matrix is not in memory twice when all others are too.
        if precision == "float32":
            arrays.forget_output()
        linears = {
            name: PackedLinear.of(projection, precision, arena)
            for stack in ("encoder", "decoder")
            for name, projection in arrays.projections(stack)
        }
        linears[HEAD] = output
        return cls(arrays.without_linears(), linears, precision)


def whole_blocks(output: Projection) -> Projection:
    """The output layer with words added to fill the last block; their logits are -inf."""
    missing, bias = -output.outputs % BLOCK, output.bias
    if not missing:
        return output
    bias = np.zeros(output.outputs, np.float32) if bias is None else bias
    bias = np.pad(bias, (0, missing), constant_values=-np.inf)
    return Projection(np.pad(output.weight, ((0, missing), (0, 0))), bias)
