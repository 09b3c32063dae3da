"""Servers of tests: one in a thread of this process, and a client that sees bytes."""

import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from byte_models import byte_config, byte_model, byte_subwords

from nmt_cli.server.app import Log, Server
from nmt_cli.server.limits import Limits
from nmt_cli.server.run import HttpServer, listening_socket
from nmt_cli.server.service import Service
from nmt_cli.translation.calls import chosen_settings
from nmt_cli.translation.constraints import NO_CONSTRAINTS, Constraints
from nmt_cli.translation.translator import Translator

SECONDS = 60


def byte_translator() -> Translator:
    config = byte_config()
    return Translator(byte_model(config), config, byte_subwords())


class Answer(NamedTuple):
    """A status, the headers with small letters, and the body."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def texts(self) -> list[str]:
        return [translation["text"] for translation in self.json["translations"]]


class RunningServer(NamedTuple):
    """A server that listens on a port of this machine."""

    port: int
    service: Service
    http_server: HttpServer

    def ask(
        self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None
    ) -> Answer:
        """The answer to one request; a body that is not bytes is sent as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            names = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, names, response.read())
        finally:
            connection.close()

    def translate(self, *lines: str, **fields: object) -> Answer:
        return self.ask("POST", "/v1/translate", {"lines": lines, **fields})

    def connect(self) -> socket.socket:
        """A connection to send any bytes through."""
        return socket.create_connection(("127.0.0.1", self.port), SECONDS)

    def send(self, data: bytes) -> bytes:
        """Everything that the server sends, until it closes the connection, after these bytes."""
        with self.connect() as connection:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(data)
            return everything_from(connection)


def everything_from(connection: socket.socket) -> bytes:
    """What comes until the other side closes the connection."""
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)


def is_true_soon(condition: Callable[[], object], seconds: float = SECONDS) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)
    return bool(condition())


@contextlib.contextmanager
def running_server(
    translator: Translator | None = None,
    limits: Limits | None = None,
    tokens: tuple[str, ...] = (),
    origins: tuple[str, ...] = (),
    public_url: str = "",
    log: Log | None = None,
    search: Mapping[str, object] = MappingProxyType({}),
    glossary: Mapping[str, str | Sequence[str]] = MappingProxyType({}),
) -> Iterator[RunningServer]:
    """A server in a thread; it has ended when the block has.

    search, glossary: its own settings, and the terms of every request.
    """
    made = translator or byte_translator()
    chosen = chosen_settings(made.config, None, search)
    constraints = Constraints(glossary=glossary) if glossary else NO_CONSTRAINTS
    service = Service(made, chosen, limits or Limits(), constraints=constraints)
    listener = listening_socket("127.0.0.1", 0)
    server = Server(service, tokens, log, origins=origins, public_url=public_url)
    http_server = HttpServer(server.app(), service.drain, server.refuse_rest)
    thread = threading.Thread(target=http_server.answer, args=(listener,))
    thread.start()
    try:
        assert is_true_soon(lambda: service.is_ready and http_server.started)
        yield RunningServer(listener.getsockname()[1], service, http_server)
    finally:
        http_server.stop()
        thread.join(SECONDS)
    assert not thread.is_alive()
