"""Memory for keys and values: chunks that sentences take as they grow, and give back in the end."""

import threading

import numpy as np

from nmt_cli.inference.native.huge_pages import huge_empty

# The most chunks that are allocated together.
MOST = 32


class ChunkPool:
    """Uninitialised chunks of one size, which decoders take and give back.

    They are not freed in between, since the system clears all memory that it gives out anew, which
    takes longer than attention does. Decoders of several threads may share a pool.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._size = 0
        self._free: list[np.ndarray] = []
        self._made = 0

    def take(self, size: int) -> np.ndarray:
        """A chunk of `size` float32 numbers."""
        with self._lock:
            if size != self._size:
                self._size, self._free, self._made = size, [], 0
            if not self._free:
                count = min(max(self._made, 1), MOST)
                self._free = list(huge_empty((count, size)))
                self._made += count
            return self._free.pop()

    def give_back(self, chunks: list[np.ndarray]) -> None:
        """Accept chunks for other decoders, unless these now use another size."""
        with self._lock:
            self._free += [chunk for chunk in chunks if chunk.size == self._size]


class SlotChunks:
    """The chunks of each slot of a decoder, and the table of their addresses for the kernels."""

    def __init__(self, pool: ChunkPool, slots: int, size: int) -> None:
        self._pool = pool
        self._size = size
        self._chunks: dict[int, list[np.ndarray]] = {slot: [] for slot in range(slots)}
        self.table = np.zeros((slots, 0), np.int64)

    def __del__(self) -> None:
        for slot in self._chunks:
            self.free(slot)

    def extend_table(self, length: int) -> None:
        """Make room for the addresses of `length` chunks of each slot."""
        longer = np.zeros((len(self.table), length), np.int64)
        longer[:, : self.table.shape[1]] = self.table
        self.table = longer

    def reserve(self, slot: int, count: int) -> None:
        """Have at least `count` chunks in this slot."""
        chunks = self._chunks[slot]
        while len(chunks) < count:
            chunk = self._pool.take(self._size)
            self.table[slot, len(chunks)] = chunk.__array_interface__["data"][0]
            chunks.append(chunk)

    def free(self, slot: int) -> None:
        """Give the chunks of this slot back."""
        self._pool.give_back(self._chunks[slot])
        self._chunks[slot] = []
