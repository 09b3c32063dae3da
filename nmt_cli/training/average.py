"""`nmt average`: the mean of several checkpoints' weights (section 6.1)."""

from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor

from nmt_cli.errors import ConfigError, DataError


def average_weights(
    paths: Sequence[Path], read: Callable[[Path], dict[str, Tensor]]
) -> dict[str, Tensor]:
    """The mean of each weight over the checkpoints at `paths`, summed in float64.

    Holds one checkpoint and the sum in memory. Raises ConfigError naming the first file whose
    names or shapes differ from the others', DataError where a weight is not finite.
    """
    total: dict[str, Tensor] = {}
    for path in paths:
        weights = read(path)
        if not total:
            total = {name: weight.double() for name, weight in weights.items()}
            shapes = {name: weight.shape for name, weight in weights.items()}
        elif {name: weight.shape for name, weight in weights.items()} != shapes:
            raise ConfigError(
                f"`{path}` holds another model than `{paths[0]}`: names or shapes differ",
                "average checkpoints of one run",
            )
        else:
            for name, weight in weights.items():
                total[name] += weight
        wrong = next((n for n, w in weights.items() if not torch.isfinite(w).all()), None)
        if wrong:
            raise DataError(f"`{path}`: `{wrong}` holds numbers that are not finite")
    return {name: (weight / len(paths)).float() for name, weight in total.items()}
