"""Length penalties: that of section 6.1 (Wu et al. 2016, equation 14), and simpler ones."""

import types
from collections.abc import Callable, Mapping
from functools import cache

import torch
from jaxtyping import Float, Int
from torch import Tensor

Lengths = Int[Tensor, "..."] | Float[Tensor, "..."]
Penalty = Float[Tensor, "..."]


def length_penalty(lengths: Lengths, alpha: float) -> Penalty:
    """lp(n) = ((5 + n) / 6)^alpha; n counts EOS.

    >>> import torch
    >>> length_penalty(torch.tensor([1, 7, 19]), 0.5)
    tensor([1.0000, 1.4142, 2.0000])
    """
    penalty: Tensor = ((5 + lengths.float()) / 6) ** alpha
    return penalty


def power_penalty(lengths: Lengths, alpha: float) -> Penalty:
    """lp(n) = n^alpha, as in fairseq, Marian and CTranslate2; n counts EOS.

    >>> import torch
    >>> power_penalty(torch.tensor([1, 4]), 0.5)
    tensor([1., 2.])
    """
    penalty: Tensor = lengths.float() ** alpha
    return penalty


def no_penalty(lengths: Lengths, _alpha: float) -> Penalty:
    """lp(n) = 1: the score is the log-probability."""
    return torch.ones_like(lengths, dtype=torch.float32)


LENGTH_PENALTIES: Mapping[str, Callable[[Lengths, float], Penalty]] = types.MappingProxyType(
    {"gnmt": length_penalty, "power": power_penalty, "none": no_penalty}
)


def penalty_table(name: str, alpha: float, longest: int) -> Float[Tensor, " lengths"]:
    """The penalty of each length from 0 to `longest`, on the CPU.

    Each is computed by itself, once: torch computes most powers of a tensor in SIMD vectors and
    the rest one by one in another way, so that the last bits of a result depend on the position
    in the tensor (docs/decisions/011).
    """
    return torch.tensor([_penalty_of(name, alpha, length) for length in range(longest + 1)])


def penalties_of(name: str, alpha: float, lengths: Lengths) -> Penalty:
    """The penalties of some lengths, with the bits of `penalty_table`, on their device."""
    values = [_penalty_of(name, alpha, int(length)) for length in lengths.flatten().tolist()]
    return torch.tensor(values, device=lengths.device).view(lengths.shape)


@cache
def _penalty_of(name: str, alpha: float, length: int) -> float:
    return LENGTH_PENALTIES[name](torch.tensor(length), alpha).item()
