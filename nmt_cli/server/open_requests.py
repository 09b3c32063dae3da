"""The requests that are being answered, so that a server which stops can refuse the rest."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nmt_cli.server.refusals import RefusedError


class OpenRequests:
    """The requests of one server that have no answer yet; used in its event loop only."""

    def __init__(self) -> None:
        # None of them has a deadline until the server stops.
        self._timeouts: set[asyncio.Timeout] = set()

    @asynccontextmanager
    async def add(self) -> AsyncIterator[None]:
        """Hold a request while its answer is made; raises RefusedError at `refuse`."""
        timeout = asyncio.timeout(None)
        self._timeouts.add(timeout)
        try:
            async with timeout:
                yield
        except TimeoutError:
            if not timeout.expired():
                raise
            raise RefusedError(
                503, "the server is stopping, and could not finish this request in time",
                "send it again, once the server has started again",
            ) from None  # fmt: skip
        finally:
            self._timeouts.discard(timeout)

    def refuse(self) -> None:
        """Refuse the requests that have no answer yet; their work is dropped."""
        now = asyncio.get_running_loop().time()
        for timeout in list(self._timeouts):
            timeout.reschedule(now)
