"""How the server runs."""

import asyncio
import contextlib
import gc
import http.client
import io
import json
import signal
import socket
import struct
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from servers import Answer, everything_from, is_true_soon, running_server
from starlette.applications import Starlette

from nmt_cli.cli import main
from nmt_cli.cli.commands import serve
from nmt_cli.cli.commands.serve import _read_tokens
from nmt_cli.config.schema import Config
from nmt_cli.errors import DataError, TryAgainError, UnavailableError
from nmt_cli.server import connections, run
from nmt_cli.server.limits import Limits
from nmt_cli.server.open_requests import OpenRequests
from nmt_cli.terminal.console import Console


def test_objects_made_before_the_server_are_not_collected_while_it_runs() -> None:
    gc.unfreeze()
    with running_server() as server:
        assert gc.get_freeze_count() > 0
        assert server.translate("abc").status == 200
    assert gc.get_freeze_count() == 0


def test_token_file_has_comments_and_one_token_a_line(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text("# of team A\n\n secret1 \nsecret#2\n")
    assert _read_tokens(path) == ("secret1", "secret#2")
    path.write_text("secret1\nsecret 2\n")
    with pytest.raises(DataError, match="line 2: a token has no spaces"):
        _read_tokens(path)
    path.write_text("# für Team A\nsecret1\ntökén\n", "utf-8")
    with pytest.raises(DataError, match="line 3: a token has letters of ASCII"):
        _read_tokens(path)
    path.write_text("# nothing\n")
    with pytest.raises(DataError, match="has no token"):
        _read_tokens(path)


def test_port_in_use_is_a_temporary_failure_and_an_address_of_another_machine_is_not(
    network_attempts: list[str],
) -> None:
    with run.listening_socket("127.0.0.1", 0) as listener:
        with pytest.raises(TryAgainError, match="Address already in use") as caught:
            run.listening_socket("127.0.0.1", listener.getsockname()[1])
        assert caught.value.exit_code == 75
    with pytest.raises(UnavailableError, match="cannot listen on 192"):
        run.listening_socket("192.0.2.1", 5_000)
    network_attempts.clear()


def test_a_server_can_be_started_at_once_on_the_port_of_one_that_has_ended() -> None:
    """The system remembers connections that a server has closed for a minute."""
    with running_server() as server, server.connect() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert everything_from(connection)
    run.listening_socket("127.0.0.1", server.port).close()


def test_the_server_answers_when_its_start_is_announced() -> None:
    seen: list[bool] = []

    def start() -> None:
        seen.append(server.started)
        server.stop()

    server = run.HttpServer(Starlette(), lambda: None, lambda: None, on_start=start)
    server.answer(run.listening_socket("127.0.0.1", 0))
    assert seen == [True]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell the backlog")
def test_connections_wait_in_a_queue_of_the_chosen_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The library for HTTP listens again, with a length of its own."""
    monkeypatch.setattr(run, "BACKLOG", 77)
    lengths: list[int] = []

    def start() -> None:
        information = listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 64)
        # Of a socket that listens, the field tcpi_sacked.
        lengths.append(struct.unpack_from("I", information, 28)[0])
        server.stop()

    listener = run.listening_socket("127.0.0.1", 0)
    server = run.HttpServer(Starlette(), lambda: None, lambda: None, on_start=start)
    server.answer(listener)
    assert lengths == [77]


def test_connections_above_the_limit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "MAX_CONNECTIONS", 4)
    with running_server() as server:
        held = server.http_server.server_state.connections
        with contextlib.ExitStack() as idle:
            for _ in range(3):
                idle.enter_context(server.connect())
            assert is_true_soon(lambda: len(held) == 3)
            assert server.ask("GET", "/healthz").status == 503
        assert is_true_soon(lambda: not held)
        assert server.ask("GET", "/healthz").status == 200


def test_nothing_is_logged_of_malformed_requests(caplog: pytest.LogCaptureFixture) -> None:
    """What the library for HTTP says of them may quote text."""
    with running_server() as server:
        assert server.send(b"secret\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    assert not [record for record in caplog.records if record.name.startswith("uvicorn")]


def test_only_requests_that_a_stop_ends_are_refused_for_it() -> None:
    """The TimeoutError of other code is not taken for that of a stop."""

    async def answer() -> None:
        async with OpenRequests().add():
            raise TimeoutError("of the file system")

    with pytest.raises(TimeoutError, match="of the file system"):
        asyncio.run(answer())


def test_stopping_server_does_not_wait_for_clients_that_do_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run, "DRAIN_SECONDS", 1)
    monkeypatch.setattr(connections, "ANSWER_SECONDS", 3_600.0)
    with running_server() as server, server.connect() as connection:
        connection.settimeout(0.5)
        with contextlib.suppress(TimeoutError):
            while True:
                connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n" * 50)
        begun = time.monotonic()
        server.http_server.stop()
        assert is_true_soon(lambda: not server.service.is_alive, 30)
        assert time.monotonic() - begun < 20


def test_stopping_server_refuses_what_it_cannot_finish(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "FINISH_SECONDS", 0.3)
    released = threading.Event()
    answers: list[Answer] = []
    logged: list[tuple[str, int]] = []

    def log(_: str, path: str, status: int, __: float) -> None:
        logged.append((path, status))

    try:
        with contextlib.ExitStack() as sockets, running_server(log=log) as server:
            busy = threading.Event()
            server.service.worker.submit(lambda _: (busy.set(), released.wait()))
            assert busy.wait(60)
            client = threading.Thread(target=lambda: answers.append(server.translate("abc")))
            client.start()
            assert is_true_soon(lambda: server.service._count)
            half = sockets.enter_context(server.connect())
            half.sendall(b"POST /v1/translate HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{")
            assert is_true_soon(lambda: len(server.http_server.server_state.tasks) == 2)
            server.http_server.stop()
            head, _, body = everything_from(half).partition(b"\r\n\r\n")
            client.join(60)
        # The model never finished, and the server has ended.
        assert not released.is_set()
    finally:
        released.set()
    assert answers[0].status == 503
    assert "stopping" in answers[0].json["error"]
    assert head.startswith(b"HTTP/1.1 503 ")
    assert json.loads(body) == answers[0].json
    assert logged == [("/v1/translate", 503)] * 2


def test_requests_that_were_sent_before_the_stop_are_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also those which a busy server has not accepted or read yet."""
    with contextlib.ExitStack() as closing, running_server() as server:
        http_server = server.http_server
        tick = http_server.on_tick
        stopping, sent = threading.Event(), threading.Event()

        async def busy_tick(counter: int) -> bool:
            if http_server.should_exit:
                stopping.set()
                assert sent.wait(60)
            return await tick(counter)

        monkeypatch.setattr(http_server, "on_tick", busy_tick)
        connections = [
            http.client.HTTPConnection("127.0.0.1", server.port, timeout=60) for _ in range(8)
        ]
        for connection in connections:
            closing.callback(connection.close)
        # The first ones are open already.
        for connection in connections[:4]:
            connection.request("GET", "/healthz")
            assert connection.getresponse().read()
        http_server.stop()
        assert stopping.wait(60)
        for connection in connections:
            connection.request("POST", "/v1/translate", b'{"lines": ["abc"]}')
        sent.set()
        answers = [connection.getresponse() for connection in connections]
        assert [answer.status for answer in answers] == [200] * 8
        # No client sends another request over a connection that is about to be closed.
        assert all(answer.getheader("connection") == "close" for answer in answers)


def test_options_are_the_limits_of_the_server(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The service gets them; the server is not started."""
    made: list[Limits] = []

    def service(_translator: object, _search: object, limits: Limits, **_: object) -> None:
        made.append(limits)
        raise UnavailableError("enough")

    engine = SimpleNamespace(notice="split needs kernels")
    translator = SimpleNamespace(config=Config(), shortlist_for=lambda _: None, engine=engine)
    address = SimpleNamespace(getsockname=lambda: ("127.0.0.1", 5_000))
    monkeypatch.setattr(run, "listening_socket", lambda *_: address)
    monkeypatch.setattr(serve, "require_models", lambda *_: None)
    monkeypatch.setattr(serve, "load_translator", lambda *_, **__: translator)
    monkeypatch.setattr("nmt_cli.server.service.Service", service)
    given = ["--max-queue", "7", "--max-chars", "9", "--max-body", "3", "--deadline", "2.5"]
    assert main(["serve", "--port", "0", *given]) == UnavailableError.exit_code
    limits = Limits(requests=7, characters=9, seconds=2.5, body_bytes=3 << 20)
    assert made == [limits]
    # The address is written when requests are answered.
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "split needs kernels"
    assert not any("http://" in line for line in said)


def test_requests_for_paths_that_do_not_exist_are_logged_and_counted() -> None:
    logged: list[tuple[str, str, int]] = []

    def log(method: str, path: str, status: int, _: float) -> None:
        logged.append((method, path, status))

    with running_server(log=log) as server:
        for method, path in (
            ("GET", "/nosuch%0a?q=text"), ("GET", "/v1/translate"), ("POST", "/v1/translate/"),
        ):  # fmt: skip
            answer = server.ask(method, path, {"lines": ["abc"]} if method == "POST" else None)
            assert not {"location", "server"} & answer.headers.keys()
            assert answer.json["hint"] == "GET /openapi.json describes all paths"
        counted = server.ask("GET", "/metrics").body.decode()
    assert logged[:3] == [
        ("GET", "/nosuch%0A", 404), ("GET", "/v1/translate", 405), ("POST", "/v1/translate/", 404),
    ]  # fmt: skip
    assert 'nmt_requests_total{path="other",status="404"} 2.0' in counted
    assert 'nmt_requests_total{path="other",status="405"} 1.0' in counted


def test_a_line_of_the_access_log_has_the_time_and_the_request(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    serve._write_log("POST", "/v1/translate", 200, 0.0123)
    time, _, rest = capsys.readouterr().err.partition(" ")
    assert rest == "POST /v1/translate 200 12.3 ms\n"
    assert before <= datetime.fromisoformat(time) <= datetime.now(UTC)
    assert time.endswith("Z")


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "http://127.0.0.1:8080"),
        ("::1", "http://[::1]:8080"),
        ("192.0.2.7", "http://192.0.2.7:8080"),
        # A browser opens no address that stands for all of them.
        ("0.0.0.0", "http://localhost:8080, and on all networks of this machine (0.0.0.0)"),
        ("::", "http://localhost:8080, and on all networks of this machine (::)"),
    ],
)
def test_address_that_is_shown_can_be_opened(host: str, address: str) -> None:
    stream = io.StringIO()
    listener = SimpleNamespace(getsockname=lambda: (host, 8080))
    serve._announce(Console(stream), listener, has_token=True)
    first, *warning = stream.getvalue().splitlines()
    assert first == f"listening on {address}"
    assert bool(warning) == (host not in ("127.0.0.1", "::1"))


def test_signals_stop_the_server_and_a_second_one_ends_the_process() -> None:
    """SIGHUP stays ignored behind `nohup`; the handlers of before come back."""
    stopped: list[str] = []
    server = run.HttpServer(Starlette(), lambda: stopped.append("stop"), lambda: None)
    numbers = signal.SIGTERM, signal.SIGINT, signal.SIGHUP
    before = {number: signal.getsignal(number) for number in numbers}
    for is_ignored in (False, True):
        signal.signal(signal.SIGHUP, signal.SIG_IGN if is_ignored else signal.SIG_DFL)
        try:
            with server.capture_signals():
                own = [number for number in numbers if signal.getsignal(number) == server._handle]
                signal.raise_signal(signal.SIGTERM)
                assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
            assert own == [*numbers[:2], *([] if is_ignored else [signal.SIGHUP])]
            assert all(signal.getsignal(number) == before[number] for number in numbers[:2])
        finally:
            signal.signal(signal.SIGHUP, before[signal.SIGHUP])
    assert stopped == ["stop", "stop"]
    assert server.received == signal.SIGTERM
    assert server.should_exit
