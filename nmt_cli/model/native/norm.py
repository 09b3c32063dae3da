"""Layer normalisation (section 3.1) in C for training on a CPU."""

from typing import Any

import torch
from torch import Tensor, nn

from nmt_cli.kernels.training import TrainingKernels
from nmt_cli.machine import cache_folder
from nmt_cli.model.native.part import NativePart
from nmt_cli.model.native.rows import normalise, normalise_backward, row_kernels


class LayerNorm(NativePart, nn.LayerNorm):
    """torch's layer normalisation, over the last dimension of a stream.

    narrows: computed in C, the output is bf16 where autocast computes products in bf16; for outputs
    that only products read.
    """

    narrows = False

    def forward(self, x: Tensor) -> Tensor:
        """`x` normalised; float32 for float32, unless it narrows."""
        if self.native and x.dim() == 2 and x.dtype == torch.float32 and torch.is_grad_enabled():
            kernels = row_kernels(cache_folder())
            if kernels is not None:
                to_bf16 = self.narrows and torch.is_autocast_enabled("cpu")
                dtype = torch.get_autocast_dtype("cpu") if to_bf16 else torch.float32
                normalised: Tensor = _NativeNorm.apply(  # type: ignore[no-untyped-call]
                    kernels, x, self.weight, self.bias, self.eps, dtype
                )
                return normalised
        return super().forward(x)


class _NativeNorm(torch.autograd.Function):
    """The two passes in C, as one function of torch."""

    @staticmethod
    def forward(
        ctx: Any,
        kernels: TrainingKernels,
        x: Tensor,
        weight: Tensor,
        bias: Tensor,
        epsilon: float,
        dtype: torch.dtype,
    ) -> Tensor:
        x = x.contiguous()
        out, statistics = normalise(kernels, x, weight, bias, epsilon, dtype)
        ctx.save_for_backward(x, weight, statistics)
        ctx.kernels = kernels
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        gradients = normalise_backward(ctx.kernels, gradient.contiguous(), *ctx.saved_tensors)
        return None, *gradients, None, None
