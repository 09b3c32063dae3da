"""Reads and writes the arrays of a Marian model: an uncompressed .npz file.

Nothing is unpickled. Every size is compared with the size of the file before memory is allocated.
"""

import io
import math
import struct
import tokenize
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nmt_cli.errors import DataError
from nmt_cli.storage import files

# The settings of the model, as bytes of YAML.
SETTINGS = "special:model.yml"
SUFFIX = ".npy"
AGAIN = "copy the file again"

Array = np.ndarray[Any, Any]


def read_npz(path: Path) -> dict[str, Array]:
    """The arrays: float32 weights, and the bytes of SETTINGS; raises NoInputError or DataError."""
    files.require_file(path, "model")
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            _check_entries(path, entries)
            return {
                entry.filename.removesuffix(SUFFIX): _read_array(path, archive, entry)
                for entry in entries
            }
    # zipfile raises NotImplementedError for compression and encryption that it cannot read.
    except (
        zipfile.BadZipFile, OSError, EOFError, ValueError, RuntimeError, NotImplementedError,
        SyntaxError, tokenize.TokenError, MemoryError, struct.error,
    ) as error:  # fmt: skip
        raise DataError(f"`{path}` is damaged, or is not an .npz file: {error}", AGAIN) from error


def write_npz(path: Path, arrays: Mapping[str, Array], settings: str) -> None:
    """Write weights, in C order as Marian needs them, and the settings."""
    content = {
        name: np.ascontiguousarray(array, dtype=np.float32) for name, array in arrays.items()
    }
    content[SETTINGS] = np.frombuffer(settings.encode() + b"\0", dtype=np.int8)
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **content)
    files.write_bytes(path, buffer.getvalue())


def _check_entries(path: Path, entries: list[zipfile.ZipInfo]) -> None:
    """Raise DataError unless all entries are distinct stored arrays that fit into the file."""
    names = [entry.filename for entry in entries]
    if len(set(names)) != len(names):
        raise DataError(f"`{path}` has two arrays of the same name", AGAIN)
    for entry in entries:
        if not entry.filename.endswith(SUFFIX):
            raise DataError(f"`{path}` holds `{entry.filename}`, which is not an array", AGAIN)
        if entry.compress_type != zipfile.ZIP_STORED:
            raise DataError(
                f"the array `{entry.filename}` of `{path}` is compressed, which Marian does not do",
                "write the arrays again with numpy.savez",
            )
    size = path.stat().st_size
    if sum(entry.file_size for entry in entries) > size:
        raise DataError(f"the arrays of `{path}` are larger than the file", AGAIN)


def _read_array(path: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Array:
    name = entry.filename.removesuffix(SUFFIX)
    with archive.open(entry) as file:
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            header = np.lib.format.read_array_header_1_0(file)
        elif version == (2, 0):
            header = np.lib.format.read_array_header_2_0(file)
        else:
            raise DataError(f"the array `{name}` of `{path}` has the unknown version {version}")
        shape, fortran, dtype = header
        expected = np.dtype(np.int8) if name == SETTINGS else np.dtype("<f4")
        if dtype != expected:
            raise DataError(
                f"the array `{name}` of `{path}` has the type {dtype}, and nmt imports {expected}",
                "convert the model to float32 with Marian",
            )
        if fortran:
            raise DataError(
                f"the array `{name}` of `{path}` is stored by columns, and Marian stores by rows",
                "write the array again with numpy.ascontiguousarray",
            )
        wanted = math.prod(shape) * dtype.itemsize
        if min(shape, default=0) < 0 or wanted != entry.file_size - file.tell():
            raise DataError(
                f"the array `{name}` of `{path}` has the shape {list(shape)[:8]}, which does not "
                "fit its size",
                AGAIN,
            )
        # A bytearray, so that tensors of the array may be written to.
        array = np.frombuffer(bytearray(file.read()), dtype=dtype).reshape(shape)
    if name != SETTINGS and not bool(np.isfinite(array).all()):
        raise DataError(f"the array `{name}` of `{path}` holds numbers that are not finite")
    return array
