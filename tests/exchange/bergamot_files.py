"""Reads binary models of Marian back, by their description alone."""

import itertools
import struct
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

FLOAT32, INT8, INTGEMM8 = 0x0404, 0x0101, 0x4101


class Stored(NamedTuple):
    """One array: its type, dimensions, the place of its bytes in the file, and these."""

    type: int
    shape: tuple[int, ...]
    place: int
    data: bytes


def read_binary(content: bytes) -> dict[str, Stored]:
    """The arrays of a file by their names."""
    version, count = struct.unpack_from("<QQ", content)
    assert version == 1
    headers = [struct.unpack_from("<QQQQ", content, 16 + 32 * index) for index in range(count)]
    at = 16 + 32 * count
    names = []
    for size, *_ in headers:
        names.append(content[at : at + size].rstrip(b"\0").decode())
        at += size
    shapes = []
    for *_, dimensions, _ in headers:
        shapes.append(struct.unpack_from(f"<{dimensions}i", content, at))
        at += 4 * dimensions
    [filling] = struct.unpack_from("<Q", content, at)
    at += 8 + filling
    arrays = {}
    for name, shape, (_, kind, _, size) in zip(names, shapes, headers, strict=True):
        arrays[name] = Stored(kind, shape, at, content[at : at + size])
        at += size
    assert at == len(content)
    return arrays


def values(name: str, stored: Stored) -> np.ndarray:
    """The numbers of an array, with int8 ones divided by what they were multiplied by."""
    size = int(np.prod(stored.shape))
    if stored.type == FLOAT32:
        return np.frombuffer(stored.data, "<f4", size).reshape(stored.shape)
    numbers = np.frombuffer(stored.data, np.int8, size)
    [factor] = struct.unpack_from("<f", stored.data, size)
    if name.endswith("Wemb"):
        return numbers.reshape(stored.shape) / factor
    return numbers.reshape(stored.shape[::-1]).T / factor


def lists_of(content: bytes) -> list[list[int]]:
    """The target ids that a shortlist has for each source id."""
    ends, words = struct.unpack_from("<QQ", content, 32)
    offsets = struct.unpack_from(f"<{ends}Q", content, 48)
    ids = struct.unpack_from(f"<{words}I", content, 48 + 8 * ends)
    assert len(content) == 48 + 8 * ends + 4 * words
    assert offsets[0] == 0
    assert offsets[-1] == words
    return [list(ids[first:end]) for first, end in itertools.pairwise(offsets)]


def allowed_words(
    content: bytes, source: Iterable[int], size: int, *, shared: bool
) -> tuple[set[int], set[int]]:
    """The target ids that the engine allows for the source ids of a batch, and those it adds.

    size: of the target vocabulary; shared: the source words are target words, and are allowed. The
    lowest other ids are added until there is a multiple of 8.
    """
    source = set(source)
    lists = lists_of(content)
    allowed = set(itertools.chain(*(lists[token] for token in source)))
    if shared:
        allowed |= source
    others = [token for token in range(size) if token not in allowed]
    return allowed, set(others[: -len(allowed) % 8])
