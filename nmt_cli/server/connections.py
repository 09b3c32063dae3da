"""Connections with deadlines: a client that sends or reads too slowly is closed.

uvicorn waits for the head and the body of a request as long as bytes keep coming, so that a few
slow clients could occupy all connections.
"""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 5.0
BODY_SECONDS = 10.0
# For a client to read what was written of an answer.
ANSWER_SECONDS = 30.0


class TimedConnection(H11Protocol):
    """A connection of HTTP/1.1 with absolute deadlines for each head, body and answer."""

    # The part that the client has to send now, and the `id` of its request.
    _expected: tuple[str, int] | None = None
    _request_timer: asyncio.TimerHandle | None = None
    _answer_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first head."""
        super().connection_made(transport)
        self._expect("head", HEAD_SECONDS)

    def data_received(self, data: bytes) -> None:
        """Read what came; the deadline of a body begins when its head is complete."""
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._expect("head", HEAD_SECONDS)
        else:
            self._expect_body()

    def on_response_complete(self) -> None:
        """Go on to the next request, which may have been received already."""
        self._expect("", 0)
        super().on_response_complete()
        if self.cycle is not None and not self.cycle.response_complete:
            self._expect_body()
        self._await_reader()

    def pause_writing(self) -> None:
        """Called when much of an answer waits for the client."""
        super().pause_writing()
        self._await_reader()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadlines."""
        self._expect("", 0)
        if self._answer_timer is not None:
            self._answer_timer.cancel()
        super().connection_lost(exc)

    def _expect_body(self) -> None:
        """Wait for the rest of the body; for nothing if it is complete."""
        if self.cycle.more_body:
            self._expect("body", BODY_SECONDS)
        else:
            self._expect("", 0)

    def _expect(self, part: str, seconds: float) -> None:
        """Close the connection unless this part of the request is complete in time; "": nothing."""
        expected = (part, id(self.cycle)) if part else None
        if expected == self._expected:
            return
        if self._request_timer is not None:
            self._request_timer.cancel()
        self._expected = expected
        self._request_timer = None
        if expected is not None:
            self._request_timer = self.loop.call_later(seconds, self.transport.abort)

    def _await_reader(self) -> None:
        """Close the connection unless the client reads what was written, in time."""
        if self._answer_timer is None and self.transport.get_write_buffer_size():
            self._answer_timer = self.loop.call_later(ANSWER_SECONDS, self._check_reader)

    def _check_reader(self) -> None:
        self._answer_timer = None
        if self.transport.get_write_buffer_size():
            self.transport.abort()
