"""Kernels of a training's matrix products on a CPU, made before the first step.

oneDNN makes a few kernels for each shape at the first product of that shape, and keeps 258 KB of
memory for each. Made during a step, they would lie between its tensors; made here, outside of the
heap, they leave the heap in one piece.
"""

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import overload

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmt_cli.config.schema import Config
from nmt_cli.machine import outside_heap
from nmt_cli.model.attention import MultiHeadAttention
from nmt_cli.model.encoder_decoder import EncoderDecoder
from nmt_cli.model.layers import FeedForward
from nmt_cli.model.native.feed_forward import native_feed_forward, part_sizes
from nmt_cli.model.native.projection import joined_projections
from nmt_cli.model.precision import autocast
from nmt_cli.model.transformer import Transformer
from nmt_cli.training.loss.cross_entropy import chunk_sizes, linear_cross_entropy
from nmt_cli.training.parallel.thread_pool import ReplicaThreadPool

CPU = torch.device("cpu")
# A function of a stream and of some layers, and these layers.
Part = tuple[Callable[..., Tensor], tuple[nn.Linear, ...]]


def make_product_kernels(
    model: EncoderDecoder, config: Config, sizes: Sequence[int], replicas: ReplicaThreadPool
) -> None:
    """Compute each product of the weights of `model` once, for each of the `sizes` of streams.

    Results are dropped, so this changes no number. It takes less than half the time of a step,
    as layers of equal sizes share their kernels. Only Transformers on a CPU need it, and those
    whose products are split do not.
    """
    if not isinstance(model, Transformer) or model.output_weight.device.type != "cpu":
        return
    if config.train.precision == "split":
        return
    parts = _parts_of(model)
    chunks = (chunk_sizes(size, len(model.output_weight), "cpu") for size in sizes)
    products: list[Callable[[], Tensor]] = [
        *(partial(_compute_part, part, size) for part in parts for size in _sizes_of(part, sizes)),
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


def _parts_of(model: Transformer) -> list[Part]:
    """One part of every kind and shape: layers whose products are computed together."""
    parts: dict[tuple[object, ...], Part] = {}

    def add(name: str, compute: Callable[..., Tensor], *layers: nn.Linear) -> None:
        shapes = ((layer.weight.shape, layer.bias is None) for layer in layers)
        parts.setdefault((name, *shapes), (compute, layers))

    together: set[nn.Module] = set()
    for module in model.modules():
        if isinstance(module, MultiHeadAttention) and module.native:
            keys_values = module.key, module.value
            add("projections", _compute_joined, *keys_values)
            add("projections", _compute_joined, module.query, *keys_values)
            together.update(keys_values)
        elif isinstance(module, FeedForward) and module.has_kernels:
            add("feed-forward", native_feed_forward, module.inner, module.outer)
            together.update((module.inner, module.outer))
    for module in model.modules():
        if isinstance(module, nn.Linear) and module not in together:
            add("linear", _compute_layer, module)
    return list(parts.values())


def _sizes_of(part: Part, sizes: Sequence[int]) -> Sequence[int]:
    """The numbers of tokens in the products of a part, for streams of these sizes."""
    if part[0] is not native_feed_forward:
        return sizes
    return sorted(set().union(*map(part_sizes, sizes)))


def _compute_part(part: Part, tokens: int) -> Tensor:
    """The products of a part with a stream of this many tokens."""
    compute, layers = part
    x = torch.zeros(tokens, layers[0].in_features, requires_grad=True)
    return compute(x, *map(_leaf_layer, layers))


def _compute_joined(x: Tensor, *layers: nn.Linear) -> Tensor:
    return torch.cat(joined_projections(x, layers), dim=1)


def _compute_layer(x: Tensor, layer: nn.Linear) -> Tensor:
    return F.linear(x, layer.weight, layer.bias)


def _leaf_layer(layer: nn.Linear) -> nn.Linear:
    """The same layer, with gradients of its own."""
    leaf = copy.deepcopy(layer)
    leaf.weight = nn.Parameter(layer.weight.detach())
    if layer.bias is not None:
        leaf.bias = nn.Parameter(layer.bias.detach())
    return leaf


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
