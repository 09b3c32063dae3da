"""The model's computation on a GPU, in float32 or narrower: what a step of the decoder records."""

import copy
from functools import partial

import torch
import torch.nn.functional as F

from nmt_cli.inference.cuda.step import WideHead
from nmt_cli.inference.packed.linear import Product
from nmt_cli.inference.packed.model import PackedModel
from nmt_cli.inference.packed.weights import Affine
from nmt_cli.model.transformer import Transformer


class CudaModel(PackedModel):
    """A model on its device in the dtype of its weights; it does not follow their changes."""

    def __init__(self, model: Transformer) -> None:
        """model: in evaluation mode."""
        super().__init__(model, plain_product, WideHead)
        self.device = model.output_weight.device
        self.dtype = model.output_weight.dtype
        # A copy of the table: a long source must not reallocate the one that a graph refers to.
        self._positions["tgt"] = copy.deepcopy(model.tgt_positions)

    def reach(self, steps: int) -> None:
        """Extend the position tables to `steps` now, so that no step reallocates them."""
        first = torch.zeros(1, dtype=torch.int64, device=self.device)
        embedded = self.embed("tgt", first, first, steps)
        joined = embedded.new_zeros(1, self.config.heads * (2 * self.d_k + self.d_v))
        self.split(joined, "tgt", first, steps)


def plain_product(affine: Affine) -> Product:
    """x -> x W^T + b."""
    return partial(F.linear, weight=affine.weight, bias=affine.bias)
