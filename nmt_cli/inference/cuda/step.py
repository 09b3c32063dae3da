"""The output layer and top-k on a GPU: the best ids of every row, without synchronising."""

import torch
import torch.nn.functional as F
from torch import Tensor

from nmt_cli.inference.cuda.kernel_choice import StepKernels
from nmt_cli.inference.logits_step import LogitsStep
from nmt_cli.inference.packed.head import BLOCK, BlockTopK
from nmt_cli.inference.packed.weights import Affine
from nmt_cli.search.arrays.torch_top_k import top_k_by_keys

NARROW = (torch.bfloat16, torch.float16)


class WideHead:
    """An OutputLayer that sums in float32, and adds the bias in float32 also to narrow products."""

    def __init__(self, output: Affine) -> None:
        self.words = output.outputs
        missing = -output.outputs % BLOCK
        self._weight = F.pad(output.weight, (0, 0, 0, missing))
        bias = output.bias
        self._bias = None if bias is None else F.pad(bias.float(), (0, missing))
        # A GPU sums narrow products in float32: the sums are not rounded again.
        self._sums_out = self._weight.is_cuda and self._weight.dtype in NARROW

    def logits(self, hidden: Tensor) -> Tensor:
        """(rows, d_model) -> (rows, whole blocks of words), float32."""
        if self._sums_out:
            logits = torch.mm(hidden, self._weight.T, out_dtype=torch.float32)
        else:
            logits = F.linear(hidden, self._weight).float()
        if self._bias is not None:
            logits += self._bias
        logits[:, self.words :].fill_(-torch.inf)
        return logits


def cuda_step(
    logits: Tensor, words: int, free: Tensor, kernels: StepKernels | None = None
) -> LogitsStep:
    """The step over the logits of all rows: (rows, whole blocks), of which `words` are words.

    free: (rows,), True for rows of free slots. kernels: None where torch computes.
    """
    if kernels is None:
        maxima = logits.view(len(logits), -1, BLOCK).amax(2)
        totals = logits.logsumexp(1, keepdim=True)
    else:
        maxima, totals = kernels.reduce_rows(logits, BLOCK)
    # Subtracting inf makes all log-probabilities of free rows -inf.
    totals = totals.masked_fill(free[:, None], torch.inf)
    return LogitsStep(logits, totals, words, BlockTopK(maxima, top_k_by_keys))
