"""Working memory that decoders take and give back."""

import threading
from typing import NamedTuple

import numpy as np

from nmt_cli.inference.native.huge_pages import HUGE_PAGE, huge_empty
from nmt_cli.inference.native.memory import address, empty

# The most bytes of a room that is kept, and how many are kept.
LARGEST_KEPT, MOST_KEPT = 1 << 20, 8


class Room(NamedTuple):
    """Uninitialised bytes of `memory`, which begin at a cache line, and their address."""

    memory: np.ndarray
    address: int


class RoomPool:
    """The rooms of a model, which decoders take and give back.

    Small ones are kept for the next decoder, so that a line of text does not begin with memory that
    the system has to clear. Decoders of several threads may share a pool.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: list[Room] = []

    def take(self, size: int) -> Room:
        """A room of at least `size` bytes."""
        with self._lock:
            for index, room in enumerate(self._kept):
                if room.memory.size >= size:
                    return self._kept.pop(index)
        if size <= LARGEST_KEPT:
            size = 1 << max(size - 1, 0).bit_length()
        is_huge = size >= HUGE_PAGE
        memory = huge_empty(size, np.uint8) if is_huge else empty(size, np.uint8)
        return Room(memory, int(address(memory) or 0))

    def give_back(self, room: Room) -> None:
        """Accept a room that is not used any more."""
        if room.memory.size <= LARGEST_KEPT:
            with self._lock:
                self._kept.append(room)
                if len(self._kept) > MOST_KEPT:
                    # A larger one serves all that a smaller one does.
                    sizes = [kept.memory.size for kept in self._kept]
                    del self._kept[sizes.index(min(sizes))]
