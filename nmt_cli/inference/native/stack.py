"""A stack of layers for the kernels: packed weights, and norms in the order of their use."""

import ctypes
import math
from collections.abc import Callable

import torch
from torch import nn

from nmt_cli.config.schema import ModelConfig
from nmt_cli.inference.native.linear import Linear, NativeLinear, address
from nmt_cli.inference.native.structs import LayerStruct, ModelStruct, NormStruct
from nmt_cli.inference.packed.weights import Affine, LayerWeights, layer_weights
from nmt_cli.model.attention import head_widths
from nmt_cli.model.positions import (
    LearnedPositions,
    Positions,
    RotaryPositions,
    SinusoidalPositions,
)

# Activations, as the kernels number them.
ACTIVATIONS = {"relu": 0, "gelu": 1, "silu": 2, "swiglu": 2}


class NativeStack:
    """The layers of an encoder or of a decoder, packed for the kernels.

    model: the struct that the kernels read; widest: the inputs of the widest linear layer.
    """

    def __init__(
        self,
        layers: nn.ModuleList,
        last_norm: nn.Module,
        positions: Positions,
        config: ModelConfig,
        pack: Callable[[Affine], NativeLinear],
        *,
        consumes: bool = False,
    ) -> None:
        """last_norm: the norm after all layers, used with pre-norm; pack: packs a linear layer.

        consumes: each layer loses its weights as soon as they are packed.
        """
        self._pack = pack
        self._positions = positions
        # Keeps the tensors alive that the structs point to.
        self._kept: list[object] = []
        self._layers = (LayerStruct * len(layers))()
        self._d_k, d_v = head_widths(config)
        self.widest = max(config.d_model, config.d_ff, config.heads * d_v)
        self._d_model = config.d_model
        self.model = ModelStruct(
            layers=ctypes.addressof(self._layers),
            depth=len(layers),
            d_model=config.d_model,
            heads=config.heads,
            d_k=self._d_k,
            d_v=d_v,
            d_ff=config.d_ff,
            activation=ACTIVATIONS[config.activation],
            gated=config.activation == "swiglu",
            pre_norm=config.norm_order == "pre",
            scale=math.sqrt(config.d_model) if config.scale_embeddings else 1.0,
        )
        slots: list[tuple[LayerStruct, int, nn.Module]] = []
        for struct, layer in zip(self._layers, layers, strict=True):
            slots += self._fill_layer(struct, layer_weights(layer))
            if consumes:
                _empty(layer)
        # With pre-norm, each sublayer is followed by the norm of the next one, and the last one by
        # the stack's own.
        norms = [norm for _, _, norm in slots]
        if self.model.pre_norm:
            norms.append(last_norm)
            self.model.first_norm = self._norm(norms.pop(0))
        for (struct, index, _), norm in zip(slots, norms, strict=True):
            struct.norms[index] = self._norm(norm)

    def _fill_layer(
        self, layer: LayerStruct, weights: LayerWeights
    ) -> list[tuple[LayerStruct, int, nn.Module]]:
        """Pack a layer; return its norms with their indices in the struct."""
        own, cross, inner = weights.self_attention, weights.cross_attention, weights.feed_forward
        layer.joined, layer.output = self.linear(own.joined), self.linear(own.output)
        layer.inner, layer.outer = self.linear(inner.inner), self.linear(inner.outer)
        norms = [(layer, 0, own.norm)]
        if cross is not None:
            layer.query, layer.cross_output = self.linear(cross.query), self.linear(cross.output)
            norms.append((layer, 1, cross.norm))
        return [*norms, (layer, 2, inner.norm)]

    def linear(self, affine: Affine) -> Linear:
        """Pack weights, which live as long as the stack."""
        product = self._pack(affine)
        self._kept.append(product)
        return product.linear

    def _norm(self, norm: nn.Module) -> NormStruct:
        assert isinstance(norm, nn.LayerNorm | nn.RMSNorm)
        weight, bias = norm.weight, getattr(norm, "bias", None)
        self._kept += weight, bias
        root_mean_square = isinstance(norm, nn.RMSNorm)
        return NormStruct(address(weight), address(bias), norm.eps, root_mean_square)

    def extend_positions(self, longest: int) -> None:
        """Extend the position tables to at least `longest` positions."""
        encoding, first = self._positions, (torch.zeros(1, dtype=torch.int64), longest)
        if isinstance(encoding, SinusoidalPositions):
            encoding.add(torch.zeros(1, self._d_model), *first)
            table = encoding.table
            self.model.position_table, self.model.position_rows = table.data_ptr(), len(table)
        elif isinstance(encoding, LearnedPositions):
            weight = encoding.weight
            self.model.position_table, self.model.position_rows = weight.data_ptr(), len(weight)
        elif isinstance(encoding, RotaryPositions):
            encoding.rotate(torch.zeros(1, 1, self._d_k), *first)
            self.model.cosines = encoding.cosines.data_ptr()
            self.model.sines = encoding.sines.data_ptr()


def _empty(layer: nn.Module) -> None:
    for module in layer.modules():
        if isinstance(module, nn.Linear):
            module.weight.data = module.weight.data.new_empty(0)
