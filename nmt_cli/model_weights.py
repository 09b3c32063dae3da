"""The file of a model's weights: safetensors, float32, tied weights once; read one by one."""

import contextlib
import json
import math
import os
import stat
import weakref
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import safetensors
import safetensors.numpy

from nmt_cli.config.schema import Config, ModelConfig
from nmt_cli.errors import ConfigError, DataError
from nmt_cli.model.shapes import Shapes, transformer_shapes
from nmt_cli.plurals import counted
from nmt_cli.storage.tensor_header import with_sorted_header

if TYPE_CHECKING:
    from torch import Tensor

    from nmt_cli.model.encoder_decoder import EncoderDecoder

# Bytes of weights that are read before the file is opened again.
MAPPED = 1 << 25
# Bytes of a weight that are read at a time where its rows are asked for.
PIECE = 1 << 20
CACHE_LINE = 64
COPY_AGAIN = "copy the directory again"


class ReplacedError(DataError):
    """The weights were replaced while they were being read."""


def weight_bytes(weights: "Mapping[str, Tensor]", metadata: Mapping[str, str]) -> bytes:
    """The content of the file, with `metadata` in its header; equal input gives equal bytes."""
    arrays = {
        name: weight.detach().cpu().float().contiguous().numpy() for name, weight in weights.items()
    }
    return with_sorted_header(safetensors.numpy.save(arrays, dict(metadata)))


@contextlib.contextmanager
def open_weights(path: Path) -> Iterator[BinaryIO]:
    """A regular file, opened once, so that the file checked is the file read.

    Raises DataError if it is not a regular file, and ReplacedError at the end of the block if the
    file was written to meanwhile.
    """
    if not path.exists():
        raise DataError(
            f"`{path}` is missing",
            "copy the model directory again; if it has checkpoints, `nmt average` makes a model of "
            "them",
        )
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


def read_weights(
    file: BinaryIO, config: Config, *, checks_only: bool = False
) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The weights of an `open_weights` file by name, and its metadata.

    checks_only: compare the header with the settings, and return no weights.

    Raises ConfigError if the weights do not fit the settings, DataError if the file is damaged.
    """
    path, readable = Path(file.name), readable_path(file)
    try:
        with safetensors.safe_open(readable, framework="np") as tensors:
            remaining = _checked_names(path, tensors, config)
            metadata = dict(tensors.metadata() or {})
            if checks_only:
                return {}, metadata
            weights = _read_some(path, tensors, remaining)
        while remaining:
            with safetensors.safe_open(readable, framework="np") as tensors:
                weights |= _read_some(path, tensors, remaining)
        return weights, metadata
    except safetensors.SafetensorError as error:
        raise DataError(f"`{path}` is damaged: {error}", COPY_AGAIN) from error


class LazyWeights(MutableMapping[str, np.ndarray]):
    """The weights of an `open_weights` file by name, each read when it is first asked for.

    metadata: that of the file, which may be closed meanwhile. Raises errors as `read_weights` does,
    those of single weights when they are read, and ReplacedError if the file was written to.
    """

    def __init__(self, file: BinaryIO, config: Config) -> None:
        self._path = Path(file.name)
        self._descriptor = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._descriptor)
        self._before = os.fstat(self._descriptor)
        try:
            with safetensors.safe_open(readable_path(file), framework="np") as tensors:
                names = _checked_names(self._path, tensors, config)
                self.metadata = dict(tensors.metadata() or {})
        except safetensors.SafetensorError as error:
            raise DataError(f"`{self._path}` is damaged: {error}", COPY_AGAIN) from error
        header = np.empty(int(self._read(np.empty(1, "<u8"), 0)[0]), np.uint8)
        entries = json.loads(self._read(header, 8).tobytes())
        self._entries = {name: entries[name] for name in names}
        self._begin = 8 + len(header)
        self._weights: dict[str, np.ndarray] = {}
        # The memory of `pieces`.
        self._room = np.empty(0, np.float32)

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._weights:
            entry = self._entries[name]
            weight = _aligned_empty(entry["shape"])
            self._read(weight.reshape(-1).view(np.uint8), self._begin + entry["data_offsets"][0])
            _require_finite(self._path, name, weight)
            self._weights[name] = weight
        return self._weights[name]

    def pieces(self, name: str) -> Iterator[np.ndarray]:
        """Some rows of a weight at a time, each piece in the memory of the one before.

        They are not mapped: where a mapped file is cut, the system ends the process.
        """
        if name in self._weights:
            yield self._weights[name]
            return
        shape, (begin, _) = self._entries[name]["shape"], self._entries[name]["data_offsets"]
        width = 4 * math.prod(shape[1:])
        most = min(max(PIECE // width, 1), shape[0])
        if self._room.nbytes < most * width:
            self._room = _aligned_empty([most * width // 4])
        for first in range(0, shape[0], most):
            count = min(most, shape[0] - first)
            piece = self._room[: count * width // 4].reshape(count, *shape[1:])
            self._read(piece, self._begin + begin + first * width)
            _require_finite(self._path, name, piece)
            yield piece

    def _read(self, room: np.ndarray, offset: int) -> np.ndarray:
        """Fill `room` with the bytes from `offset` on."""
        data, done = memoryview(room.data).cast("B"), 0
        while done < len(data):
            count = os.preadv(self._descriptor, [data[done:]], offset + done)
            if not count:
                raise DataError(f"`{self._path}` is damaged: it ends too early", COPY_AGAIN)
            done += count
        if _written_to(self._before, os.fstat(self._descriptor)):
            raise ReplacedError(f"`{self._path}` is written to all the time", "try again")
        return room

    def __setitem__(self, name: str, weight: np.ndarray) -> None:
        raise TypeError("weights of a file are not set")

    def __delitem__(self, name: str) -> None:
        """Forget a weight; `pop` reads it and forgets it."""
        del self._entries[name]
        self._weights.pop(name, None)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._entries))

    def __len__(self) -> int:
        return len(self._entries)


def pieces_of(weights: Mapping[str, np.ndarray], name: str) -> Iterator[np.ndarray]:
    """A weight some rows at a time, each piece valid until the next; whole if it is in memory."""
    if isinstance(weights, LazyWeights):
        yield from weights.pieces(name)
    else:
        yield weights[name]


def readable_path(file: BinaryIO) -> Path:
    """A path of the open file itself, whatever has its name now."""
    descriptor = Path(f"/dev/fd/{file.fileno()}")
    return descriptor if descriptor.exists() else Path(file.name)


def load_weights(file: BinaryIO, config: Config) -> "tuple[EncoderDecoder, dict[str, str]]":
    """Like `read_weights`, but a model in torch with these weights."""
    weights, metadata = read_weights(file, config)
    return model_of(config.model, weights), metadata


def model_of(config: ModelConfig, weights: Mapping[str, np.ndarray]) -> "EncoderDecoder":
    """A model in torch, which shares the memory of its weights."""
    import torch

    from nmt_cli.model.kinds import make_model

    with torch.device("meta"):
        model = make_model(config)
    tensors = {name: torch.from_numpy(weight) for name, weight in weights.items()}
    model.load_state_dict(tensors, assign=True)
    return model


def _read_some(path: Path, file: Any, names: list[str]) -> dict[str, np.ndarray]:
    """The first of the named weights, up to MAPPED bytes; their names are removed from the list.

    The pages read from a mapped file count as memory until the file is closed.
    """
    weights: dict[str, np.ndarray] = {}
    read = 0
    while names and read < MAPPED:
        name = names.pop(0)
        read_in = file.get_tensor(name)
        weight = weights[name] = _aligned_empty(read_in.shape)
        weight[...] = read_in
        _require_finite(path, name, weight)
        read += weight.nbytes
    return weights


def _require_finite(path: Path, name: str, weight: np.ndarray) -> None:
    if not all(map(math.isfinite, (weight.min(), weight.max()))):
        raise DataError(f"`{path}`: `{name}` holds NaN or infinite values")


def _aligned_empty(shape: Sequence[int]) -> np.ndarray:
    """Room for a float32 weight that begins at a cache line, as torch's own tensors do.

    Products of matrices elsewhere may have other last bits.
    """
    size = 4 * math.prod(shape)
    buffer = np.empty(size + CACHE_LINE, np.uint8)
    start = -buffer.__array_interface__["data"][0] % CACHE_LINE
    return buffer[start : start + size].view(np.float32).reshape(shape)


def weight_shapes(config: ModelConfig) -> Shapes:
    """The shape of each weight of a model by name; ValueError for settings that make no model."""
    if config.kind == "transformer":
        return transformer_shapes(config)
    import torch

    from nmt_cli.model.kinds import make_model

    with torch.device("meta"):
        model = make_model(config)
    return {name: tuple(weight.shape) for name, weight in model.named_parameters()}


def _checked_names(path: Path, file: Any, config: Config) -> list[str]:
    """The names of all weights; raises ConfigError unless the file's header fits the settings."""
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
        expected = {name: list(shape) for name, shape in weight_shapes(config.model).items()}
    except ValueError as error:
        raise ConfigError(f"the settings beside `{path}`: {error}") from error
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
    return list(expected)
