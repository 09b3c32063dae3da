"""Kernels of a training's matrix products on a CPU, made before the step that first needs them.

oneDNN makes a few kernels for each shape at the first product of that shape, and keeps 258 KB of
memory for each. Made during a step, they would lie between its tensors; made here, outside of the
heap, they leave the heap in one piece.
"""

import copy
from collections.abc import Callable, Sequence, Set
from functools import partial
from typing import Any, overload

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
# A function of a stream and of some layers that returns streams, and these layers.
Part = tuple[Callable[..., list[Tensor]], tuple[nn.Linear, ...]]


class ProductKernels:
    """The kernels of a run's matrix products.

    Only Transformers on a CPU need any, unless their products are split.
    """

    def __init__(self, model: EncoderDecoder, config: Config, replicas: ReplicaThreadPool) -> None:
        on_cpu = isinstance(model, Transformer) and model.output_weight.device.type == "cpu"
        self._precision = config.train.precision
        self._model = model if on_cpu and self._precision != "split" else None
        self._replicas = replicas
        self._sizes: set[int] = set()
        # The products that have been computed: a kind of part and its shapes, and a size.
        self._made: set[object] = set()

    @property
    def are_needed(self) -> bool:
        """Whether the model has products that need kernels."""
        return self._model is not None

    def make(self, sizes: Set[int]) -> None:
        """Compute each product of the weights with streams of these sizes, if it never was before.

        sizes: in tokens. Results are dropped, so this changes no number. Layers of equal sizes
        share their kernels.
        """
        if not isinstance(self._model, Transformer) or sizes <= self._sizes:
            return
        products = {
            key: product
            for key, product in _products_of(self._model, sorted(sizes)).items()
            if key not in self._made
        }
        # On the threads of the replicas: a kernel is made for a number of threads, too.
        with outside_heap():
            self._replicas.map(self._work, list(products.values()))
        self._made.update(products)
        self._sizes |= sizes

    def _work(self, _: nn.Module, product: Callable[[], Tensor]) -> bool:
        with autocast(self._precision, CPU):
            loss = product()
        loss.backward()  # type: ignore[no-untyped-call]
        return True


class _Dropped(torch.autograd.Function):
    """Zero from streams, whose gradients are the columns of one matrix of zeros.

    So no pass over the streams is needed. A gradient that is given to backward() would do the same,
    but torch would import sympy for it.
    """

    @staticmethod
    def forward(ctx: Any, *streams: Tensor) -> Tensor:
        ctx.widths = [stream.shape[1] for stream in streams]
        ctx.length, ctx.dtype = len(streams[0]), streams[0].dtype
        return torch.zeros(())

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *_: Tensor) -> tuple[Tensor, ...]:
        gradient = torch.zeros(ctx.length, sum(ctx.widths), dtype=ctx.dtype)
        return gradient.split_with_sizes(ctx.widths, dim=1)


def _products_of(
    model: Transformer, sizes: Sequence[int]
) -> dict[tuple[object, int], Callable[[], Tensor]]:
    """The products of all weights with streams of these sizes, by what makes them different."""
    products: dict[tuple[object, int], Callable[[], Tensor]] = {}
    for kind, part in _parts_of(model).items():
        for size in _sizes_of(part, sizes):
            products[kind, size] = partial(_compute_part, part, size)
    chunks = (chunk_sizes(size, len(model.output_weight), "cpu") for size in sizes)
    for size in sorted(set().union(*chunks)):
        products["loss", size] = partial(_compute_loss, model, size)
    return products


def _parts_of(model: Transformer) -> dict[tuple[object, ...], Part]:
    """One part of every kind and shape: layers whose products are computed together."""
    parts: dict[tuple[object, ...], Part] = {}

    def add(name: str, compute: Callable[..., list[Tensor]], *layers: nn.Linear) -> None:
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
            add("feed-forward", _compute_feed_forward, module.inner, module.outer)
            together.update((module.inner, module.outer))
    for module in model.modules():
        if isinstance(module, nn.Linear) and module not in together:
            add("linear", _compute_layer, module)
    return parts


def _sizes_of(part: Part, sizes: Sequence[int]) -> Sequence[int]:
    """The numbers of tokens in the products of a part, for streams of these sizes."""
    if part[0] is not _compute_feed_forward:
        return sizes
    return sorted(set().union(*map(part_sizes, sizes)))


def _compute_part(part: Part, tokens: int) -> Tensor:
    """The products of a part with a stream of this many tokens."""
    compute, layers = part
    x = torch.zeros(tokens, layers[0].in_features, requires_grad=True)
    streams = compute(x, *map(_leaf_layer, layers))
    zero: Tensor = _Dropped.apply(*streams)  # type: ignore[no-untyped-call]
    return zero


def _compute_joined(x: Tensor, *layers: nn.Linear) -> list[Tensor]:
    return joined_projections(x, layers)


def _compute_feed_forward(x: Tensor, inner: nn.Linear, outer: nn.Linear) -> list[Tensor]:
    return [native_feed_forward(x, inner, outer)]


def _compute_layer(x: Tensor, layer: nn.Linear) -> list[Tensor]:
    return [F.linear(x, layer.weight, layer.bias)]


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
