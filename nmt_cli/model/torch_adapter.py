"""The parts of torch without a public name, used through this module only.

They exist in torch 2.11 to 2.13. What depends on how torch was built is looked up when it is used,
so that its callers can do without it.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode, _pop_mode, _push_mode

__all__ = [
    "OperatorMode",
    "foreach_add_",
    "foreach_addcdiv_",
    "foreach_addcmul_",
    "foreach_copy_",
    "foreach_lerp",
    "foreach_lerp_",
    "foreach_mul_",
    "foreach_sqrt",
    "foreach_zero_",
    "linear_relu",
    "no_recompilation",
    "pack_linear",
]

# One call for a list of tensors, as torch's own optimisers use them: a few kernels on a GPU, where
# a call for each tensor would be a kernel for each.
foreach_add_ = torch._foreach_add_
foreach_addcdiv_ = torch._foreach_addcdiv_
foreach_addcmul_ = torch._foreach_addcmul_
foreach_copy_ = torch._foreach_copy_
foreach_lerp = torch._foreach_lerp
foreach_lerp_ = torch._foreach_lerp_
foreach_mul_ = torch._foreach_mul_
foreach_sqrt = torch._foreach_sqrt
foreach_zero_ = torch._foreach_zero_


def linear_relu(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """max(0, x W^T + b); on a GPU, the product's kernel adds the bias and takes the maximum.

    It has no derivative.
    """
    y: Tensor = torch._addmm_activation(bias, x, weight.t())
    return y


def no_recompilation() -> AbstractContextManager[object]:
    """A context in which torch raises an error where it would compile a graph again.

    With a torch that has no such setting, the context changes nothing.
    """
    # Not imported with this module: loading the compiler takes more than a second.
    config = torch._dynamo.config
    if not hasattr(config, "error_on_recompile"):
        return nullcontext()
    strict: AbstractContextManager[object] = config.patch(error_on_recompile=True)
    return strict


def pack_linear(weight: Tensor, bias: Tensor | None, rows: int) -> Callable[[Tensor], Tensor]:
    """x -> x W^T + b on the CPU with weights packed for about this many rows of x.

    Raises AttributeError or RuntimeError where torch was built without oneDNN.
    """
    packed = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), rows)
    multiply = torch.ops.mkldnn._linear_pointwise

    def product(x: Tensor) -> Tensor:
        result: Tensor = multiply(x, packed, bias, "none", [], "")
        return result

    return product


class OperatorMode(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A context in which `__torch_dispatch__` computes the operators that torch calls on a thread.

    It is also called for the operators of a backward pass that begins in the context.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Else torch would load its compiler, which takes more than a second and 150 MB.
        return False

    def __enter__(self) -> "OperatorMode":
        # Without flags of the process, which are for the compiler: threads that enter and leave at
        # the same time would not restore them.
        _push_mode(self)
        return self

    def __exit__(self, *_: object) -> None:
        _pop_mode()
