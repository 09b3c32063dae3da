"""Tensors of other toolkits: those of safetensors files, and the shapes that ours need."""

from pathlib import Path

import safetensors
import torch
from torch import Tensor

from nmt_cli.config.schema import ModelConfig
from nmt_cli.errors import ConfigError, DataError
from nmt_cli.model.encoder_decoder import stack_depths
from nmt_cli.model.kinds import make_model
from nmt_cli.storage import files


def read_weight_files(paths: tuple[Path, ...], named: Path | None = None) -> dict[str, Tensor]:
    """All tensors of these files; named: the file to name in errors instead of them.

    Raises NoInputError, and DataError for damaged files and numbers that are not finite.
    """
    tensors: dict[str, Tensor] = {}
    for path in paths:
        files.require_file(path, "weights")
        try:
            with safetensors.safe_open(path, framework="pt") as file:
                for name in file.keys():  # noqa: SIM118 not a mapping
                    tensors[name] = file.get_tensor(name)
        except (safetensors.SafetensorError, OSError) as error:
            raise DataError(f"`{named or path}` is damaged: {error}", "copy it again") from error
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise DataError(f"the tensor `{name}` holds numbers that are not finite")
    return tensors


def weight_shapes(model: ModelConfig, stored: int) -> dict[str, tuple[int, ...]]:
    """The shapes of the weights of a model of ours, by name.

    stored: the number of tensors in its files. Raises ConfigError, and DataError before anything
    is built if there are more layers than tensors.
    """
    layers = sum(stack_depths(model))
    if layers > stored:
        raise DataError(
            f"its settings ask for {layers} layers, but it has {stored} tensors",
            "the settings and the weights are of different models: copy them again",
        )
    try:
        with torch.device("meta"):
            empty = make_model(model)
    except ValueError as error:
        raise ConfigError(f"its settings do not fit together: {error}") from error
    return {name: tuple(weight.shape) for name, weight in empty.named_parameters()}
