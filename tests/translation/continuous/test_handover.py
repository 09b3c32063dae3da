"""Results of another thread for an event loop: what is woken, cancelled and lost."""

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from nmt_cli.translation.continuous.handover import awaitable


def test_results_that_come_together_wake_the_loop_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def wait() -> tuple[list[int], int]:
        loop, wakes = asyncio.get_running_loop(), 0
        wake = loop.call_soon_threadsafe

        def count(*arguments: object) -> object:
            nonlocal wakes
            wakes += 1
            return wake(*arguments)

        monkeypatch.setattr(loop, "call_soon_threadsafe", count)
        results = []
        for _ in range(2):
            futures: list[Future[int]] = [Future() for _ in range(5)]
            waiting = [awaitable(future) for future in futures]
            # The loop stands still meanwhile, as it does while another thread has Python's lock.
            for number, future in enumerate(futures):
                future.set_result(number)
            results += await asyncio.gather(*waiting)
        return results, wakes

    assert asyncio.run(wait()) == ([*range(5), *range(5)], 2)


def test_results_of_many_threads_all_arrive() -> None:
    async def wait(pool: ThreadPoolExecutor) -> list[int]:
        return await asyncio.gather(*(awaitable(pool.submit(abs, -n)) for n in range(500)))

    with ThreadPoolExecutor(8) as pool:
        assert asyncio.run(wait(pool)) == list(range(500))
        # Another loop of the same thread.
        assert asyncio.run(wait(pool)) == list(range(500))


def test_an_error_is_raised_where_the_result_is_awaited() -> None:
    async def wait() -> None:
        future: Future[None] = Future()
        waiting = awaitable(future)
        future.set_exception(ValueError("broken"))
        await waiting

    with pytest.raises(ValueError, match="broken"):
        asyncio.run(wait())


def test_whoever_stops_waiting_cancels_the_future() -> None:
    async def wait() -> None:
        future: Future[None] = Future()
        waiting = awaitable(future)
        waiting.cancel()
        # Callbacks run in the next turn of the loop; what arrives after them is dropped.
        await asyncio.sleep(0)
        assert future.cancelled()
        await asyncio.sleep(0)
        assert waiting.cancelled()

    asyncio.run(wait())


def test_a_future_that_is_cancelled_cancels_whoever_waits() -> None:
    async def wait() -> None:
        future: Future[None] = Future()
        waiting = awaitable(future)
        future.cancel()
        await waiting

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(wait())


def test_a_result_for_a_closed_loop_is_dropped() -> None:
    future: Future[int] = Future()

    async def begin() -> None:
        awaitable(future)

    asyncio.run(begin())
    future.set_result(1)
    assert future.result() == 1


def test_a_caller_that_left_meanwhile_keeps_no_result_from_the_others() -> None:
    async def wait() -> int:
        futures: list[Future[int]] = [Future(), Future()]
        left, stays = map(awaitable, futures)
        for number, future in enumerate(futures):
            future.set_result(number)
        # Its result has come, and is not handed out yet.
        left.cancel()
        return await asyncio.wait_for(stays, 10)

    assert asyncio.run(wait()) == 1
