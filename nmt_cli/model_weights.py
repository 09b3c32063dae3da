"""The file of a model's weights: safetensors, float32, each once; read weight by weight."""

import contextlib
import math
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from nmt_cli.config.schema import Config
from nmt_cli.errors import ConfigError, DataError
from nmt_cli.model.encoder_decoder import EncoderDecoder
from nmt_cli.model.kinds import make_model
from nmt_cli.plurals import counted

# Bytes of weights that are read before the file is opened anew.
MAPPED = 1 << 25


class ReplacedError(DataError):
    """The weights were replaced while they were read."""


def weight_bytes(weights: Mapping[str, Tensor], metadata: Mapping[str, str]) -> bytes:
    """The file's contents; metadata: of its header."""
    plain = {
        name: weight.detach().to("cpu", torch.float32).contiguous()
        for name, weight in weights.items()
    }
    data: bytes = safetensors.torch.save(plain, dict(metadata))
    return data


@contextlib.contextmanager
def open_weights(path: Path) -> Iterator[BinaryIO]:
    """A regular file, opened once: what is checked and what is read cannot be two files.

    Raises DataError where it is no regular file, ReplacedError when the block ends and the file
    was written to meanwhile.
    """
    if not path.exists():
        raise DataError(f"`{path}` is missing", "copy the model directory again, or train it again")
    if not path.is_file():
        raise DataError(f"`{path}` is not a file", "copy the model directory again")
    with open(path, "rb", opener=_open_at_once) as file:
        before = os.fstat(file.fileno())
        if not stat.S_ISREG(before.st_mode):
            raise DataError(f"`{path}` is not a file")
        yield file
        if _written_to(before, os.fstat(file.fileno())):
            raise ReplacedError(f"`{path}` is written to all the time", "try again")


def _open_at_once(path: str, flags: int) -> int:
    # A pipe that took the file's place must not keep us waiting.
    return os.open(path, flags | os.O_NONBLOCK)


def _written_to(before: os.stat_result, after: os.stat_result) -> bool:
    """Whether a file's content may be another; one that lost its name cannot be found any more."""
    same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    return not same or (after.st_nlink > 0 and before.st_ctime_ns != after.st_ctime_ns)


def load_weights(file: BinaryIO, config: Config) -> tuple[EncoderDecoder, dict[str, str]]:
    """A model of these settings with the weights of an `open_weights` file, and the header's text.

    Raises ConfigError where they do not fit, DataError where the file is damaged.
    """
    path = Path(file.name)
    descriptor = Path(f"/dev/fd/{file.fileno()}")
    place = descriptor if descriptor.exists() else path
    try:
        with safetensors.safe_open(place, framework="pt") as tensors:
            model = _empty_model(path, tensors, config)
            metadata = dict(tensors.metadata() or {})
            left = list(model.state_dict())
            weights = _read_some(path, tensors, left)
        while left:
            with safetensors.safe_open(place, framework="pt") as tensors:
                weights |= _read_some(path, tensors, left)
        model.load_state_dict(weights, assign=True)
        return model, metadata
    except safetensors.SafetensorError as error:
        raise DataError(f"`{path}` is damaged: {error}", "copy the directory again") from error


def _read_some(path: Path, file: Any, names: list[str]) -> dict[str, Tensor]:
    """The first of these weights, which leave the list, up to MAPPED bytes of them.

    What was read of a mapped file counts as memory until it is closed.
    """
    weights: dict[str, Tensor] = {}
    read = 0
    while names and read < MAPPED:
        name = names.pop(0)
        weight = weights[name] = file.get_tensor(name).clone()
        if not all(math.isfinite(one) for one in weight.aminmax()):
            raise DataError(f"`{path}`: `{name}` holds numbers that are not finite")
        read += weight.nbytes
    return weights


def _empty_model(path: Path, file: Any, config: Config) -> EncoderDecoder:
    """The model without weights, once the file's header agrees with the settings."""
    sizes = config.model.src_vocab_size, config.model.d_model
    if "auto" not in sizes and path.stat().st_size < 4 * math.prod(map(int, sizes)):
        raise ConfigError(f"`{path}` does not fit its settings: it is too small for an embedding")
    stacks = config.model.encoder_layers, config.model.decoder_layers
    layers = sum(config.model.layers if one == "auto" else one for one in stacks)
    if len(file.keys()) < layers:
        raise ConfigError(
            f"`{path}` does not fit its settings: too few weights for {counted(layers, 'layer')}"
        )
    try:
        with torch.device("meta"):
            model = make_model(config.model)
    except ValueError as error:
        raise ConfigError(f"the settings beside `{path}`: {error}") from error
    expected = {name: list(weight.shape) for name, weight in model.named_parameters()}
    found = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 not a mapping
    problems = [f"`{name}` is missing" for name in expected if name not in found]
    problems += [f"`{name}` is not known" for name in found if name not in expected]
    for name, weight in found.items():
        shape, kind = weight.get_shape(), weight.get_dtype()
        if name in expected and (shape, kind) != (expected[name], "F32"):
            problems.append(f"`{name}` is {kind} {shape}, not F32 {expected[name]}")
    if problems:
        more = f" and {len(problems) - 3} more" if len(problems) > 3 else ""
        raise ConfigError(
            f"`{path}` does not fit its settings: {'; '.join(problems[:3])}{more}",
            "its files are of different models, or of another version of nmt",
        )
    return model
