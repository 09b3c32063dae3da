"""Requests that are malformed, too large, or made to be read in two ways."""

import os
from collections.abc import Iterator

import pytest
from faults.tally import fault
from servers import RunningServer, running_server

MIB = 1 << 20
POST = b"POST /v1/translate HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
GET = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server() as made:
        yield made


def resident_bytes() -> int:
    with open("/proc/self/statm", "rb") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0


def still_serves(server: RunningServer) -> bool:
    return server.translate("abc").status == 200


@fault("H2")
@pytest.mark.parametrize("framing", ["length", "chunked", "endless chunk"])
def test_huge_body_is_refused_in_flat_memory(server: RunningServer, framing: str) -> None:
    still_serves(server)
    before = resident_bytes()
    with server.connect() as connection:
        head = {
            "length": b"Content-Length: %d\r\n\r\n" % (300 * MIB),
            "chunked": b"Transfer-Encoding: chunked\r\n\r\n",
            "endless chunk": b"Transfer-Encoding: chunked\r\n\r\nfffffffffff\r\n",
        }[framing]
        connection.sendall(POST + head)
        block = b"x" * 65_536
        part = b"10000\r\n" + block + b"\r\n" if framing == "chunked" else block
        try:
            for _ in range(300 * MIB // len(block)):
                connection.sendall(part)
        except OSError:
            pass
        answer = b""
        try:
            while received := connection.recv(65_536):
                answer += received
        except OSError:
            pass
    assert status_of(answer) == 413
    assert resident_bytes() - before < 20 * MIB
    assert still_serves(server)


@fault("H2")
@pytest.mark.parametrize(
    "length", [b"-1", b"1e3", b"9" * 40, b"9999999999", b"5, 6", b"0x10", b"\xc2\xb2"]
)
def test_wrong_content_length_is_refused(server: RunningServer, length: bytes) -> None:
    answer = server.send(POST + b"Content-Length: " + length + b"\r\n\r\n{}")
    assert status_of(answer) in (400, 413)
    assert still_serves(server)


@fault("H5")
@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b"null", b'"a"', b"\xff\xfe{}", b'{"lines": [NaN]}',
        b'{"beam": Infinity}',
        b'{"lines": ["a"], "beam": ' + b"9" * 5_000 + b"}", b'{"lines": ["\\ud800"]}',
        b"[" * 100_000, b'{"a":' * 100_000, b'{"lines": ["a"], "lines": ["b"]}',
        b'{"lines": [["a"]]}', b'{"lines": null}', b'{"lines": {"a": 1}}', b'{"lines": ["a"]} x',
        b'{"lines": ["a"], "beam": 1.5}', b'{"lines": ["a"], "beam": null}',
        b'{"lines": ["a"], "glossary": {"a": {"b": "c"}}}', b'{"lines": ["a\nb"]}',
        b'{"lines": ["a"], "keep": [["a"]]}', b'{"lines": ["a"], "keep": null}',
        b'{"lines": ["a"], "keep": ["a\\tb"]}', b'{"lines": ["a"], "keep": ["a\\nb"]}',
        b'{"document": ["html"]}', b'{"document": {"kind": ["html"], "text": "a"}}',
    ],
)  # fmt: skip
def test_invalid_json_is_refused_with_the_reason(server: RunningServer, body: bytes) -> None:
    answer = server.ask("POST", "/v1/translate", body)
    assert (answer.status, bool(answer.json["error"])) == (400, True)
    assert still_serves(server)


@fault("H10")
@pytest.mark.parametrize(
    ("request_bytes", "statuses"),
    [
        (GET + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", (400,)),
        (POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", (400,)),
        (POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", (400, 501)),
        (POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", (400,)),
        (GET + b"A: b\r\n c\r\n\r\n", (400, 200)),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\nBad Header: b\r\n\r\n", (400,)),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: \0\r\n\r\n", (400,)),
        (GET + b"A: " + b"x" * 17_000 + b"\r\n\r\n", (400, 431)),
        # Refused before its head is complete.
        (GET + b"A: " + b"x" * 20_000, (400,)),
        (GET + b"".join(b"a%d: b\r\n" % i for i in range(1_000)) + b"\r\n", (431,)),
        (b"GET /" + b"x" * 17_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", (400, 404, 414, 431)),
        (b"GET /healthz\r\n\r\n", (400,)),
        (b"GET /healthz HTTP/9.9\r\nHost: x\r\n\r\n", (400, 505)),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", (400,)),
        (GET.replace(b"GET", b"BREW") + b"\r\n", (405,)),
        (GET.replace(b"GET", b"DELETE") + b"\r\n", (405,)),
        (GET.replace(b"/healthz", b"/../../etc/passwd") + b"\r\n", (404,)),
        (GET.replace(b"/healthz", b"/%2e%2e/%2e%2e/etc/passwd") + b"\r\n", (404,)),
        (GET.replace(b"/healthz", b"/healthz/") + b"\r\n", (404, 307)),
        (GET.replace(b"/healthz", b"/%ff%00") + b"\r\n", (404,)),
        (GET.replace(b"GET", b"CONNECT") + b"\r\n", (404, 405)),
        (GET + b"Upgrade: websocket\r\n\r\n", (200,)),
    ],
)  # fmt: skip
def test_malformed_requests_are_refused(
    server: RunningServer, request_bytes: bytes, statuses: tuple[int, ...]
) -> None:
    answer = server.send(request_bytes)
    assert status_of(answer) in statuses, answer[:300]
    assert answer.count(b"HTTP/1.1 ") == 1, "one request gets one answer"
    assert still_serves(server)
