"""The four kinds of layers of Table 1, each as one function of a sequence (n, d)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from nmt_cli.model.attention import scaled_dot_product_attention

Layer = Callable[[Tensor], Tensor]


class Sizes(NamedTuple):
    """Width d and heads of a layer, neighbours r of restricted attention, width k of a kernel."""

    d: int
    heads: int
    neighbours: int
    kernel: int


@dataclass(frozen=True)
class LayerKind:
    """One row of Table 1.

    make: makes the layer; step: makes one operation of a layer that consists of many in sequence;
    work: multiply-adds for a sequence of n; the other fields are the entries of the paper's table.
    """

    name: str
    make: Callable[[Sizes], Layer]
    work: Callable[[int, Sizes], int]
    complexity: str
    sequential: str
    path: str
    step: Callable[[Sizes], Layer] | None = None


def heads_of(x: Float[Tensor, "n d"], heads: int) -> Float[Tensor, "heads n d_k"]:
    """Split the width into one part for each head."""
    return x.view(len(x), heads, -1).transpose(0, 1)


def self_attention(sizes: Sizes) -> Layer:
    """Every position attends to every other: equation 1 without projections, as in Table 1."""

    def layer(x: Tensor) -> Tensor:
        parts = heads_of(x, sizes.heads)
        return scaled_dot_product_attention(parts, parts, parts).transpose(0, 1).flatten(1)

    return layer


def restricted_attention(sizes: Sizes) -> Layer:
    """Every position attends to the r nearest ones, half of them on each side."""
    reach = sizes.neighbours // 2
    width = 2 * reach + 1

    def layer(x: Tensor) -> Tensor:
        parts = heads_of(x, sizes.heads)
        # (heads, n, r, d_k): views of the padded sequence, one for each position.
        near = F.pad(parts, (0, 0, reach, reach)).unfold(1, width, 1).transpose(2, 3)
        positions = torch.arange(len(x))[:, None] + torch.arange(-reach, reach + 1)
        mask = ((positions >= 0) & (positions < len(x)))[:, None, :]
        heads = scaled_dot_product_attention(parts[:, :, None], near, near, mask)
        return heads[:, :, 0].transpose(0, 1).flatten(1)

    return layer


def recurrent(sizes: Sizes) -> Layer:
    """h_t = tanh(W x_t + U h_{t-1}): one position after the other."""
    network = nn.RNN(sizes.d, sizes.d)

    def layer(x: Tensor) -> Tensor:
        hidden: Tensor = network(x)[0]
        return hidden

    return layer


def recurrent_step(sizes: Sizes) -> Layer:
    """One step of `recurrent` at every position, with the state of the position before it."""
    cell = nn.RNNCell(sizes.d, sizes.d)

    def layer(x: Tensor) -> Tensor:
        stepped: Tensor = cell(x, F.pad(x, (0, 0, 1, 0))[:-1])
        return stepped

    return layer


def convolutional(sizes: Sizes) -> Layer:
    """A convolution with a kernel of k positions over the whole width."""
    network = nn.Conv1d(sizes.d, sizes.d, sizes.kernel, padding=sizes.kernel // 2)

    def layer(x: Tensor) -> Tensor:
        convolved: Tensor = network(x.T[None])[0].T
        return convolved

    return layer


KINDS = (
    LayerKind(
        "self-attention", self_attention, lambda n, s: 2 * n * n * s.d,
        "n^2 d", "1", "1",
    ),
    LayerKind(
        "restricted", restricted_attention, lambda n, s: 2 * (s.neighbours // 2 * 2 + 1) * n * s.d,
        "r n d", "1", "n / r",
    ),
    LayerKind(
        "recurrent", recurrent, lambda n, s: 2 * n * s.d * s.d,
        "n d^2", "n", "n", recurrent_step,
    ),
    LayerKind(
        "convolutional", convolutional, lambda n, s: s.kernel * n * s.d * s.d,
        "k n d^2", "1", "n / k; log_k n dilated",
    ),
)  # fmt: skip
