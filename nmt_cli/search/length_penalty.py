"""Length penalties: that of section 6.1 (Wu et al. 2016, equation 14), and simpler ones.

They are computed one length at a time, because powers in SIMD vectors have other last bits, which
depend on the processor and on the position in an array (docs/decisions/011).
"""

import math
import types
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np


def length_penalty(length: int, alpha: float) -> float:
    """lp(n) = ((5 + n) / 6)^alpha; n counts EOS.

    >>> [round(length_penalty(length, 0.5), 4) for length in (1, 7, 19)]
    [1.0, 1.4142, 2.0]
    """
    return _power((np.float32(length) + np.float32(5)) / np.float32(6), alpha)


def power_penalty(length: int, alpha: float) -> float:
    """lp(n) = n^alpha, as in fairseq, Marian and CTranslate2; n counts EOS.

    >>> [power_penalty(length, 0.5) for length in (1, 4)]
    [1.0, 2.0]
    """
    return _power(np.float32(length), alpha)


def no_penalty(_length: int, _alpha: float) -> float:
    """lp(n) = 1: the score is the log-probability."""
    return 1.0


LENGTH_PENALTIES: Mapping[str, Callable[[int, float], float]] = types.MappingProxyType(
    {"gnmt": length_penalty, "power": power_penalty, "none": no_penalty}
)


@cache
def penalty_of(name: str, alpha: float, length: int) -> float:
    """The penalty of a length, a number of 32 bits."""
    return LENGTH_PENALTIES[name](length, alpha)


def penalty_table(name: str, alpha: float, longest: int) -> np.ndarray:
    """The penalty of each length from 0 to `longest`: (longest + 1,) float32."""
    penalties = [penalty_of(name, alpha, length) for length in range(longest + 1)]
    return np.array(penalties, dtype=np.float32)


def _power(base: np.float32, exponent: float) -> float:
    """base^exponent, computed with 64 bits and rounded to 32; a cube is a product of 32 bits."""
    if exponent == 3.0:
        return float(base * base * base)
    with np.errstate(over="ignore"):
        return float(np.float32(math.pow(base, exponent)))
