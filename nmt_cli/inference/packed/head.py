"""The output layer and its top-k: the best ids of each row without sorting all logits.

Logits are divided into blocks of 64 words. The k best words of a row lie in the k blocks with the
greatest maxima, so that only those are searched.
"""

from collections.abc import Callable
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from nmt_cli.inference.logits_step import BusyRows, LogitsStep
from nmt_cli.inference.native.linear import BLOCK as BLOCK
from nmt_cli.inference.packed.linear import MakeProduct, Product, make_product
from nmt_cli.inference.packed.weights import Affine
from nmt_cli.search.arrays.torch_top_k import top_k

TopK = Callable[[Tensor, int], tuple[Tensor, Tensor]]
# Rows whose logits are summed at a time, so that they are still in the CPU cache.
CHUNK = 8


def whole_blocks(output: Affine) -> Affine:
    """The output layer with words added to fill the last block; their logits are -inf."""
    missing, bias = -output.outputs % BLOCK, output.bias
    if not missing:
        return output
    bias = torch.zeros(output.outputs) if bias is None else bias
    bias = F.pad(bias.float(), (0, missing), value=-torch.inf).to(output.weight.dtype)
    return Affine(F.pad(output.weight, (0, 0, 0, missing)), bias)


def best_of_blocks(by_block: Tensor, maxima: Tensor, k: int, best: TopK) -> tuple[Tensor, Tensor]:
    """Values and ids of the best `k` of each row; ties go to the lowest id.

    by_block: (rows, blocks, BLOCK) logits; maxima: (rows, blocks), the greatest of each block.
    """
    chosen = best(maxima, k)[1].sort(dim=1).values
    width = by_block.shape[2]
    # (rows, k * BLOCK)
    logits = by_block.gather(1, chosen[:, :, None].expand(-1, -1, width)).flatten(1)
    values, indices = best(logits, k)
    return values, chosen.gather(1, indices // width) * width + indices % width


class OutputLayer(Protocol):
    """The output layer in whole blocks: the last block is filled up with logits of -inf.

    words: the number of words, without those that fill the last block.
    """

    words: int

    def logits(self, hidden: Tensor) -> Tensor:
        """(rows, d_model) -> (rows, whole blocks of words), float32."""


class PackedHead:
    """An OutputLayer whose weights are packed together with the words that fill the last block."""

    def __init__(self, output: Affine, make: MakeProduct = make_product) -> None:
        self.words = output.outputs
        self._product: Product = make(whole_blocks(output))

    def logits(self, hidden: Tensor) -> Tensor:
        """(rows, d_model) -> (rows, whole blocks of words), float32."""
        return self._product(hidden).float()


class BlockTopK:
    """The top-k of logits in whole blocks, whose maxima were computed before the edits."""

    def __init__(self, maxima: Tensor, best: TopK) -> None:
        """maxima: (rows, blocks); best: finds the best k of a few logits."""
        self._maxima = maxima
        self._best = best

    def __call__(self, logits: Tensor, k: int, edited: Tensor) -> tuple[Tensor, Tensor]:
        """The best of each row; edited: positions in the flattened logits."""
        by_block = logits.view(len(logits), -1, BLOCK)
        maxima = self._maxima
        if len(edited):
            maxima = maxima.clone()
            # The new maximum of every block that was edited.
            blocks = edited // BLOCK
            maxima.view(-1).scatter_(0, blocks, by_block.view(-1, BLOCK)[blocks].amax(1))
        return best_of_blocks(by_block, maxima, k, self._best)


def block_step(logits: Tensor, words: int, busy: BusyRows) -> LogitsStep:
    """The step over the logits of busy rows in whole blocks, of which `words` are words."""
    maxima = logits.new_empty(len(logits), logits.shape[1] // BLOCK)
    totals = logits.new_empty(len(logits), 1)
    buffer = torch.empty_like(logits[:CHUNK])
    for first in range(0, len(logits), CHUNK):
        rows = slice(first, first + CHUNK)
        _reduce(logits[rows], maxima[rows], totals[rows], buffer)
    return LogitsStep(logits, totals, words, BlockTopK(maxima, top_k), busy)


def _reduce(logits: Tensor, maxima: Tensor, totals: Tensor, buffer: Tensor) -> None:
    """Write the maxima of the blocks, and the log-sum-exp of each row."""
    torch.amax(logits.view(len(logits), -1, BLOCK), 2, out=maxima)
    greatest = maxima.amax(1, keepdim=True)
    shifted = torch.sub(logits, greatest, out=buffer[: len(logits)]).exp_()
    totals[:] = shifted.sum(1, keepdim=True).log_().add_(greatest)
