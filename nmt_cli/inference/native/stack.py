"""A stack of layers as the kernels take it: weights packed, norms in the order they come up in."""

import ctypes
import math
from collections.abc import Callable

import torch
from torch import nn

from nmt_cli.config.schema import ModelConfig as Config
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
    """Encoder or decoder. `model`: the structure; `widest`: inputs of its widest product."""

    def __init__(
        self,
        layers: nn.ModuleList,
        last_norm: nn.Module,
        positions: Positions,
        config: Config,
        pack: Callable[[Affine], NativeLinear],
        *,
        consumes: bool = False,
    ) -> None:
        """`last_norm`: of the stack, with pre-norm; `pack`: makes a product of weights.

        consumes: each layer loses its weights as soon as they are packed.
        """
        self._pack = pack
        self._positions = positions
        # What the structures refer to.
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
        places: list[tuple[LayerStruct, int, nn.Module]] = []
        for layer, one in zip(self._layers, layers, strict=True):
            places += self._fill_layer(layer, layer_weights(one))
            if consumes:
                _empty(one)
        # With pre-norm a sublayer is followed by the norm of the next one, the last by the stack's.
        norms = [norm for _, _, norm in places]
        if self.model.pre_norm:
            norms.append(last_norm)
            self.model.first_norm = self._norm(norms.pop(0))
        for (layer, number, _), norm in zip(places, norms, strict=True):
            layer.norms[number] = self._norm(norm)

    def _fill_layer(
        self, layer: LayerStruct, weights: LayerWeights
    ) -> list[tuple[LayerStruct, int, nn.Module]]:
        """Pack a layer; its norms, with their places."""
        own, cross, inner = weights.self_attention, weights.cross_attention, weights.feed_forward
        layer.joined, layer.output = self.linear(own.joined), self.linear(own.output)
        layer.inner, layer.outer = self.linear(inner.inner), self.linear(inner.outer)
        norms = [(layer, 0, own.norm)]
        if cross is not None:
            layer.query, layer.cross_output = self.linear(cross.query), self.linear(cross.output)
            norms.append((layer, 1, cross.norm))
        return [*norms, (layer, 2, inner.norm)]

    def linear(self, affine: Affine) -> Linear:
        """Packed weights, which live as long as the stack."""
        product = self._pack(affine)
        self._kept.append(product)
        return product.linear

    def _norm(self, norm: nn.Module) -> NormStruct:
        assert isinstance(norm, nn.LayerNorm | nn.RMSNorm)
        weight, bias = norm.weight, getattr(norm, "bias", None)
        self._kept += weight, bias
        root_mean_square = isinstance(norm, nn.RMSNorm)
        return NormStruct(address(weight), address(bias), norm.eps, root_mean_square)

    def reach(self, longest: int) -> None:
        """Make the tables of positions long enough for so many steps."""
        kind, place = self._positions, (torch.zeros(1, dtype=torch.int64), longest)
        if isinstance(kind, SinusoidalPositions):
            kind.add(torch.zeros(1, self._d_model), *place)
            self.model.position_table, self.model.position_rows = (
                kind.table.data_ptr(),
                len(kind.table),
            )
        elif isinstance(kind, LearnedPositions):
            self.model.position_table, self.model.position_rows = (
                kind.weight.data_ptr(),
                len(kind.weight),
            )
        elif isinstance(kind, RotaryPositions):
            kind.rotate(torch.zeros(1, 1, self._d_k), *place)
            self.model.cosines, self.model.sines = kind.cosines.data_ptr(), kind.sines.data_ptr()


def _empty(layer: nn.Module) -> None:
    for one in layer.modules():
        if isinstance(one, nn.Linear):
            one.weight.data = one.weight.data.new_empty(0)
