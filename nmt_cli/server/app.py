"""The HTTP interface: paths, tokens, answers."""

import asyncio
import itertools
import json
import time
import urllib.parse
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from nmt_cli.documents.document import warnings_of
from nmt_cli.errors import NmtError
from nmt_cli.installation import was_changed
from nmt_cli.server.bodies import Tokens, read_body
from nmt_cli.server.cross_origin import cors_middleware
from nmt_cli.server.libretranslate.handlers import LibreTranslate
from nmt_cli.server.metrics import CONTENT_TYPE
from nmt_cli.server.open_requests import OpenRequests
from nmt_cli.server.page.page import page_and_policy
from nmt_cli.server.refusals import Refusal, RefusedError, refusal_of
from nmt_cli.server.service import ClientLeftError, Service
from nmt_cli.server.strict_json import parse_json
from nmt_cli.server.translate_requests import parse_request
from nmt_cli.translation.json_lines import as_json_line

OPENAPI = Path(__file__).with_name("openapi.json")
JSON_LINES = "application/x-ndjson"
# The status that is counted and logged where the client left before the answer.
CLIENT_LEFT = 499
# The label, in the metrics, of paths that do not exist.
OTHER_PATHS = "other"
# The most characters of such a path that are written to the log.
MOST_LOGGED = 200
# How long a server that stops waits for the step that the model is computing.
CLOSE_SECONDS = 0.5

Handler = Callable[[Request], Awaitable[Response]]
# Receives what happened, without any text of a request: method, path, status, seconds.
Log = Callable[[str, str, int, float], None]


class Server:
    """The handlers of the paths of a server.

    tokens: one of these must be given; none: everybody may use the server. origins: web pages of
    these may use it. public_url: the address at which clients reach it, if that differs from the
    address to which they send their requests as this server sees it.
    """

    def __init__(
        self,
        service: Service,
        tokens: Sequence[str] = (),
        log: Log | None = None,
        origins: Sequence[str] = (),
        public_url: str = "",
    ) -> None:
        self._service = service
        self._open = OpenRequests()
        self._tokens = Tokens(tokens)
        self._log = log
        self._public_url = public_url.rstrip("/")
        self._middleware: list[Middleware] = cors_middleware(origins)

    def app(self) -> Starlette:
        """The application."""
        routes = [
            self._route("/", self.page, "GET", is_open=True),
            self._route("/v1/translate", self.translate, "POST"),
            self._route("/metrics", self.metrics, "GET"),
            self._route("/healthz", self.health, "GET", is_open=True),
            self._route("/readyz", self.ready, "GET", is_open=True),
            self._route("/openapi.json", self.openapi, "GET", is_open=True),
            *self._libretranslate_routes(),
        ]
        handlers = {HTTPException: self._refuse_unknown}
        app = Starlette(
            routes=routes, middleware=self._middleware,
            exception_handlers=handlers, lifespan=self._lifespan,  # type: ignore[arg-type]
        )  # fmt: skip
        # A redirect would name the address behind a proxy.
        app.router.redirect_slashes = False
        return app

    def refuse_rest(self) -> None:
        """Refuse the requests that have no answer yet; called in the event loop."""
        self._open.refuse()

    def _libretranslate_routes(self) -> list[Route]:
        """Paths of LibreTranslate; its requests have their token in the body."""
        libre = LibreTranslate(self._service, self._tokens, self._service.text, self._public_url)
        return [
            self._route("/translate", libre.translate, "POST", is_open=True),
            self._route("/translate_file", libre.translate_file, "POST", is_open=True),
            self._route("/download_file/{name}", libre.download_file, "GET", is_open=True),
            self._route("/detect", libre.detect, "POST", is_open=True),
            self._route("/languages", libre.languages, "GET", is_open=True),
            self._route("/frontend/settings", libre.settings, "GET", is_open=True),
            self._route("/suggest", libre.suggest, "POST", is_open=True),
            self._route("/health", libre.health, "GET", is_open=True),
            self._route("/spec", self.openapi, "GET", is_open=True),
        ]

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        yield
        # The connections of requests that had no answer are closed meanwhile.
        await asyncio.to_thread(self._service.close, CLOSE_SECONDS)

    def _route(self, path: str, handler: Handler, method: str, *, is_open: bool = False) -> Route:
        """A route; is_open: without a token."""

        async def answer(request: Request) -> Response:
            begun = time.perf_counter()
            response = await self._answer(request, handler, is_open=is_open)
            if self._service.draining:
                # The connection is closed after this answer, as the client must know.
                response.headers["connection"] = "close"
            seconds = time.perf_counter() - begun
            self._service.metrics.seconds.labels(path).observe(seconds)
            self._record(method, path, path, response.status_code, seconds)
            return response

        return Route(path, answer, methods=[method])

    def _record(self, method: str, path: str, label: str, status: int, seconds: float) -> None:
        """Count an answer and write it to the log; label: the path in the metrics."""
        self._service.metrics.requests.labels(label, status).inc()
        if self._log is not None:
            self._log(method, path, status, seconds)

    async def _refuse_unknown(self, request: Request, error: HTTPException) -> Response:
        """The answer to a path or a method that does not exist."""
        # Clients choose such paths: they are no labels, and are written without control characters.
        path = urllib.parse.quote(request.scope["path"])[:MOST_LOGGED]
        self._record(request.method, path, OTHER_PATHS, error.status_code, 0.0)
        headers = dict(error.headers or {})
        hint = "GET /openapi.json describes all paths"
        return Refusal(RefusedError(error.status_code, error.detail.lower(), hint, headers=headers))

    async def _answer(self, request: Request, handler: Handler, *, is_open: bool) -> Response:
        """The answer of a handler; every error becomes one."""
        try:
            self._require_headers(request)
            if not is_open:
                self._require_token(request)
            async with self._open.add():
                return await handler(request)
        except RefusedError as refused:
            return Refusal(refused)
        except NmtError as error:
            return Refusal(refusal_of(error))
        except (ClientLeftError, ClientDisconnect):
            return Response(status_code=CLIENT_LEFT)
        except Exception as error:
            if was_changed(error):
                hint = "on the server: start `nmt serve` again"
                return Refusal(RefusedError(503, "nmt was changed while it ran", hint))
            # The message of an error may quote the text.
            return Refusal(RefusedError(500, f"this is a bug in nmt: {type(error).__name__}"))

    def _require_headers(self, request: Request) -> None:
        headers, limits = request.scope["headers"], self._service.limits
        names = [name for name, _ in headers]
        size = len(request.scope["raw_path"]) + sum(map(len, itertools.chain(*headers)))
        if len(names) > limits.headers or size > limits.head_bytes:
            raise RefusedError(431, "the request has too many headers, or too long ones")
        if request.scope["http_version"] not in ("1.0", "1.1"):
            raise RefusedError(505, "the version of HTTP must be 1.0 or 1.1")
        if b"transfer-encoding" in names and b"content-length" in names:
            raise RefusedError(400, "the request has both content-length and transfer-encoding")

    def _require_token(self, request: Request) -> None:
        if not self._tokens.allow_header(request):
            raise RefusedError(
                401, "the token is missing or wrong: `Authorization: Bearer TOKEN`",
                headers={"www-authenticate": "Bearer"},
            )  # fmt: skip

    async def translate(self, request: Request) -> Response:
        """Translate lines or a document."""
        service = self._service
        service.require_room()
        fields = parse_json(await read_body(request, service.limits))
        asked = parse_request(
            fields, service.config, service.search, service.limits, service.constraints
        )
        if asked.document is None:
            translations = await service.translate(asked, request)
            lines = [
                as_json_line(index, translation) for index, translation in enumerate(translations)
            ]
            if JSON_LINES in request.headers.get("accept", ""):
                return Response("".join(lines), media_type=JSON_LINES)
            return _translations_answer(lines, {})
        data, document, translations = await service.translate_document(asked, request)
        placed = zip(translations, document.places, strict=True)
        lines = [
            as_json_line(index, translation, place)
            for index, (translation, place) in enumerate(placed)
        ]
        others: dict[str, object] = {"document": asked.document.written(data)}
        if warnings := warnings_of(document):
            others["warnings"] = warnings
        return _translations_answer(lines, others)

    async def metrics(self, request: Request) -> Response:
        """Counts and durations for Prometheus."""
        return Response(self._service.metrics.text(), media_type=CONTENT_TYPE)

    async def health(self, request: Request) -> Response:
        """Whether the process works; if not, it should be started again."""
        return _state_answer("ok" if self._service.is_alive else "stalled")

    async def ready(self, request: Request) -> Response:
        """Whether requests are accepted."""
        return _state_answer("ok" if self._service.is_ready else "not ready")

    async def page(self, request: Request) -> Response:
        """The page to translate by hand."""
        languages = self._service.config.languages
        characters = self._service.limits.characters
        terms = len(self._service.constraints.entries)
        text, policy = page_and_policy(languages.src, languages.tgt, characters, terms)
        headers = {"content-security-policy": policy, "x-content-type-options": "nosniff"}
        return HTMLResponse(text, headers=headers)

    async def openapi(self, request: Request) -> Response:
        """The description of this interface."""
        return Response(OPENAPI.read_bytes(), media_type="application/json")


def _translations_answer(lines: Sequence[str], others: Mapping[str, object]) -> Response:
    """A JSON object of translations, each a line of JSON already, and of other fields."""
    fields = [f'"translations": [{", ".join(line.rstrip() for line in lines)}]']
    fields += [
        f'"{name}": {json.dumps(value, ensure_ascii=False)}' for name, value in others.items()
    ]
    content = f"{{{', '.join(fields)}}}\n".encode("utf-8", "replace")
    return Response(content, media_type="application/json")


def _state_answer(state: str) -> Response:
    """The state as text, with status 200 if it is "ok", else 503."""
    return PlainTextResponse(f"{state}\n", 200 if state == "ok" else 503)
