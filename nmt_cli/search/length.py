"""The length penalty of section 6.1 (Wu et al. 2016, equation 14)."""

from jaxtyping import Float, Int
from torch import Tensor


def length_penalty(
    lengths: Int[Tensor, "..."] | Float[Tensor, "..."], alpha: float
) -> Float[Tensor, "..."]:
    """lp(n) = ((5 + n) / 6)^alpha; n counts EOS.

    >>> import torch
    >>> length_penalty(torch.tensor([1, 7, 19]), 0.5)
    tensor([1.0000, 1.4142, 2.0000])
    """
    penalty: Tensor = ((5 + lengths.float()) / 6) ** alpha
    return penalty
