"""The output layer and its top-k: the best ids of each row without sorting all logits.

Logits are divided into blocks of 64 words. The k best words of a row lie in the k blocks with the
greatest maxima, so that only those are searched.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from nmt_cli.inference.packed.linear import MakeProduct, Product, make_product
from nmt_cli.inference.packed.weights import Affine
from nmt_cli.search.decoder import Edits
from nmt_cli.search.top_k import top_k

BLOCK = 64
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


def force_token(
    logits: Tensor, values: Tensor, ids: Tensor, forced: Tensor
) -> tuple[Tensor, Tensor]:
    """Where a row is forced, keep only that id, with its own logit."""
    only = (forced >= 0)[:, None]
    wanted = forced.clamp(min=0)[:, None]
    first = torch.arange(values.shape[1], device=values.device) == 0
    values = torch.where(only, logits.gather(1, wanted), values)
    values = values.masked_fill(only & ~first, -torch.inf)
    return values, torch.where(only & first, wanted, ids)


class Head:
    """The output layer in whole blocks: words that fill the last block have logits of -inf."""

    def __init__(self, output: Affine, make: MakeProduct = make_product) -> None:
        self.words = output.outputs
        self._product: Product = make(whole_blocks(output))

    def logits(self, hidden: Tensor) -> Tensor:
        """(rows, whole blocks of words), float32."""
        return self._product(hidden).float()


class BlockStep:
    """A `search.decoder.Step` over the logits of the busy rows."""

    def __init__(self, logits: Tensor, words: int, rows: Tensor, all_rows: int) -> None:
        """logits: (busy rows, whole blocks); rows: the index of each among `all_rows` rows."""
        self._logits = logits
        self._words = words
        self._rows = rows
        self._all_rows = all_rows
        self._maxima = logits.new_empty(len(logits), logits.shape[1] // BLOCK)
        self._totals = logits.new_empty(len(logits), 1)
        buffer = torch.empty_like(logits[:CHUNK])
        for first in range(0, len(logits), CHUNK):
            self._reduce(slice(first, first + CHUNK), buffer)

    def _reduce(self, rows: slice, buffer: Tensor) -> None:
        """Compute the maxima of the blocks and the log-sum-exp of some rows."""
        logits, maxima = self._logits[rows], self._maxima[rows]
        torch.amax(logits.view(len(logits), -1, BLOCK), 2, out=maxima)
        greatest = maxima.amax(1, keepdim=True)
        shifted = torch.sub(logits, greatest, out=buffer[: len(logits)]).exp_()
        self._totals[rows] = shifted.sum(1, keepdim=True).log_().add_(greatest)

    @torch.inference_mode()
    def top(self, k: int, edits: Edits) -> tuple[Tensor, Tensor]:
        """The best `k` of each row."""
        index_of = self._rows.new_full((self._all_rows,), -1)
        index_of[self._rows] = torch.arange(len(self._rows))
        indices = index_of[edits.rows]
        busy = indices >= 0
        rows, ids, bias = indices[busy], edits.ids[busy], edits.bias[busy]
        # Edit in place and restore: a copy of all logits would cost more than the search.
        plain = self._logits[rows, ids]
        self._logits.index_put_((rows, ids), bias, accumulate=True)
        values, best_ids = self._best(k, rows, ids // BLOCK)
        values, best_ids = force_token(self._logits, values, best_ids, edits.forced[self._rows])
        self._logits[rows, ids] = plain
        return self._scatter(values - self._totals, -torch.inf), self._scatter(best_ids, 0)

    def _best(self, k: int, rows: Tensor, blocks: Tensor) -> tuple[Tensor, Tensor]:
        """The best of each row, where `blocks` of `rows` were edited."""
        by_block = self._logits.view(len(self._logits), -1, BLOCK)
        maxima = self._maxima
        if len(rows):
            maxima = maxima.clone()
            maxima[rows, blocks] = by_block[rows, blocks].amax(1)
        values, ids = best_of_blocks(by_block, maxima, min(k, self._words), top_k)
        # A padding word can be among the best only where a model gives NaN.
        return values, ids.clamp(max=self._words - 1)

    def _scatter(self, rows: Tensor, empty: float) -> Tensor:
        """The values of the busy rows at their indices among all rows."""
        scattered = rows.new_full((self._all_rows, rows.shape[1]), empty)
        return scattered.index_copy_(0, self._rows, rows)

    @torch.inference_mode()
    def full(self) -> Tensor:
        """All log-probabilities, without edits."""
        return self._scatter((self._logits - self._totals)[:, : self._words], -torch.inf)
