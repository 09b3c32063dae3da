"""What Prometheus reads: counts and durations, without any text and without addresses."""

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from nmt_cli.translation.continuous.worker import TranslationWorker
from nmt_cli.translation.result import Translation

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
CONTENT_TYPE = CONTENT_TYPE_LATEST


class Metrics:
    """The metrics of one server; labels of requests are its own paths, or `other`, and statuses."""

    def __init__(self, worker: TranslationWorker) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "nmt_requests", "Answered requests", ["path", "status"], registry=self._registry
        )
        self.seconds = Histogram(
            "nmt_request_seconds", "Seconds from the headers of a request to its answer",
            ["path"], buckets=SECONDS, registry=self._registry,
        )  # fmt: skip
        self.waiting = Gauge(
            "nmt_requests_in_work", "Requests that are translated or wait", registry=self._registry
        )
        self.terms = Gauge(
            "nmt_glossary_terms", "Terms of the server's own glossary", registry=self._registry
        )
        self._lines = Counter("nmt_lines", "Translated lines", registry=self._registry)
        self._tokens = Counter(
            "nmt_tokens", "Subwords of the translations", registry=self._registry
        )
        self._flags = Counter(
            "nmt_flags", "Lines with a flag of a doubtful translation", ["flag"],
            registry=self._registry,
        )  # fmt: skip
        self._steps = Counter(
            "nmt_steps", "Calls of the search, of a step or more", registry=self._registry
        )
        self._restarts = Counter("nmt_restarts", "Restarts of the worker", registry=self._registry)
        busy = Gauge("nmt_busy_slots", "Sentences in work at this step", registry=self._registry)
        busy.set_function(lambda: worker.busy_slots)
        self._worker = worker
        # The counts of the worker that the counters have already.
        self._counted_steps = self._counted_restarts = 0

    def count(self, translations: Iterable[Translation]) -> None:
        """Count lines that were translated."""
        for translation in translations:
            self._lines.inc()
            self._tokens.inc(len(translation.hypotheses[0].ids))
            for flag in translation.flags:
                self._flags.labels(flag).inc()

    def text(self) -> bytes:
        """All metrics, in the text format of Prometheus."""
        steps, restarts = self._worker.steps, self._worker.restarts
        self._steps.inc(steps - self._counted_steps)
        self._restarts.inc(restarts - self._counted_restarts)
        self._counted_steps, self._counted_restarts = steps, restarts
        return generate_latest(self._registry)
