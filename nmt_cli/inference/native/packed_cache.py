"""Packed weights kept in the user's cache folder, so that the next start need not pack them.

A file is named after the SHA-256 of the weights that were packed. It has a line, the size and the
CRC-32 of its header, the header in JSON, and the arrays at multiples of 64 bytes, with a CRC-32 of
their own. Files that are damaged, or that another user may have written, are not used.
"""

import json
import struct
import zlib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from nmt_cli.config.schema import ModelConfig
from nmt_cli.errors import NmtError
from nmt_cli.inference.native.huge_pages import huge_empty
from nmt_cli.inference.native.linear import PackedLinear
from nmt_cli.inference.native.packed_weights import PackedWeights
from nmt_cli.inference.weights import TransformerArrays
from nmt_cli.kernels.library import untrusted
from nmt_cli.storage import files

# Counts changes of the file and of the form in which weights are packed.
FORMAT = 3
MAGIC = b"nmt packed weights %d\n" % FORMAT
SIZES = struct.Struct("<QI")
ALIGNMENT = 64
# Bytes that are read and added to the checksum at a time.
PIECE = 4 << 20
# Fewer bytes are packed as fast as they are read.
SMALLEST = 16 << 20
# When a file is written, older ones are removed until all together have at most so many bytes.
MOST = 4 << 30
ARRAYS = ("packed", "bias", "scales", "totals")


class DamagedCacheError(Exception):
    """A file of packed weights is not what was written."""


class PackedCache:
    """The packed weights of one model: read in a thread while the model is checked, or written.

    notice: what the user should know, else empty.
    """

    def __init__(self, folder: Path, precision: str) -> None:
        """folder: a folder of this user; precision: one of `linear.PRECISIONS`."""
        self.notice = ""
        self._folder, self._precision = folder, precision
        self._path = folder
        self._reading: Future[tuple[dict[str, Any], np.ndarray]] | None = None

    def begin(self, digest: str) -> bool:
        """Begin to read what was packed from weights with this SHA-256; False if there is nothing.

        A file that another user may have written counts as nothing, and will be replaced.
        """
        self._path = self._path_of(digest)
        self._reading, self.notice = None, ""
        try:
            if not self._path.is_file():
                return False
            reason = untrusted(self._folder) or untrusted(self._path)
            if reason:
                self.notice = f"packed weights in the cache are not used: {reason}"
                return False
        except OSError:
            return False
        executor = ThreadPoolExecutor(1)
        self._reading = executor.submit(_read, self._path, digest)
        # Its thread ends when the file is read; nobody waits for it before `weights`.
        executor.shutdown(wait=False)
        return True

    def weights(self, config: ModelConfig) -> PackedWeights | None:
        """What `begin` began to read; None where there is nothing, or the file is damaged."""
        if self._reading is None:
            return None
        try:
            header, memory = self._reading.result()
        except (DamagedCacheError, OSError) as error:
            self.notice = f"`{self._path}` is not used and will be written again: {error}"
            return None
        arrays = {name: _view(memory, entry) for name, entry in header["arrays"].items()}
        linears = {
            name: PackedLinear(**_fields(arrays, name), **sizes)
            for name, sizes in header["linears"].items()
        }
        others = {name: array for name, array in arrays.items() if " " not in name}
        return PackedWeights(TransformerArrays(config, others), linears, self._precision)

    def keep(self, digest: str, weights: PackedWeights) -> None:
        """Write the weights for the next time, if they are large; `notice` tells if that fails."""
        self._path = self._path_of(digest)
        arrays = dict(_arrays(weights))
        if sum(array.nbytes for array in arrays.values()) < SMALLEST:
            return
        try:
            reason = untrusted(files.make_directory(self._folder))
            if reason:
                self.notice = f"packed weights are not kept, so starts take longer: {reason}"
                return
            files.remove_abandoned(self._path)
            with files.writing(self._path) as file:
                _write(file, digest, weights, arrays)
            self._remove_oldest()
        except (NmtError, OSError) as error:
            self.notice = f"packed weights cannot be kept, so starts take longer: {error}"

    def _path_of(self, digest: str) -> Path:
        return self._folder / f"packed-{digest[:32]}-{self._precision}.bin"

    def _remove_oldest(self) -> None:
        kept = [(path.stat(), path) for path in self._folder.glob("packed-*.bin")]
        kept.sort(key=lambda each: each[0].st_mtime_ns, reverse=True)
        total = 0
        for status, path in kept:
            total += status.st_size
            if total > MOST and path != self._path:
                files.remove(path)


def _fields(arrays: dict[str, np.ndarray], layer: str) -> dict[str, Any]:
    """The arrays of a linear layer."""
    return {field: arrays.get(f"{layer} {field}") for field in ARRAYS}


def _arrays(weights: PackedWeights) -> Iterator[tuple[str, np.ndarray]]:
    """All arrays by name; those of linear layers have two words."""
    yield from weights.arrays.unjoined().items()
    for name, layer in weights.linears.items():
        for field in ARRAYS:
            if getattr(layer, field) is not None:
                yield f"{name} {field}", getattr(layer, field)


def _write(
    file: BinaryIO, digest: str, weights: PackedWeights, arrays: dict[str, np.ndarray]
) -> None:
    entries, end, checksum = {}, 0, 0
    for name, array in arrays.items():
        entries[name] = [array.dtype.name, list(array.shape), end]
        for piece in _with_padding(array):
            checksum = zlib.crc32(piece, checksum)
        end += _padded(array.nbytes)
    header = {
        "digest": digest, "bytes": end, "checksum": checksum, "arrays": entries,
        "linears": {
            name: {"inputs": layer.inputs, "outputs": layer.outputs, "kind": layer.kind}
            for name, layer in weights.linears.items()
        },
    }  # fmt: skip
    encoded = json.dumps(header).encode()
    start = len(MAGIC) + SIZES.size
    encoded += b" " * (_padded(start + len(encoded)) - start - len(encoded))
    file.write(MAGIC + SIZES.pack(len(encoded), zlib.crc32(encoded)) + encoded)
    for array in arrays.values():
        for piece in _with_padding(array):
            file.write(piece)


def _with_padding(array: np.ndarray) -> tuple[memoryview, bytes]:
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return memoryview(data.data), bytes(_padded(array.nbytes) - array.nbytes)


def _padded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _read(path: Path, digest: str) -> tuple[dict[str, Any], np.ndarray]:
    """The header, and all arrays in memory of huge pages; raises DamagedCacheError and OSError."""
    with path.open("rb", buffering=0) as file:
        start = file.read(len(MAGIC) + SIZES.size)
        if not start.startswith(MAGIC) or len(start) < len(MAGIC) + SIZES.size:
            raise DamagedCacheError("it begins otherwise")
        length, checksum = SIZES.unpack_from(start, len(MAGIC))
        size = path.stat().st_size
        encoded = file.read(min(length, size))
        if len(encoded) < length or zlib.crc32(encoded) != checksum:
            raise DamagedCacheError("its header is damaged")
        header: dict[str, Any] = json.loads(encoded)
        if header["digest"] != digest:
            raise DamagedCacheError("it is of another model")
        if size != len(start) + length + header["bytes"]:
            raise DamagedCacheError("it has another size")
        memory = huge_empty(header["bytes"], np.uint8)
        if _read_into(file, memory) != header["checksum"]:
            raise DamagedCacheError("its content is damaged")
    return header, memory


def _read_into(file: Any, memory: np.ndarray) -> int:
    """Fill `memory` from an unbuffered file, and return the CRC-32 of what was read."""
    whole, done, checksum = memoryview(memory.data), 0, 0
    while done < len(whole):
        count = file.readinto(whole[done : done + PIECE])
        if not count:
            raise DamagedCacheError("it ends too early")
        checksum = zlib.crc32(whole[done : done + count], checksum)
        done += count
    return checksum


def _view(memory: np.ndarray, entry: tuple[str, list[int], int]) -> np.ndarray:
    kind, shape, offset = entry
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    return memory[offset : offset + size].view(kind).reshape(shape)
