"""Memory of the kernels: arenas of huge pages, and chunks that sentences share in turns."""

import numpy as np
import pytest

from nmt_cli.inference.native.chunks import ChunkPool, SlotChunks
from nmt_cli.inference.native.huge_pages import ALIGNMENT, HUGE_PAGE, Arena, huge_empty
from nmt_cli.inference.native.rooms import LARGEST_KEPT, MOST_KEPT, RoomPool


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("size", [8, HUGE_PAGE // 4, HUGE_PAGE + 4])
def test_large_arrays_begin_at_a_huge_page(size: int) -> None:
    array = huge_empty((2, size))
    assert array.shape == (2, size)
    assert array.dtype == np.float32
    array[:] = 7
    assert (array == 7).all()
    assert array.nbytes < HUGE_PAGE or address(array) % HUGE_PAGE == 0


def test_an_arena_keeps_arrays_side_by_side() -> None:
    arena = Arena()
    arrays = [arena.zeros((n, 1), np.int16) for n in (3, 32, 100)]
    for index, array in enumerate(arrays):
        assert array.dtype == np.int16
        assert not array.any()
        assert address(array) % ALIGNMENT == 0
        array[:] = index + 1
    assert address(arrays[2]) - address(arrays[0]) == 128
    more = arena.zeros((70 << 20,), np.int8)
    assert more.size == 70 << 20
    assert not more.any()
    assert [set(array.flat) for array in arrays] == [{1}, {2}, {3}]


def test_slots_take_chunks_and_give_them_back() -> None:
    pool = ChunkPool()
    chunks = SlotChunks(pool, 3, 10)
    chunks.extend_table(2)
    chunks.reserve(0, 1)
    chunks.reserve(2, 2)
    chunks.reserve(2, 1)
    used = [int(number) for number in chunks.table[[0, 2, 2], [0, 0, 1]]]
    assert len(set(used)) == 3
    assert chunks.table[1].tolist() == [0, 0]
    chunks.free(2)
    chunks.extend_table(4)
    assert chunks.table[0, 0] == used[0]
    chunks.reserve(1, 2)
    assert {int(number) for number in chunks.table[1, :2]} == set(used[1:])
    del chunks
    # The next decoder gets the chunks of the one that has ended; one of another size does not.
    taken = {address(pool.take(10)) for _ in range(3)}
    assert taken == set(used)
    other = pool.take(12)
    assert other.size == 12
    pool.give_back([np.zeros(10, np.float32)])
    assert pool.take(12).size == 12


def test_rooms_are_given_to_the_next_decoder_unless_they_are_large() -> None:
    pool = RoomPool()
    small, large = pool.take(1000), pool.take(LARGEST_KEPT + 1)
    assert small.memory.size >= 1000
    assert small.address == address(small.memory)
    assert small.address % ALIGNMENT == large.address % ALIGNMENT == 0
    pool.give_back(small)
    pool.give_back(large)
    assert pool.take(small.memory.size + 1).address != small.address
    assert pool.take(10).address == small.address
    assert pool.take(10).address != small.address


def test_of_many_rooms_the_smallest_is_freed() -> None:
    pool = RoomPool()
    rooms = [pool.take(size) for size in (3000, 100, *[2000] * (MOST_KEPT - 1))]
    for room in rooms:
        pool.give_back(room)
    taken = {pool.take(1).address for _ in range(MOST_KEPT)}
    assert taken == {room.address for room in rooms if room is not rooms[1]}
