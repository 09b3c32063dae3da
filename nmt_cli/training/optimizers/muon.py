"""Muon (Jordan and others 2024): the momentum of each matrix is made orthogonal before it is used.

Adam takes care of what is not a matrix between two layers: embeddings, norms, biases.
"""

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from nmt_cli.training.optimizers.adam import Optimizer

# The quintic a s + b s^3 + c s^5 drives every singular value s towards 1, quickly, not exactly.
COEFFICIENTS = 3.4445, -4.7750, 2.0315
ITERATIONS = 5
EPSILON = 1e-7
# From this ratio of columns to rows on, iterating on the squares of rows by rows is less work.
LONG = 2
MOMENTUM = "momentum"
# An Adam step moves each weight by about this share of the rate (Liu and others 2025), so that one
# learning rate serves both.
ADAM_SHARE = 0.2


class Muon(Optimizer):
    """Muon with Nesterov momentum for `matrices`, `adam` for the weights it was made with.

    An update is scaled by 0.2 sqrt(max(rows, columns)), which gives its numbers the size of Adam's
    (Liu and others 2025, "Muon is scalable for LLM training").
    """

    def __init__(
        self,
        matrices: Iterable[Tensor],
        adam: Optimizer,
        momentum: float,
        weight_decay: float,
    ) -> None:
        """`matrices` are 2-D; `weight_decay` is decoupled, and theirs."""
        group: dict[str, Any] = {"params": list(matrices), "weight_decay": weight_decay}
        super().__init__([group, *adam.param_groups])
        self.momentum = momentum
        # Both see the same rates and keep their state in one place.
        self.adam = adam
        self.adam.param_groups = self.param_groups[1:]
        self.adam.state = self.state

    @torch.no_grad()
    def step(self) -> None:
        """One step; weights without a gradient stay."""
        group = self.param_groups[0]
        shapes: defaultdict[torch.Size, list[Tensor]] = defaultdict(list)
        for weight in group["params"]:
            if weight.grad is not None:
                shapes[weight.shape].append(weight)
        for weights in shapes.values():
            self._step_shape(weights, group["lr"], group["weight_decay"])
        self.adam.step()

    def _step_shape(self, weights: list[Tensor], rate: float, weight_decay: float) -> None:
        """All matrices of one shape together: a few large products in place of many small ones."""
        gradients = [weight.grad for weight in weights if weight.grad is not None]
        for weight in weights:
            if MOMENTUM not in self.state[weight]:
                self.state[weight][MOMENTUM] = torch.zeros_like(weight)
        momenta = [self.state[weight][MOMENTUM] for weight in weights]
        torch._foreach_lerp_(momenta, gradients, 1.0 - self.momentum)
        # Nesterov: the momentum as it will be if the next gradient is like this one.
        ahead = torch.stack(torch._foreach_lerp(gradients, momenta, self.momentum))
        updates = orthogonalise(ahead).to(weights[0].dtype)
        scale = ADAM_SHARE * math.sqrt(max(weights[0].shape))
        if weight_decay:
            torch._foreach_mul_(weights, 1.0 - rate * weight_decay)
        torch._foreach_add_(weights, list(updates.unbind()), alpha=-rate * scale)


def orthogonalise(matrices: Tensor) -> Tensor:
    """(n, rows, columns): each becomes about U V^T of its U S V^T, by Newton-Schulz iterations.

    Singular values end between about 0.7 and 1.2. In bf16 on a GPU, which this bears well.
    """
    x: Tensor = matrices.bfloat16() if matrices.is_cuda else matrices
    tall = x.shape[1] > x.shape[2]
    if tall:
        x = x.mT
    x = x / (x.norm(dim=(1, 2), keepdim=True) + EPSILON)
    # bf16 is too coarse for the short way.
    long = not x.is_cuda and x.shape[2] >= LONG * x.shape[1]
    x = torch.bmm(_polynomials_of(x), x) if long else _iterate(x)
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

    Each multiplies by a polynomial P of S = x x^T, and the next S is P S P: only small squares.
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
