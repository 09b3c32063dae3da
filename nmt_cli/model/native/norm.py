"""Layer normalisation (section 3.1) in C for training on a CPU."""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from nmt_cli.kernels.training import TrainingKernels
from nmt_cli.machine import cache_folder
from nmt_cli.model.native.feed_forward import product_dtype
from nmt_cli.model.native.part import NativePart
from nmt_cli.model.native.rows import Widths, normalise, normalise_backward, row_kernels


class TwoWidths(NamedTuple):
    """A stream in float32, for residual connections, and in bf16, for the product that reads it.

    Their gradients are not copied to float32 and added up: layer normalisation reads both.
    """

    wide: Tensor
    narrow: Tensor


def in_two_widths(x: Tensor | TwoWidths) -> TwoWidths:
    """`x`, or a stream of one width twice."""
    return x if isinstance(x, TwoWidths) else TwoWidths(x, x)


class LayerNorm(NativePart, nn.LayerNorm):
    """torch's layer normalisation, over the last dimension of a stream.

    narrows: computed in C, the output is bf16 where autocast computes products in bf16; for outputs
    that only products read. doubles: for outputs that a residual connection and one product read.
    """

    narrows = False
    doubles = False

    def forward(self, x: Tensor) -> Tensor:
        """`x` normalised; float32 for float32, unless it narrows."""
        wide, narrow = self._outputs(x, "narrow" if self.narrows else "wide")
        normalised = wide if narrow is None else narrow
        return super().forward(x) if normalised is None else normalised

    def in_widths(self, x: Tensor) -> Tensor | TwoWidths:
        """`x` normalised, in two widths where it doubles and both are computed in C."""
        if self.doubles:
            wide, narrow = self._outputs(x, "both")
            if wide is not None and narrow is not None:
                return TwoWidths(wide, narrow)
        return self(x)  # type: ignore[no-any-return]

    def _outputs(self, x: Tensor, widths: Widths) -> tuple[Tensor | None, Tensor | None]:
        """The outputs in float32 and in bf16 as computed in C, float32 alone without autocast."""
        if self.native and x.dim() == 2 and x.dtype == torch.float32 and torch.is_grad_enabled():
            kernels = row_kernels(cache_folder())
            if kernels is not None:
                widths = widths if product_dtype() == torch.bfloat16 else "wide"
                outputs: tuple[Tensor | None, Tensor | None] = _NativeNorm.apply(  # type: ignore[no-untyped-call]
                    kernels, x, self.weight, self.bias, self.eps, widths
                )
                return outputs
        return None, None


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
        widths: Widths,
    ) -> tuple[Tensor | None, Tensor | None]:
        x = x.contiguous()
        wide, narrow, statistics = normalise(kernels, x, weight, bias, epsilon, widths)
        ctx.save_for_backward(x, weight, statistics)
        ctx.kernels = kernels
        # An output that nothing reads has no gradient, rather than one of zeros.
        ctx.set_materialize_grads(False)
        return wide, narrow

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        wide, narrow = (
            None if gradient is None else gradient.contiguous() for gradient in gradients
        )
        input_gradients = normalise_backward(ctx.kernels, wide, narrow, *ctx.saved_tensors)
        return None, *input_gradients, None, None
