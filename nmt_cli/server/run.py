"""Runs the server until a signal ends it."""

import asyncio
import contextlib
import gc
import logging
import selectors
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence

import uvicorn
from starlette.applications import Starlette

from nmt_cli.errors import UnavailableError
from nmt_cli.machine import existing_signals
from nmt_cli.server.connections import TimedConnection
from nmt_cli.server.limits import Limits

# After SIGTERM, requests that were accepted have this many seconds, and are refused then.
FINISH_SECONDS = 8.0
# Connections that are still open then are closed: with the end of the worker and of the process,
# the server has ended within 10 s.
DRAIN_SECONDS = 9
# What had been sent to the server before the signal is read within this time.
ARRIVAL_SECONDS = 0.5
# So many turns of the event loop take a connection from the queue of the socket to its request.
ARRIVAL_TURNS = 5
KEEP_ALIVE_SECONDS = 5
MAX_CONNECTIONS = 2_048
BACKLOG = 1_024


class HttpServer(uvicorn.Server):
    """uvicorn's server; after a signal the process goes on, so that nmt chooses the exit code."""

    def __init__(
        self, app: Starlette, on_stop: Callable[[], None], refuse_rest: Callable[[], None]
    ) -> None:
        """on_stop: called at the signal, when no more connections are accepted.

        refuse_rest: called FINISH_SECONDS later, for the requests that have no answer then.
        """
        config = uvicorn.Config(
            app,
            http=TimedConnection,
            loop="asyncio",
            ws="none",
            access_log=False,
            log_config=None,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=DRAIN_SECONDS,
            h11_max_incomplete_event_size=Limits().head_bytes,
            limit_concurrency=MAX_CONNECTIONS,
        )
        super().__init__(config)
        self._on_stop = on_stop
        self._refuse_rest = refuse_rest
        # The signal that ended it, if one did.
        self.received = 0
        # What uvicorn says of malformed requests may quote them.
        logging.getLogger("uvicorn").setLevel(logging.CRITICAL + 1)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at SIGTERM, Ctrl-C and SIGHUP, unless `nohup` ignores it; a second one ends at once.

        What nmt's own handlers raise would be swallowed in the answer to a request.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = [
            number
            for number in existing_signals("SIGTERM", "SIGINT", "SIGHUP")
            if number.name != "SIGHUP" or signal.getsignal(number) != signal.SIG_IGN
        ]
        before = {number: signal.signal(number, self._handle) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _handle(self, number: int, frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        self.received = number
        self.stop()

    def stop(self) -> None:
        """Finish the requests that were sent up to now, and accept no more connections."""
        self._on_stop()
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Wait for the requests that were sent before the signal, and close everything."""
        timer = asyncio.get_running_loop().call_later(FINISH_SECONDS, self._refuse_rest)
        await self._accept_what_was_sent(sockets or [])
        await super().shutdown(sockets)
        timer.cancel()

    async def _accept_what_was_sent(self, listeners: Sequence[socket.socket]) -> None:
        """Let the event loop read what waits in the sockets, which closing them would discard.

        A server that is busy accepts connections and reads requests some time after they came.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + ARRIVAL_SECONDS
        turns = 0
        while turns < ARRIVAL_TURNS and loop.time() < end:
            turns = 0 if self._has_unread(listeners) else turns + 1
            await asyncio.sleep(0.001)

    def _has_unread(self, listeners: Sequence[socket.socket]) -> bool:
        """Whether a connection waits to be accepted, or one without a request has sent bytes."""
        with selectors.DefaultSelector() as selector:
            for listener in listeners:
                selector.register(listener, selectors.EVENT_READ)
            for connection in self.server_state.connections:
                # uvicorn closes those that are between two requests.
                if isinstance(connection, TimedConnection) and connection.is_between_requests:
                    sent = connection.transport.get_extra_info("socket")
                    selector.register(sent, selectors.EVENT_READ)
            return bool(selector.select(0))

    def answer(self, listener: socket.socket) -> None:
        """Answer the requests that come to this socket until SIGTERM, Ctrl-C or `stop`."""
        # The garbage collector would go through all modules and the model every 1,000 requests or
        # so, and all requests wait for it meanwhile.
        gc.freeze()
        try:
            self.run(sockets=[listener])
        finally:
            gc.unfreeze()


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket that listens; raises UnavailableError if it cannot."""
    try:
        infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = infos[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(BACKLOG)
        except OSError:
            listener.close()
            raise
    except OSError as error:
        raise UnavailableError(
            f"cannot listen on {host}, port {port}: {error.strerror}",
            "choose another port with --port, or an address of this machine with --host",
        ) from error
    return listener
