"""A stack of layers for the kernels: packed weights, and norms in the order of their use."""

import ctypes
import math
from collections.abc import Callable

import numpy as np

from nmt_cli.inference.native.linear import Linear, NativeLinear
from nmt_cli.inference.native.memory import address
from nmt_cli.inference.native.structs import LayerStruct, ModelStruct, NormStruct
from nmt_cli.inference.weights import LayerArrays, NormWeights, Projection, TransformerArrays
from nmt_cli.model.position_tables import TABLE_ROWS

# Activations, as the kernels number them.
ACTIVATIONS = {"relu": 0, "gelu": 1, "silu": 2, "swiglu": 2}


class NativeStack:
    """The layers of an encoder or of a decoder, packed for the kernels.

    model: the struct that the kernels read; widest: the inputs of the widest linear layer; memory:
    of each layer of a decoder, the projection of the encoder's output to keys and values;
    position_table: what is added to embeddings, (positions, d_model), or None.
    """

    def __init__(
        self, arrays: TransformerArrays, name: str, pack: Callable[[Projection], NativeLinear]
    ) -> None:
        """name: encoder or decoder; pack: packs a linear layer."""
        config = arrays.config
        self._pack, self._arrays = pack, arrays
        self._side = "src" if name == "encoder" else "tgt"
        # Keeps the arrays alive that the structs point to.
        self._kept: list[object] = []
        self.memory: list[NativeLinear] = []
        self.position_table: np.ndarray | None = None
        self._positions = 0
        self._layers = (LayerStruct * arrays.depth(name))()
        self.widest = max(config.d_model, config.d_ff, config.heads * arrays.d_v)
        self.model = ModelStruct(
            layers=ctypes.addressof(self._layers),
            depth=len(self._layers),
            d_model=config.d_model,
            heads=config.heads,
            d_k=arrays.d_k,
            d_v=arrays.d_v,
            d_ff=config.d_ff,
            activation=ACTIVATIONS[config.activation],
            gated=config.activation == "swiglu",
            pre_norm=config.norm_order == "pre",
            scale=math.sqrt(config.d_model) if config.scale_embeddings else 1.0,
        )
        slots: list[tuple[LayerStruct, int, NormWeights]] = []
        for struct, layer in zip(self._layers, arrays.layers(name), strict=True):
            slots += self._fill_layer(struct, layer)
        # With pre-norm, each sublayer is followed by the norm of the next one, and the last one by
        # the stack's own.
        norms = [norm for _, _, norm in slots]
        last_norm = arrays.last_norm(name)
        if last_norm is not None:
            norms.append(last_norm)
            self.model.first_norm = self._norm(norms.pop(0))
        for (struct, index, _), norm in zip(slots, norms, strict=True):
            struct.norms[index] = self._norm(norm)

    def _fill_layer(
        self, struct: LayerStruct, layer: LayerArrays
    ) -> list[tuple[LayerStruct, int, NormWeights]]:
        """Pack a layer; return its norms with their indices in the struct."""
        own, cross, inner = layer.own, layer.cross, layer.feed_forward
        struct.joined, struct.output = self.linear(own.joined), self.linear(own.output)
        struct.inner, struct.outer = self.linear(inner.inner), self.linear(inner.outer)
        norms = [(struct, 0, own.norm)]
        if cross is not None:
            struct.query, struct.cross_output = self.linear(cross.query), self.linear(cross.output)
            self.memory.append(self._pack(cross.memory))
            norms.append((struct, 1, cross.norm))
        return [*norms, (struct, 2, inner.norm)]

    def linear(self, projection: Projection) -> Linear:
        """Pack weights, which live as long as the stack."""
        product = self._pack(projection)
        self._kept.append(product)
        return product.linear

    def _norm(self, norm: NormWeights) -> NormStruct:
        self._kept += norm.weight, norm.bias
        return NormStruct(
            address(norm.weight), address(norm.bias), norm.epsilon, norm.root_mean_square
        )

    def extend_positions(self, longest: int) -> None:
        """Extend the position tables to at least `longest` positions."""
        if longest <= self._positions:
            return
        self._positions = rows = TABLE_ROWS if longest <= TABLE_ROWS else 2 * longest
        table, rotations = (
            self._arrays.position_table(self._side, rows),
            self._arrays.rotations(rows),
        )
        if table is not None:
            self.position_table = table
            self.model.position_table, self.model.position_rows = address(table), len(table)
        if rotations is not None:
            self._rotations = rotations
            self.model.cosines, self.model.sines = map(address, rotations)
