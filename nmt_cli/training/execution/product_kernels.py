"""Kernels of a training's matrix products on a CPU, made before the first step.

oneDNN makes a few kernels for each shape at the first product of that shape, and keeps 258 KB of
memory for each. Made during a step, they would lie between its tensors; made here, outside of the
heap, they leave the heap in one piece.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import overload

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmt_cli.config.schema import Config
from nmt_cli.machine import outside_heap
from nmt_cli.model.encoder_decoder import EncoderDecoder
from nmt_cli.model.precision import autocast
from nmt_cli.model.transformer import Transformer
from nmt_cli.training.loss.cross_entropy import chunk_sizes, linear_cross_entropy
from nmt_cli.training.parallel.thread_pool import ReplicaThreadPool

CPU = torch.device("cpu")


def make_product_kernels(
    model: EncoderDecoder, config: Config, sizes: Sequence[int], replicas: ReplicaThreadPool
) -> None:
    """Compute each product of the weights of `model` once, for each of the `sizes` of streams.

    Results are dropped, so this changes no number. It takes less than half the time of a step,
    as layers of equal sizes share their kernels. Only Transformers on a CPU need it.
    """
    if not isinstance(model, Transformer) or model.output_weight.device.type != "cpu":
        return
    layers = {
        (tuple(layer.weight.shape), layer.bias is None): layer
        for layer in model.modules()
        if isinstance(layer, nn.Linear)
    }
    chunks = (chunk_sizes(size, len(model.output_weight), "cpu") for size in sizes)
    products: list[Callable[[], Tensor]] = [
        *(partial(_compute_layer, layer, size) for layer in layers.values() for size in sizes),
        *(partial(_compute_loss, model, size) for size in sorted(set().union(*chunks))),
    ]

    def work(_: nn.Module, product: Callable[[], Tensor]) -> bool:
        with autocast(config.train.precision, CPU):
            result = product()
        # Not with a gradient given to backward(), for which torch would import sympy.
        (result * torch.zeros_like(result)).sum().backward()  # type: ignore[no-untyped-call]
        return True

    # On the threads of the replicas: a kernel is made for a number of threads, too.
    with outside_heap():
        replicas.map(work, products)


def _compute_layer(layer: nn.Linear, tokens: int) -> Tensor:
    """The product of a linear layer with a stream of this many tokens."""
    x = torch.zeros(tokens, layer.in_features, requires_grad=True)
    return F.linear(x, _leaf(layer.weight), _leaf(layer.bias))


def _compute_loss(model: Transformer, tokens: int) -> Tensor:
    """The products of the output layer with a chunk of this many tokens."""
    hidden = torch.zeros(tokens, model.output_weight.shape[1], requires_grad=True)
    targets = torch.zeros(tokens, dtype=torch.int64)
    weight, bias = _leaf(model.output_weight), _leaf(model.output_bias)
    return linear_cross_entropy(hidden, weight, bias, targets, 0.0).total


@overload
def _leaf(weight: Tensor) -> Tensor: ...


@overload
def _leaf(weight: None) -> None: ...


def _leaf(weight: Tensor | None) -> Tensor | None:
    """The same numbers, with a gradient of their own."""
    return None if weight is None else weight.detach().requires_grad_()
