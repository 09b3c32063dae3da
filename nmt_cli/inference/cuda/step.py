"""The output layer and top-k on a GPU: the best ids of every row, without synchronising."""

import torch
import torch.nn.functional as F
from torch import Tensor

from nmt_cli.inference.packed.head import BLOCK, Head, best_of_blocks, force_token
from nmt_cli.inference.packed.linear import MakeProduct
from nmt_cli.inference.packed.weights import Affine
from nmt_cli.search.decoder import Edits
from nmt_cli.search.top_k import top_k_by_keys

NARROW = (torch.bfloat16, torch.float16)


class WideHead(Head):
    """The output layer in whole blocks, with float32 logits; -inf fills the last block."""

    def __init__(self, output: Affine, _make: MakeProduct) -> None:
        self.words = output.outputs
        missing = -output.outputs % BLOCK
        self._weight = F.pad(output.weight, (0, 0, 0, missing))
        bias = output.bias
        self._bias = None if bias is None else F.pad(bias.float(), (0, missing))
        # A GPU sums narrow products in float32: the sums are not rounded again.
        self._sums_out = self._weight.is_cuda and self._weight.dtype in NARROW

    def logits(self, hidden: Tensor) -> Tensor:
        """(rows, whole blocks), float32."""
        if self._sums_out:
            logits = torch.mm(hidden, self._weight.T, out_dtype=torch.float32)
        else:
            logits = F.linear(hidden, self._weight).float()
        if self._bias is not None:
            logits += self._bias
        logits[:, self.words :].fill_(-torch.inf)
        return logits


class CudaStep:
    """A `search.decoder.Step` over the logits of all rows."""

    def __init__(self, logits: Tensor, words: int, free: Tensor) -> None:
        """logits: (rows, whole blocks); free: (rows,), True for rows of free slots."""
        self._logits = logits
        self._words = words
        self._maxima = logits.view(len(logits), -1, BLOCK).amax(2)
        totals = logits.logsumexp(1, keepdim=True)
        # Subtracting inf makes all log-probabilities of free rows -inf.
        self._totals = totals.masked_fill(free[:, None], torch.inf)

    @torch.inference_mode()
    def top(self, k: int, edits: Edits) -> tuple[Tensor, Tensor]:
        """The best `k` of each row."""
        width = self._logits.shape[1]
        indices = edits.rows * width + edits.ids
        flat = self._logits.view(-1)
        # Edit in place and restore: a copy of all logits would cost more than the search.
        plain = flat[indices]
        flat.scatter_add_(0, indices, edits.bias)
        by_block = self._logits.view(len(self._logits), -1, BLOCK)
        maxima = self._maxima.clone()
        # The new maximum of every block that was edited.
        blocks = indices // BLOCK
        maxima.view(-1).scatter_(0, blocks, by_block.view(-1, BLOCK)[blocks].amax(1))
        values, ids = best_of_blocks(by_block, maxima, min(k, self._words), top_k_by_keys)
        # A padding word can be among the best only where a model gives NaN.
        ids = ids.clamp(max=self._words - 1)
        values, ids = force_token(self._logits, values, ids, edits.forced)
        flat.scatter_(0, indices, plain)
        return values - self._totals, ids

    @torch.inference_mode()
    def full(self) -> Tensor:
        """All log-probabilities, without edits."""
        return (self._logits - self._totals)[:, : self._words]
