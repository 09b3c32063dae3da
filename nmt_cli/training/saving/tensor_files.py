"""Weights and the optimiser's state as tensors by name: copied, read from files, and loaded."""

from collections.abc import Mapping
from pathlib import Path

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from nmt_cli.errors import DataError
from nmt_cli.storage import files
from nmt_cli.training.optimizers.adam import Optimizer
from nmt_cli.training.optimizers.schedule_free import place_training_weights, saved_weight

OPTIMIZER = "optimizer.safetensors"


def model_weights(model: nn.Module, optimizer: Optimizer | None = None) -> dict[str, Tensor]:
    """A copy of the weights by name, float32, each once, on the CPU.

    optimizer: the one that trains them; with Schedule-Free, the weights to validate and save are
    kept in its state, and differ from those of the model.
    """
    return {
        name: (saved_weight(optimizer, weight) if optimizer else weight)
        .detach()
        .to("cpu", torch.float32, copy=True)
        for name, weight in model.named_parameters()
    }


def copy_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Copy `weights` into `model`; raises DataError when a name or a shape differs."""
    parameters = dict(model.named_parameters())
    wrong = sorted(parameters.keys() ^ weights.keys())
    wrong += [name for name in parameters.keys() & weights.keys()
              if parameters[name].shape != weights[name].shape]  # fmt: skip
    if wrong:
        raise DataError(f"weights do not fit the model: {', '.join(wrong[:5])}")
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(weights[name])


def optimizer_tensors(model: nn.Module, optimizer: Optimizer) -> dict[str, Tensor]:
    """A copy of the optimiser's averages and counts, named by weight, on the CPU."""
    return {
        f"{name}/{key}": value.detach().to("cpu", copy=True).contiguous()
        for name, weight in model.named_parameters()
        for key, value in optimizer.state[weight].items()
    }


def load_optimizer(model: nn.Module, optimizer: Optimizer, directory: Path) -> None:
    """Restore what `optimizer_tensors` saved; `model` holds the weights saved with it."""
    saved: dict[str, dict[str, Tensor]] = {}
    for key, value in read_tensors(directory / OPTIMIZER).items():
        name, _, field = key.rpartition("/")
        saved.setdefault(name, {})[field] = value
    if not saved:
        # All steps so far were skipped.
        return
    weights = dict(model.named_parameters())
    if saved.keys() != weights.keys():
        raise DataError(f"`{directory}` belongs to another model")
    for name, weight in weights.items():
        optimizer.state[weight] = {
            field: tensor.to(weight.device) for field, tensor in saved[name].items()
        }
    place_training_weights(optimizer)


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file, read without running code; DataError if it is damaged."""
    try:
        return safetensors.torch.load(files.read_bytes(path, "weights"))
    except (safetensors.SafetensorError, ValueError, KeyError) as error:
        raise DataError(f"`{path}` is damaged: {error}", "use an older checkpoint") from error
