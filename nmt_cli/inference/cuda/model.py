"""The model's computation on a GPU, in float32 or narrower: what a step of the decoder records."""

import copy
from functools import partial

import torch.nn.functional as F

from nmt_cli.inference.cuda.step import WideHead
from nmt_cli.inference.packed.linear import Product
from nmt_cli.inference.packed.model import PackedInputs, PackedModel
from nmt_cli.inference.packed.weights import Affine, output_weights
from nmt_cli.model.transformer import Transformer


def make_cuda_model(model: Transformer) -> PackedModel:
    """The model on its device in the dtype of its weights; it does not follow their changes.

    model: in evaluation mode.
    """
    # A copy of the table: a long source must not reallocate the one that a graph refers to.
    inputs = PackedInputs(model, copy.deepcopy(model.tgt_positions))
    return PackedModel(model, plain_product, inputs=inputs, head=WideHead(output_weights(model)))


def plain_product(affine: Affine) -> Product:
    """x -> x W^T + b."""
    return partial(F.linear, weight=affine.weight, bias=affine.bias)
