"""Muon (Jordan and others 2024): each matrix is updated with its orthogonalised momentum.

Adam updates all weights that are not matrices of linear layers: embeddings, norms, biases.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from nmt_cli.machine import cache_folder
from nmt_cli.model.torch_adapter import foreach_add_, foreach_lerp, foreach_lerp_, foreach_mul_
from nmt_cli.training.optimizers.adam import Optimizer
from nmt_cli.training.optimizers.native_muon import Quintic, muon_kernels, orthogonalise_
from nmt_cli.training.optimizers.torch_threads import suitable_threads

# The quintic a s + b s^3 + c s^5 drives every singular value s towards 1, quickly, not exactly.
COEFFICIENTS = 3.4445, -4.7750, 2.0315
ITERATIONS = 5
EPSILON = 1e-7
# From this ratio of columns to rows on, iterating on (rows, rows) products is less work.
LONG_RATIO = 2
QUINTIC = Quintic(ITERATIONS, LONG_RATIO, *COEFFICIENTS, EPSILON)
MOMENTUM = "momentum"
# An Adam step moves each weight by about this share of the learning rate (Liu and others 2025);
# with it, both can use the same rate.
ADAM_UPDATE_SIZE = 0.2


class Muon(Optimizer):
    """Muon with Nesterov momentum for `matrices`; `adam` updates its own weights.

    Updates are scaled by 0.2 sqrt(max(rows, columns)), so that they are as large as Adam's
    (Liu and others 2025, "Muon is scalable for LLM training").
    """

    def __init__(
        self,
        matrices: Iterable[Tensor],
        adam: Optimizer,
        momentum: float,
        weight_decay: float,
    ) -> None:
        """matrices: 2-D; weight_decay: of the matrices, decoupled."""
        group: dict[str, Any] = {"params": list(matrices), "weight_decay": weight_decay}
        super().__init__([group, *adam.param_groups])
        self.momentum = momentum
        # Both have the same learning rates and share one state.
        self.adam = adam
        self.adam.param_groups = self.param_groups[1:]
        self.adam.state = self.state

    @torch.no_grad()
    def step(self) -> None:
        """Take one step; weights without a gradient do not change."""
        group = self.param_groups[0]
        shapes: defaultdict[torch.Size, list[Tensor]] = defaultdict(list)
        for weight in group["params"]:
            if weight.grad is not None:
                shapes[weight.shape].append(weight)
        # Matrices of one shape go together, in a few large products.
        lookaheads = (self._lookahead(weights) for weights in shapes.values())
        for weights, updates in zip(shapes.values(), _orthogonalised(lookaheads), strict=True):
            with suitable_threads(weights):
                _apply(weights, updates, group["lr"], group["weight_decay"])
        self.adam.step()

    def _lookahead(self, weights: list[Tensor]) -> Tensor:
        """(n, rows, columns): Nesterov's momentum, as it will be if the next gradient is alike."""
        gradients = [weight.grad for weight in weights if weight.grad is not None]
        for weight in weights:
            if MOMENTUM not in self.state[weight]:
                self.state[weight][MOMENTUM] = torch.zeros_like(weight)
        momenta = [self.state[weight][MOMENTUM] for weight in weights]
        with suitable_threads(weights):
            foreach_lerp_(momenta, gradients, 1.0 - self.momentum)
            return torch.stack(foreach_lerp(gradients, momenta, self.momentum))


def _apply(weights: list[Tensor], updates: Tensor, rate: float, weight_decay: float) -> None:
    scale = ADAM_UPDATE_SIZE * math.sqrt(max(weights[0].shape))
    if weight_decay:
        foreach_mul_(weights, 1.0 - rate * weight_decay)
    foreach_add_(weights, list(updates.to(weights[0].dtype).unbind()), alpha=-rate * scale)


def _orthogonalised(stacks: Iterator[Tensor]) -> Iterator[Tensor]:
    """`orthogonalise` of each stack; in C all at once, so that threads are woken once."""
    first = next(stacks, None)
    if first is None:
        return
    is_float32 = first.device.type == "cpu" and first.dtype == torch.float32
    kernels = muon_kernels(cache_folder()) if is_float32 else None
    if kernels is None:
        yield from map(orthogonalise, chain((first,), stacks))
    else:
        all_stacks = [first, *stacks]
        orthogonalise_(kernels, all_stacks, QUINTIC)
        yield from all_stacks


def orthogonalise(matrices: Tensor) -> Tensor:
    """(n, rows, columns): each becomes about U V^T of its U S V^T, by Newton-Schulz iterations.

    The singular values become about 0.7 to 1.2. On a GPU it is computed in bf16, which is accurate
    enough.
    """
    x: Tensor = matrices.bfloat16() if matrices.is_cuda else matrices
    tall = x.shape[1] > x.shape[2]
    if tall:
        x = x.mT
    x = x / (x.norm(dim=(1, 2), keepdim=True) + EPSILON)
    # bf16 is too coarse for the variant on (rows, rows) products.
    is_long = not x.is_cuda and x.shape[2] >= LONG_RATIO * x.shape[1]
    x = torch.bmm(_polynomials_of(x), x) if is_long else _iterate(x)
    return x.mT if tall else x


def _iterate(x: Tensor) -> Tensor:
    a, b, c = COEFFICIENTS
    for _ in range(ITERATIONS):
        square = torch.bmm(x, x.mT)
        polynomial = torch.baddbmm(square, square, square, beta=b, alpha=c)
        x = torch.baddbmm(x, polynomial, x, beta=a)
    return x


def _polynomials_of(x: Tensor) -> Tensor:
    """(n, rows, rows): the matrix by which all iterations together multiply x.

    Each iteration multiplies by a polynomial P of S = x x^T, and the next S is P S P, so that only
    (rows, rows) matrices are multiplied.
    """
    square = torch.bmm(x, x.mT)
    product = polynomial = _polynomial_of(square)
    for _ in range(ITERATIONS - 1):
        square = torch.bmm(torch.bmm(polynomial, square), polynomial)
        polynomial = _polynomial_of(square)
        product = torch.bmm(polynomial, product)
    return product


def _polynomial_of(square: Tensor) -> Tensor:
    a, b, c = COEFFICIENTS
    polynomial = torch.baddbmm(square, square, square, beta=b, alpha=c)
    polynomial.diagonal(dim1=1, dim2=2).add_(a)
    return polynomial
