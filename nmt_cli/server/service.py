"""Translates requests with the worker: admission, deadlines, and clients that leave."""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from starlette.requests import Request

from nmt_cli.config.search import SearchConfig
from nmt_cli.data.markup.marked_text import raw_text
from nmt_cli.documents.document import Document
from nmt_cli.errors import ModelChangedError, NmtError
from nmt_cli.server.limits import Limits
from nmt_cli.server.metrics import Metrics
from nmt_cli.server.refusals import RefusedError, missed_deadline, refusal_of
from nmt_cli.server.translate_requests import DocumentText, TranslateRequest, require_characters
from nmt_cli.translation.constraints import NO_CONSTRAINTS, Constraints, check_constraints
from nmt_cli.translation.continuous.handover import awaitable
from nmt_cli.translation.continuous.worker import TranslationWorker
from nmt_cli.translation.markup.results import in_document
from nmt_cli.translation.result import Translation
from nmt_cli.translation.translator import Translator

Result = TypeVar("Result")
# How many of the last answers the rate of answers is measured over.
RATE_REQUESTS = 50
# A single step, or the preparation of a request, never takes this long.
STALLED_SECONDS = 30.0
# Translated before the first request, so that it need not wait for what the translator makes then.
WARM_UP = ["One.", "Two {name}."]


class ClientLeftError(Exception):
    """The client has closed the connection: there is nobody to answer."""


class Service:
    """The translator of a server and the requests in work.

    search: the settings that requests may change; constraints: those of every request;
    draining: the server is about to stop; model_changed: what some requests need cannot be read any
    more, because the model directory was changed. Either makes the server not ready.
    """

    def __init__(
        self,
        translator: Translator,
        search: SearchConfig,
        limits: Limits,
        make_worker: Callable[[Translator], TranslationWorker] = TranslationWorker,
        constraints: Constraints = NO_CONSTRAINTS,
    ) -> None:
        """Raises DataError for a term that the model cannot write, UsageError with sampling."""
        check_constraints(constraints, search, typed=True)
        translator.keep_bound(constraints)
        self.constraints = constraints
        self.config = translator.config
        self.text = translator.quality.text
        self.search = search
        self.limits = limits
        self.worker = make_worker(translator)
        self.metrics = Metrics(self.worker)
        self.metrics.waiting.set_function(lambda: self._count)
        self.metrics.terms.set(len(constraints.entries))
        self.draining = False
        self.model_changed = False
        self._count = 0
        self._finished: deque[float] = deque(maxlen=RATE_REQUESTS)
        self._ready = self.worker.submit(self._warm_up)

    def _warm_up(self, translator: Translator) -> None:
        """Let the translator make now what it would otherwise make in the first request."""
        translator.translate(WARM_UP, search=self.search)
        if self.search.markup != "off":
            # Read now, because the model directory may be replaced later.
            translator.forcer_for("the word alignment that puts tags in their places")
        if self.constraints.entries:
            translator.forcer_for("the places of glossary terms")

    @property
    def is_alive(self) -> bool:
        """Whether the worker runs, and is not stuck in one step."""
        return self.worker.is_alive and self.worker.turn_seconds < STALLED_SECONDS

    @property
    def is_ready(self) -> bool:
        """Whether requests are accepted."""
        warmed_up = self._ready.done() and self._ready.exception() is None
        return warmed_up and self.is_alive and not self.draining and not self.model_changed

    def close(self, seconds: float) -> None:
        """End the worker; waits for its last step for so many seconds at most."""
        self.worker.close(seconds)

    def drain(self) -> None:
        """Be no longer ready, since the server is about to stop; what still comes is answered."""
        self.draining = True

    def require_room(self) -> None:
        """Raise RefusedError if no request is accepted at present."""
        if self._count >= self.limits.requests:
            seconds = str(self._seconds_until_free())
            raise RefusedError(
                429, "too many requests are waiting", f"try again in {seconds} s",
                {"retry-after": seconds},
            )  # fmt: skip

    def _seconds_until_free(self) -> int:
        """When half of the requests in work will be done, at the present rate."""
        if len(self._finished) < 2:
            return 1
        rate = (len(self._finished) - 1) / max(1e-3, time.monotonic() - self._finished[0])
        return min(60, max(1, math.ceil(self._count / 2 / rate)))

    def _enter(self) -> None:
        """Count a request; the time in which there was none says nothing about the rate."""
        if not self._count:
            self._finished.clear()
        self._count += 1

    async def translate(self, asked: TranslateRequest, request: Request) -> list[Translation]:
        """The translations of the lines of a request."""
        translations = await self.run(
            lambda translator: translator.translate_window(
                asked.lines, search=asked.search, constraints=asked.constraints
            ),
            request,
        )
        self.metrics.count(translations)
        return translations

    async def read_document(self, source: DocumentText) -> Document:
        """The segments of a document; raises RefusedError if their text is too long."""
        document = await asyncio.to_thread(source.read, self.config.languages)
        require_characters([raw_text(segment) for segment in document.segments], self.limits)
        return document

    async def translate_document(
        self, asked: TranslateRequest, request: Request, document: Document | None = None
    ) -> tuple[bytes, Document, list[Translation]]:
        """The translated document, the document, and the translation of each of its segments.

        document: that of `asked`, if it has been read already.
        """
        if document is None:
            assert asked.document is not None
            document = await self.read_document(asked.document)
        segments = document.segments
        results = await self.run(
            lambda translator: translator.translate_marked(
                segments, search=asked.search, constraints=asked.constraints
            ),
            request,
        )
        results = list(map(in_document, segments, results))
        translations = [result.translation for result in results]
        self.metrics.count(translations)
        pieces = [result.pieces for result in results]
        flags = [translation.flags for translation in translations]
        return await asyncio.to_thread(document.render, pieces, flags), document, translations

    async def run(self, function: Callable[[Translator], Result], request: Request) -> Result:
        """The result of a function of the worker, for a request whose body has been read.

        Raises RefusedError if there are too many requests, or at the deadline, and ClientLeftError
        when the client leaves; then the work is dropped.
        """
        self.require_room()
        self._enter()
        work = awaitable(self.worker.submit(function))
        departure = asyncio.ensure_future(_has_left(request))
        try:
            tasks: list[asyncio.Future[Any]] = [work, departure]
            await asyncio.wait(
                tasks, timeout=self.limits.seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if work.done():
                self._finished.append(time.monotonic())
                return await work
            if departure.done():
                raise ClientLeftError
            raise missed_deadline(self.limits.seconds)
        except ModelChangedError:
            self.model_changed = True
            raise RefusedError(
                503, "the model directory was changed after the server had started",
                "restart the server, so that it loads the model that is there now",
            ) from None  # fmt: skip
        except NmtError as error:
            raise refusal_of(error) from None
        finally:
            self._count -= 1
            for task in (work, departure):
                task.cancel()
            with suppress(asyncio.CancelledError):
                await departure


async def _has_left(request: Request) -> None:
    """Return when the client of a request, whose body has been read, closes the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
