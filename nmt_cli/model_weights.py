"""The file of a model's weights: safetensors, float32, tied weights once; read one by one."""

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

# Bytes of weights that are read before the file is opened again.
MAPPED = 1 << 25


class ReplacedError(DataError):
    """The weights were replaced while they were being read."""


def weight_bytes(weights: Mapping[str, Tensor], metadata: Mapping[str, str]) -> bytes:
    """The content of the file, with `metadata` in its header."""
    tensors = {
        name: weight.detach().to("cpu", torch.float32).contiguous()
        for name, weight in weights.items()
    }
    data: bytes = safetensors.torch.save(tensors, dict(metadata))
    return data


@contextlib.contextmanager
def open_weights(path: Path) -> Iterator[BinaryIO]:
    """A regular file, opened once, so that the file checked is the file read.

    Raises DataError if it is not a regular file, and ReplacedError at the end of the block if the
    file was written to meanwhile.
    """
    if not path.exists():
        raise DataError(f"`{path}` is missing", "copy the model directory again, or train it again")
    if not path.is_file():
        raise DataError(f"`{path}` is not a file", "copy the model directory again")
    with open(path, "rb", opener=_open_without_blocking) as file:
        before = os.fstat(file.fileno())
        if not stat.S_ISREG(before.st_mode):
            raise DataError(f"`{path}` is not a file")
        yield file
        if _written_to(before, os.fstat(file.fileno())):
            raise ReplacedError(f"`{path}` is written to all the time", "try again")


def _open_without_blocking(path: str, flags: int) -> int:
    # A pipe that has replaced the file must not block.
    return os.open(path, flags | os.O_NONBLOCK)


def _written_to(before: os.stat_result, after: os.stat_result) -> bool:
    """Whether a file's content may have changed; a removed file may change its ctime only."""
    same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    return not same or (after.st_nlink > 0 and before.st_ctime_ns != after.st_ctime_ns)


def load_weights(file: BinaryIO, config: Config) -> tuple[EncoderDecoder, dict[str, str]]:
    """A model of these settings with the weights of an `open_weights` file, and its metadata.

    Raises ConfigError if the weights do not fit the settings, DataError if the file is damaged.
    """
    path = Path(file.name)
    descriptor = Path(f"/dev/fd/{file.fileno()}")
    readable = descriptor if descriptor.exists() else path
    try:
        with safetensors.safe_open(readable, framework="pt") as tensors:
            model = _empty_model(path, tensors, config)
            metadata = dict(tensors.metadata() or {})
            remaining = list(model.state_dict())
            weights = _read_weights(path, tensors, remaining)
        while remaining:
            with safetensors.safe_open(readable, framework="pt") as tensors:
                weights |= _read_weights(path, tensors, remaining)
        model.load_state_dict(weights, assign=True)
        return model, metadata
    except safetensors.SafetensorError as error:
        raise DataError(f"`{path}` is damaged: {error}", "copy the directory again") from error


def _read_weights(path: Path, file: Any, names: list[str]) -> dict[str, Tensor]:
    """The first of the named weights, up to MAPPED bytes; their names are removed from the list.

    The pages read from a mapped file count as memory until the file is closed.
    """
    weights: dict[str, Tensor] = {}
    read = 0
    while names and read < MAPPED:
        name = names.pop(0)
        weight = weights[name] = file.get_tensor(name).clone()
        if not all(math.isfinite(bound) for bound in weight.aminmax()):
            raise DataError(f"`{path}`: `{name}` holds NaN or infinite values")
        read += weight.nbytes
    return weights


def _empty_model(path: Path, file: Any, config: Config) -> EncoderDecoder:
    """The model without weights; raises ConfigError unless the file's header fits the settings."""
    sizes = config.model.src_vocab_size, config.model.d_model
    if "auto" not in sizes and path.stat().st_size < 4 * math.prod(map(int, sizes)):
        raise ConfigError(f"`{path}` does not fit its settings: it is too small for an embedding")
    depths = config.model.encoder_layers, config.model.decoder_layers
    layers = sum(config.model.layers if depth == "auto" else depth for depth in depths)
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
    slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 not a mapping
    problems = [f"`{name}` is missing" for name in expected if name not in slices]
    problems += [f"`{name}` is not known" for name in slices if name not in expected]
    for name, weight in slices.items():
        shape, dtype = weight.get_shape(), weight.get_dtype()
        if name in expected and (shape, dtype) != (expected[name], "F32"):
            problems.append(f"`{name}` is {dtype} {shape}, not F32 {expected[name]}")
    if problems:
        more = f" and {len(problems) - 3} more" if len(problems) > 3 else ""
        raise ConfigError(
            f"`{path}` does not fit its settings: {'; '.join(problems[:3])}{more}",
            "its files are of different models, or of another version of nmt",
        )
    return model
