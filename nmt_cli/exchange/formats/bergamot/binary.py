"""Writes Marian's binary models with int8 matrices, as the engines in browsers read them.

The layout, in little-endian numbers: version and number of arrays (uint64); for each array the
length of its name, its type, the number of its dimensions and of its bytes (uint64); the names,
ended by NUL; the dimensions (int32); filling up to a multiple of 256 bytes; the arrays, each filled
up to a multiple of 256 bytes.
"""

import struct
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from nmt_cli.exchange.formats.marian.npz import SETTINGS, Array

VERSION = 1
FLOAT32, INT8, INTGEMM8 = 0x0404, 0x0101, 0x4101
ALIGNMENT = 256
# The largest int8: -128 is not used.
LARGEST = 127
# The arrays of embeddings, whose rows are also the columns of the output layer.
EMBEDDINGS = ("Wemb", "encoder_Wemb", "decoder_Wemb")


class Item(NamedTuple):
    """One array of a file: its name, type, dimensions and bytes."""

    name: str
    type: int
    shape: tuple[int, ...]
    data: bytes


def is_matrix(name: str) -> bool:
    """Whether an array of Marian is multiplied in int8: the embeddings and the linear layers.

    >>> is_matrix("encoder_l1_self_Wq"), is_matrix("encoder_l1_self_bq"), is_matrix("Wemb")
    (True, False, True)
    """
    return name in EMBEDDINGS or ("_W" in name and "_ln_" not in name)


def quantized(weight: Array) -> tuple[Array, float]:
    """The int8 numbers of a matrix, and what they were multiplied by.

    >>> quantized(np.array([[0.5, -1.0]], np.float32))
    (array([[  64, -127]], dtype=int8), 127.0)
    """
    largest = float(np.abs(weight).max(initial=0.0))
    factor = LARGEST / largest if largest else 1.0
    return np.clip(np.rint(weight * factor), -LARGEST, LARGEST).astype(np.int8), factor


def make_items(arrays: Mapping[str, Array], settings: str) -> list[Item]:
    """The arrays of a model: matrices in int8, the others in float32.

    Matrices of linear layers are stored transposed, with the dimensions that they have otherwise.
    """
    items = []
    for name, array in arrays.items():
        if not is_matrix(name):
            data = np.ascontiguousarray(array, "<f4").tobytes()
            items.append(Item(name, FLOAT32, array.shape, data))
            continue
        numbers, factor = quantized(array if name in EMBEDDINGS else array.T)
        data = np.ascontiguousarray(numbers).tobytes() + struct.pack("<f", factor)
        items.append(Item(name, INTGEMM8, array.shape, data))
    text = settings.encode() + b"\0"
    return [*items, Item(SETTINGS, INT8, (len(text),), text)]


def to_bytes(items: list[Item]) -> bytes:
    """The content of a file with these arrays."""
    bodies = [_filled(item.data) for item in items]
    parts = [struct.pack("<QQ", VERSION, len(items))]
    for item, body in zip(items, bodies, strict=True):
        size = len(item.name.encode()) + 1
        parts.append(struct.pack("<QQQQ", size, item.type, len(item.shape), len(body)))
    parts += [item.name.encode() + b"\0" for item in items]
    parts += [np.array(item.shape, "<i4").tobytes() for item in items]
    # The number of bytes that fill up, and these.
    end = sum(map(len, parts)) + 8
    missing = -end % ALIGNMENT
    parts += [struct.pack("<Q", missing), bytes(missing), *bodies]
    return b"".join(parts)


def _filled(data: bytes) -> bytes:
    return data + bytes(-len(data) % ALIGNMENT)
