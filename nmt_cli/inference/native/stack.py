"""A stack of layers for the kernels: packed weights, and norms in the order of their use."""

import ctypes
import math

import numpy as np

from nmt_cli.inference.native.linear import Kernels, Linear, NativeLinear
from nmt_cli.inference.native.memory import address
from nmt_cli.inference.native.packing.packed_weights import PackedWeights
from nmt_cli.inference.native.structs import LINEAR_PARTS, LayerStruct, ModelStruct, NormStruct
from nmt_cli.inference.weights import NormWeights
from nmt_cli.model.position_tables import TABLE_ROWS

# Activations, as the kernels number them.
ACTIVATIONS = {"relu": 0, "gelu": 1, "silu": 2, "swiglu": 2}


class NativeStack:
    """The layers of an encoder or of a decoder, packed for the kernels.

    model: the struct that the kernels read; widest: the inputs of the widest linear layer; memory:
    of each layer of a decoder, the projection of the encoder's output to keys and values;
    position_table: what is added to embeddings, (positions, d_model), or None.
    """

    def __init__(self, weights: PackedWeights, name: str, kernels: Kernels) -> None:
        """name: encoder or decoder."""
        arrays = self._arrays = weights.arrays
        config = arrays.config
        self._weights, self._kernels = weights, kernels
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
        # The struct of each norm's layer, its index there, and the norm.
        entries: list[tuple[LayerStruct, int, NormWeights]] = []
        for index, layer_norms in enumerate(arrays.norms(name)):
            struct = self._layers[index]
            self._fill_layer(struct, f"{name}.{index}")
            # The place of the norm of cross-attention stays empty in an encoder.
            places = range(3) if name == "decoder" else (0, 2)
            entries += [
                (struct, place, norm) for place, norm in zip(places, layer_norms, strict=True)
            ]
        # With pre-norm, each sublayer is followed by the norm of the next one, and the last one by
        # the stack's own.
        norms = [norm for _, _, norm in entries]
        last_norm = arrays.last_norm(name)
        if last_norm is not None:
            norms.append(last_norm)
            self.model.first_norm = self._norm(norms.pop(0))
        for (struct, place, _), norm in zip(entries, norms, strict=True):
            struct.norms[place] = self._norm(norm)

    def _fill_layer(self, struct: LayerStruct, layer: str) -> None:
        """Let the struct of a layer refer to its packed weights."""
        for part in LINEAR_PARTS:
            if f"{layer}.{part}" in self._weights.linears:
                setattr(struct, part, self.linear(f"{layer}.{part}"))
        if f"{layer}.memory" in self._weights.linears:
            self.memory.append(self._product(f"{layer}.memory"))

    def linear(self, name: str) -> Linear:
        """The struct of a linear layer, whose weights live as long as the stack."""
        product = self._product(name)
        self._kept.append(product)
        return product.linear

    def _product(self, name: str) -> NativeLinear:
        return NativeLinear(self._kernels, self._weights.linears[name])

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
        table = self._arrays.position_table(self._side, rows)
        rotations = self._arrays.rotations(rows)
        if table is not None:
            self.position_table = table
            self.model.position_table, self.model.position_rows = address(table), len(table)
        if rotations is not None:
            self._rotations = rotations
            self.model.cosines, self.model.sines = map(address, rotations)
