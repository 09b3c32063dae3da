"""Clients that send or read as slowly as they can, or leave."""

import contextlib
import socket
import threading
import time

import pytest
from faults.tally import fault
from servers import everything_from, is_true_soon, running_server

from nmt_cli.server import connections, run
from nmt_cli.server.limits import Limits
from nmt_cli.translation.continuous.worker import TranslationWorker

HEAD = b"POST /v1/translate HTTP/1.1\r\nHost: x\r\n"
CLIENTS = 40


@pytest.fixture(autouse=True)
def short_deadlines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.5)
    monkeypatch.setattr(connections, "BODY_SECONDS", 1.0)
    monkeypatch.setattr(connections, "ANSWER_SECONDS", 1.0)


def seconds_until_closed(connection: socket.socket, drip: bytes, seconds: float) -> float:
    """How long the server lets a client send a few bytes again and again."""
    begun = time.monotonic()
    connection.settimeout(0.1)
    while time.monotonic() - begun < seconds:
        try:
            connection.sendall(drip)
            if connection.recv(1_000) == b"":
                break
        except TimeoutError:
            continue
        except OSError:
            break
    return time.monotonic() - begun


@fault("H1")
@pytest.mark.parametrize(
    ("begin", "drip", "deadline"),
    [
        (b"", b"", 0.5),
        (HEAD, b"a: b\r\n", 0.5),
        (HEAD + b"Content-Length: 1000\r\n\r\n", b"x", 1.0),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n", 1.0),
        # A second request on a connection that has served one.
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" + HEAD, b"a: b\r\n", 0.5),
    ],
    ids=["silence", "head", "body", "chunks", "second head"],
)  # fmt: skip
def test_slow_clients_are_closed_and_others_served(
    begin: bytes, drip: bytes, deadline: float
) -> None:
    with running_server() as server:
        durations: list[float] = []

        def drip_slowly() -> None:
            with server.connect() as connection:
                connection.sendall(begin)
                durations.append(seconds_until_closed(connection, drip, 30))

        threads = [threading.Thread(target=drip_slowly) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        assert [server.translate("abc").status for _ in range(3)] == [200] * 3
        for thread in threads:
            thread.join()
        assert len(durations) == CLIENTS
        assert max(durations) < 20
        assert min(durations) > 0.8 * deadline


@fault("H1")
def test_client_that_never_reads_its_answers_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    with running_server() as server, server.connect() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1_000)
        request = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
        connection.settimeout(5)
        with contextlib.suppress(OSError):
            for _ in range(20_000):
                connection.sendall(request * 50)
            raise AssertionError("the server has answered all of it")
        assert is_true_soon(lambda: not server.http_server.server_state.connections)


def is_idle(worker: TranslationWorker) -> bool:
    """Whether no step is run for a while; all slots may be free in between."""
    before = worker.steps
    time.sleep(0.2)
    return worker.steps == before


@fault("H4")
def test_work_for_a_client_that_leaves_is_dropped() -> None:
    with running_server(limits=Limits(characters=500_000)) as server:
        # Equal lines would be searched once.
        lines = [b'"%s%d"' % (b"abc de " * 5, number) for number in range(10_000)]
        body = b'{"lines": [%s]}' % b", ".join(lines)
        with server.connect() as connection:
            connection.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            assert is_true_soon(lambda: server.service.worker.busy_slots > 0)
        assert is_true_soon(lambda: is_idle(server.service.worker))
        steps = server.service.worker.steps
        assert steps < 400, "all of its lines need more than 800 steps"
        assert server.translate("abc").status == 200
        assert server.service.worker.steps < steps + 100


@fault("H9")
def test_server_listens_on_this_machine_only(monkeypatch: pytest.MonkeyPatch) -> None:
    from inspect import signature

    from nmt_cli.cli.commands import serve

    host = signature(serve.command.__wrapped__).parameters["host"].default
    assert host == "127.0.0.1"
    with run.listening_socket(host, 0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"


@fault("H9")
def test_wrong_tokens_are_refused() -> None:
    with running_server(tokens=("right",)) as server:
        for header in (b"", b"Authorization: Bearer wrong\r\n", b"Authorization: right\r\n"):
            answer = server.send(HEAD + header + b"Content-Length: 0\r\nConnection: close\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 401")
        right = b"Authorization: Bearer right\r\nConnection: close\r\n"
        body = b'{"lines": ["a"]}'
        request = HEAD + right + b"Content-Length: %d\r\n\r\n" % len(body) + body
        with server.connect() as connection:
            connection.sendall(request)
            assert everything_from(connection).startswith(b"HTTP/1.1 200")
