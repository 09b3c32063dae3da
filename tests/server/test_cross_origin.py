"""Web pages of other origins: refused unless they are allowed, and then only what they need."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from byte_models import byte_config, byte_model, byte_subwords
from servers import RunningServer, running_server

from nmt_cli.cli import main
from nmt_cli.errors import UsageError
from nmt_cli.model_dir import save_model
from nmt_cli.server.cross_origin import check_origins

HERE, THERE = "https://example.org", "http://localhost:8000"
ORIGIN, ALLOWED = "Origin", "access-control-allow-origin"
ASKING = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server(origins=(HERE, THERE), tokens=("secret",)) as running:
        yield running


@pytest.fixture(scope="module")
def open_server() -> Iterator[RunningServer]:
    with running_server(origins=("*",)) as running:
        yield running


@pytest.mark.parametrize("path", ["/v1/translate", "/translate", "/languages"])
@pytest.mark.parametrize("origin", [HERE, THERE])
def test_browser_is_told_what_a_page_may_send(
    server: RunningServer, origin: str, path: str
) -> None:
    answer = server.ask("OPTIONS", path, headers={ORIGIN: origin, **ASKING})
    assert answer.status == 200
    assert answer.headers[ALLOWED] == origin
    assert answer.headers["access-control-allow-methods"] == "GET, POST"
    assert "Content-Type" in answer.headers["access-control-allow-headers"]
    assert "Authorization" in answer.headers["access-control-allow-headers"]
    assert "access-control-allow-credentials" not in answer.headers


def test_page_may_read_translations_and_errors(server: RunningServer) -> None:
    token = {"Authorization": "Bearer secret"}
    body = {"lines": ["abc"]}
    answer = server.ask("POST", "/v1/translate", body, {ORIGIN: HERE, **token})
    assert (answer.status, answer.headers[ALLOWED]) == (200, HERE)
    assert "Origin" in answer.headers["vary"]
    assert answer.headers["access-control-expose-headers"] == "Retry-After"
    for headers, wrong, status in (({}, body, 401), (token, {"lines": 5}, 400)):
        answer = server.ask("POST", "/v1/translate", wrong, {ORIGIN: HERE, **headers})
        assert (answer.status, answer.headers[ALLOWED]) == (status, HERE)
        assert answer.json["error"]


@pytest.mark.parametrize(
    "origin", ["https://example.com", "http://example.org", "https://example.org.x", "null"]
)
def test_other_pages_are_not_allowed(server: RunningServer, origin: str) -> None:
    answer = server.ask("OPTIONS", "/v1/translate", headers={ORIGIN: origin, **ASKING})
    assert answer.status == 400
    assert ALLOWED not in answer.headers
    answer = server.ask("GET", "/languages", headers={ORIGIN: origin})
    assert answer.status == 200
    assert ALLOWED not in answer.headers


def test_other_headers_and_methods_are_not_allowed(server: RunningServer) -> None:
    for asked in (
        {"Access-Control-Request-Method": "DELETE"},
        {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-other"},
    ):
        answer = server.ask("OPTIONS", "/v1/translate", headers={ORIGIN: HERE, **asked})
        assert answer.status == 400


def test_star_allows_all_pages(open_server: RunningServer) -> None:
    answer = open_server.ask("POST", "/v1/translate", {"lines": ["abc"]}, {ORIGIN: "null"})
    assert (answer.status, answer.headers[ALLOWED]) == (200, "*")


def test_no_page_is_allowed_without_the_option() -> None:
    with running_server() as server:
        answer = server.ask("OPTIONS", "/v1/translate", headers={ORIGIN: HERE, **ASKING})
        assert answer.status == 405
        answer = server.ask("POST", "/v1/translate", {"lines": ["abc"]}, {ORIGIN: HERE})
        assert answer.status == 200
        assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    "origin", ["https://example.org/", "example.org", "HTTPS://EXAMPLE.ORG", "", "**", "ftp://a.b"]
)
def test_what_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(UsageError, match="not an origin"):
        check_origins([HERE, origin])


def test_command_refuses_it_before_a_model_is_loaded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = byte_config()
    save_model(tmp_path / "m", byte_model(config).state_dict(), config, byte_subwords(), {})
    assert main(["serve", str(tmp_path / "m"), "--cors-origin", "https://example.org/x"]) == 2
    assert "--cors-origin https://example.org/x: not an origin" in capsys.readouterr().err
