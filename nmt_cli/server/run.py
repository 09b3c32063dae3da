"""Runs the server until a signal ends it."""

import asyncio
import contextlib
import errno
import gc
import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterator

import uvicorn
from starlette.applications import Starlette

from nmt_cli.errors import TryAgainError, UnavailableError
from nmt_cli.machine import existing_signals
from nmt_cli.server.connections import TimedConnection
from nmt_cli.server.limits import Limits

# After SIGTERM, requests that were accepted have this many seconds, and are refused then.
FINISH_SECONDS = 8.0
# Connections that are still open then are closed: with the end of the worker and of the process,
# the server has ended within 10 s.
DRAIN_SECONDS = 9
# It takes four turns of the event loop until a connection in the queue of the socket is accepted
# and its request is read; these are twice as many.
ARRIVAL_TURNS = 8
KEEP_ALIVE_SECONDS = 5
MAX_CONNECTIONS = 2_048
BACKLOG = 1_024


class HttpServer(uvicorn.Server):
    """uvicorn's server; after a signal the process goes on, so that nmt chooses the exit code."""

    def __init__(
        self,
        app: Starlette,
        on_stop: Callable[[], None],
        refuse_rest: Callable[[], None],
        on_start: Callable[[], None] = lambda: None,
    ) -> None:
        """on_start: called when the server answers; on_stop: at the signal, when it is to stop.

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
            # It lets the socket listen again, with a queue of this length.
            backlog=BACKLOG,
        )
        super().__init__(config)
        self._on_start = on_start
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
        previous = {number: signal.signal(number, self._handle) for number in numbers}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _handle(self, number: int, frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        self.received = number
        self.stop()

    def stop(self) -> None:
        """Finish the requests that were sent up to now, and accept no more connections."""
        self._on_stop()
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections."""
        await super().startup(sockets)
        self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Wait for the requests that were sent before the signal, and close everything."""
        timer = asyncio.get_running_loop().call_later(FINISH_SECONDS, self._refuse_rest)
        # A busy server accepts connections and reads requests some time after they were sent, and
        # closing the sockets would discard these.
        for _ in range(ARRIVAL_TURNS):
            await asyncio.sleep(0)
        await super().shutdown(sockets)
        timer.cancel()
        # uvicorn leaves those open whose clients have not read their answers.
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)

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
    """A socket that listens.

    Raises TryAgainError if the port is in use, UnavailableError if it cannot listen there at all.
    """
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
        # Another program, such as a server that is about to end, may leave the port soon.
        error_class = TryAgainError if error.errno == errno.EADDRINUSE else UnavailableError
        raise error_class(
            f"cannot listen on {host}, port {port}: {error.strerror}",
            "choose another port with --port, or an address of this machine with --host",
        ) from error
    return listener
