"""The file of packed weights: packed layers, and embeddings of which rows are read when needed.

It has a line, the size and the CRC-32 of its header, the header in JSON, the arrays at multiples of
64 bytes, and their CRC-32. Large embeddings come last and stay in the file, since a translation
needs few of their rows. They are not mapped: the system maps 64 KB around each row, and ends a
process that reads a mapped file which was cut.
"""

import json
import math
import os
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from nmt_cli.inference.native.huge_pages import huge_empty
from nmt_cli.inference.native.linear import PackedLinear
from nmt_cli.inference.native.packing.packed_weights import FileRows, PackedWeights
from nmt_cli.inference.weights import TransformerArrays, Weights

# Counts changes of the file and of the form in which weights are packed.
FORMAT = 5
MAGIC = b"nmt packed weights %d\n" % FORMAT
SIZES, CHECKSUM = struct.Struct("<QI"), struct.Struct("<I")
ALIGNMENT = 64
# Bytes that are read and added to the checksum at a time.
PIECE = 1 << 20
# Embeddings that have more bytes stay in the file.
LARGEST_READ = 16 << 20
# The keys of a header.
KEYS = {"digest", "memory", "arrays", "stored", "bytes", "linears"}
# The arrays of a packed layer that it need not have.
COLUMNS = ("bias", "scales", "totals")
Json = dict[str, Any]


class Content(NamedTuple):
    """What a file has. linears, stored: as in PackedWeights; arrays: all others by name."""

    linears: Mapping[str, PackedLinear]
    arrays: Weights
    stored: Mapping[str, FileRows]


class DamagedFileError(Exception):
    """A file of packed weights is not what was written."""


def bytes_of(weights: PackedWeights) -> int:
    """How many bytes all arrays have."""
    others = sum(map(_bytes, weights.arrays.unjoined_shapes().values()))
    return others + sum(array.nbytes for _, array in _arrays(weights))


def write(file: BinaryIO, digest: str, weights: PackedWeights) -> None:
    """Write the weights that were packed from a file with this SHA-256."""
    shapes, stored = weights.arrays.unjoined_shapes(), _stored_names(weights)
    read = {**weights.arrays.unjoined(stored), **dict(_arrays(weights))}
    entries: dict[str, list[Any]] = {}
    end = 0
    for name, array in read.items():
        entries[name] = [array.dtype.name, list(array.shape), end]
        end += _padded(array.nbytes)
    header: Json = {"digest": digest, "memory": end, "arrays": entries, "stored": {}}
    for name in stored:
        header["stored"][name] = end
        end += _padded(_bytes(shapes[name]))
    header["bytes"] = end
    header["linears"] = {
        name: {"inputs": layer.inputs, "outputs": layer.outputs, "kind": layer.kind}
        for name, layer in weights.linears.items()
    }
    encoded = json.dumps(header).encode()
    start = len(MAGIC) + SIZES.size
    encoded += b" " * (_padded(start + len(encoded)) - start - len(encoded))
    file.write(MAGIC + SIZES.pack(len(encoded), zlib.crc32(encoded)) + encoded)
    checksum = 0
    for pieces in (*([array] for array in read.values()), *map(weights.arrays.pieces, stored)):
        checksum = _write_array(file, pieces, checksum)
    file.write(CHECKSUM.pack(checksum))


def read(path: Path, digest: str) -> Content:
    """The content of a file; raises DamagedFileError and OSError."""
    with path.open("rb", buffering=0) as file:
        header, begin = _read_header(file, digest)
        memory = huge_empty(header["memory"], np.uint8)
        checksum = _read_into(file, memory, 0)
        room, left = np.empty(PIECE, np.uint8), header["bytes"] - header["memory"]
        while left:
            checksum = _read_into(file, room[:left], checksum)
            left -= min(left, len(room))
        if file.read() != CHECKSUM.pack(checksum):
            raise DamagedFileError("its content is damaged")
        stored = _file_rows(file, header, begin)
    arrays = {name: _view(memory, entry) for name, entry in header["arrays"].items()}
    linears = {}
    for name, sizes in header["linears"].items():
        columns: Json = {field: arrays.pop(f"{name} {field}", None) for field in COLUMNS}
        linears[name] = PackedLinear(arrays.pop(f"{name} packed"), **columns, **sizes)
    return Content(linears, arrays, stored)


def with_stored(path: Path, digest: str, weights: PackedWeights) -> PackedWeights:
    """The weights that were written to a file just now, without the embeddings that stay in it.

    Raises DamagedFileError and OSError.
    """
    with path.open("rb", buffering=0) as file:
        stored = _file_rows(file, *_read_header(file, digest))
    arrays = weights.arrays
    others = TransformerArrays(arrays.config, arrays.unjoined(stored))
    return weights._replace(arrays=others, stored=stored)


def _stored_names(weights: PackedWeights) -> list[str]:
    """The embeddings that stay in the file."""
    shapes = weights.arrays.unjoined_shapes()
    names = {weights.arrays.embedding_name(side) for side in ("src", "tgt")}
    return sorted(name for name in names & set(shapes) if _bytes(shapes[name]) > LARGEST_READ)


def _file_rows(file: FileIO, header: Json, begin: int) -> dict[str, FileRows]:
    """The embeddings in a file whose arrays begin at `begin`."""
    return {name: FileRows(file, begin + offset) for name, offset in header["stored"].items()}


def _arrays(weights: PackedWeights) -> Iterator[tuple[str, np.ndarray]]:
    """The arrays of linear layers, by names of two words."""
    for name, layer in weights.linears.items():
        for field in ("packed", *COLUMNS):
            if getattr(layer, field) is not None:
                yield f"{name} {field}", getattr(layer, field)


def _write_array(file: BinaryIO, pieces: Iterable[np.ndarray], checksum: int) -> int:
    """Write an array and its padding; returns the checksum of all that was written so far."""
    size = 0
    for piece in pieces:
        data = np.ascontiguousarray(piece).reshape(-1).view(np.uint8)
        file.write(data.data)
        checksum, size = zlib.crc32(data.data, checksum), size + data.nbytes
    padding = bytes(_padded(size) - size)
    file.write(padding)
    return zlib.crc32(padding, checksum)


def _read_header(file: FileIO, digest: str) -> tuple[Json, int]:
    """The header of an unbuffered file, and where the arrays begin."""
    start = file.read(len(MAGIC) + SIZES.size)
    if not start.startswith(MAGIC) or len(start) < len(MAGIC) + SIZES.size:
        raise DamagedFileError("it does not begin like one that this version of nmt writes")
    length, checksum = SIZES.unpack_from(start, len(MAGIC))
    size = os.fstat(file.fileno()).st_size
    encoded = file.read(min(length, size))
    if len(encoded) < length or zlib.crc32(encoded) != checksum:
        raise DamagedFileError("its header is damaged")
    header: Json = json.loads(encoded)
    if header.keys() != KEYS:
        raise DamagedFileError("its header is of another version")
    if header["digest"] != digest:
        raise DamagedFileError("it is of another model")
    begin = len(start) + length
    if size != begin + header["bytes"] + CHECKSUM.size:
        raise DamagedFileError("it has another size")
    return header, begin


def _read_into(file: FileIO, memory: np.ndarray, checksum: int) -> int:
    """Fill `memory` from an unbuffered file, and return the CRC-32 of what was read so far."""
    whole, done = memoryview(memory.data), 0
    while done < len(whole):
        count = file.readinto(whole[done : done + PIECE])
        if not count:
            raise DamagedFileError("it ends too early")
        checksum = zlib.crc32(whole[done : done + count], checksum)
        done += count
    return checksum


def _view(memory: np.ndarray, entry: tuple[str, list[int], int]) -> np.ndarray:
    kind, shape, offset = entry
    size = math.prod(shape) * np.dtype(kind).itemsize
    return memory[offset : offset + size].view(kind).reshape(shape)


def _bytes(shape: tuple[int, ...]) -> int:
    """How many bytes a float32 array of this shape has."""
    return 4 * math.prod(shape)


def _padded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
