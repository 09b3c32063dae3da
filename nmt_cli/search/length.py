"""Length penalties: the one of section 6.1 (Wu et al. 2016, equation 14), and plainer ones."""

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
    """lp(n) = 1: the log-probability itself is the score."""
    return torch.ones_like(lengths, dtype=torch.float32)


LENGTH_PENALTIES: Mapping[str, Callable[[Lengths, float], Penalty]] = types.MappingProxyType(
    {"gnmt": length_penalty, "power": power_penalty, "none": no_penalty}
)


def penalties(kind: str, lengths: Int[Tensor, "*rows"], alpha: float) -> Float[Tensor, "*rows"]:
    """The penalty of each length; the same bits for a length whatever lengths stand beside it.

    On a CPU, torch raises several numbers to a power at once, and what is left at the end of a
    tensor one by one, in another way: results may differ in the last bit. So each length is
    computed by itself, once (docs/decisions/011).
    """
    if lengths.device.type != "cpu":
        return LENGTH_PENALTIES[kind](lengths, alpha)
    values = [_penalty_of(kind, length, alpha) for length in lengths.flatten().tolist()]
    return torch.tensor(values, dtype=torch.float32).view(lengths.shape)


@cache
def _penalty_of(kind: str, length: int, alpha: float) -> float:
    return LENGTH_PENALTIES[kind](torch.tensor(length), alpha).item()
